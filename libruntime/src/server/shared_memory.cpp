// SPDX-License-Identifier: MIT
#include "server/shared_memory.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <linux/magic.h>
#include <map>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "embedded/memory.hpp"
#include "overtake/error.hpp"

namespace overtake::server {

namespace {

constexpr unsigned seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
/// With one of these seals no process could return pages to the system.
constexpr unsigned write_seals = F_SEAL_WRITE | F_SEAL_FUTURE_WRITE;

[[noreturn]] void fail_to_share(const char* what) {
    const int code = errno;
    throw Error(code, fmt::format("shared memory: {}: {}", what, std::strerror(code)));
}

std::size_t page_bytes() {
    static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

/// The addresses that are guarded.  A signal handler reads them, so the lock spins.  No thread
/// touches guarded memory while it holds the lock.
class Guard {
public:
    void add(const std::byte* begin, std::size_t bytes) {
        const Lock lock(busy_);
        ranges_[address(begin)] = bytes;
    }
    void remove(const std::byte* begin) noexcept {
        const Lock lock(busy_);
        ranges_.erase(address(begin));
    }
    bool holds(const void* where) noexcept {
        const Lock lock(busy_);
        auto range = ranges_.upper_bound(address(where));
        if (range == ranges_.begin())
            return false;
        --range;
        return address(where) - range->first < range->second;
    }

private:
    struct Lock {
        explicit Lock(std::atomic_flag& flag) : busy(flag) {
            while (busy.test_and_set(std::memory_order_acquire)) {
            }
        }
        ~Lock() { busy.clear(std::memory_order_release); }
        std::atomic_flag& busy;
    };

    static std::uintptr_t address(const void* pointer) {
        return reinterpret_cast<std::uintptr_t>(pointer);
    }

    std::atomic_flag busy_;
    std::map<std::uintptr_t, std::size_t> ranges_;
};

/// Never destroyed: a core may run when the program ends.
Guard& guard() {
    static Guard& all = *new Guard;
    return all;
}

struct sigaction former_action;

void take_bus_error(int number, siginfo_t* info, void*) {
    const auto where = reinterpret_cast<std::uintptr_t>(info->si_addr);
    void* const page = reinterpret_cast<void*>(where / page_bytes() * page_bytes());
    const int saved = errno;
    if (guard().holds(info->si_addr) &&
        mmap(page, page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
             -1, 0) != MAP_FAILED) {
        errno = saved;
        return;
    }
    // The address is not guarded, or no page can be had for it: the instruction runs again, with
    // the former handler.
    sigaction(number, &former_action, nullptr);
    errno = saved;
}

} // namespace

Descriptor make_shared_memory(const char* name, std::size_t bytes) {
    Descriptor memory(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!memory)
        fail_to_share("memfd_create");
    if (ftruncate(memory.get(), static_cast<off_t>(bytes)) != 0)
        fail_to_share("ftruncate");
    if (fcntl(memory.get(), F_ADD_SEALS, seals) != 0)
        fail_to_share("F_ADD_SEALS");
    return memory;
}

Mapping::Mapping(int fd, std::size_t bytes) : bytes_(bytes) {
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        fail_to_share("mmap");
    data_ = static_cast<std::byte*>(memory);
}

Mapping::~Mapping() {
    if (data_)
        munmap(data_, bytes_);
}

std::size_t sealed_bytes(int fd) {
    const auto refuse = [](const char* what) {
        throw Error(EINVAL, fmt::format("create buffer: {}", what));
    };
    const int present = fcntl(fd, F_GET_SEALS);
    if (present < 0)
        refuse("what was sent is no memory file (memfd_create() with MFD_ALLOW_SEALING)");
    if ((static_cast<unsigned>(present) & seals) != seals)
        refuse("the memory is not sealed against shrinking, growing and more seals (F_ADD_SEALS)");
    if ((static_cast<unsigned>(present) & write_seals) != 0)
        refuse("the memory is sealed against writing (F_SEAL_WRITE, F_SEAL_FUTURE_WRITE)");
    struct statfs filesystem {};
    struct stat file {};
    if (fstatfs(fd, &filesystem) != 0 || fstat(fd, &file) != 0)
        refuse("the memory cannot be looked at");
    if (filesystem.f_type != TMPFS_MAGIC)
        refuse("the memory is not of usual pages (MFD_HUGETLB)");
    const auto bytes = static_cast<std::size_t>(file.st_size);
    if (bytes % page_bytes() != 0)
        refuse("the memory is not of whole pages");
    return bytes;
}

/// A file that has guarded mappings.
struct GuardedMapping::File {
    using Key = std::pair<dev_t, ino_t>;

