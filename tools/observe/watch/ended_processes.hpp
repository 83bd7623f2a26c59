// SPDX-License-Identifier: MIT
//
// EndedProcesses: which of the processes that something is kept of are no more.
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

/// When the process began, which tells it from others of the same number; empty: not known; none:
/// it is gone.
std::optional<std::string> start_time(std::uint32_t pid);

/// Whether events name processes as /proc does here: the driver, probes, and servers outside of
/// containers number them as the first PID namespace does.
bool is_in_first_pid_namespace();

class EndedProcesses {
public:
    using StartTime = std::function<std::optional<std::string>(std::uint32_t pid)>;

    explicit EndedProcesses(StartTime start_time = watch::start_time)
        : start_time_(std::move(start_time)) {}

    /// Of `pids`, those that had gone at the last look too, so that what they did last has been
    /// told by now, and those that are other processes by now.
    std::vector<std::uint32_t> look(const std::vector<std::uint32_t>& pids);

private:
    StartTime start_time_;
    std::map<std::uint32_t, std::optional<std::string>> started_; ///< at the last look
};

/// The same, once a second at most: for those who ask all the time.
class EndedNowAndThen {
public:
    std::set<std::uint32_t> look(const std::function<std::vector<std::uint32_t>()>& pids);

private:
    EndedProcesses ended_;
    std::chrono::steady_clock::time_point next_look_{};
};

} // namespace overtake::watch
