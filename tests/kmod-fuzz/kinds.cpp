// SPDX-License-Identifier: MIT
#include "kinds.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace overtake::fuzz {

namespace {

// In the order of Kind. The calls are mutated: wrong descriptors, sizes and pointers have errors of
// their own (is_documented). Every call may return EINTR, as a signal may come at any time.
constexpr KindInfo kinds[kind_count] = {
    {"open", false, "ENODEV ENOENT ENOMEM"},
    {"close", false, ""},
    {"dup", false, ""},
    {"QUERY", true, "EINVAL"},
    {"BO_CREATE", true, "EINVAL E2BIG ENOSPC ENOMEM"},
    {"BO_MMAP_OFFSET", true, "EINVAL ENOENT"},
    {"BO_MAP", true, "EINVAL ENOENT EEXIST EACCES ENOMEM ENOSPC"},
    {"BO_UNMAP", true, "ENOENT"},
    {"BO_WAIT", true, "EINVAL ENOENT ETIMEDOUT ENOMEM"},
    {"CONTEXT_CREATE", true, "EINVAL ENOSPC EPERM ENOMEM"},
    {"CONTEXT_DESTROY", true, "EINVAL ENOENT ENOSPC"},
    {"SUBMIT", true, "EINVAL E2BIG ENOENT EPERM EACCES EEXIST ENOSPC ENOMEM ECANCELED ESHUTDOWN"},
    {"CANCEL", true, "EINVAL ENOENT"},
    {"WAIT", true, "EINVAL ENOENT ENOSPC ETIMEDOUT"},
    {"TASK_SUBMIT", true, "EINVAL E2BIG ENOENT EPERM EACCES EEXIST ENOSPC ENOMEM ESHUTDOWN"},
    {"TASK_EVENTS", false, "EINVAL ENOENT ENOSPC ETIMEDOUT"},
    {"TASK_CPU_DONE", false, "EINVAL ENOENT"},
    {"TASK_CANCEL", false, "EINVAL ENOENT"},
    {"RECORD", true, "EINVAL E2BIG ENOENT EACCES ENOSPC ENOMEM"},
    {"REPLAY", true,
     "EINVAL E2BIG ENOENT EPERM EACCES EEXIST ENOSPC ENOMEM ECANCELED ESHUTDOWN EBUSY"},
    {"FORGET", false, "ENOENT"},
    {"GEM_CLOSE", true, "EINVAL ENOENT"},
    {"PRIME_HANDLE_TO_FD", true, "EINVAL ENOENT ENOSYS EOPNOTSUPP ENOMEM"},
    {"PRIME_FD_TO_HANDLE", true, "EINVAL E2BIG ENOENT ENOSYS EOPNOTSUPP ENOMEM ENOSPC"},
    {"dma-buf", false, "*"},
    {"SYNCOBJ_CREATE", false, "EINVAL EOPNOTSUPP ENOMEM"},
    {"SYNCOBJ_DESTROY", false, "EINVAL EOPNOTSUPP ENOENT"},
    {"SYNCOBJ_HANDLE_TO_FD", false, "EINVAL EOPNOTSUPP ENOENT ENOMEM"},
    {"SYNCOBJ_FD_TO_HANDLE", false, "EINVAL EOPNOTSUPP ENOENT EBADF ENOMEM"},
    {"SYNCOBJ_WAIT", false, "EINVAL EOPNOTSUPP ENOENT ETIME ENOMEM"},
    {"SYNCOBJ_RESET", false, "EINVAL EOPNOTSUPP ENOENT ENOMEM"},
    {"SYNCOBJ_SIGNAL", false, "EINVAL EOPNOTSUPP ENOENT ENOMEM"},
    {"SYNCOBJ_TIMELINE_WAIT", false, "EINVAL EOPNOTSUPP ENOENT ETIME ENOMEM"},
    {"SYNCOBJ_QUERY", false, "EINVAL EOPNOTSUPP ENOENT ENOMEM"},
    {"SYNCOBJ_TRANSFER", false, "EINVAL EOPNOTSUPP ENOENT ETIME ENOMEM"},
    {"SYNCOBJ_TIMELINE_SIGNAL", false, "EINVAL EOPNOTSUPP ENOENT ENOMEM"},
    {"mmap", true, "EINVAL EACCES ENOMEM ENODEV EOVERFLOW EPERM"},
    {"munmap", false, ""},
    {"poll", false, "EINVAL EAGAIN"},
    {"io_uring_setup", false, "EINVAL ENOMEM"},
    {"io_uring SUBMIT", true,
     "EINVAL E2BIG ENOENT EPERM EACCES EEXIST ENOSPC ENOMEM ECANCELED ENOEXEC ETIMEDOUT ETIME EIO "
     "EOPNOTSUPP"},
    {"io_uring CANCEL", true, "EINVAL ENOENT EOPNOTSUPP ECANCELED"},
    {"io_uring TASK", false,
     "EINVAL E2BIG ENOENT EPERM EACCES EEXIST ENOSPC ENOMEM ECANCELED ENOEXEC ETIMEDOUT ETIME EIO "
     "EOPNOTSUPP ESHUTDOWN"},
    {"io_uring REPLAY", true,
     "EINVAL E2BIG ENOENT EPERM EACCES EEXIST ENOSPC ENOMEM ECANCELED ENOEXEC ETIMEDOUT ETIME EIO "
     "EOPNOTSUPP ESHUTDOWN EBUSY"},
    {"io_uring ASYNC_CANCEL", false, "EINVAL ENOENT EALREADY ECANCELED"},
    {"io_uring reap", false, "EBUSY EAGAIN EEXIST"},
    {"fdinfo", false, "ENOENT"},
    {"any DRM ioctl", false, "*"},
    {"scribble", false, ""},
    {"fork", false, "EAGAIN ENOMEM"},
    {"kill", false, "ESRCH"},
    {"signal", false, "ESRCH"},
    {"fault on demand", false, ""},
};

} // namespace

const KindInfo& info(Kind kind) {
    return kinds[static_cast<std::size_t>(kind)];
}

static bool contains_word(std::string_view words, std::string_view word) {
    while (!words.empty()) {
        const std::size_t end = std::min(words.find(' '), words.size());
        if (words.substr(0, end) == word)
            return true;
        words.remove_prefix(std::min(end + 1, words.size()));
    }
    return false;
}

bool is_documented(Kind kind, int error) {
    // A wrong descriptor, size or pointer; a device that is being taken away; a signal.
    constexpr std::string_view always = "EINTR EFAULT EBADF ENOTTY ENODEV";
    const std::string_view errors = info(kind).errors;
    const char* name = strerrorname_np(error);
    if (errors == "*")
        return true;
    return name && (contains_word(always, name) || contains_word(errors, name));
}

} // namespace overtake::fuzz
