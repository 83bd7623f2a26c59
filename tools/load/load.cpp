// SPDX-License-Identifier: MIT
#include "load/load.hpp"

#include <algorithm>
#include <barrier>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <iterator>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "load/client.hpp"
#include "overtake/model_contents.hpp"

namespace overtake::load {
namespace {

// The most requests, bytes and buffers of an open loop on the device, for all clients of a load
// together.
constexpr std::size_t most_on_device = 64;
constexpr std::size_t most_bytes = 256u << 20;
constexpr std::size_t most_buffers = OVERTAKE_MAX_BUFFERS / 2;

/// The clients of all loads, each in its own thread.
class ClientThreads {
public:
    ClientThreads(std::span<Load> loads, const std::atomic<bool>& stop) {
        for (Load& load : loads) {
            Group& group = groups_.emplace_back(load, stop);
            for (const std::unique_ptr<Source>& source : load.sources)
                group.clients.emplace_back(*source, group.shared);
            running_ += group.clients.size();
        }
    }

    void run(const std::function<void(double)>& progress) {
        std::barrier warmed_up(static_cast<std::ptrdiff_t>(running_), [this]() noexcept {
            for (Group& group : groups_)
                group.shared.begin_now();
        });
        std::vector<std::jthread> threads;
        std::size_t missing = running_;
        try {
            for (Group& group : groups_)
                for (Client& client : group.clients) {
                    threads.emplace_back([&] { work(group, client, warmed_up); });
                    missing--;
                }
        } catch (const std::exception& error) { // the other clients wait until all have warmed up
            give_up(std::make_exception_ptr(
                Error(EAGAIN, fmt::format("load: no thread can be had: {}", error.what()))));
            for (std::size_t i = 0; i < missing; i++)
                warmed_up.arrive_and_drop();
        }
        std::unique_lock lock(mutex_);
        running_ -= missing;
        while (!changed_.wait_for(lock, std::chrono::milliseconds(100),
                                  [this] { return running_ == 0; }))
            if (progress)
                progress(done());
        lock.unlock();
        threads.clear();
        if (error_)
            std::rethrow_exception(error_);
    }

    std::vector<Outcome> outcomes() {
        std::vector<Outcome> all;
        for (Group& group : groups_)
            all.push_back(group.outcome());
        return all;
    }

private:
    struct Group {
        Group(Load& load, const std::atomic<bool>& stop)
            : shared(load.options,
                     open_loop_limit(load.sources.front()->model(), load.sources.size()), stop) {}
        Outcome outcome();

        Shared shared;
        std::deque<Client> clients;
        std::atomic<std::uint64_t> warm_up{0};
    };

    void give_up(std::exception_ptr error) {
        const std::lock_guard lock(mutex_);
        if (!error_)
            error_ = std::move(error);
        for (Group& group : groups_)
            group.shared.failed = true;
    }

    template <typename Barrier>
    void work(Group& group, Client& client, Barrier& warmed_up) {
        bool has_arrived = false;
        try {
            group.warm_up += client.warm_up();
            has_arrived = true;
            warmed_up.arrive_and_wait();
            client.measure();
        } catch (...) {
            give_up(std::current_exception());
            if (!has_arrived)
                warmed_up.arrive_and_drop();
        }
        const std::lock_guard lock(mutex_);
        running_--;
        changed_.notify_one();
    }

    /// Returns the done part of the load that has the smallest done part.
    double done() const {
        double least = 1;
        for (const Group& group : groups_)
            least = std::min(least, group.shared.fraction());
        return least;
    }

    std::deque<Group> groups_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t running_ = 0;
    std::exception_ptr error_;
};

Outcome ClientThreads::Group::outcome() {
    Outcome outcome;
    for (Client& client : clients) {
        std::ranges::copy(client.take(), std::back_inserter(outcome.requests));
        outcome.tasks += client.tasks();
    }
    std::ranges::stable_sort(outcome.requests, {}, &Request::due_ns);
    outcome.warm_up = warm_up;
    outcome.begin_ns = static_cast<std::uint64_t>(shared.begin_ns);
    const std::int64_t over_ns = shared.over_ns;
    outcome.end_ns = static_cast<std::uint64_t>(over_ns != 0 ? over_ns : monotonic_ns());
    const std::uint64_t due = shared.due_until(static_cast<std::int64_t>(outcome.end_ns));
    outcome.waiting = due - std::min<std::uint64_t>(due, shared.begun);
    outcome.most_waiting = std::max<std::uint64_t>(shared.most_waiting, outcome.waiting);
    return outcome;
}

} // namespace

std::size_t open_loop_limit(const Model& model, std::size_t clients) {
    std::size_t bytes = 0;
    std::size_t scratch = 0;
    std::size_t buffers = 0;
    const ModelContents& contents = ModelContents::of(model);
    const bool has_file = contents.table != nullptr; // else Model::tensors() leaves some out
    for (const Tensor& tensor : has_file ? model.tensors() : std::span(contents.tensors)) {
        bytes += tensor.is_constant() ? 0 : tensor.bytes;
        buffers += tensor.on_device() ? 1 : 0;
    }
    for (const Segment& segment : contents.segments)
        scratch = std::max<std::size_t>(scratch, segment.scratch_bytes);
    if (const auto& plan = contents.core_plan)
        for (const CoreSegment& segment : plan->segments)
            scratch = std::max<std::size_t>(scratch, segment.scratch_bytes);
    const std::size_t limit =
        std::min({most_on_device, most_bytes / std::max<std::size_t>(bytes + scratch, 1),
                  most_buffers / std::max<std::size_t>(buffers, 1)});
    return std::max<std::size_t>(limit / std::max<std::size_t>(clients, 1), 1);
}

std::vector<Outcome> run(std::span<Load> loads, const std::atomic<bool>& stop,
                         const std::function<void(double)>& progress) {
    ClientThreads clients(loads, stop);
    clients.run(progress);
    return clients.outcomes();
}

std::vector<Request> run(Session& session, const Options& options, const std::atomic<bool>& stop) {
    Shared shared(options, open_loop_limit(session.model(), 1), stop);
    const std::unique_ptr<Source> source = session_source_of(session);
    Client client(*source, shared);
    client.warm_up();
    shared.begin_now();
    client.measure();
    auto requests = client.take();
    std::ranges::stable_sort(requests, {}, &Request::due_ns);
    return requests;
}

} // namespace overtake::load