    explicit File(Key key) : key(key) {}

    static std::shared_ptr<File> find(int fd);

    const Key key;
    std::mutex mutex; ///< held while pages are added or removed
    std::size_t mappings = 0;
};

namespace {

class Files {
public:
    std::shared_ptr<GuardedMapping::File> find(GuardedMapping::File::Key key) {
        const std::lock_guard lock(mutex_);
        std::weak_ptr<GuardedMapping::File>& known = files_[key];
        std::shared_ptr<GuardedMapping::File> file = known.lock();
        if (!file)
            known = file = std::make_shared<GuardedMapping::File>(key);
        return file;
    }
    void forget(std::shared_ptr<GuardedMapping::File> file) noexcept {
        const std::lock_guard lock(mutex_);
        const GuardedMapping::File::Key key = file->key;
        file.reset(); // no other thread finds the file while this is locked
        const auto known = files_.find(key);
        if (known != files_.end() && known->second.expired())
            files_.erase(known);
    }

private:
    std::mutex mutex_;
    std::map<GuardedMapping::File::Key, std::weak_ptr<GuardedMapping::File>> files_;
};

/// Never destroyed, like guard().
Files& files() {
    static Files& all = *new Files;
    return all;
}

void allocate_pages(int fd, std::size_t bytes) {
    int result;
    do
        result = fallocate(fd, 0, 0, static_cast<off_t>(bytes));
    while (result != 0 && errno == EINTR);
    if (result != 0)
        throw Error(ENOMEM, fmt::format("create buffer: no memory for {} bytes: {}", bytes,
                                        std::strerror(errno)));
}

} // namespace

std::shared_ptr<GuardedMapping::File> GuardedMapping::File::find(int fd) {
    struct stat file {};
    if (fstat(fd, &file) != 0)
        fail_to_share("fstat");
    return files().find({file.st_dev, file.st_ino});
}

GuardedMapping::GuardedMapping(int fd, std::size_t bytes,
                               std::shared_ptr<const std::atomic<bool>> keep)
    : keep_(std::move(keep)), file_(File::find(fd)) {
    try {
        const std::lock_guard lock(file_->mutex);
        allocate_pages(fd, bytes);
        mapping_ = Mapping(fd, bytes);
        guard().add(mapping_.data(), bytes);
        file_->mappings++;
    } catch (...) {
        files().forget(std::move(file_));
        throw;
    }
}

/// The end of a file's last mapping removes the pages from the file, unless `keep` is true; until
/// then they are charged to this process.  To remove pages, the kernel looks at every mapping of
/// the file, so this is done once for a file, not once for each mapping.
GuardedMapping::~GuardedMapping() {
    {
        const std::lock_guard lock(file_->mutex);
        const bool is_last = --file_->mappings == 0;
        in_slices(mapping_.data(), mapping_.bytes(), [&](std::byte* at, std::size_t bytes) {
            madvise(at, bytes, is_last && (!keep_ || !*keep_) ? MADV_REMOVE : MADV_DONTNEED);
        });
        guard().remove(mapping_.data());
        mapping_ = Mapping();
    }
    files().forget(std::move(file_));
}

void guard_mappings() {
    static std::once_flag once;
    std::call_once(once, [] {
        guard();
        struct sigaction action {};
        action.sa_sigaction = take_bus_error;
        action.sa_flags = SA_SIGINFO;
        sigemptyset(&action.sa_mask);
        sigaction(SIGBUS, &action, &former_action);
    });
}

} // namespace overtake::server
