// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "scheduler/case.hpp"

namespace overtake::fuzz {

/// Returns whether a record has changed since it was released.
template <class Record>
bool touched(const Record& record, const Record& as_released) {
    return std::memcmp(&record, &as_released, sizeof(record)) != 0;
}

/// A job as its host holds it. Jobs of a case keep their own memory to the end, so that a write
/// after the firmware has released the job is seen.
struct Job {
    static constexpr std::uint32_t no_task = ~0u;

    ovt_fw_job device = {}; ///< first: an ovt_fw_job* is a Job*
    std::uint32_t number = 0;
    std::uint32_t task = no_task;
    const Segment* segment = nullptr;
    std::vector<ovt_fc> fcs;
    bool cancel_queued = false;
    bool ended = false;           ///< ENDED was seen
    bool cancel_answered = false; ///< CANCELLED was seen
    ovt_fw_job as_released = {};  ///< copy of `device` at its release

    static Job& of(ovt_fw_job* device) { return *reinterpret_cast<Job*>(device); }
    bool released() const { return ended && (!cancel_queued || cancel_answered); }
};

} // namespace overtake::fuzz
