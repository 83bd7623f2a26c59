// SPDX-License-Identifier: MIT
//
// Which libraries' probes are read: those that no other user can put in a watcher's way.
//
// A watcher runs as root, and any user can map any file under any name: in a mount namespace of
// their own even root's files.  Each library that is read costs descriptors, and each probe in it is
// a breakpoint in all processes that run it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "file_descriptor.hpp"

namespace overtake::watch {

/// Why a library is left out.
enum class LeftOut : std::uint8_t {
    foreign_mount,  ///< its file is in another mount namespace
    foreign_owner,  ///< others than root and the caller of this command may write to it
    too_many,       ///< above most_libraries
    no_descriptors, ///< above the limit of open files
    no_probes,      ///< it has none that can be attached to
};
inline constexpr std::size_t left_out_count = static_cast<std::size_t>(LeftOut::no_probes) + 1;

/// How many libraries were left out, and why.
class LibrariesLeftOut {
public:
    void add(LeftOut why, std::uint64_t count = 1) {
        counts_[static_cast<std::size_t>(why)] += count;
    }
    std::uint64_t count(LeftOut why) const { return counts_[static_cast<std::size_t>(why)]; }
    /// One line, of which no part is chosen by others; empty: none was left out.
    std::string text() const;

private:
    std::array<std::uint64_t, left_out_count> counts_{};
};

struct EngineLibraries {
    static constexpr std::size_t most_libraries = 32;
    /// Different ones that are looked at in one process.
    static constexpr std::size_t most_of_process = 64;

    /// What is open stays the file that was looked at, whatever becomes of the process and names.
    std::vector<Descriptor> files{};
    LibrariesLeftOut left_out{};
};

/// This process's own library, those `named` (paths), and those that processes have mapped now, if
/// root or the user that called this command (through sudo, too) owns them, in this mount
/// namespace. Throws Error if one that is named cannot be opened.
EngineLibraries find_engine_libraries(const std::vector<std::string>& named = {});

} // namespace overtake::watch
