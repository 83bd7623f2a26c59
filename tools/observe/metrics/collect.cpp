// SPDX-License-Identifier: MIT
#include "observe/metrics/collect.hpp"

#include <array>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "observe/metrics/exposition.hpp"
#include "observe/metrics/families.hpp"
#include "observe/metrics/mode_name.hpp"
#include "observe/metrics/processes.hpp"
#include "observe/metrics/processor_families.hpp"
#include "observe/metrics/sysfs.hpp"
#include "overtake/server.hpp"

namespace overtake::metrics {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double ns_per_s = 1e9;
constexpr double hertz_per_mhz = 1e6;
constexpr double percent = 100;

constexpr std::array task_states{"waiting", "ready", "dispatched", "overdue", "uncollected"};

/// Adds the value of an attribute, if the attribute exists.
void add_file(Exposition& out, const Family& family, const Labels& labels, const fs::path& path,
              double per_unit = 1) {
    if (const auto value = sysfs::number_in(path))
        out.add(family, labels, *value / per_unit);
}

// Kernel devices

void add_core(Exposition& out, const std::string& device, const fs::path& core) {
    const std::string number = core.filename().string().substr(std::string("core").size());
    const Labels labels{{"device", device}, {"core", number}};
    Labels high = labels, normal = labels;
    high.emplace_back("ring", "high");
    normal.emplace_back("ring", "normal");
    add_file(out, families::busy, labels, core / "busy_ns", ns_per_s);
    add_file(out, families::fcs, high, core / "fcs_high");
    add_file(out, families::fcs, normal, core / "fcs_normal");
    add_file(out, families::preemptions, labels, core / "preemptions");
    add_file(out, families::faults, labels, core / "faults");
    add_file(out, families::hangs, labels, core / "hangs");
    add_file(out, families::resets, labels, core / "resets");
    add_file(out, families::utilization, labels, core / "ratio", percent);
    add_file(out, families::queue, labels, core / "queue");
    add_file(out, families::core_limit, labels, core / "core_limit_active");
}

/// Adds the device's values again, under the names of OpenTelemetry.
void add_hw(Exposition& out, const sysfs::Device& device, const std::vector<fs::path>& cores) {
    const Labels component{{"hw_id", device.directory.filename()}, {"hw_name", device.node}};
    double ratio = 0, faults = 0;
    for (const fs::path& core : cores) {
        ratio += sysfs::number_in(core / "ratio").value_or(0) / percent;
        faults += sysfs::number_in(core / "faults").value_or(0);
    }
    if (!cores.empty())
        out.add(families::hw_utilization, component, ratio / static_cast<double>(cores.size()));
    add_file(out, families::hw_memory, component, device.directory / "npu_memory_utilization");
    Labels error = component;
    error.emplace_back("hw_type", "npu");
    error.emplace_back("error_type", "fault");
    out.add(families::hw_errors, error, faults);
}

void add_kernel_device(Exposition& out, const fs::path& sys, const sysfs::Device& device) {
    const Labels labels{{"device", device.node}};
    const std::vector<fs::path> cores = sysfs::numbered(device.directory, "core");
    out.add(families::device_info,
            {{"device", device.node},
             {"kind", "kernel"},
             {"mode", sysfs::module_parameter(sys, "mode", device.number)},
             {"profile", sysfs::module_parameter(sys, "profile", device.number)}},
            1);
    out.add(families::cores, labels, static_cast<double>(cores.size()));
    for (const fs::path& core : cores)
        add_core(out, device.node, core);
    add_file(out, families::clock, labels, device.directory / "npu_current_frequency_mhz",
             1 / hertz_per_mhz);
    add_file(out, families::memory, labels, device.directory / "npu_memory_utilization");
    add_file(out, families::bans, labels, device.directory / "bans");
    add_file(out, families::lost_interrupts, labels, device.directory / "lost_interrupts");
    add_file(out, families::spurious_interrupts, labels, device.directory / "spurious_interrupts");
    add_hw(out, device, cores);
}

// The open files of kernel devices

std::uint64_t value_of(const OpenFile& file, const std::string& key) {
    const auto value = file.values.find(key);
    return value == file.values.end() ? 0 : value->second;
}

void add_open_files(Exposition& out, const sysfs::Device& device, const OpenFiles& all) {
    double count = 0;
    std::map<std::string, double> tasks;
    for (const OpenFile& file : all.files) {
        if (file.node != device.node)
            continue;
        count++;
        for (const char* state : task_states)
            tasks[state] +=
                static_cast<double>(value_of(file, fmt::format("overtake-tasks-{}", state)));
    }
    out.add(families::clients, {{"device", device.node}}, count);
    for (const char* state : task_states)
        out.add(families::tasks, {{"device", device.node}, {"state", state}}, tasks[state]);
}

/// Adds the sums over the files that one process has open on one device.
void add_process(Exposition& out, const OpenFile& sum) {
    const Labels labels{
        {"device", sum.node}, {"pid", std::to_string(sum.pid)}, {"command", sum.command}};
    for (const auto& [key, value] : sum.values) {
        const std::string prefix = "drm-engine-core";
        const std::size_t dash = key.find('-', prefix.size());
        if (!key.starts_with(prefix) || dash == std::string::npos)
            continue;
        Labels engine = labels;
        engine.emplace_back("core", key.substr(prefix.size(), dash - prefix.size()));
        engine.emplace_back("ring", key.substr(dash + 1));
        out.add(families::process_busy, engine, static_cast<double>(value) / ns_per_s);
    }
    out.add(families::process_memory, labels,
            static_cast<double>(value_of(sum, "drm-total-memory")));
}

void add_processes(Exposition& out, const OpenFiles& all) {
    std::map<std::pair<std::string, unsigned>, OpenFile> sums;
    for (const OpenFile& file : all.files) {
        OpenFile& sum = sums.try_emplace({file.node, file.pid}, file.node, file.pid, file.command,
                                         std::map<std::string, std::uint64_t>{})
                            .first->second;
        for (const auto& [key, value] : file.values)
            sum.values[key] += value;
    }
    for (const auto& [place, sum] : sums)
        add_process(out, sum);
}

// Engines with several processors

void add_processor(Exposition& out, const fs::path& proc, const watch::ProcessorRow& row) {
    const std::string pid = std::to_string(row.pid);
    const Labels labels{{"pid", pid},
                        {"command", sysfs::first_line(proc / pid / "comm")},
                        {"engine", std::to_string(row.engine)},
                        {"processor", row.last.name}};
    for (const watch::ProcessorState state :
         {watch::ProcessorState::ok, watch::ProcessorState::throttled,
          watch::ProcessorState::failed, watch::ProcessorState::trial}) {
        Labels of_state = labels;
        of_state.emplace_back("state", name_of(state));
        out.add(families::processor_state, of_state, row.last.state == state ? 1 : 0);
    }
    constexpr double thousandths = 1000;
    out.add(families::processor_slowness, labels,
            static_cast<double>(row.last.ratio) / thousandths);
    out.add(families::processor_retries, labels, row.last.retries);
    out.add(families::processor_runs, labels, static_cast<double>(row.last.runs));
    out.add(families::processor_busy, labels, static_cast<double>(row.last.busy_ns) / ns_per_s);
    out.add(families::processor_queue, labels, row.last.unfinished);
}

// Device servers

void add_server_core(Exposition& out, const std::string& device, unsigned number,
                     const drm_overtake_core_info& core) {
    const Labels labels{{"device", device}, {"core", std::to_string(number)}};
    Labels high = labels, normal = labels;
    high.emplace_back("ring", "high");
    normal.emplace_back("ring", "normal");
    out.add(families::busy, labels, static_cast<double>(core.busy_ns) / ns_per_s);
    out.add(families::fcs, high, static_cast<double>(core.fcs_high));
    out.add(families::fcs, normal, static_cast<double>(core.fcs_normal));
    out.add(families::preemptions, labels, static_cast<double>(core.preemptions));
    out.add(families::faults, labels, static_cast<double>(core.faults));
    out.add(families::resets, labels, static_cast<double>(core.resets));
    out.add(families::core_limit, labels, core.core_limit);
}

void add_server_clients(Exposition& out, const std::string& device, const json& clients) {
    const Labels labels{{"device", device}};
    double memory = 0, jobs = 0;
    std::map<std::string, double> tasks;
    for (const json& client : clients) {
        memory += client.at("memory_bytes").get<double>();
        jobs += client.at("jobs").get<double>();
        for (const char* state : task_states)
            tasks[state] += client.at("tasks").at(state).get<double>();
    }
    out.add(families::clients, labels, static_cast<double>(clients.size()));
    out.add(families::memory, labels, memory);
    out.add(families::jobs, labels, jobs);
    for (const char* state : task_states)
        out.add(families::tasks, {{"device", device}, {"state", state}}, tasks[state]);
}

/// Adds the sums over the connections of each process.
void add_server_processes(Exposition& out, const std::string& device, const json& clients) {
    struct Sum {
        double memory = 0;
        std::map<std::pair<unsigned, std::string>, double> busy_ns; ///< by core and ring
    };
    std::map<unsigned, Sum> sums;
    for (const json& client : clients) {
        Sum& sum = sums[client.at("pid").get<unsigned>()];
        sum.memory += client.at("memory_bytes").get<double>();
        for (const json& core : client.value("busy_ns", json::array())) {
            sum.busy_ns[{core.at(0).get<unsigned>(), "high"}] += core.at(1).get<double>();
            sum.busy_ns[{core.at(0).get<unsigned>(), "normal"}] += core.at(2).get<double>();
        }
    }
    for (const auto& [pid, sum] : sums) {
        const Labels labels{{"device", device},
                            {"pid", std::to_string(pid)},
                            {"command", sysfs::first_line(fmt::format("/proc/{}/comm", pid))}};
        for (const auto& [place, busy_ns] : sum.busy_ns) {
            Labels engine = labels;
            engine.emplace_back("core", std::to_string(place.first));
            engine.emplace_back("ring", place.second);
            out.add(families::process_busy, engine, busy_ns / ns_per_s);
        }
        out.add(families::process_memory, labels, sum.memory);
    }
}

std::optional<ServerReport> report_of(const std::string& socket,
                                      std::chrono::milliseconds patience) {
    try {
        return server_report(socket, patience);
    } catch (const Error& error) { // the server is not up, or refuses
        if (error.code() == EACCES)
            std::fprintf(stderr, "overtake metrics: %s\n", error.what());
        return std::nullopt;
    }
}

void add_server(Exposition& out, const Sources& sources, const std::string& socket) {
    const std::string device = "server:" + socket;
    const auto report = report_of(socket, sources.patience);
    out.add(families::up, {{"device", device}}, report ? 1 : 0);
    if (!report)
        return;
    const json status = json::parse(report->status);
    out.add(families::device_info,
            {{"device", device},
             {"kind", "server"},
             {"mode", name_of_mode(status.at("mode").get<unsigned>())},
             {"profile", ""}},
            1);
    out.add(families::cores, {{"device", device}}, status.at("cores").get<double>());
    unsigned number = 1;
    for (const drm_overtake_core_info& core : report->cores)
        add_server_core(out, device, number++, core);
    add_server_clients(out, device, status.at("clients"));
    if (sources.processes)
        add_server_processes(out, device, status.at("clients"));
}

} // namespace

std::string collect(const Sources& sources) {
    Exposition out;
    out.add(families::build_info, {{"version", sources.version}}, 1);
    const std::vector<sysfs::Device> devices = sysfs::devices(sources.sys);
    for (const sysfs::Device& device : devices)
        add_kernel_device(out, sources.sys, device);
    if (!devices.empty()) {
        const OpenFiles files = find_open_files(sources.proc);
        for (const sysfs::Device& device : devices)
            add_open_files(out, device, files);
        out.add(families::unreadable, {}, files.unreadable);
        if (sources.processes)
            add_processes(out, files);
    }
    for (const watch::ProcessorRow& row : sources.engines)
        add_processor(out, sources.proc, row);
    for (const std::string& server : sources.servers)
        add_server(out, sources, server);
    return out.text();
}

} // namespace overtake::metrics
