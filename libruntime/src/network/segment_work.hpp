// SPDX-License-Identifier: MIT
//
// What the segments of a task do; a session, or the scheduler of an engine, decides when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "overtake/device.hpp"

namespace overtake {

/// A part of a task: segments that are numbered from 0 on.  One thread at a time.
class SegmentWork {
public:
    virtual ~SegmentWork() = default;
    /// Of a BPU segment: fills in FCs, bindings and scratch, which live as long as this.
    virtual void describe(std::size_t segment, Job& job) const = 0;
    /// Of a BPU segment that the plan has in parts for several cores: the same, as a group.  Part i
    /// names cores[i]; if that is empty, what the plan says.
    virtual void describe_group(std::size_t segment, std::span<const unsigned> cores, Job& job);
    /// Device time that what was executed of its last group takes on cores without other work.
    virtual std::uint64_t alone_ns() const;
    /// Of a BPU segment: how many of its bindings, from the first, are the same in each task as
    /// long as owner() lives; so are its FCs.  0: it cannot be recorded.
    virtual std::size_t fixed_bindings(std::size_t segment) const;
    virtual std::shared_ptr<const void> owner() const;
    /// For messages.
    virtual std::string name_of(std::size_t segment) const;
    /// Of a CPU segment: 0, or a negative errno.  May throw Error.
    virtual std::int32_t compute(std::size_t segment) = 0;

protected:
    SegmentWork() = default;
    SegmentWork(const SegmentWork&) = delete;
    SegmentWork& operator=(const SegmentWork&) = delete;
};

} // namespace overtake
