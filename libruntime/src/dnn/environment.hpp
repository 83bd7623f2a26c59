// SPDX-License-Identifier: MIT
//
// The environment variables of the C interface (docs/start/board.md has them in a table).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dnn/log.hpp"
#include "overtake/engine.hpp"
#include "overtake/service.hpp"

struct ovt_setting;

namespace overtake::dnn {

struct Environment {
    EngineOptions engine;    ///< asks for priority 255 and for BPLAT_CORELIMIT
    std::string processors;  ///< as parse_processors() reads them; empty: one queue
    std::string times;       ///< files of overtake profile, with commas between them
    bool sets_queue = false; ///< a variable of the library queue's settings is set
    std::string device = "auto";
    bool names_device = false; ///< OVERTAKE_DEVICE is set
    EmbeddedOptions embedded;
    LogLevel log_level = LogLevel::warning;
    std::string plugin_path;        ///< empty = none
    std::string profile_path;       ///< directory for profiler.log; empty = none
    std::uint64_t memory_bytes = 0; ///< most bytes of hbSysAllocMem(); 0 = no limit

    /// In service mode: a setting that the environment sets and for which the device has its own
    /// number.
    struct Wish {
        const ovt_setting* setting;
        std::uint64_t value; ///< in the variable's unit
    };
    std::vector<Wish> wishes;
    std::vector<std::string> complaints; ///< one line for each value that was not used
};

/// Returns one line with the device's numbers that differ from those that the environment sets;
/// empty if none differs.
std::string differences(const Environment& environment, const ServiceSettings& settings);

/// `get` is getenv(), or a function of a test.
Environment read_environment(const std::function<const char*(const char*)>& get);

} // namespace overtake::dnn
