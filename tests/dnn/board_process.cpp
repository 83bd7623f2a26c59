// SPDX-License-Identifier: MIT
#include "board_process.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <span>
#include <string>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "backends.hpp"
#include "dnn/hb_dnn.h"
#include "dnn/process.hpp"
#include "requests/request.hpp"

namespace overtake::test {

namespace {

class LocalProcess final : public BoardProcess {
public:
    LocalProcess(const std::shared_ptr<Device>& device, const TaskScenario& scenario,
                 std::uint64_t number)
        : scenario_(scenario),
          process_(device, scenario_engine(device, scenario, number, CpuTime::modelled)) {
        dnn::Process::use_in_this_thread(&process_);
    }
    ~LocalProcess() override {
        for (const CpuKey key : under_way_) // else the engine would wait for their workers
            ModelledWork::only().end(key);
        dnn::Process::use_in_this_thread(nullptr);
    }

    void end_cpu(const std::vector<CpuKey>& segments) override {
        for (const CpuKey key : segments) {
            ModelledWork::only().end(key);
            under_way_.erase(key);
            ended_++;
        }
        while (engine().cpu_ends() < ended_)
            std::this_thread::yield();
    }
    void gather() override {
        engine().step_gather();
        release_ended();
    }
    std::optional<std::uint64_t> first_end() override {
        const engine::Run* run = engine().step_first_end();
        return run ? std::optional(run->dispatched_ns()) : std::nullopt;
    }
    void handle_first_end() override { engine().step_handle_first_end(); }

    void arrive(std::size_t number) override {
        dnn::Process::use_in_this_thread(&process_);
        Submitted& submitted = tasks_[number];
        submitted.handle = submit_task(scenario_, number, CpuTime::modelled);
        submitted.request = process_.tasks.find(submitted.handle)->request();
        engine().step_arrivals();
    }
    void cancel(std::size_t number) override {
        dnn::Process::use_in_this_thread(&process_);
        release(tasks_.at(number));
        engine().step_cancels();
    }
    std::vector<CpuKey> dispatch() override {
        const std::size_t before = engine().cpu_begins();
        engine().step_dispatch();
        std::vector<CpuKey> begun;
        for (auto& [number, task] : tasks_)
            for (const CpuKey key : cpu_segments_begun(number, task))
                begun.push_back(key);
        if (begun.size() != engine().cpu_begins() - before)
            throw Error(EPROTO, "CPU segments that cannot be distinguished");
        for (const CpuKey key : begun) {
            ModelledWork::only().wait_for(key);
            under_way_.insert(key);
        }
        return begun;
    }

    TaskOutcome outcome(std::size_t number) override {
        const Request& request = *tasks_.at(number).request;
        return {request.status(), request.core(), request.dispatched_ns(), request.ended_ns(),
                request.segments()};
    }

private:
    struct Submitted {
        hbDNNTaskHandle_t handle = nullptr; ///< null once released
        std::shared_ptr<Request> request;
        std::set<std::size_t> begun; ///< CPU segments
    };

    engine::ThreadedEngine& engine() {
        return static_cast<engine::ThreadedEngine&>(*process_.engine()->state().engine);
    }

    /// Returns the CPU segments that the engine has given to workers since the last call.
    std::vector<CpuKey> cpu_segments_begun(std::size_t number, Submitted& task) {
        std::vector<CpuKey> begun;
        const auto run = std::static_pointer_cast<const engine::Run>(task.request->state().task);
        for (std::size_t i = 0; i < run->segments().size(); i++)
            if (!run->segments()[i].on_bpu() && run->records()[i].start_ns != 0 &&
                task.begun.insert(i).second)
                begun.push_back({number, i});
        return begun;
    }

    void release(Submitted& task) {
        if (task.handle)
            require_ok(hbDNNReleaseTask(task.handle), "hbDNNReleaseTask");
        task.handle = nullptr;
    }
    /// Releases tasks that have ended, so that the limit counts only tasks under way.
    void release_ended() {
        dnn::Process::use_in_this_thread(&process_);
        for (auto& [number, task] : tasks_)
            if (task.handle && task.request->status() != -EINPROGRESS)
                release(task);
    }

