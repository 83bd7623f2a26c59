// SPDX-License-Identifier: MIT
//
// The libraries whose probes are read: only those with which no other user can impede a watcher.
//
// A watcher runs as root. Any user can map any file under any name, and in a mount namespace of
// their own even files of that namespace's root. Each library that is read costs descriptors, and
// each probe in it is a breakpoint in all processes that run it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "file_descriptor.hpp"

namespace overtake::watch {

/// The reason why a library is left out.
enum class LeftOut : std::uint8_t {
    foreign_mount,  ///< its file is in another mount namespace
    foreign_owner,  ///< a user other than root and the caller owns its file or may write to it
    too_many,       ///< there are more than most_libraries
    no_descriptors, ///< the limit of open files is reached
    no_probes,      ///< it has no probes that can be attached
};
inline constexpr std::size_t left_out_count = static_cast<std::size_t>(LeftOut::no_probes) + 1;

/// Counts the libraries that were left out, by reason.
class LibrariesLeftOut {
public:
    void add(LeftOut why, std::uint64_t count = 1) {
        counts_[static_cast<std::size_t>(why)] += count;
    }
    std::uint64_t count(LeftOut why) const { return counts_[static_cast<std::size_t>(why)]; }
    /// Returns one line, which has no text that other users choose; empty: no library was left out.
    std::string text() const;

private:
    std::array<std::uint64_t, left_out_count> counts_{};
};

struct EngineLibraries {
    static constexpr std::size_t most_libraries = 32;
    /// The most different libraries that are looked at in one process.
    static constexpr std::size_t most_of_process = 64;

    /// A descriptor refers to the file that was looked at, even if the process ends or the file's
    /// name changes.
    std::vector<Descriptor> files{};
    LibrariesLeftOut left_out{};
};

/// Returns this process's own library, the libraries `named` (paths), and those that processes have
/// mapped now. A mapped library is returned only if root or the user that called this command
/// (through sudo, too) owns it, other users may not write to it, and it is in this mount namespace.
/// Throws Error if a named library cannot be opened.
EngineLibraries find_engine_libraries(const std::vector<std::string>& named = {});

} // namespace overtake::watch
