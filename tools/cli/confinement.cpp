// SPDX-License-Identifier: MIT
#include "confinement.hpp"

#ifndef OVERTAKE_HAVE_SECCOMP

namespace overtake::command {

std::string confine_server() {
    return "this program was built without libseccomp";
}

} // namespace overtake::command

#else

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace overtake::command {

namespace {

#ifdef SO_PASSRIGHTS
constexpr int pass_rights = SO_PASSRIGHTS;
#else
constexpr int pass_rights = 83; ///< since Linux 6.16
#endif

/// The calls that serving needs, and those of the C library for it. Some exist only on some
/// machines.
constexpr std::array allowed = {
    // clients
    "accept",
    "accept4",
    "getsockopt",
    "poll",
    "ppoll",
    "ppoll_time64",
    "recvfrom",
    "recvmsg",
    "sendmsg",
    "sendto",
    "shutdown",
    // descriptors; none of these calls opens a file
    "close",
    "fallocate",
    "fstat",
    "fstat64",
    "fstatat64",
    "fstatfs",
    "fstatfs64",
    "ftruncate",
    "ftruncate64",
    "memfd_create",
    "newfstatat",
    "read",
    "statx",
    "unlink",
    "unlinkat",
    "write",
    "writev",
    // memory
    "brk",
    "madvise",
    "mremap",
    "munmap",
    // threads and waiting
    "clock_gettime",
    "clock_gettime64",
    "clock_nanosleep",
    "clock_nanosleep_time64",
    "exit",
    "exit_group",
    "futex",
    "futex_time64",
    "futex_waitv",
    "getpid",
    "gettid",
    "gettimeofday",
    "nanosleep",
    "restart_syscall",
    "rseq",
    "rt_sigaction",
    "rt_sigprocmask",
    "rt_sigreturn",
    "sched_getaffinity",
    "sched_yield",
    "set_robust_list",
    "sigaltstack",
    "getrandom",
};

/// Throws if libseccomp failed, which it reports as a negative errno.
void require(int result) {
    if (result < 0)
        throw result;
}

void allow(scmp_filter_ctx filter, const char* name, std::initializer_list<scmp_arg_cmp> where) {
    const int call = seccomp_syscall_resolve_name(name);
    if (call < 0) // this kind of machine has no such call
        return;
    require(seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call,
                                   static_cast<unsigned>(where.size()), where.begin()));
}

void add_rules(scmp_filter_ctx filter) {
    for (const char* name : allowed)
        allow(filter, name, {});
    for (const char* name : {"mmap", "mmap2", "mprotect"})
        allow(filter, name, {SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)});
    // Sequenced packets to the other end: a datagram socket could send to any other on the machine.
    constexpr scmp_datum_t socket_type = 0xf;
    allow(
        filter, "socketpair",
        {SCMP_A0(SCMP_CMP_EQ, AF_UNIX), SCMP_A1(SCMP_CMP_MASKED_EQ, socket_type, SOCK_SEQPACKET)});
    // F_SETOWN is not allowed: its signals could go to any process of the user.
    for (const int command : {F_GET_SEALS, F_ADD_SEALS, F_GETFD, F_SETFD, F_GETFL})
        for (const char* name : {"fcntl", "fcntl64"})
            allow(filter, name, {SCMP_A1(SCMP_CMP_EQ, static_cast<scmp_datum_t>(command))});
    // The option of a socket that decides whether descriptors may be sent to it.
    allow(filter, "setsockopt",
          {SCMP_A1(SCMP_CMP_EQ, SOL_SOCKET), SCMP_A2(SCMP_CMP_EQ, pass_rights)});
    allow(filter, "prctl", {SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME)});
    // A thread is allowed, a process is not. The flags of clone3() are in memory, which the filter
    // cannot read. So clone3() fails with ENOSYS, and the C library uses clone().
    allow(filter, "clone", {SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD)});
    if (const int clone3 = seccomp_syscall_resolve_name("clone3"); clone3 >= 0)
        require(seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), clone3, 0));
    // abort(), of this process only.
    allow(filter, "tgkill", {SCMP_A0(SCMP_CMP_EQ, static_cast<scmp_datum_t>(getpid()))});
}

} // namespace

std::string confine_server() {
    const std::unique_ptr<void, decltype(&seccomp_release)> filter(
        seccomp_init(SCMP_ACT_ERRNO(EPERM)), seccomp_release);
    if (!filter)
        return "no memory";
    try {
        require(seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_TSYNC, 1));
        add_rules(filter.get());
        require(seccomp_load(filter.get()));
    } catch (int error) {
        return std::strerror(-error);
    }
    return "";
}

} // namespace overtake::command

#endif