    const TaskScenario& scenario_;
    dnn::Process process_;
    std::map<std::size_t, Submitted> tasks_;
    std::set<CpuKey> under_way_;
    std::size_t ended_ = 0;
};

// A process of its own: requests and answers are numbers on a socket.

enum class Ask : std::uint64_t {
    end_cpu,
    gather,
    first_end,
    handle_first_end,
    arrive,
    cancel,
    dispatch,
    outcome,
    leave
};

class Channel {
public:
    explicit Channel(int fd) : fd_(fd) {}
    ~Channel() { close(fd_); }
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;

    void put(std::span<const std::uint64_t> numbers) {
        const std::uint64_t count = numbers.size();
        put_bytes(&count, sizeof(count));
        put_bytes(numbers.data(), numbers.size_bytes());
    }
    /// Returns an empty list if the other end is closed.
    std::vector<std::uint64_t> get() {
        std::uint64_t count = 0;
        if (!get_bytes(&count, sizeof(count)))
            return {};
        std::vector<std::uint64_t> numbers(count);
        if (!get_bytes(numbers.data(), count * sizeof(std::uint64_t)))
            return {};
        return numbers;
    }

private:
    void put_bytes(const void* data, std::size_t size) {
        for (const auto* at = static_cast<const char*>(data); size != 0;) {
            const ssize_t sent = send(fd_, at, size, MSG_NOSIGNAL);
            if (sent <= 0)
                throw Error(EPIPE, "a process of the scenario has gone");
            at += sent;
            size -= static_cast<std::size_t>(sent);
        }
    }
    bool get_bytes(void* data, std::size_t size) {
        for (auto* at = static_cast<char*>(data); size != 0;) {
            const ssize_t received = recv(fd_, at, size, 0);
            if (received <= 0)
                return false;
            at += received;
            size -= static_cast<std::size_t>(received);
        }
        return true;
    }

