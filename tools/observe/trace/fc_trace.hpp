// SPDX-License-Identifier: MIT
//
// FcTrace: records the driver's FC events through an instance of tracefs (root only).
//
// Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <string>

#include "observe/timeline/timeline.hpp"

namespace overtake::trace {

/// Names for processes whose FCs are seen; other processes are called "pid N".
using Names = std::map<unsigned, std::string>;

/// Parses the text that tracefs prints of the events fc_done and fc_preempt. Returns FCs by start,
/// then core, and preemptions. Other lines are skipped. Throws Error for an event that lacks a
/// field.
timeline::Timeline parse(std::istream& text, const Names& names);

class FcTrace {
public:
    FcTrace();
    /// Removes the instance.
    ~FcTrace();
    FcTrace(const FcTrace&) = delete;
    FcTrace& operator=(const FcTrace&) = delete;

    /// Returns whether the driver is loaded and its events can be read; otherwise reason() returns
    /// the reason.
    bool available() const noexcept { return reason_.empty(); }
    const std::string& reason() const noexcept { return reason_; }

    /// Empties the buffers and begins to record. Throws Error, which names the file.
    void start();
    /// Ends recording. Returns the FCs that ended meanwhile, and preemptions. Throws Error, also if
    /// events were lost.
    timeline::Timeline stop(const Names& names);

private:
    std::string instance_;
    std::string reason_;
};

} // namespace overtake::trace
