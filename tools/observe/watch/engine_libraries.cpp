// SPDX-License-Identifier: MIT
#include "observe/watch/engine_libraries.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "overtake/error.hpp"

namespace overtake::watch {

namespace {

namespace fs = std::filesystem;

using Inode = std::pair<dev_t, ino_t>;

/// The most inodes kept as left out. An inode that is taken later does not count as left out.
constexpr std::size_t most_left_out = 1u << 12;

/// Returns the user, besides root, whose files are trusted.
uid_t caller() {
    if (getuid() != 0)
        return getuid();
    const char* const sudo = std::getenv("SUDO_UID");
    char* end = nullptr;
    const unsigned long uid = sudo != nullptr ? std::strtoul(sudo, &end, 10) : 0;
    return end != nullptr && *end == '\0' ? static_cast<uid_t>(uid) : 0;
}

bool is_trusted(const struct stat& file) {
    if ((file.st_mode & S_IWOTH) != 0)
        return false;
    return file.st_uid == 0 ? (file.st_mode & S_IWGRP) == 0 || file.st_gid == 0
                            : file.st_uid == caller();
}

/// Returns the numbers of this namespace's mounts, without FUSE: no other mount has one of them.
std::set<std::uint64_t> own_mounts() {
    std::set<std::uint64_t> mounts;
    std::ifstream file("/proc/self/mountinfo");
    std::string line;
    while (std::getline(file, line)) {
        // A user's daemon answers for the files of FUSE and may name any owner.
        const std::size_t type = line.find(" - ");
        if (type == std::string::npos || !line.substr(type + 3).starts_with("fuse"))
            mounts.insert(std::strtoull(line.c_str(), nullptr, 10));
    }
    return mounts;
}

/// A line of /proc/PID/maps.
struct Mapping {
    std::string range; ///< its name in map_files
    std::string file;  ///< device and inode
};

std::optional<Mapping> library_mapping(std::string_view line) {
    const std::size_t name = line.rfind('/');
    if (name == std::string_view::npos || !line.substr(name).starts_with("/libovertake.so"))
        return std::nullopt;
    // Range, permissions, offset, device, inode, path.
    const auto field_end = [&](std::size_t from) { return line.find(' ', from); };
    const std::size_t range_end = field_end(0);
    const std::size_t device = field_end(field_end(range_end + 1) + 1) + 1;
    const std::size_t inode_end = field_end(field_end(device) + 1);
    return Mapping{std::string(line.substr(0, range_end)),
                   std::string(line.substr(device, inode_end - device))};
}

class Search {
public:
    void take_named(const std::string& path) {
        Descriptor file(open(path.c_str(), O_PATH | O_CLOEXEC));
        struct stat is {};
        if (!file || fstat(file.get(), &is) != 0)
            throw Error(errno, fmt::format("--library {}: {}", path, std::strerror(errno)));
        if (!S_ISREG(is.st_mode))
            throw Error(EINVAL, fmt::format("--library {}: is no file", path));
        take({is.st_dev, is.st_ino}, std::move(file));
    }

    /// A library that this process itself runs need not be trusted any more.
    void look_at(const fs::path& process, bool is_own) {
        std::ifstream maps(process / "maps");
        std::set<std::string> seen;
        std::string line;
        while (std::getline(maps, line)) {
            const std::optional<Mapping> mapping = library_mapping(line);
            if (!mapping || seen.contains(mapping->file))
                continue;
            if (seen.size() == EngineLibraries::most_of_process) {
                too_many_++;
                return;
            }
            seen.insert(mapping->file);
            const std::string path = process / "map_files" / mapping->range;
            Descriptor file(open(path.c_str(), O_PATH | O_CLOEXEC));
            if (file && !is_own && !is_here(file.get())) {
                foreign_mounts_++;
                continue;
            }
            struct stat is {};
            if (file && fstat(file.get(), &is) == 0 && S_ISREG(is.st_mode))
                look_at({is.st_dev, is.st_ino}, std::move(file), is, is_own);
        }
    }

    EngineLibraries result() {
        EngineLibraries libraries;
        for (const auto& [inode, why] : left_out_)
            if (!taken_.contains(inode))
                libraries.left_out.add(why);
        libraries.left_out.add(LeftOut::foreign_mount, foreign_mounts_);
        libraries.left_out.add(LeftOut::too_many, too_many_);
        libraries.files = std::move(files_);
        return libraries;
    }

private:
    void look_at(Inode inode, Descriptor file, const struct stat& is, bool is_own) {
        if (taken_.contains(inode))
            return;
        if (is_own)
            take(inode, std::move(file));
        else if (!is_trusted(is))
            leave_out(inode, LeftOut::foreign_owner);
        else if (taken_.size() >= EngineLibraries::most_libraries)
            leave_out(inode, LeftOut::too_many);
        else
            take(inode, std::move(file));
    }

    void take(Inode inode, Descriptor file) {
        if (taken_.insert(inode).second)
            files_.push_back(std::move(file));
    }

    /// Whether the file is on a mount of this namespace. The process's namespace does not matter: a
    /// process can get a descriptor from another namespace.
    bool is_here(int file) const {
        struct statx is {};
        return statx(file, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &is) == 0 &&
               (is.stx_mask & STATX_MNT_ID) != 0 && own_mounts_.contains(is.stx_mnt_id);
    }

    void leave_out(Inode inode, LeftOut why) {
        if (left_out_.size() < most_left_out)
            left_out_.try_emplace(inode, why);
        else if (!left_out_.contains(inode))
            too_many_++;
    }

    const std::set<std::uint64_t> own_mounts_ = own_mounts();
    std::set<Inode> taken_;
    /// Descriptors of the taken inodes; this process's own and the named libraries come first.
    std::vector<Descriptor> files_;
    std::map<Inode, LeftOut> left_out_;
    std::uint64_t foreign_mounts_ = 0; ///< mappings whose files are not looked at further
    std::uint64_t too_many_ = 0;
};

} // namespace

std::string LibrariesLeftOut::text() const {
    const std::array<std::string, left_out_count> reasons{
        "in other mount namespaces",
        "of other users",
        fmt::format("above the limit of {} ({} of a process)", EngineLibraries::most_libraries,
                    EngineLibraries::most_of_process),
        "above the limit of open files (ulimit -n)",
        "without probes",
    };
    std::uint64_t all = 0;
    std::string each;
    for (std::size_t why = 0; why < left_out_count; why++) {
        all += counts_[why];
        if (counts_[why] != 0)
            each += fmt::format("{}{} {}", each.empty() ? "" : ", ", counts_[why], reasons[why]);
    }
    if (all == 0)
        return "";
    return fmt::format("the tasks of engines in {} more librar{} are not shown: {}; --library FILE "
                       "names one that is to be read",
                       all, all == 1 ? "y" : "ies", each);
}

EngineLibraries find_engine_libraries(const std::vector<std::string>& named) {
    Search search;
    search.look_at("/proc/self", true);
    for (const std::string& path : named)
        search.take_named(path);
    std::error_code ignored;
    for (const auto& process : fs::directory_iterator("/proc", ignored))
        if (process.path().filename().string().find_first_not_of("0123456789") == std::string::npos)
            search.look_at(process.path(), false);
    return search.result();
}

} // namespace overtake::watch
