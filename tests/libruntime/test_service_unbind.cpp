// SPDX-License-Identifier: MIT
//
// A kernel device is removed under four processes in service mode.  For root in the virtual
// machine: the test unbinds the driver's first device, and binds it again.
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "service_clients.hpp"

namespace overtake::test {
namespace {

/// Writes "unbind" or "bind" for the driver's first device.
void tell_driver(const char* what) {
    std::ofstream file(std::string("/sys/bus/platform/drivers/overtake/") + what);
    file << "overtake.0" << std::flush;
    ASSERT_TRUE(file) << what;
}

/// Returns the device's node.  Its number may change each time: a file that is still being closed
/// keeps the former number.
std::string node_of_device() {
    for (const auto& entry :
         std::filesystem::directory_iterator("/sys/bus/platform/devices/overtake.0/accel"))
        return "/dev/accel/" + entry.path().filename().string();
    return {};
}

/// Binds the device again under its first name, for later tests.
void bind_as(const std::string& node) {
    for (int i = 0; i < 1000 && node_of_device() != node; i++) {
        tell_driver("unbind");
        usleep(1000); // the last references to the former device are dropped by themselves
        tell_driver("bind");
    }
    EXPECT_EQ(node_of_device(), node);
}

/// Runs tasks of segments of both kinds until the device is gone; returns true if ENODEV ends them.
/// Writes a byte to `begun` when tasks run.
bool work_until_it_goes(const std::string& node, bool reports, int begun) {
    try {
        ServiceProcess process(open_kernel(node, KernelBackend::ioctl));
        const Program program(*process.device, {delay_insn(50'000)});
        for (std::uint64_t tag = 0;; tag++) {
            process.queue->submit(Segments().cpu(1).bpu(program).cpu(2).bpu(program).task(tag));
            if (tag == 0 && write(begun, "", 1) != 1)
                return false;
            if (process.queue->live() < 8)
                continue;
            for (const ServiceEvent& event : process.queue->reap(deadline_never))
                if (event.type == ServiceEvent::Type::run_cpu && reports)
                    process.queue->cpu_done(event.tag, event.segment, 0);
        }
    } catch (const Error& error) {
        if (error.code() != ENODEV)
            std::fprintf(stderr, "ended with: %s\n", error.what());
        return error.code() == ENODEV;
    }
}

TEST(KernelDevice, EveryCallForATaskEndsWhenItIsUnbound) {
    const char* first_node = std::getenv("OVERTAKE_TEST_DEVICE");
    if (!first_node || geteuid() != 0)
        GTEST_SKIP() << "SKIPPED: needs a kernel device, and root";
    if (open_kernel(first_node)->info().mode == OVERTAKE_MODE_TIMED)
        GTEST_SKIP() << "SKIPPED: the device does not compute";
    const char* wanted = std::getenv("OVERTAKE_TEST_ROUNDS");
    const unsigned rounds = wanted ? static_cast<unsigned>(std::stoul(wanted)) : 3;
    std::minstd_rand random(1);
    for (unsigned round = 0; round < rounds; round++) {
        const std::string node = node_of_device();
        std::array<int, 2> begun{};
        ASSERT_EQ(pipe(begun.data()), 0);
        std::array<pid_t, 4> children;
        for (std::size_t i = 0; i < children.size(); i++) {
            children[i] = fork_test();
            if (children[i] == 0) {
                alarm(60); // for a call that does not return
                _exit(work_until_it_goes(node, i != 3, begun[1]) ? 0 : 1);
            }
        }
        close(begun[1]);
        for (std::size_t i = 0; i < children.size(); i++) {
            char byte;
            ASSERT_EQ(read(begun[0], &byte, 1), 1) << "a process did not begin";
        }
        close(begun[0]);
        usleep(random() % 50'000);
        tell_driver("unbind");
        for (const pid_t child : children) {
            int status = 0;
            ASSERT_EQ(waitpid(child, &status, 0), child);
            EXPECT_EQ(status, 0) << "round " << round;
        }
        tell_driver("bind");
        ServiceVictim(open_kernel(node_of_device())).expect_to_work();
    }
    bind_as(first_node);
}

} // namespace
} // namespace overtake::test
