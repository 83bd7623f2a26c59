// SPDX-License-Identifier: MIT
#include "top_view.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "observe/report/picture.hpp"
#include "observe/watch/jobs.hpp"

namespace overtake::command {
namespace {

using watch::ProcessActivity;

constexpr std::size_t bar_length = 30;

std::string name_of(const watch::Holder& holder) {
    return watch::owner_name(holder.model, holder.pid);
}

std::string percent(double share) {
    return fmt::format("{:.0f}%", 100 * share);
}

std::string latency_text(std::uint64_t ns) {
    return ns == 0 ? "-" : report::duration(static_cast<double>(ns) / 1000);
}

/// Returns a bar: '#' is HIGH, '=' is NORMAL.
std::string bar(const watch::CoreActivity& core) {
    const auto part = [](double share) {
        return static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * bar_length + 0.5);
    };
    std::string text(part(core.high), '#');
    text.append(std::min(part(core.high + core.normal), bar_length) -
                    std::min(text.size(), part(core.high + core.normal)),
                '=');
    text.resize(bar_length, ' ');
    return text;
}

/// Returns the core's profile; empty if all cores have the same.
std::string profile_of(const watch::CoreActivity& core, const TopView& view) {
    return core.core >= 1 && core.core <= view.profiles.size() ? view.profiles[core.core - 1] : "";
}

/// Returns the profile in a column as wide as the longest name.
std::string profile_column(const watch::CoreActivity& core, const TopView& view) {
    std::size_t width = 0;
    for (const std::string& name : view.profiles)
        width = std::max(width, name.size() + 1);
    return fmt::format("{:<{}}", profile_of(core, view), width);
}

std::string line_of(const watch::CoreActivity& core, double seconds, bool has_jobs,
                    const TopView& view) {
    return fmt::format(
        "core {:<2} {}[{}] {:>4}  HIGH {:>4}  NORMAL {:>4}  overtakings {:>5.0f}/s  {}", core.core,
        profile_column(core, view), bar(core), percent(core.high + core.normal), percent(core.high),
        percent(core.normal), static_cast<double>(core.preemptions) / seconds,
        core.holder ? name_of(*core.holder)
        : has_jobs  ? "idle"
                    : "");
}

std::string line_of(const ProcessActivity& process, double seconds) {
    const std::string behind = process.waits_ns == 0
                                   ? ""
                                   : fmt::format("{} {}", latency_text(process.waits_ns),
                                                 process.behind ? name_of(*process.behind) : "-");
    return fmt::format(
        "{:>8} {:10.10} {:>5} {:>5} {:>6} {:>5} {:>5} {:>7.1f} {:>8} {:>8} {:>7.0f} "
        "{:>7.0f}  {}",
        process.pid,
        process.model != 0 ? watch::model_name(process.model) : watch::owner_name(0, process.pid),
        percent(process.high + process.normal), percent(process.high), percent(process.normal),
        process.waiting, process.begun, static_cast<double>(process.ended) / seconds,
        latency_text(process.p50_ns), latency_text(process.p99_ns),
        static_cast<double>(process.overtaken) / seconds,
        static_cast<double>(process.overtakes) / seconds, behind);
}

std::string line_without_jobs(const ProcessActivity& process) {
    return fmt::format("{:>8} {:10.10} {:>5} {:>5} {:>6} {:>5} {:>5} {:>7} {:>8} {:>8} {:>7} {:>7}",
                       process.pid, watch::owner_name(0, process.pid),
                       percent(process.high + process.normal), percent(process.high),
                       percent(process.normal), "-", "-", "-", "-", "-", "-", "-");
}

std::vector<ProcessActivity> shown(const watch::Snapshot& snapshot, const TopView& view) {
    std::vector<ProcessActivity> processes;
    for (const ProcessActivity& process : snapshot.processes) {
        const std::string name = watch::owner_name(process.model, process.pid);
        if (view.high_only && process.high == 0)
            continue;
        if (name.find(view.words) != std::string::npos)
            processes.push_back(process);
    }
    std::ranges::stable_sort(processes, [&](const auto& left, const auto& right) {
        switch (view.order) {
        case TopOrder::utilisation:
            return left.high + left.normal > right.high + right.normal;
        case TopOrder::waiting:
            return std::tie(left.waiting, left.waits_ns) > std::tie(right.waiting, right.waits_ns);
        case TopOrder::latency:
            return left.p99_ns > right.p99_ns;
        case TopOrder::pid:
            break;
        }
        return left.pid < right.pid;
    });
    return processes;
}

std::vector<watch::ProcessorRow> shown(const std::vector<watch::ProcessorRow>& processors,
                                       const TopView& view) {
    std::vector<watch::ProcessorRow> rows;
    for (const watch::ProcessorRow& row : processors)
        if (watch::owner_name(0, row.pid).find(view.words) != std::string::npos)
            rows.push_back(row);
    return rows;
}

std::string command_of(std::uint32_t pid) {
    const std::string name = watch::owner_name(0, pid);
    return name.substr(0, name.rfind(" (pid "));
}

/// Adds a table of processors, if there are any.
void add_processors(std::vector<std::string>& lines, const std::vector<watch::ProcessorRow>& rows,
                    double seconds) {
    if (rows.empty())
        return;
    lines.emplace_back();
    lines.push_back(fmt::format("{:>8} {:10} {:>6} {:16} {:9} {:>6} {:>7} {:>5} {:>5} {:>7}", "PID",
                                "COMMAND", "ENGINE", "PROCESSOR", "STATE", "RATIO", "RETRIES",
                                "BUSY", "QUEUE", "RUNS/s"));
    for (const watch::ProcessorRow& row : rows)
        lines.push_back(fmt::format(
            "{:>8} {:10.10} {:>6} {:16} {:9} {:>6.2f} {:>7} {:>5} {:>5} {:>7.1f}", row.pid,
            command_of(row.pid), row.engine, row.last.name, name_of(row.last.state),
            static_cast<double>(row.last.ratio) / 1000, row.last.retries, percent(row.busy),
            row.last.unfinished, static_cast<double>(row.runs) / std::max(seconds, 1e-9)));
}

/// Cuts a line to `width` characters, never inside a character; 0: does not cut.
std::string cut(std::string line, std::size_t width) {
    std::size_t characters = 0;
    for (std::size_t i = 0; width != 0 && i < line.size(); i++)
        if ((static_cast<unsigned char>(line[i]) & 0xc0) != 0x80 && characters++ == width) {
            line.resize(i);
            break;
        }
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
}

} // namespace

