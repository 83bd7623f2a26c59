// SPDX-License-Identifier: MIT
//
// Jobs and cores of a random run with groups by the contract, and the FC that a core starts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <vector>

#include "scheduler/case.hpp"
#include "scheduler/violation.hpp"

namespace overtake::fuzz {

struct GroupPart {
    std::vector<Fc> kinds;
    std::vector<ovt_fc> fcs;
    std::vector<std::uint32_t> stages;
    std::uint32_t core = 0; ///< once it has arrived
    std::uint32_t next = 0;
};

struct GroupJob {
    ovt_fw_job device = {}; ///< first: an ovt_fw_job* is a GroupJob*
    ovt_fw_group group = {};
    std::vector<ovt_fw_part> device_parts;
    std::vector<std::uint32_t> stage_fcs;
    std::vector<GroupPart> parts;

    std::uint64_t sequence = 0;                      ///< of arrival; 0: it has not arrived
    std::vector<std::uint32_t> left;                 ///< FCs of each stage that have not ended
    std::vector<std::set<std::size_t>> in_stage;     ///< parts with FCs in each
    std::vector<std::vector<std::uint64_t>> open_at; ///< each stage, for each part
    std::uint32_t unfinished = 0;
    std::uint32_t running = 0;
    std::uint32_t fault = 0;
    bool withdrawn = false;
    bool cancelled = false; ///< CANCEL was queued
    bool cancel_answered = false;
    bool ended = false;

    bool high() const { return device.priority == OVT_PRIORITY_HIGH; }
    bool holds(std::size_t part, std::uint32_t fc, std::uint64_t time) const {
        return open_at[parts[part].stages[fc]][part] > time;
    }
};

struct WaitingFc {
    GroupJob* job = nullptr;
    std::size_t part = 0;
    std::uint32_t fc = 0;

    bool operator==(const WaitingFc&) const = default;
    bool held(std::uint64_t time) const { return job->holds(part, fc, time); }
    const Fc& kind() const { return job->parts[part].kinds[fc]; }
};

struct GroupCore {
    std::deque<WaitingFc> high;
    std::deque<WaitingFc> normal;
    std::deque<WaitingFc> batch;
    std::optional<WaitingFc> running;
    std::uint32_t abort = 0;       ///< fault that stops the running FC
    std::uint64_t executed_at = 0; ///< mode functional: when the host has executed the FC
    std::uint64_t limit = 0;
    std::uint64_t limit_active = 0;
    std::uint64_t floor = 0;
    std::uint64_t overtook = 0;
};

/// Returns the first ready FC of NORMAL.
inline std::optional<WaitingFc> next_ready_normal(const GroupCore& core, std::uint64_t time) {
    const auto found =
        std::ranges::find_if(core.normal, [&](const WaitingFc& fc) { return !fc.held(time); });
    return found == core.normal.end() ? std::nullopt : std::optional(*found);
}

/// Returns the FC that starts by the contract. On a fair device, only the presence of a result
/// counts.
inline std::optional<WaitingFc> group_choice(GroupCore& core, std::uint64_t time) {
    if (!core.batch.empty())
        return core.batch.front();
    core.limit_active = core.limit;
    const std::optional<WaitingFc> normal = next_ready_normal(core, time);
    const bool any_high = !core.high.empty();
    const bool high_ready = any_high && !core.high.front().held(time);
    if (core.limit_active == 0) {
        if (high_ready && (!normal || core.high.front().job->sequence < normal->job->sequence))
            return core.high.front();
        return normal;
    }
    if (any_high && normal && core.floor != 0 && core.overtook >= core.floor)
        return normal;
    if (any_high)
        return high_ready ? std::optional(core.high.front()) : std::nullopt;
    return normal;
}

/// Commits a batch, if no FC of NORMAL is held.
inline void commit_group_batch(GroupCore& core, std::uint64_t time) {
    const auto held = [&](const WaitingFc& fc) { return fc.held(time); };
    if (core.limit_active == 0 || !core.high.empty() || !core.batch.empty() ||
        std::ranges::any_of(core.normal, held))
        return;
    while (core.batch.size() < core.limit_active && !core.normal.empty()) {
        core.batch.push_back(core.normal.front());
        core.normal.pop_front();
    }
}

/// Checks the firmware when all jobs have ended.
inline void check_nothing_left(const ovt_fw& fw, const std::vector<ovt_fw_core>& states) {
    for (const ovt_fw_core& state : states)
        if (state.unfinished != 0 || state.submitted != 0 || state.held != 0 ||
            state.deferred != 0 || state.resting != 0 || state.running != nullptr ||
            state.waiting[0] != 0 || state.waiting[1] != 0 || state.last_normal != nullptr ||
            !ovt_tree_empty(&state.ready) || !ovt_list_empty(&state.circle) ||
            !ovt_list_empty(&state.parts[0]) || !ovt_list_empty(&state.parts[1]))
            violate("core {} has something left in the end", &state - states.data() + 1);
    if (!ovt_list_empty(&fw.openings))
        violate("a stage would open in the end");
    if (fw.commands_reserved != 0)
        violate("{} slots of the command queue are left", fw.commands_reserved);
}

} // namespace overtake::fuzz
