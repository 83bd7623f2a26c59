// SPDX-License-Identifier: MIT
#include "observe/trace/fc_trace.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "overtake/device.hpp"

namespace overtake::trace {
namespace {

namespace fs = std::filesystem;

constexpr char tracing[] = "/sys/kernel/tracing";
/// The size of the buffer of each CPU; an FC takes less than 300 bytes.
constexpr char buffer_kib[] = "16384";

/// Returns the number after " NAME=" in an event's text.
std::uint64_t field(const std::string& line, const std::string& name) {
    auto at = line.find(" " + name + "=");
    if (at == std::string::npos)
        throw Error(EPROTO, fmt::format("trace: no field {} in: {}", name, line));
    return std::stoull(line.substr(at + name.size() + 2));
}

std::string process(unsigned pid, const Names& names) {
    auto found = names.find(pid);
    return found != names.end() ? found->second : fmt::format("pid {}", pid);
}

void write_file(const std::string& path, const std::string& text) {
    errno = 0;
    std::ofstream file(path);
    file << text;
    file.close();
    if (!file)
        throw Error(errno ? errno : EIO,
                    fmt::format("{}: cannot write '{}': {}", path, text, std::strerror(errno)));
}

/// Returns the kernel's count of the events that did not fit the buffers.
std::uint64_t lost_events(const std::string& instance) {
    std::uint64_t lost = 0;
    for (const auto& cpu : fs::directory_iterator(instance + "/per_cpu")) {
        std::ifstream stats(cpu.path() / "stats");
        std::string line;
        while (std::getline(stats, line))
            for (std::string key : {"overrun: ", "dropped events: "})
                if (line.starts_with(key))
                    lost += std::stoull(line.substr(key.size()));
    }
    return lost;
}

} // namespace

timeline::Timeline parse(std::istream& text, const Names& names) {
    timeline::Timeline out;
    std::string line;
    while (std::getline(text, line)) {
        if (line.starts_with('#'))
            continue;
        if (line.find(" fc_preempt: ") != std::string::npos) {
            out.preemptions.push_back(
                {static_cast<unsigned>(field(line, "core")), field(line, "time_ns")});
        } else if (line.find(" fc_done: ") != std::string::npos) {
            auto end = field(line, "time_ns");
            out.fcs.push_back({process(static_cast<unsigned>(field(line, "pid")), names),
                               field(line, "tag"),
                               static_cast<std::uint32_t>(field(line, "fc_index")),
                               static_cast<unsigned>(field(line, "core")), field(line, "ring") == 0,
                               end - field(line, "duration_ns"), end});
        }
    }
    std::sort(out.fcs.begin(), out.fcs.end(), [](const auto& a, const auto& b) {
        return std::tie(a.start_ns, a.core) < std::tie(b.start_ns, b.core);
    });
    return out;
}

FcTrace::FcTrace() : instance_(fmt::format("{}/instances/overtake-{}", tracing, getpid())) {
    if (access((std::string(tracing) + "/instances").c_str(), W_OK) != 0)
        reason_ = fmt::format("{}/instances: {}: run as root", tracing, std::strerror(errno));
    else if (!fs::exists(std::string(tracing) + "/events/overtake"))
        reason_ = "the driver's trace events are not there: is overtake.ko loaded?";
}

FcTrace::~FcTrace() {
    rmdir(instance_.c_str());
}

void FcTrace::start() {
    if (!available())
        throw Error(EACCES, reason_);
    if (mkdir(instance_.c_str(), 0700) != 0 && errno != EEXIST)
        throw Error(errno, fmt::format("{}: {}", instance_, std::strerror(errno)));
    write_file(instance_ + "/buffer_size_kb", buffer_kib);
    write_file(instance_ + "/trace", "");
    // The kernel takes a while to switch an event on. fc_done is last, so that no FC is seen
    // without the FC that overtook it.
    for (const char* event : {"fc_preempt", "fc_done"})
        write_file(fmt::format("{}/events/overtake/{}/enable", instance_, event), "1");
}

timeline::Timeline FcTrace::stop(const Names& names) {
    write_file(instance_ + "/events/overtake/enable", "0");
    if (auto lost = lost_events(instance_); lost != 0)
        throw Error(EOVERFLOW,
                    fmt::format("trace: {} events were lost: record for less time", lost));
    std::ifstream text(instance_ + "/trace");
    return parse(text, names);
}

} // namespace overtake::trace
