// SPDX-License-Identifier: MIT
#include "perf_report.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "load/statistics.hpp"
#include "overtake/model_contents.hpp"

namespace overtake::command {
namespace {

using Json = nlohmann::ordered_json;

/// A percentile is rough if fewer requests than this took longer.
constexpr std::size_t enough_beyond = 10;
constexpr std::size_t histogram_width = 40;

struct Percentile {
    const char* name;
    double percent;
};

constexpr Percentile percentiles[] = {
    {"p50", 50}, {"p90", 90}, {"p95", 95}, {"p99", 99}, {"p99.9", 99.9}};

double ms(std::uint64_t ns) {
    return static_cast<double>(ns) / 1e6;
}

// The report as JSON

Json distribution(const std::vector<std::uint64_t>& sorted) {
    if (sorted.empty())
        return nullptr;
    const std::uint64_t sum = std::accumulate(sorted.begin(), sorted.end(), std::uint64_t{0});
    Json json = {{"min", ms(sorted.front())},
                 {"mean", static_cast<double>(sum) / static_cast<double>(sorted.size()) / 1e6},
                 {"max", ms(sorted.back())}};
    Json rough = Json::array();
    for (const Percentile& entry : percentiles) {
        json[entry.name] = ms(load::percentile(sorted, entry.percent));
        if (load::beyond(sorted.size(), entry.percent) < enough_beyond)
            rough.push_back(entry.name);
    }
    json["rough"] = rough;
    return json;
}

Json histogram(const std::vector<std::uint64_t>& sorted) {
    Json json = Json::array();
    for (const load::Bin& bin : load::histogram(sorted))
        json.push_back(
            {{"from_ms", ms(bin.from_ns)}, {"to_ms", ms(bin.to_ns)}, {"count", bin.count}});
    return json;
}

Json arrivals(const load::Load& load, const load::Outcome& outcome) {
    const std::uint64_t period_us = load.options.period_us;
    const load::Rates rates = load::rates(outcome, period_us);
    Json json = {{"fps", rates.served}};
    if (period_us == 0) {
        json["in_flight"] = load.options.in_flight * load.sources.size();
        return json;
    }
    json["offered_per_second"] = rates.offered;
    json["overloaded"] = rates.overloaded;
    json["most_waiting"] = outcome.most_waiting;
    json["waiting_at_end"] = outcome.waiting;
    const std::uint64_t oldest_due_ns =
        outcome.begin_ns + outcome.requests.size() * period_us * 1000;
    json["longest_wait_at_end_ms"] = outcome.waiting == 0 ? 0 : ms(outcome.end_ns - oldest_due_ns);
    return json;
}

// Returns how many requests kept their deadline.
Json deadline(const load::Load& load, const load::Outcome& outcome) {
    const std::uint64_t slo_ns = load.options.task.slo_ns;
    std::size_t met = 0;
    std::size_t dropped = 0;
    for (const load::Request& request : outcome.requests) {
        met += request.status == 0 && load::response_time(request) <= slo_ns;
        dropped += load::is_dropped(load.options, request);
    }
    const std::size_t count = outcome.requests.size();
    return {{"ms", ms(slo_ns)},
            {"met", met},
            {"dropped", dropped},
            {"satisfaction",
             count == 0 ? Json() : Json(static_cast<double>(met) / static_cast<double>(count))}};
}

// The report as text

std::string value(const Json& times, const char* name) {
    const auto& rough = times.value("rough", Json::array());
    const bool is_rough = std::ranges::find(rough, name) != rough.end();
    return fmt::format("{} {:.3f}{}", name, times[name].get<double>(), is_rough ? "*" : "");
}

void print_times(const Json& report) {
    const Json& latency = report["latency_ms"];
    const Json& device = report["device_latency_ms"];
    fmt::print("latency     {}, {}, {} ms\n", value(latency, "min"), value(latency, "mean"),
               value(latency, "max"));
    fmt::print("            {}, {}, {}, {}, {} ms\n", value(latency, "p50"), value(latency, "p90"),
               value(latency, "p95"), value(latency, "p99"), value(latency, "p99.9"));
    if (!latency["rough"].empty())
        fmt::print("            * rough: fewer than {} requests took longer\n", enough_beyond);
    if (const auto early = report["arrived_early"].get<std::size_t>(); early != 0)
        fmt::print("            {} of {} requests arrived, by the device's clock, before they were "
                   "due: this host was late\n",
                   early, report["requests"].get<std::size_t>());
    if (!device.is_null())
        fmt::print("on device   {}, {}, {} ms, of which {:.3f} ms executing on average{}; "
                   "overtaken {} times\n",
                   value(device, "p50"), value(device, "p99"), value(device, "max"),
                   report["executed_ms_mean"].get<double>(),
                   report["executed_ms_mean"] > device["mean"] ? ", on all cores together" : "",
                   report["preemptions"].get<std::uint64_t>());
}

void print_histogram(const Json& bins) {
    std::size_t most = 1;
    for (const Json& bin : bins)
        most = std::max(most, bin["count"].get<std::size_t>());
    const char* label = "histogram";
    for (const Json& bin : bins) {
        const auto count = bin["count"].get<std::size_t>();
        const std::size_t length = (count * histogram_width + most - 1) / most;
        fmt::print("{:<10}{:>11.3f} .. {:>9.3f} ms {:>8}{}{}\n", label,
                   bin["from_ms"].get<double>(), bin["to_ms"].get<double>(), count,
                   count == 0 ? "" : " ", std::string(length, '#'));
        label = "";
    }
}

void print_rates(const Json& report) {
    const double served = report["fps"];
    if (!report.contains("offered_per_second")) {
        fmt::print("throughput  {:.1f} FPS with {} in flight\n", served,
                   report["in_flight"].get<std::size_t>());
        return;
    }
    const double offered = report["offered_per_second"];
    if (!report["overloaded"].get<bool>()) {
        fmt::print("throughput  {:.1f} FPS: served {:.1f} of {:.1f} requests/s\n", served, served,
                   offered);
        return;
    }
    fmt::print("throughput  {:.1f} FPS: served {:.1f} of {:.1f} requests/s: overloaded; up to {} "
               "requests waited outside the device\n",
               served, served, offered, report["most_waiting"].get<std::uint64_t>());
}

void print_waiting(const Json& report) {
    const auto waiting = report.value("waiting_at_end", std::uint64_t{0});
    if (waiting != 0)
        fmt::print(
            "            {} still waiting at the end, the oldest for {:.3f} ms; the figures above "
            "leave them out\n",
            waiting == 1 ? "1 request was" : fmt::format("{} requests were", waiting),
            report["longest_wait_at_end_ms"].get<double>());
}

void print_deadline(const Json& report) {
    if (!report.contains("slo"))
        return;
    const Json& slo = report["slo"];
    fmt::print("deadline    {} ms: {} of {} requests kept it, {} were dropped\n",
               slo["ms"].get<double>(), slo["met"].get<std::size_t>(),
               report["requests"].get<std::size_t>(), slo["dropped"].get<std::size_t>());
}

void print_processors(const Json& processors) {
    const char* label = "processors";
    for (const Json& processor : processors) {
        const std::string failures =
            processor["failures"] == 0
                ? ""
                : fmt::format(", failed {} time{}", processor["failures"].get<std::uint64_t>(),
                              processor["failures"] == 1 ? "" : "s");
        fmt::print("{:<12}{:<12} {:>8} runs, busy {:5.1f} %{}{}\n", label,
                   processor["name"].get<std::string>(), processor["runs"].get<std::uint64_t>(),
                   100 * processor["busy"].get<double>(), failures,
                   processor["in_use"].get<bool>() ? "" : ", out of use");
        label = "";
    }
}

void print_perf_report(const Json& report) {
    fmt::print("{}: {} requests, {} failed; {} warm-up requests before them, not counted\n",
               report["model"].get<std::string>(), report["requests"].get<std::size_t>(),
               report["failed"].get<std::size_t>(), report["warm_up_requests"].get<std::size_t>());
    const Json& bytes = report["memory_bytes"];
    const auto sets = report["buffer_sets"].get<std::size_t>();
    const auto kib = [&](const char* what) {
        return (bytes[what].get<std::size_t>() + 1023) / 1024;
    };
    fmt::print(
        "memory      program {} KiB, weights {} KiB, scratch {} KiB, inputs and outputs {} KiB; "
        "buffers for {} request{} at a time\n",
        kib("program"), kib("weights"), kib("scratch"), kib("inputs_and_outputs"), sets,
        sets == 1 ? "" : "s");
    if (report.contains("gave_back_bytes"))
        fmt::print(
            "            gave back {} bytes: the model's file, and tables of what is in it\n",
            report["gave_back_bytes"].get<std::size_t>());
    if (!report["latency_ms"].is_null()) {
        print_times(report);
        print_histogram(report["histogram"]);
        print_rates(report);
    }
    print_deadline(report);
    print_waiting(report);
}

} // namespace

Json memory_of(const Model& model) {
    std::size_t scratch = 0;
    std::size_t buffers = 0;
    for (const Segment& segment : ModelContents::of(model).segments)
        scratch = std::max<std::size_t>(scratch, segment.scratch_bytes);
    if (const auto& plan = ModelContents::of(model).core_plan)
        for (const CoreSegment& segment : plan->segments)
            scratch = std::max<std::size_t>(scratch, segment.scratch_bytes);
    for (const Tensor& tensor : model.tensors())
        buffers += tensor.on_device() ? tensor.bytes : 0;
    return {{"program", model.program().size()},
            {"weights", model.weights().size()},
            {"scratch", scratch},
            {"inputs_and_outputs", buffers}};
}

Json perf_report(const load::Load& load, const load::Outcome& outcome, const Json& memory) {
    const load::Source& source = *load.sources.front();
    const auto response_times = load::response_times(outcome.requests);
    std::uint64_t executed = 0;
    std::uint64_t preemptions = 0;
    bool runs_on_device = false;
    std::size_t dropped = 0;
    for (const load::Request& request : outcome.requests) {
        const bool is_dropped = load::is_dropped(load.options, request);
        dropped += is_dropped;
        executed += is_dropped ? 0 : request.executed_ns;
        preemptions += request.preemptions;
        runs_on_device = runs_on_device || request.queued_ns != 0;
    }
    const std::size_t count = outcome.requests.size();
    Json report = {{"model", source.model().name()},
                   {"threads", load.sources.size()},
                   {"warm_up_requests", outcome.warm_up},
                   {"requests", count},
                   {"failed", count - response_times.size() - dropped},
                   {"latency_ms", distribution(response_times)},
                   {"device_latency_ms",
                    runs_on_device ? distribution(load::latencies(outcome.requests)) : Json()},
                   {"arrived_early", load::count_early(outcome.requests)},
                   {"histogram", histogram(response_times)},
                   {"executed_ms_mean",
                    count == dropped ? 0 : ms(executed) / static_cast<double>(count - dropped)},
                   {"preemptions", preemptions}};
    report.update(arrivals(load, outcome));
    if (load.options.task.slo_ns != 0)
        report["slo"] = deadline(load, outcome);
    report["buffer_sets"] = outcome.tasks;
    report["memory_bytes"] = memory;
    if (const std::size_t bytes = source.given_back_bytes(); bytes != 0)
        report["gave_back_bytes"] = bytes;
    return report;
}

void add_processors(Json& json, const std::vector<ProcessorState>& processors,
                    std::int64_t lasted_ns) {
    const auto lasted = static_cast<double>(lasted_ns);
    for (const ProcessorState& processor : processors)
        json["processors"].push_back(
            {{"name", processor.name},
             {"class", processor.class_name},
             {"in_use", processor.in_use},
             {"slowness", processor.slowness},
             {"runs", processor.runs},
             {"busy", lasted > 0 ? static_cast<double>(processor.busy_ns) / lasted : 0},
             {"failures", processor.failures},
             {"retries", processor.retries}});
}

void print_perf_reports(const Json& json) {
    for (const Json& report : json["models"])
        print_perf_report(report);
    if (json.contains("processors"))
        print_processors(json["processors"]);
    const Json& resident = json["resident_bytes"];
    const auto kib = [&](const char* what) { return resident[what].get<std::size_t>() / 1024; };
    fmt::print("resident    {} KiB of this process: anonymous {}, mapped files {}, shared {}\n",
               kib("all"), kib("anonymous"), kib("files"), kib("shared"));
}

} // namespace overtake::command
