// SPDX-License-Identifier: MIT
//
// The system calls that are left to a device server which an attacker controls.  Other tests, whose
// server is a process, show that everything it needs is allowed.
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <functional>
#include <future>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "backends.hpp"
#include "confinement.hpp"

namespace overtake::test {

namespace {

void expect_refused(const char* what, const std::function<long()>& call) {
    errno = 0;
    EXPECT_EQ(call(), -1) << what;
    EXPECT_EQ(errno, EPERM) << what;
}

[[maybe_unused]] void expect_little() {
    expect_refused("a file", [] { return open("/etc/hostname", O_RDONLY); });
    expect_refused("a file to be made",
                   [] { return open("/tmp/overtake-confinement", O_CREAT | O_WRONLY, 0600); });
    expect_refused("a connection", [] { return socket(AF_INET, SOCK_STREAM, 0); });
    expect_refused("a connection on this machine", [] { return socket(AF_UNIX, SOCK_STREAM, 0); });
    expect_refused("other sorts of pairs", [] {
        int pair[2];
        return socketpair(AF_INET, SOCK_STREAM, 0, pair);
    });
    for (const int type : {SOCK_DGRAM, SOCK_STREAM})
        expect_refused("a socket that could send to others", [type] {
            int pair[2];
            return socketpair(AF_UNIX, type, 0, pair);
        });
    int pair[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    expect_refused("a signal by a socket's news",
                   [&] { return fcntl(pair[0], F_SETOWN, getppid()); });
    expect_refused("any signal by a socket's news", [&] { return fcntl(pair[0], F_SETSIG, 9); });
    expect_refused("a program", [] {
        char* const none[] = {nullptr};
        return execve("/bin/true", none, none);
    });
    expect_refused("a process", [] { return static_cast<long>(fork()); });
    expect_refused("a signal", [] { return kill(getppid(), 0); });
    expect_refused("a signal to a thread of another",
                   [] { return syscall(SYS_tgkill, getppid(), getppid(), 0); });
    expect_refused("another's memory", [] { return ptrace(PTRACE_ATTACH, getppid(), 0, 0); });
    expect_refused("io_uring", [] { return syscall(SYS_io_uring_setup, 1, nullptr); });
    expect_refused("other rights", [] { return setuid(0); });
    expect_refused("another root", [] { return chroot("/"); });
    expect_refused("code", [] {
        void* page = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return page == MAP_FAILED ? -1L : 0L;
    });
    expect_refused("memory that becomes code", [] {
        void* page =
            mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return static_cast<long>(mprotect(page, 4096, PROT_READ | PROT_EXEC));
    });
}

/// Returns whether `check` finds nothing wrong in a confined process.
[[maybe_unused]] bool holds_confined(const std::function<void()>& check) {
    const pid_t child = fork_test();
    if (child == 0) {
        std::promise<void> confined;
        // Existing threads are confined as well.
        std::thread there_before([&] {
            confined.get_future().wait();
            check();
        });
        EXPECT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        EXPECT_EQ(command::confine_server(), "");
        confined.set_value();
        there_before.join();
        check();
        std::thread(check).join();
        _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = -1;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(ServerConfinement, AllowsOnlyTheCallsThatServingNeeds) {
#ifdef OVERTAKE_HAVE_SECCOMP
    EXPECT_TRUE(holds_confined(expect_little));
#else
    EXPECT_NE(command::confine_server(), "");
    GTEST_SKIP() << command::confine_server();
#endif
}

} // namespace

} // namespace overtake::test
