// SPDX-License-Identifier: MIT
//
// The picture of overtake top, as lines of text.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "observe/watch/activity.hpp"
#include "observe/watch/processor_table.hpp"

namespace overtake::command {

enum class TopOrder { utilisation, pid, waiting, latency };

struct TopView {
    TopOrder order = TopOrder::utilisation;
    bool high_only = false;            ///< processes that ran HIGH FCs
    std::string words;                 ///< that are in the name of those shown; empty: all
    std::vector<std::string> profiles; ///< by core; empty where cores are alike
};

/// Lines of at most `width` characters, `height` at most; 0: no bound.  `processors`: of engines
/// with several; of processes whose name is wanted.
std::vector<std::string> top_lines(const watch::Snapshot& snapshot, const TopView& view,
                                   const std::string& head, std::size_t width, std::size_t height,
                                   const std::vector<watch::ProcessorRow>& processors = {});

nlohmann::ordered_json to_json(const watch::Snapshot& snapshot, const TopView& view);
nlohmann::ordered_json to_json(const std::vector<watch::ProcessorRow>& processors,
                               const TopView& view);

} // namespace overtake::command
