// SPDX-License-Identifier: MIT
//
// EndedProcesses: finds the ended ones among the processes that a caller keeps.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace overtake::watch {

/// Returns when the process began, which distinguishes it from later processes of the same number.
/// Empty: not known; nothing: the process is gone.
std::optional<std::string> start_time(std::uint32_t pid);

/// Returns whether events number processes as /proc does here. The driver, probes, and servers
/// outside of containers number them as the first PID namespace does.
bool is_in_first_pid_namespace();

class EndedProcesses {
public:
    using StartTime = std::function<std::optional<std::string>(std::uint32_t pid)>;

    explicit EndedProcesses(StartTime start_time = watch::start_time)
        : start_time_(std::move(start_time)) {}

    /// Returns those of `pids` that were also gone at the last call, so that their last events have
    /// been reported by now, and those whose number another process has by now.
    std::vector<std::uint32_t> look(const std::vector<std::uint32_t>& pids);

private:
    StartTime start_time_;
    std::map<std::uint32_t, std::optional<std::string>> started_; ///< at the last call of look()
};

/// Calls EndedProcesses::look() at most once a second, for callers that ask more often.
class EndedNowAndThen {
public:
    std::set<std::uint32_t> look(const std::function<std::vector<std::uint32_t>()>& pids);

private:
    EndedProcesses ended_;
    std::chrono::steady_clock::time_point next_look_{};
};

} // namespace overtake::watch
