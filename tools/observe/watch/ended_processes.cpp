// SPDX-License-Identifier: MIT
#include "observe/watch/ended_processes.hpp"

#include <cerrno>
#include <csignal>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <utility>

#include <fmt/format.h>

namespace overtake::watch {

std::optional<std::string> start_time(std::uint32_t pid) {
    constexpr int behind_name = 20; // field 22 of proc_pid_stat(5); the name is field 2
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    std::string line;
    if (!std::getline(file, line) || line.rfind(')') == std::string::npos) {
        // Where /proc hides the processes of other users (hidepid), kill() with signal 0 tests
        // whether a process exists.
        const bool is_gone = kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
        return is_gone ? std::nullopt : std::optional<std::string>("");
    }
    std::istringstream fields(line.substr(line.rfind(')') + 1));
    std::string field;
    for (int i = 0; i < behind_name; i++)
        fields >> field;
    return field;
}

bool is_in_first_pid_namespace() {
    constexpr ino_t first = 0xeffffffc; // PROC_PID_INIT_INO
    struct stat own {};
    if (stat("/proc/self/ns/pid", &own) == 0)
        return own.st_ino == first;
    // A kernel without CONFIG_PID_NS has one numbering of processes for all.
    return errno == ENOENT && stat("/proc/self/ns", &own) == 0;
}

std::vector<std::uint32_t> EndedProcesses::look(const std::vector<std::uint32_t>& pids) {
    std::vector<std::uint32_t> ended;
    std::map<std::uint32_t, std::optional<std::string>> started;
    for (const std::uint32_t pid : pids) {
        const std::optional<std::string> began = start_time_(pid);
        const auto before = started_.find(pid);
        const bool has_ended =
            before != started_.end() && (began ? began != before->second : !before->second);
        if (has_ended)
            ended.push_back(pid);
        else
            started.emplace(pid, began);
    }
    started_ = std::move(started);
    return ended;
}

std::set<std::uint32_t>
EndedNowAndThen::look(const std::function<std::vector<std::uint32_t>()>& pids) {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_look_)
        return {};
    next_look_ = now + std::chrono::seconds(1);
    const std::vector<std::uint32_t> ended = ended_.look(pids());
    return {ended.begin(), ended.end()};
}

} // namespace overtake::watch