    const int fd_;
};

constexpr std::uint64_t none = UINT64_MAX;

std::vector<CpuKey> keys_from(std::span<const std::uint64_t> numbers) {
    std::vector<CpuKey> keys;
    for (std::size_t i = 0; i + 1 < numbers.size(); i += 2)
        keys.push_back({numbers[i], numbers[i + 1]});
    return keys;
}

std::vector<std::uint64_t> numbers_from(const std::vector<CpuKey>& keys) {
    std::vector<std::uint64_t> numbers;
    for (const CpuKey key : keys)
        numbers.insert(numbers.end(), {key.task, key.segment});
    return numbers;
}

constexpr std::size_t record_numbers = sizeof(SegmentRecord) / sizeof(std::uint64_t);
static_assert(sizeof(SegmentRecord) % sizeof(std::uint64_t) == 0);

std::vector<std::uint64_t> numbers_from(const TaskOutcome& outcome) {
    std::vector<std::uint64_t> numbers = {static_cast<std::uint32_t>(outcome.status), outcome.core,
                                          outcome.dispatched_ns, outcome.ended_ns};
    numbers.resize(4 + outcome.segments.size() * record_numbers);
    std::memcpy(numbers.data() + 4, outcome.segments.data(),
                outcome.segments.size() * sizeof(SegmentRecord));
    return numbers;
}

TaskOutcome outcome_from(std::span<const std::uint64_t> numbers) {
    TaskOutcome outcome{static_cast<std::int32_t>(numbers[0]),
                        static_cast<unsigned>(numbers[1]),
                        numbers[2],
                        numbers[3],
                        {}};
    outcome.segments.resize((numbers.size() - 4) / record_numbers);
    std::memcpy(outcome.segments.data(), numbers.data() + 4,
                outcome.segments.size() * sizeof(SegmentRecord));
    return outcome;
}

std::vector<std::uint64_t> answer(BoardProcess& process, std::span<const std::uint64_t> request) {
    const auto arguments = request.subspan(1);
    switch (static_cast<Ask>(request[0])) {
    case Ask::end_cpu:
        process.end_cpu(keys_from(arguments));
        return {0};
    case Ask::gather:
        process.gather();
        return {0};
    case Ask::first_end:
        return {process.first_end().value_or(none)};
    case Ask::handle_first_end:
        process.handle_first_end();
        return {0};
    case Ask::arrive:
        process.arrive(arguments[0]);
        return {0};
    case Ask::cancel:
        process.cancel(arguments[0]);
        return {0};
    case Ask::dispatch:
        return numbers_from(process.dispatch());
    case Ask::outcome:
        return numbers_from(process.outcome(arguments[0]));
    case Ask::leave:
        break;
    }
    return {};
}

/// Answers requests in the child, until the parent asks it to leave or closes its end.
[[noreturn]] void serve(Channel& channel, const std::function<std::shared_ptr<Device>()>& open,
                        const TaskScenario& scenario, std::uint64_t number) {
    int status = 0;
    try {
        LocalProcess process(open(), scenario, number);
        channel.put(std::vector<std::uint64_t>{1});
        for (;;) {
            const std::vector<std::uint64_t> request = channel.get();
            if (request.empty() || static_cast<Ask>(request[0]) == Ask::leave)
                break;
            std::vector<std::uint64_t> reply = answer(process, request);
            reply.push_back(none); // never empty
            channel.put(reply);
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "process %llu of the scenario: %s\n",
                     static_cast<unsigned long long>(number), error.what());
        status = 1;
    }
    _exit(status);
}

class ForkedProcess final : public BoardProcess {
public:
    ForkedProcess(const std::function<std::shared_ptr<Device>()>& open,
                  const TaskScenario& scenario, std::uint64_t number) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
            throw Error(errno, "socketpair failed");
        child_ = fork_test();
        if (child_ == 0) {
            close(ends[0]);
            Channel channel(ends[1]);
            serve(channel, open, scenario, number);
        }
        close(ends[1]);
        channel_ = std::make_unique<Channel>(ends[0]);
        if (child_ < 0)
            throw Error(errno, "fork failed");
        if (channel_->get().empty())
            throw Error(EPIPE, "a process of the scenario did not start");
    }
    ~ForkedProcess() override {
        if (child_ <= 0)
            return;
        try { // closing our end is not enough: other children have copies of it
            channel_->put(std::vector<std::uint64_t>{static_cast<std::uint64_t>(Ask::leave)});
        } catch (const Error&) {
            // The child has ended already.
        }
        waitpid(child_, nullptr, 0);
    }

    void end_cpu(const std::vector<CpuKey>& segments) override {
        ask(Ask::end_cpu, numbers_from(segments));
    }
    void gather() override { ask(Ask::gather); }
    std::optional<std::uint64_t> first_end() override {
        const std::uint64_t dispatched = ask(Ask::first_end)[0];
        return dispatched == none ? std::nullopt : std::optional(dispatched);
    }
    void handle_first_end() override { ask(Ask::handle_first_end); }
    void arrive(std::size_t task) override { ask(Ask::arrive, {task}); }
    void cancel(std::size_t task) override { ask(Ask::cancel, {task}); }
    std::vector<CpuKey> dispatch() override { return keys_from(ask(Ask::dispatch)); }
    TaskOutcome outcome(std::size_t task) override {
        return outcome_from(ask(Ask::outcome, {task}));
    }

private:
    std::vector<std::uint64_t> ask(Ask what, std::vector<std::uint64_t> arguments = {}) {
        arguments.insert(arguments.begin(), static_cast<std::uint64_t>(what));
        channel_->put(arguments);
        std::vector<std::uint64_t> reply = channel_->get();
        if (reply.empty())
            throw Error(EPIPE, "a process of the scenario has gone");
        reply.pop_back();
        return reply;
    }

    pid_t child_ = -1;
    std::unique_ptr<Channel> channel_;
};

} // namespace

std::unique_ptr<BoardProcess> forked_process(const std::function<std::shared_ptr<Device>()>& open,
                                             const TaskScenario& scenario, std::uint64_t number) {
    return std::make_unique<ForkedProcess>(open, scenario, number);
}

std::unique_ptr<BoardProcess> local_process(std::shared_ptr<Device> device,
                                            const TaskScenario& scenario, std::uint64_t number) {
    return std::make_unique<LocalProcess>(device, scenario, number);
}

} // namespace overtake::test
