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
    bool high_only = false; ///< only processes that ran HIGH FCs
    /// Only processes that have this text in their names; empty: all.
    std::string words;
    std::vector<std::string> profiles; ///< by core; empty: all cores have the same
};

/// Returns at most `height` lines of at most `width` characters; 0: no bound. `processors` are
/// those of engines with several; only those of processes whose name is wanted are shown.
std::vector<std::string> top_lines(const watch::Snapshot& snapshot, const TopView& view,
                                   const std::string& head, std::size_t width, std::size_t height,
                                   const std::vector<watch::ProcessorRow>& processors = {});

nlohmann::ordered_json to_json(const watch::Snapshot& snapshot, const TopView& view);
nlohmann::ordered_json to_json(const std::vector<watch::ProcessorRow>& processors,
                               const TopView& view);

} // namespace overtake::command
