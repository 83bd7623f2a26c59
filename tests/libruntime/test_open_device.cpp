// SPDX-License-Identifier: MIT
//
// Names of devices, and the errors for devices that cannot be opened.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "expect_error.hpp"
#include "ordinary_user.hpp"
#include "overtake/device.hpp"
#include "overtake/server.hpp"
#include "overtake_isa.h"

namespace overtake::test {
namespace {

TEST(OpenDevice, EmbeddedHasItsOptions) {
    EmbeddedOptions options;
    options.cores = 3;
    options.profile = "ideal";
    options.core_limits = {0, 1, 2};
    const auto device = open_device("embedded", options);
    EXPECT_EQ(device->backend(), "embedded");
    EXPECT_EQ(device->info().core_count, 3u);
    EXPECT_EQ(device->info().fc_overhead_cycles, 0u);
    EXPECT_EQ(device->info().mode, OVERTAKE_MODE_FUNCTIONAL);
    EXPECT_EQ(device->cores()[2].core_limit, 2u);
    EXPECT_EQ(device->manual_clock(), nullptr);
}

TEST(OpenDevice, AnEmbeddedDeviceReportsTheBoundsOfItsJobs) {
    EmbeddedOptions options;
    options.watchdog_cycles = 123'456'789;
    options.queue_timeout_ns = 987'654'321'000;
    const auto device = open_embedded(options);
    EXPECT_EQ(device->info().watchdog_cycles, 123'456'789u);
    EXPECT_EQ(device->info().queue_timeout_ns, 987'654'321'000u);
    // By default the watchdog has one second of cycles, and a queue ten seconds.
    const auto as_it_comes = open_embedded();
    const drm_overtake_device_info info = as_it_comes->info();
    EXPECT_EQ(info.watchdog_cycles, std::uint64_t{info.clock_khz} * 1000);
    EXPECT_EQ(info.queue_timeout_ns, 10'000'000'000u);
}

TEST(OpenDevice, AnEmbeddedDeviceReportsItsProfileAndItsClock) {
    EmbeddedOptions options;
    options.cores = 5;
    options.mode = OVERTAKE_MODE_BOTH;
    options.manual_clock = true;
    const auto device = open_embedded(options);
    ASSERT_NE(device->manual_clock(), nullptr);
    device->manual_clock()->advance_to(4'000'000'000);
    const drm_overtake_device_info info = device->info();
    EXPECT_EQ(info.isa_version, OVERTAKE_ISA_VERSION);
    EXPECT_EQ(info.core_count, 5u);
    EXPECT_EQ(info.mode, OVERTAKE_MODE_BOTH);
    EXPECT_EQ(info.manual_clock, 1u);
    EXPECT_EQ(info.clock_khz, 1'000'000u);
    EXPECT_EQ(info.macs_per_cycle, 256u);
    EXPECT_EQ(info.bytes_per_cycle, 32u);
    EXPECT_EQ(info.insn_overhead_cycles, 200u);
    EXPECT_EQ(info.fc_overhead_cycles, 1000u);
    EXPECT_GT(info.ring_entries, 0u);
    EXPECT_EQ(info.device_time_ns, 4'000'000'000u);
    EXPECT_EQ(open_embedded()->info().manual_clock, 0u);
}

TEST(OpenDevice, AutoIsAnEmbeddedDeviceIfThereIsNoNodeAndReportsIt) {
    if (std::filesystem::exists("/dev/accel/accel0"))
        return; // then auto means that one
    testing::internal::CaptureStderr();
    EXPECT_EQ(open_device("auto")->backend(), "embedded");
    EXPECT_EQ(
        testing::internal::GetCapturedStderr(),
        "overtake: no /dev/accel/accel0 and no device server: using an embedded device, which "
        "is not shared with other processes; load the driver or run overtake serve to share "
        "one\n");
}

/// Makes a /dev for this process, with only a file where the first device's node would be.
bool enter_dev_with_a_node() {
    const auto map = [](const char* file, unsigned id) {
        std::ofstream(file) << "0 " << id << " 1";
    };
    const unsigned user = geteuid();
    const unsigned group = getegid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return false;
    std::ofstream("/proc/self/setgroups") << "deny";
    map("/proc/self/uid_map", user);
    map("/proc/self/gid_map", group);
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", "/dev", "tmpfs", 0, nullptr) != 0)
        return false;
    std::error_code error;
    std::filesystem::create_directory("/dev/accel", error);
    return static_cast<bool>(std::ofstream("/dev/accel/accel0") << "no device");
}

TEST(OpenDevice, AutoIsTheFirstNodeWhereThereIsOne) {
    enum { opened_node, opened_another, no_namespace };
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        if (!enter_dev_with_a_node())
            _exit(no_namespace);
        try {
            open_device("auto");
        } catch (const Error& error) {
            const std::string said = error.what();
            _exit(said.starts_with("/dev/accel/accel0: not an Overtake device") ? opened_node
                                                                                : opened_another);
        }
        _exit(opened_another);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    if (WEXITSTATUS(status) == no_namespace)
        GTEST_SKIP() << "SKIPPED: this process may not have a /dev of its own";
    EXPECT_EQ(WEXITSTATUS(status), opened_node);
}

TEST(OpenDevice, AServerThatMayNotBeReachedIsAnErrorThatNamesTheDirectory) {
    if (std::filesystem::exists("/dev/accel/accel0"))
        return; // then auto means that one
    std::string directory = "/tmp/overtake_open_XXXXXX";
    ASSERT_NE(mkdtemp(directory.data()), nullptr);
    const std::string closed = directory + "/closed", socket = closed + "/socket";
    std::filesystem::create_directory(closed);
    std::filesystem::permissions(directory, std::filesystem::perms(0755));
    std::filesystem::permissions(closed, std::filesystem::perms::none);
    ASSERT_EQ(setenv("OVERTAKE_SERVER", socket.c_str(), 1), 0);
    const auto expect_named = [&](bool has_own_device, const std::function<void()>& action) {
        const std::string said = said_to_an_ordinary_user(action);
        EXPECT_TRUE(said.starts_with(std::to_string(EACCES))) << said;
        EXPECT_NE(said.find("may not enter the directory " + closed + ":"), std::string::npos)
            << said;
        EXPECT_EQ(said.find("start one"), std::string::npos) << said;
        EXPECT_EQ(said.find("--device embedded") != std::string::npos, has_own_device) << said;
    };
    for (const std::string& device : {std::string("auto"), "server:" + socket})
        expect_named(true, [&] { open_device(device); });
    expect_named(false, [&] { server_status(socket); });
    expect_named(false, [&] { server_report(socket, std::chrono::seconds(1)); });
    std::filesystem::permissions(closed, std::filesystem::perms(0755));
    EXPECT_EQ(said_to_an_ordinary_user([] { open_device("auto"); }), ""); // no server: embedded
    // A socket that exists, but may not be written to.
    std::ofstream file(socket);
    file.close();
    std::filesystem::permissions(socket, std::filesystem::perms(0400));
    const std::string said = said_to_an_ordinary_user([&] { server_status(socket); });
    EXPECT_NE(said.find("may not write to the socket"), std::string::npos) << said;
    unsetenv("OVERTAKE_SERVER");
    std::filesystem::remove_all(directory);
}

TEST(OpenDevice, RefusesOptionsThatMakeNoDevice) {
    const auto open_with = [](auto change) {
        return [change] {
            EmbeddedOptions options;
            change(options);
            open_embedded(options);
        };
    };
    expect_error(EINVAL, "0 cores", open_with([](EmbeddedOptions& o) { o.cores = 0; }));
    expect_error(EINVAL, "65 cores", open_with([](EmbeddedOptions& o) { o.cores = 65; }));
    expect_error(EINVAL, "mode 3", open_with([](EmbeddedOptions& o) { o.mode = 3; }));
    expect_error(EINVAL, "'fast'", open_with([](EmbeddedOptions& o) { o.profile = "fast"; }));
    expect_error(EINVAL, "1 core limits for 2 cores",
                 open_with([](EmbeddedOptions& o) { o.core_limits = {1}; }));
}

TEST(OpenDevice, NamesTheRemedyForADeviceThatCannotBeOpened) {
    expect_error(EINVAL, "not auto, embedded, kernel, server, server:SOCKET or a path",
                 [] { open_device("gpu"); });
    expect_error(ENOENT, "insmod overtake.ko", [] { open_device("/dev/accel/accel4711"); });
    expect_error(ENOTTY, "/dev/null: not an Overtake device", [] { open_device("/dev/null"); });
    const std::string path = "/tmp/overtake_socket_" + std::to_string(getpid());
    const int socket_file = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{AF_UNIX, {}};
    path.copy(address.sun_path, path.size());
    ASSERT_EQ(bind(socket_file, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    expect_error(EINVAL, path + " is a socket; the device of its server is server:" + path,
                 [&] { open_device(path); });
    close(socket_file);
    std::filesystem::remove(path);
    if (!std::filesystem::exists("/dev/accel/accel0"))
        expect_error(ENOENT, "/dev/accel/accel0", [] { open_device("kernel"); });
}

/// Forbids io_uring in the whole system while it lives; for root in a virtual machine.
class UringForbidden {
public:
    UringForbidden() {
        std::ifstream(setting) >> before_;
        std::ofstream(setting) << 2;
    }
    ~UringForbidden() { std::ofstream(setting) << before_; }
    bool works() const {
        int now = 0;
        std::ifstream(setting) >> now;
        return now == 2;
    }

private:
    static constexpr const char* setting = "/proc/sys/kernel/io_uring_disabled";
    int before_ = 0;
};

TEST(KernelDevice, FallsBackToIoctlWhereIoUringIsForbidden) {
    const char* path = std::getenv("OVERTAKE_TEST_DEVICE");
    if (!path)
        GTEST_SKIP() << "SKIPPED: OVERTAKE_TEST_DEVICE names no device node";
    EXPECT_EQ(open_kernel(path)->backend(), "io_uring");
    const UringForbidden forbidden;
    if (!forbidden.works())
        GTEST_SKIP() << "SKIPPED: this process cannot forbid io_uring";
    EXPECT_EQ(open_kernel(path)->backend(), "ioctl");
    expect_error(EPERM, "use ioctl", [&] { open_kernel(path, KernelBackend::io_uring); });
}

TEST(KernelDevice, RefusalNamesTheLimitAndTheRemedy) {
    const char* path = std::getenv("OVERTAKE_TEST_DEVICE");
    if (!path)
        GTEST_SKIP() << "SKIPPED: OVERTAKE_TEST_DEVICE names no device node";
    const auto device = open_kernel(path);
    expect_error(E2BIG, "1073741824 bytes of a buffer: use several buffers",
                 [&] { device->create_buffer(OVERTAKE_MAX_BUFFER_BYTES + 1); });
    std::vector<std::unique_ptr<Queue>> queues;
    expect_error(ENOSPC, "64 queues (64 in use): close one", [&] {
        while (true)
            queues.push_back(device->create_queue());
    });
    EXPECT_EQ(queues.size(), 64u);
}

} // namespace
} // namespace overtake::test
