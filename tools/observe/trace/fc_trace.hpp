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

/// Names for the processes whose FCs are seen; others are called "pid N".
using Names = std::map<unsigned, std::string>;

/// FCs and preemptions in the text that tracefs prints of the events fc_done and fc_preempt, FCs by
/// start, then core. Other lines are passed over. Throws Error for an event that lacks a field.
timeline::Timeline parse(std::istream& text, const Names& names);

class FcTrace {
public:
    FcTrace();
    /// Removes the instance.
    ~FcTrace();
    FcTrace(const FcTrace&) = delete;
    FcTrace& operator=(const FcTrace&) = delete;

    /// The driver is loaded and its events can be read; reason() says what is missing otherwise.
    bool available() const noexcept { return reason_.empty(); }
    const std::string& reason() const noexcept { return reason_; }

    /// Begins to record, from nothing. Throws Error naming the file.
    void start();
    /// Ends recording. FCs that ended meanwhile. Throws Error, also if events were lost.
    timeline::Timeline stop(const Names& names);

private:
    std::string instance_;
    std::string reason_;
};

} // namespace overtake::trace