std::vector<std::string> top_lines(const watch::Snapshot& snapshot, const TopView& view,
                                   const std::string& head, std::size_t width, std::size_t height,
                                   const std::vector<watch::ProcessorRow>& processors) {
    const double seconds = static_cast<double>(snapshot.interval_ns) / 1e9;
    std::vector<std::string> lines{head};
    for (const watch::CoreActivity& core : snapshot.cores)
        lines.push_back(line_of(core, seconds, snapshot.has_jobs, view));
    lines.emplace_back();
    lines.push_back(
        fmt::format("{:>8} {:10} {:>5} {:>5} {:>6} {:>5} {:>5} {:>7} {:>8} {:>8} {:>6} {:>6}  {}",
                    "PID", "MODEL", "NPU", "HIGH", "NORMAL", "WAIT", "BEGUN", "JOBS/s", "p50",
                    "p99", "LATER/s", "AHEAD/s", "LONGEST WAIT, BEHIND"));
    for (const ProcessActivity& process : shown(snapshot, view))
        lines.push_back(snapshot.has_jobs ? line_of(process, seconds) : line_without_jobs(process));
    add_processors(lines, shown(processors, view), seconds);
    if (height != 0 && lines.size() > height)
        lines.resize(height);
    for (std::string& line : lines)
        line = cut(std::move(line), width);
    return lines;
}

nlohmann::ordered_json to_json(const watch::Snapshot& snapshot, const TopView& view) {
    using Json = nlohmann::ordered_json;
    const auto holder = [](const std::optional<watch::Holder>& of) -> Json {
        if (!of)
            return nullptr;
        return {{"pid", of->pid}, {"model", watch::model_name(of->model)}, {"high", of->high}};
    };
    const auto of_jobs = [&](const auto& value) -> Json {
        return snapshot.has_jobs ? Json(value) : Json(nullptr);
    };
    Json cores = Json::array(), processes = Json::array();
    for (const watch::CoreActivity& core : snapshot.cores) {
        cores.push_back({{"core", core.core},
                         {"high", core.high},
                         {"normal", core.normal},
                         {"preemptions", core.preemptions},
                         {"holder", holder(core.holder)}});
        if (!view.profiles.empty())
            cores.back()["profile"] = profile_of(core, view);
    }
    for (const ProcessActivity& process : shown(snapshot, view))
        processes.push_back({{"pid", process.pid},
                             {"model", watch::model_name(process.model)},
                             {"high", process.high},
                             {"normal", process.normal},
                             {"waiting", of_jobs(process.waiting)},
                             {"begun", of_jobs(process.begun)},
                             {"ended", of_jobs(process.ended)},
                             {"p50_ns", of_jobs(process.p50_ns)},
                             {"p99_ns", of_jobs(process.p99_ns)},
                             {"overtaken", of_jobs(process.overtaken)},
                             {"overtakes", of_jobs(process.overtakes)},
                             {"longest_wait_ns", of_jobs(process.waits_ns)},
                             {"behind", holder(process.behind)}});
    return {{"interval_ns", snapshot.interval_ns}, {"cores", cores}, {"processes", processes}};
}

nlohmann::ordered_json to_json(const std::vector<watch::ProcessorRow>& processors,
                               const TopView& view) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const watch::ProcessorRow& row : shown(processors, view))
        rows.push_back({{"pid", row.pid},
                        {"engine", row.engine},
                        {"processor", row.last.name},
                        {"state", name_of(row.last.state)},
                        {"ratio", static_cast<double>(row.last.ratio) / 1000},
                        {"retries", row.last.retries},
                        {"busy", row.busy},
                        {"queue", row.last.unfinished},
                        {"runs", row.runs}});
    return rows;
}

} // namespace overtake::command
