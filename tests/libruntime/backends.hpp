// SPDX-License-Identifier: MIT
//
// The backends on which one suite runs.
//
// "embedded" and "server", a device server in this process, always work.  "ioctl" and "io_uring"
// need a node of the driver, which the environment variable OVERTAKE_TEST_DEVICE names; without it
// their tests are skipped with a message.
#pragma once

#include <memory>
#include <string>
#include <sys/types.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "overtake/device.hpp"
#include "overtake/server.hpp"

namespace overtake::test {

struct Backend {
    std::string name;
    /// The mode of an embedded or a served device without a manual clock.
    unsigned mode = OVERTAKE_MODE_FUNCTIONAL;
};

std::ostream& operator<<(std::ostream& out, const Backend& backend);

/// The device that a test needs.  An embedded device is made like this.  A kernel device has to be
/// like this already, or the test is skipped.
struct Wanted {
    bool manual_clock = false; ///< with mode timed and the profile "ideal"
    EmbeddedOptions embedded;  ///< the rest, for the embedded device only
};

/// Calls fork() for a test.  A child of a process with more threads than one may call few
/// functions, and under AddressSanitizer not even malloc(): so having more threads is a failure.
pid_t fork_test();

/// The place where a TestServer runs.  `process`: for tests that fork while it runs; what it takes
/// from the test (an observer, say) is a copy.
enum class ServerIn { thread, process };

/// A device server in a thread or a child of this process, at a socket of its own.
class TestServer {
public:
    explicit TestServer(const EmbeddedOptions& embedded);
    /// `options`: all options except the socket.
    explicit TestServer(ServerOptions options, ServerIn where = ServerIn::thread);
    ~TestServer();
    TestServer(const TestServer&) = delete;
    TestServer& operator=(const TestServer&) = delete;

    std::string path() const { return directory_ + "/device"; }
    /// Kills a server that is a process.
    void kill();

private:
    bool is_killed_ = false;
    std::string directory_;
    std::unique_ptr<Server> server_;
    std::thread thread_;
    pid_t child_ = 0;   ///< the server's process
    int to_child_ = -1; ///< the process ends when this is written or closed
};

/// Whether the backend's device can be made here, in this process.
inline bool is_made_here(const Backend& backend) {
    return backend.name.starts_with("embedded") || backend.name.starts_with("server");
}

/// A device that is made here, and the server that it may need.
class MadeDevice {
public:
    MadeDevice(const Backend& backend, const EmbeddedOptions& options);
    const std::shared_ptr<Device>& operator()() const { return device_; }

private:
    std::unique_ptr<TestServer> server_;
    std::shared_ptr<Device> device_; ///< destroyed first
};

/// Returns null, with the test marked as skipped, if there is no such device here.
std::shared_ptr<Device> open_backend(const Backend& backend, const Wanted& wanted);

std::vector<Backend> all_backends();
/// Returns all backends, with the embedded device in each of its modes.
std::vector<Backend> all_backends_and_modes();
/// Does the same without mode timed.  The module's parameter sets the mode of a kernel device.
std::vector<Backend> all_computing_backends_and_modes();
std::string backend_name(const testing::TestParamInfo<Backend>& info);

/// Skips the running test unless `device` could be opened.
#define SKIP_WITHOUT(device)                                                                       \
    if (!(device))                                                                                 \
    return

/// Returns absolute CLOCK_MONOTONIC in this many milliseconds: a bound for tests that fail, not a
/// measure.
std::int64_t in_ms(std::int64_t milliseconds);
/// Returns a time that is long enough for everything that ends at all.
inline std::int64_t patience() {
    return in_ms(60'000);
}

/// Reaps exactly `count` completions, failing the test if they do not come.
std::vector<Completion> reap_all(Queue& queue, std::size_t count);

} // namespace overtake::test
