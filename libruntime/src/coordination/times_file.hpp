// SPDX-License-Identifier: MIT
//
// TimesFile: the times that runs of a model took on the processors of an engine, as `overtake
// profile` writes them (docs/man/overtake-profile.1 has the format).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "overtake/model.hpp"

namespace overtake::coordination {

struct TimesFile {
    /// The time that runs of some neighbouring units took.
    struct Piece {
        std::uint64_t units; ///< one bit each
        std::uint64_t time_ns;
    };
    /// A class of processors.
    struct Class {
        std::string name;
        std::string kind;    ///< cores, workers or own
        std::string device;  ///< of cores: embedded, kernel or server
        std::string mode;    ///< of cores
        std::string profile; ///< of cores: the name of their profile
        std::string digest;  ///< of cores: a digest of the profile's numbers
        std::vector<Piece> pieces;
        bool are_cores() const noexcept { return kind == "cores"; }
    };

    std::string name; ///< the name of the file, for messages
    std::string model;
    std::string model_digest;
    std::string host; ///< the host's CPU
    std::vector<Class> classes;
};

/// Returns the FNV-1a digest of the bytes.
std::uint64_t digest_of(std::span<const std::byte> bytes,
                        std::uint64_t before = 0xcbf29ce484222325u) noexcept;
std::string hexadecimal(std::uint64_t digest);
/// Returns a digest of the properties on which a model's run times depend: its name, program,
/// classes and units.
std::string digest_of(const Model& model);
/// Returns the name of this machine's CPU, or the machine's architecture where that is unknown.
std::string host_cpu();

/// Throws Error EINVAL: "NAME: PLACE: what is wrong and what to do".
TimesFile parse_times(const std::string& text, const std::string& name);
std::string text_of(const TimesFile& times);

} // namespace overtake::coordination
