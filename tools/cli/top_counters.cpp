// SPDX-License-Identifier: MIT
#include "top_counters.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "observe/metrics/processes.hpp"
#include "observe/metrics/sysfs.hpp"
#include "overtake/error.hpp"

namespace overtake::command {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view engine = "drm-engine-core";

std::uint64_t counter(const fs::path& path) {
    return static_cast<std::uint64_t>(sysfs::number_in(path).value_or(0));
}

double share(std::uint64_t ns, std::uint64_t interval_ns) {
    return interval_ns == 0 ? 0 : static_cast<double>(ns) / static_cast<double>(interval_ns);
}

/// Returns N of "drm-engine-coreN-high" or "-normal"; 0 for other keys.
unsigned core_of(const std::string& key, bool& is_high) {
    if (!key.starts_with(engine))
        return 0;
    const std::string rest = key.substr(engine.size());
    is_high = rest.ends_with("-high");
    return sysfs::number_behind("", rest.substr(0, rest.find('-'))).value_or(0);
}

} // namespace

TopCounters::TopCounters(std::string node, fs::path sys, fs::path proc)
    : node_(std::move(node)), sys_(std::move(sys)), proc_(std::move(proc)) {
    if (!sysfs::device_of(sys_, node_))
        throw Error(
            ENOENT,
            fmt::format("{}: no device of the driver: load overtake.ko, or name a device that "
                        "overtake devices lists",
                        node_));
}

watch::Snapshot TopCounters::take(std::uint64_t now_ns) {
    watch::Snapshot snapshot;
    snapshot.has_jobs = false;
    snapshot.interval_ns = last_ns_ == 0 ? 0 : now_ns - last_ns_;
    last_ns_ = now_ns;
    std::map<unsigned, std::uint64_t> high_by_core;
    std::map<std::uint32_t, Busy> processes;
    decltype(files_) files;
    for (const metrics::OpenFile& file : metrics::find_open_files(proc_).files) {
        if (file.node != node_)
            continue;
        const std::uint64_t client = file.values.at("drm-client-id");
        Busy& process = processes[file.pid];
        for (const auto& [key, value] : file.values) {
            bool is_high = false;
            const unsigned core = core_of(key, is_high);
            if (core == 0)
                continue;
            const auto of = is_high ? &Busy::high_ns : &Busy::normal_ns;
            const std::uint64_t step = value - std::min(value, files_[client][core].*of);
            files[client][core].*of = value;
            process.*of += step;
            high_by_core[core] += is_high ? step : 0;
        }
    }
    files_ = std::move(files);
    const auto device = sysfs::device_of(sys_, node_);
    const fs::path directory = device ? device->directory : fs::path();
    for (const fs::path& path : sysfs::numbered(directory, "core")) {
        const unsigned number = *sysfs::number_behind("core", path.filename());
        const Core now{counter(path / "busy_ns"), counter(path / "preemptions")};
        Core& last = cores_[number];
        const std::uint64_t busy_ns = now.busy_ns - std::min(now.busy_ns, last.busy_ns);
        const std::uint64_t high_ns = std::min(busy_ns, high_by_core[number]);
        snapshot.cores.push_back(
            {.core = number,
             .high = share(high_ns, snapshot.interval_ns),
             .normal = share(busy_ns - high_ns, snapshot.interval_ns),
             .preemptions = now.preemptions - std::min(now.preemptions, last.preemptions)});
        last = now;
    }
    for (const auto& [pid, busy] : processes)
        snapshot.processes.push_back({.pid = pid,
                                      .high = share(busy.high_ns, snapshot.interval_ns),
                                      .normal = share(busy.normal_ns, snapshot.interval_ns)});
    return snapshot;
}

} // namespace overtake::command
