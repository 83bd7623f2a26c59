// SPDX-License-Identifier: MIT
//
// SegmentWork: the work of a task's segments.  A session, or the scheduler of an engine, decides
// when it is done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "overtake/device.hpp"

namespace overtake {

/// A part of a task: segments, numbered from 0.  One thread at a time.
class SegmentWork {
public:
    virtual ~SegmentWork() = default;
    /// Fills in FCs, bindings and scratch of a BPU segment, which live as long as this object.
    virtual void describe(std::size_t segment, Job& job) const = 0;
    /// Fills in a BPU segment that the plan has in parts for several cores, as a group.  Part i
    /// names cores[i]; if `cores` is empty, the plan's core.
    virtual void describe_group(std::size_t segment, std::span<const unsigned> cores, Job& job);
    /// Device time that the executed FCs of its last group take on cores without other work.
    virtual std::uint64_t alone_ns() const;
    /// The number of bindings of a BPU segment, from the first, that are the same in each task as
    /// long as owner() lives; so are its FCs.  0: the segment cannot be recorded.
    virtual std::size_t fixed_bindings(std::size_t segment) const;
    virtual std::shared_ptr<const void> owner() const;
    /// The segment's name in messages.
    virtual std::string name_of(std::size_t segment) const;
    /// Computes a CPU segment.  Returns 0 or a negative errno.  May throw Error.
    virtual std::int32_t compute(std::size_t segment) = 0;

protected:
    SegmentWork() = default;
    SegmentWork(const SegmentWork&) = delete;
    SegmentWork& operator=(const SegmentWork&) = delete;
};

} // namespace overtake
