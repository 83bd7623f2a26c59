// SPDX-License-Identifier: MIT
//
// Children of fork(): each call on an object that the parent opened is one clear error, destructors
// and exit() return, and a device that the child opens works.
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "backends.hpp"
#include "cpu_convolution.hpp"
#include "model_spec.hpp"
#include "overtake/event_source.hpp"
#include "overtake/overtake.hpp"
#include "programs.hpp"

namespace overtake::test {
namespace {

/// A child that waits for a thread which it does not have is killed after this time.
constexpr unsigned seconds_until_killed = 120;
constexpr std::uint64_t long_us = 20'000;

/// The number of faults in the child, which prints them to the parent's log.  The exit status says
/// whether there were any.
int faults = 0;

void expect_in_child(bool is_right, const std::string& what) {
    if (is_right)
        return;
    faults++;
    std::fprintf(stderr, "child: %s\n", what.c_str());
}

/// Used in the child: expects that the call throws ENOTSUP and names fork().
void expect_refused(const char* what, const std::function<void()>& call) {
    try {
        call();
        expect_in_child(false, std::string(what) + " is not refused");
    } catch (const Error& error) {
        expect_in_child(error.code() == ENOTSUP &&
                            std::strstr(error.what(), "opened before fork()") != nullptr,
                        std::string(what) + ": " + error.what());
    }
}

/// Runs `child` in a child process, which then ends by exit(), with all destructors of static
/// objects.
void run_in_child(const std::function<void()>& child) {
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
        alarm(seconds_until_killed);
        try {
            child();
        } catch (const std::exception& error) {
            expect_in_child(false, error.what());
        }
        std::exit(faults == 0 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFEXITED(status)) << "the child was ended by signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

std::shared_ptr<const Model> model() {
    return Model::from_bytes(build(copy_and_softmax()));
}

const std::vector<float>& input() {
    static const std::vector<float> values(60, 0.5f);
    return values;
}

void expect_right(Task& task) {
    ASSERT_TRUE(task.wait(patience()));
    ASSERT_EQ(task.status(), 0);
    EXPECT_EQ(task.output(1), input());
}

class ForkTest : public testing::TestWithParam<Backend> {
protected:
    void SetUp() override {
        if (GetParam().name == "server") // a process: fork() does not copy it
            server.emplace(ServerOptions{}, ServerIn::process);
        device = open();
    }

    std::shared_ptr<Device> open() const {
        return server ? open_server(server->path()) : open_backend(GetParam(), {});
    }

    /// Used in the child: expects that a device of the same kind, which it opens, computes.
    void expect_new_device_works() const {
        const std::shared_ptr<Device> own = open();
        Session session(own, model());
        Task task = session.submit(input());
        expect_in_child(task.wait(patience()) && task.status() == 0 && task.output(1) == input(),
                        "the child's own device does not compute");
    }

    std::optional<TestServer> server;
    std::shared_ptr<Device> device;
};

TEST_P(ForkTest, CallsOnADeviceAreRefusedInAChild) {
    SKIP_WITHOUT(device);
    std::unique_ptr<Buffer> buffer = device->create_buffer(4096);
    std::unique_ptr<Queue> queue = device->create_queue({.interruptible = true});
    const Program program = delays(*device, {long_us, long_us});
    const Job job = program.job(1);
    queue->submit({&job, 1});
    std::unique_ptr<ServiceQueue> service;
    if (GetParam().name != "embedded")
        service = device->create_service_queue({.workers = 1});
    std::unique_ptr<EventSource> events;
    if (is_made_here(GetParam()))
        events = device->events({});

    run_in_child([&] {
        std::vector<Completion> completions(1);
        expect_refused("info()", [&] { device->info(); });
        expect_refused("cores()", [&] { device->cores(); });
        expect_refused("create_buffer()", [&] { device->create_buffer(4096); });
        expect_refused("create_queue()", [&] { device->create_queue(); });
        expect_refused("create_service_queue()", [&] { device->create_service_queue({}); });
        expect_refused("events()", [&] { device->events({}); });
        expect_refused("submit()", [&] { queue->submit({&job, 1}); });
        expect_refused("reap()", [&] { queue->reap(completions, deadline_never); });
        expect_refused("cancel()", [&] { queue->cancel(1); });
        expect_refused("interrupt()", [&] { queue->interrupt(); });
        expect_in_child(queue->in_flight() == 0, "a job is in flight");
        if (service) {
            expect_refused("service submit()", [&] { service->submit({}); });
            expect_refused("service reap()", [&] { service->reap(deadline_never); });
            expect_refused("cpu_done()", [&] { service->cpu_done(1, 0, 0); });
            expect_refused("service cancel()", [&] { service->cancel(1); });
            expect_refused("service interrupt()", [&] { service->interrupt(); });
            expect_in_child(service->live() == 0, "a task is live");
        }
        if (events) {
            std::vector<Event> some(1);
            expect_refused("read()", [&] { events->read(some, deadline_never); });
            expect_in_child(events->lost() == 0, "an event is lost");
        }
        events.reset();
        service.reset();
        queue.reset();
        buffer.reset();
        device.reset();
        expect_new_device_works();
    });

    // The parent's device, queue and buffer are unchanged.
    EXPECT_EQ(reap_all(*queue, 1).front().status, 0);
    buffer->data()[0] = std::byte{1};
    Session session(device, model());
    Task task = session.submit(input());
    expect_right(task);
}

TEST_P(ForkTest, CallsOnASessionAreRefusedInAChild) {
    SKIP_WITHOUT(device);
    const std::shared_ptr<const Model> loaded = model();
    std::optional<Session> session(std::in_place, device, loaded);
    std::optional<Task> idle = session->create_task();
    std::optional<Task> ended = session->submit(input());
    expect_right(*ended);
    std::optional<Task> running = session->submit(input());

    run_in_child([&] {
        expect_refused("create_task()", [&] { session->create_task(); });
        expect_refused("Session::submit()", [&] { session->submit(input()); });
        expect_refused("a new session", [&] { const Session other(device, loaded); });
        expect_refused("set_input()", [&] { idle->set_input(0, input()); });
        expect_refused("start()", [&] { idle->start(); });
        expect_refused("wait()", [&] { running->wait(); });
        expect_refused("poll()", [&] { running->poll(); });
        expect_refused("Task::cancel()", [&] { running->cancel(); });
        expect_refused("output()", [&] { (void)ended->output(1); });
        expect_in_child(running->status() == -EINPROGRESS, "status() is another");
        running.reset();
        idle.reset();
        ended.reset();
        session.reset();
        device.reset();
        expect_new_device_works();
    });

    expect_right(*running);
}

TEST_P(ForkTest, CallsOnAnEngineAreRefusedInAChild) {
    SKIP_WITHOUT(device);
    std::optional<Engine> engine(std::in_place, device);
    const std::shared_ptr<const Model> read = model();
    std::shared_ptr<LoadedModel> loaded = engine->load(read);
    std::vector<float> softmax(60), copied(60), values = input();
    const TensorMemory in{.data = reinterpret_cast<std::byte*>(values.data())};
    const std::vector<TensorMemory> out = {
        {.data = reinterpret_cast<std::byte*>(softmax.data())},
        {.data = reinterpret_cast<std::byte*>(copied.data())},
    };
    std::atomic<bool> may_end = false;
    const auto make = [&] {
        std::shared_ptr<Request> request = engine->create_request();
        request->add(loaded, {&in, 1}, out);
        return request;
    };
    std::shared_ptr<Request> idle = make();
    std::shared_ptr<Request> running = engine->create_request();
    running->add([&] {
        while (!may_end)
            std::this_thread::yield();
        return 0;
    });
    std::atomic<int> callbacks = 0;
    running->on_end([&] { callbacks++; });
    running->submit();

    run_in_child([&] {
        expect_refused("load()", [&] { engine->load(read); });
        expect_refused("create_request()", [&] { engine->create_request(); });
        expect_refused("estimate_ns()", [&] { (void)loaded->estimate_ns(0); });
        expect_refused("add()", [&] { idle->add(loaded, {&in, 1}, out); });
        expect_refused("add() of a computation", [&] { idle->add([] { return 0; }); });
        expect_refused("keep()", [&] { idle->keep(nullptr); });
        expect_refused("submit()", [&] { idle->submit(); });
        expect_refused("wait()", [&] { running->wait(); });
        expect_refused("cancel()", [&] { running->cancel(); });
        expect_refused("on_end()", [&] { running->on_end([] {}); });
        expect_in_child(running->status() == -ENOTSUP, "status() is another");
        expect_in_child(running->error().find("opened before fork()") != std::string::npos,
                        running->error());
        expect_refused("segments()", [&] { (void)running->segments(); });
        expect_refused("core()", [&] { (void)running->core(); });
        {
            const std::shared_ptr<Device> own = open();
            Engine other(own);
            const std::shared_ptr<Request> request = other.create_request();
            expect_refused("add() of the parent's model", [&] {
                request->add(loaded, {&in, 1}, out);
            });
        }
        running.reset();
        idle.reset();
        loaded.reset();
        engine.reset();
        device.reset();
        expect_new_device_works();
    });

    may_end = true;
    ASSERT_TRUE(running->wait(patience()));
    EXPECT_EQ(running->status(), 0);
    idle->submit();
    ASSERT_TRUE(idle->wait(patience()));
    EXPECT_EQ(idle->status(), 0);
    EXPECT_EQ(copied, input());
    engine.reset(); // waits for callbacks
    EXPECT_EQ(callbacks, 1);
}

/// exit() in the child while the objects live, as with static or leaked ones.
TEST_P(ForkTest, AChildMayExitWithEverythingAlive) {
    SKIP_WITHOUT(device);
    static std::shared_ptr<Device> kept;
    static std::optional<Engine> engine;
    static std::optional<Session> session;
    static std::optional<Task> task;
    kept = device;
    engine.emplace(device);
    session.emplace(device, model());
    task = session->submit(input());
    run_in_child([] {});
    expect_right(*task);
    task.reset();
    session.reset();
    engine.reset();
    kept.reset();
}

/// Forks while other threads load models, submit and end tasks: the locks that they hold at that
/// moment stay locked in the child for ever.
TEST_P(ForkTest, LocksOfOtherThreadsDoNotStopAChild) {
    SKIP_WITHOUT(device);
    constexpr int forks = 50;
    std::atomic<bool> stop = false;
    std::atomic<int> started = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; i++)
        threads.emplace_back([&] {
            started++;
            Engine engine(device);
            while (!stop) {
                Session session(device, model());
                Task task = session.submit(input());
                task.wait(patience());
                engine.load(model());
            }
        });
    while (started != 2)
        std::this_thread::yield();
    for (int i = 0; i < forks && !HasFailure(); i++)
        run_in_child([&] { expect_new_device_works(); });
    stop = true;
    for (std::thread& thread : threads)
        thread.join();
}

/// The child does not have the OpenMP threads of the thread that forks.
TEST(ForkOfThreads, AChildComputesWithThreadsOfItsOwn) {
    const auto run = [](unsigned threads) {
        SessionOptions options;
        options.cpu_threads = threads;
        Session session(open_embedded(), Model::from_bytes(convolution_and_sum(2)), options);
        Task task = session.submit(half_steps(session.model().input(0).elements(), 1));
        task.wait(patience());
        return task.output(0);
    };
    const std::vector<float> wanted = run(1);
    for (const unsigned in_parent : {2u, 3u, 1u, 2u}) {
        EXPECT_EQ(run(in_parent), wanted);
        for (const unsigned in_child : {1u, 2u, 3u})
            run_in_child([&] {
                expect_in_child(run(in_child) == wanted,
                                std::to_string(in_child) + " threads compute something else");
            });
        EXPECT_EQ(run(in_parent), wanted);
    }
}

INSTANTIATE_TEST_SUITE_P(Backends, ForkTest, testing::ValuesIn(all_backends()), backend_name);

} // namespace
} // namespace overtake::test
