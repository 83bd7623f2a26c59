// SPDX-License-Identifier: MIT
#include "dnn/profile.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "overtake/error.hpp"

namespace overtake::dnn {

namespace {

double ms_between(std::uint64_t from, std::uint64_t to) {
    return to > from ? static_cast<double>(to - from) * 1e-6 : 0;
}

double average(const Latency& latency) {
    return latency.count == 0 ? 0 : latency.sum / static_cast<double>(latency.count);
}

nlohmann::ordered_json json_of(const Latency& latency) {
    return {
        {"avg_time", average(latency)}, {"max_time", latency.most}, {"min_time", latency.least}};
}

std::string csv_of(const std::string& what, const Latency& latency) {
    return fmt::format("\"{}\",{},{:.3f},{:.3f},{:.3f}\n", what, latency.count, average(latency),
                       latency.least, latency.most);
}

void write_file(const std::string& path, const std::string& text) {
    errno = 0;
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << text << std::flush;
    if (!file)
        throw Error(errno != 0 ? errno : EIO,
                    fmt::format("HB_DNN_PROFILER_LOG_PATH: {} cannot be written: {}; name a "
                                "directory where this user may write",
                                path, std::strerror(errno)));
}

} // namespace

void Latency::add(double ms) {
    least = count == 0 ? ms : std::min(least, ms);
    most = std::max(most, ms);
    sum += ms;
    count++;
}

void Profile::add(const TaskTimes& task) {
    const std::lock_guard lock(mutex_);
    first_ns_ = std::min(first_ns_, task.submitted);
    last_ns_ = std::max(last_ns_, task.ended);
    pending_.add(ms_between(task.submitted, task.dispatched));
    running_.add(ms_between(task.dispatched, task.ended));
    whole_.add(ms_between(task.submitted, task.ended));
    bpu_.add(ms_between(0, task.bpu));
    cpu_.add(ms_between(0, task.cpu));
    models_[task.models].add(ms_between(task.dispatched, task.ended));
}

void Profile::write(const std::string& directory, unsigned cores) const {
    const std::lock_guard lock(mutex_);
    if (whole_.count == 0)
        return;
    const double run_ms = ms_between(first_ns_, last_ns_);
    const double fps = run_ms > 0 ? static_cast<double>(whole_.count) * 1000 / run_ms : 0;
    nlohmann::ordered_json log;
    log["perf_result"] = {{"FPS", fps}, {"average_latency", average(whole_)}};
    log["running_condition"] = {
        {"core_num", cores}, {"frame_count", whole_.count}, {"run_time", run_ms}};
    log["chip_latency"] = {{"BPU_inference_time_cost", json_of(bpu_)},
                           {"CPU_inference_time_cost", json_of(cpu_)}};
    nlohmann::ordered_json& models = log["model_latency"];
    std::string csv = "what,count,avg_ms,min_ms,max_ms\n";
    for (const auto& [name, latency] : models_) {
        models[name] = json_of(latency);
        csv += csv_of("model " + name, latency);
    }
    log["task_latency"] = {{"TaskPendingTime", json_of(pending_)},
                           {"TaskRunningTime", json_of(running_)}};
    csv += csv_of("BPU", bpu_) + csv_of("CPU", cpu_) + csv_of("pending", pending_) +
           csv_of("running", running_) + csv_of("task", whole_);
    // Names come from the model file, and no reader has checked that they are UTF-8.
    const std::string text =
        log.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    write_file(directory + "/profiler.log", text + "\n");
    write_file(directory + "/profiler.csv", csv);
}

} // namespace overtake::dnn
