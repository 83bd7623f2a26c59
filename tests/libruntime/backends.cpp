// SPDX-License-Identifier: MIT
#include "backends.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef OVERTAKE_TEST_CONFINEMENT
#include "allocator_settings.hpp"
#include "confinement.hpp"
#endif

namespace overtake::test {

std::ostream& operator<<(std::ostream& out, const Backend& backend) {
    return out << backend.name;
}

std::vector<Backend> all_backends() {
    return {{"embedded"}, {"server"}, {"ioctl"}, {"io_uring"}};
}

std::vector<Backend> all_backends_and_modes() {
    return {{"embedded"},
            {"embedded_timed", OVERTAKE_MODE_TIMED},
            {"embedded_both", OVERTAKE_MODE_BOTH},
            {"server"},
            {"server_timed", OVERTAKE_MODE_TIMED},
            {"ioctl"},
            {"io_uring"}};
}

std::vector<Backend> all_computing_backends_and_modes() {
    std::vector<Backend> backends = all_backends_and_modes();
    std::erase_if(backends,
                  [](const Backend& backend) { return backend.mode == OVERTAKE_MODE_TIMED; });
    return backends;
}

std::string backend_name(const testing::TestParamInfo<Backend>& info) {
    return info.param.name;
}

namespace {

std::shared_ptr<Device> skip(const std::string& why) {
    [&] { GTEST_SKIP() << "SKIPPED: " << why; }();
    return nullptr;
}

EmbeddedOptions embedded_options(const Backend& backend, const Wanted& wanted) {
    EmbeddedOptions options = wanted.embedded;
    options.mode = backend.mode;
    if (wanted.manual_clock) {
        options.manual_clock = true;
        options.mode = OVERTAKE_MODE_TIMED;
        options.profile = "ideal";
    }
    return options;
}

/// Starts a server and opens it.  The server runs until the process ends, since other tests may use
/// it.
std::shared_ptr<Device> open_served(const EmbeddedOptions& embedded) {
    static std::vector<std::unique_ptr<TestServer>> servers;
    servers.push_back(std::make_unique<TestServer>(embedded));
    return open_server(servers.back()->path());
}

} // namespace

std::shared_ptr<Device> open_backend(const Backend& backend, const Wanted& wanted) {
    if (backend.name.starts_with("embedded"))
        return open_embedded(embedded_options(backend, wanted));
    if (backend.name.starts_with("server"))
        return open_served(embedded_options(backend, wanted));
    const char* path = std::getenv("OVERTAKE_TEST_DEVICE");
    if (!path)
        return skip("OVERTAKE_TEST_DEVICE names no device node for " + backend.name);
    auto device =
        open_kernel(path, backend.name == "ioctl" ? KernelBackend::ioctl : KernelBackend::io_uring);
    const drm_overtake_device_info info = device->info();
    const bool exact = info.mode == OVERTAKE_MODE_TIMED && info.fc_overhead_cycles == 0 &&
                       info.clock_khz == 1'000'000;
    if (wanted.manual_clock && !(device->manual_clock() && exact))
        return skip(std::string(path) + " has no manual clock in mode timed with profile ideal");
    if (!wanted.manual_clock && device->manual_clock())
        return skip(std::string(path) + " has a manual clock");
    return device;
}

MadeDevice::MadeDevice(const Backend& backend, const EmbeddedOptions& options) {
    if (backend.name.starts_with("server")) {
        server_ = std::make_unique<TestServer>(options);
        device_ = open_server(server_->path());
    } else {
        device_ = open_embedded(options);
    }
}

TestServer::TestServer(const EmbeddedOptions& embedded)
    : TestServer([&] {
          ServerOptions options;
          options.device = embedded;
          return options;
      }()) {}

namespace {

/// Runs until `from_parent` is written to or closed.  Writes to `ready` when clients can reach it.
[[noreturn]] void run_server(const ServerOptions& options, int from_parent, int ready) {
    int status = 0;
    try {
#ifdef OVERTAKE_TEST_CONFINEMENT
        command::keep_little_memory();
#endif
        Server server(options);
        std::thread waits_for_end([&] {
            char byte;
            while (read(from_parent, &byte, 1) < 0 && errno == EINTR)
                ;
            server.stop();
        });
#ifdef OVERTAKE_TEST_CONFINEMENT
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
            throw Error(errno, "PR_SET_NO_NEW_PRIVS");
        command::confine_server();
#endif
        while (write(ready, "", 1) < 0 && errno == EINTR)
            ;
        server.run();
        waits_for_end.join();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "the server of a test: %s\n", error.what());
        status = 1;
    }
    _exit(status);
}

} // namespace

pid_t fork_test() {
#ifndef __SANITIZE_THREAD__ // it has a thread of its own
    const auto threads = std::filesystem::directory_iterator("/proc/self/task");
    EXPECT_EQ(std::distance(begin(threads), end(threads)), 1) << "a child might wait for ever";
#endif
    return fork();
}

TestServer::TestServer(ServerOptions options, ServerIn where) {
    std::string directory = "/tmp/overtake-server-XXXXXX";
    if (!mkdtemp(directory.data()))
        throw std::runtime_error("no directory for a socket in /tmp");
    directory_ = directory;
    options.socket_path = path();
    if (where == ServerIn::process) {
        int end[2];
        int ready[2];
        if (pipe2(end, O_CLOEXEC) != 0 || pipe2(ready, O_CLOEXEC) != 0)
            throw std::runtime_error("no pipes to a server");
        child_ = fork_test();
        if (child_ == 0) {
            close(end[1]);
            run_server(options, end[0], ready[1]);
        }
        close(end[0]);
        close(ready[1]);
        to_child_ = end[1];
        char byte;
        const bool runs = child_ > 0 && read(ready[0], &byte, 1) == 1;
        close(ready[0]);
        if (!runs)
            throw std::runtime_error("the server of a test did not start");
        return;
    }
    server_ = std::make_unique<Server>(options);
    thread_ = std::thread([this] { server_->run(); });
}

void TestServer::kill() {
    ::kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    is_killed_ = true;
}

TestServer::~TestServer() {
    if (is_killed_) {
        close(to_child_);
    } else if (child_ > 0) {
        // Closing alone is not enough: other children may have copies.
        EXPECT_EQ(write(to_child_, "", 1), 1) << "the server has gone";
        close(to_child_);
        int status = 0;
        waitpid(child_, &status, 0);
        EXPECT_EQ(status, 0) << "what the server ended with";
    } else {
        server_->stop();
        thread_.join();
        server_.reset();
    }
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
}

std::int64_t in_ms(std::int64_t milliseconds) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() +
           milliseconds * 1'000'000;
}

std::vector<Completion> reap_all(Queue& queue, std::size_t count) {
    std::vector<Completion> all;
    const std::int64_t deadline_ns = patience();
    while (all.size() < count) {
        std::vector<Completion> some(count - all.size());
        const std::size_t reaped = queue.reap(some, deadline_ns);
        if (reaped == 0) {
            ADD_FAILURE() << "only " << all.size() << " of " << count << " jobs ended";
            break;
        }
        all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(reaped));
    }
    return all;
}

} // namespace overtake::test
