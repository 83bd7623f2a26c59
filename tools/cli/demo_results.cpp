// SPDX-License-Identifier: MIT
#include "demo_results.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace overtake::command {
namespace {

using Json = nlohmann::ordered_json;

std::string records(const demo::Row& row, const char* client, unsigned run) {
    return run == 1 ? fmt::format("clients/{}-{}.csv", stem(row), client)
                    : fmt::format("clients/{}-{}-run{}.csv", stem(row), client, run);
}

std::vector<std::string> client(const DemoSetup& setup, const std::string& model,
                                const std::string& records) {
    return {"overtake", "perf",       model,
            "--device", setup.device, "--json",
            "--core",   "1",          "--warm-up",
            "0",        "--records",  (std::filesystem::path(setup.output_dir) / records).string()};
}

double in_us(std::uint64_t ns) {
    return static_cast<double>(ns) / 1e3;
}

Json figures_json(const demo::Figures& figures) {
    return {{"requests", figures.requests},
            {"p50_us", in_us(figures.p50_ns)},
            {"p99_us", in_us(figures.p99_ns)},
            {"max_us", in_us(figures.max_ns)},
            {"late_p99_us", in_us(figures.late_ns)},
            {"large_per_second", figures.large_per_second},
            {"large_fair_per_second", figures.fair_per_second},
            {"large_ran_dry", figures.large_ran_dry},
            {"large_turnaround_us", in_us(figures.large_turnaround_ns)},
            {"large_preemptions", figures.preemptions}};
}

Json measurement_json(const Measurement& measured) {
    Json json = figures_json(measured.spread.median);
    json["least"] = figures_json(measured.spread.least);
    json["most"] = figures_json(measured.spread.most);
    json["runs"] = Json::array();
    for (const demo::Figures& run : measured.runs)
        json["runs"].push_back(figures_json(run));
    json["replayed"] = figures_json(measured.replayed);
    json["attempts"] = measured.attempts;
    return json;
}

} // namespace

double ms(std::uint64_t ns) {
    return static_cast<double>(ns) / 1e6;
}

const demo::Figures& best_known(const RowResult& result) {
    return result.measured ? result.measured->spread.median : result.predicted.figures;
}

std::uint64_t alone_p99_ns(const DemoResults& results) {
    const auto alone = std::ranges::find(results.rows, false,
                                         [](const RowResult& result) { return result.row.large; });
    return alone == results.rows.end() ? 0 : best_known(*alone).p99_ns;
}

std::string stem(const demo::Row& row) {
    std::string stem = row.name;
    std::ranges::replace(stem, ' ', '-');
    return stem;
}

std::string predicted_picture_name(const demo::Row& row) {
    return fmt::format("predicted-{}.svg", stem(row));
}

std::string measured_picture_name(const demo::Row& row) {
    return fmt::format("timeline-{}.svg", stem(row));
}

std::string detector_records(const demo::Row& row, unsigned run) {
    return records(row, "detector", run);
}

std::string large_records(const demo::Row& row, unsigned run) {
    return records(row, "large", run);
}

std::vector<std::string> detector_command(const DemoSetup& setup, const demo::Row& row,
                                          unsigned run) {
    auto command = client(setup, setup.networks.detector, detector_records(row, run));
    command.insert(command.end(), {"--frames", std::to_string(setup.load.requests), "--period-us",
                                   std::to_string(setup.load.period_us * setup.time_scale)});
    if (row.priority)
        command.insert(command.end(), {"--priority", "255", "--core-limit", "1"});
    return command;
}

std::vector<std::string> large_command(const DemoSetup& setup, const demo::Row& row, unsigned run) {
    auto command = client(setup, row.split ? setup.networks.large_split : setup.networks.large,
                          large_records(row, run));
    command.insert(command.end(),
                   {"--in-flight", std::to_string(demo::large_in_flight), "--frames", "0"});
    return command;
}

double difference_percent(std::uint64_t measured, std::uint64_t predicted) {
    return 100 * (static_cast<double>(measured) / static_cast<double>(predicted) - 1);
}

bool differs(const demo::Figures& measured, const demo::Figures& predicted) {
    return std::abs(difference_percent(measured.p50_ns, predicted.p50_ns)) > tolerance_percent ||
           std::abs(difference_percent(measured.p99_ns, predicted.p99_ns)) > tolerance_percent;
}

bool is_disturbed(const RowResult& result) {
    return result.measured &&
           std::abs(difference_percent(result.measured->spread.median.p99_ns,
                                       result.predicted.figures.p99_ns)) > disturbed_percent;
}

nlohmann::ordered_json to_json(const DemoResults& results) {
    const DemoSetup& setup = results.setup;
    const bool is_measured = !results.kernel.empty();
    Json json = {{"requests", setup.load.requests},
                 {"period_us", setup.load.period_us},
                 {"large_in_flight", demo::large_in_flight},
                 {"large_us", in_us(results.large_cost_ns)}};
    json["device"] = is_measured ? Json(setup.device) : Json();
    json["kernel"] = is_measured ? Json(results.kernel) : Json();
    json["runs"] = is_measured ? Json(setup.repeat) : Json();
    json["busy"] = results.busy;
    json["time_scale"] = setup.time_scale;
    json["set_ups"] = Json::array();
    for (const RowResult& result : results.rows) {
        Json entry = {{"set_up", result.row.name},
                      {"large_beside", result.row.large},
                      {"priority", result.row.priority},
                      {"split", result.row.split},
                      {"predicted", figures_json(result.predicted.figures)},
                      {"predicted_picture", predicted_picture_name(result.row)}};
        entry["measured"] = result.measured ? measurement_json(*result.measured) : Json();
        entry["measured_picture"] =
            result.measured ? Json(measured_picture_name(result.row)) : Json();
        json["set_ups"].push_back(std::move(entry));
    }
    return json;
}

} // namespace overtake::command
