// SPDX-License-Identifier: MIT
#include "simulator/experiment.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <exception>
#include <iterator>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "overtake/device.hpp"
#include "simulator/simulate.hpp"
#include "simulator/table.hpp"

namespace overtake::simulator {
namespace {

using Json = nlohmann::ordered_json;

struct Estimate {
    double mean = 0;
    double half_width = 0; ///< of the 95 % confidence interval; 0 with one run
};

/// The 97.5 % quantile of Student's t distribution, to three digits.
double student_t(std::size_t degrees) {
    constexpr std::array<double, 30> table = {
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
        2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
        2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
    if (degrees <= table.size())
        return table[degrees - 1];
    // Cornish and Fisher's expansion about the normal quantile z, to the first order.
    constexpr double z = 1.959964;
    return z + (z * z * z + z) / (4 * static_cast<double>(degrees));
}

using Value = std::function<double(const Summary&)>;

Estimate estimate(const std::vector<Summary>& runs, const Value& value) {
    const auto count = static_cast<double>(runs.size());
    Estimate result;
    for (const Summary& run : runs)
        result.mean += value(run) / count;
    if (runs.size() < 2)
        return result;
    double squares = 0;
    for (const Summary& run : runs)
        squares += std::pow(value(run) - result.mean, 2);
    result.half_width = student_t(runs.size() - 1) * std::sqrt(squares / (count - 1) / count);
    return result;
}

enum class Unit { time, share, number };

/// A figure of a summary: a column of the table, a key of the JSON.
struct Metric {
    std::string head;
    std::string key;
    Unit unit;
    Value value;
};

double mean_utilisation(const Summary& summary) {
    double sum = 0;
    for (const CoreSummary& core : summary.cores)
        sum += core.utilisation;
    return sum / static_cast<double>(summary.cores.size());
}

void add_class_metrics(std::vector<Metric>& metrics, const Summary& like, std::size_t i) {
    const ClassSummary& of = like.classes[i];
    const auto add = [&](const char* head, const char* key, Unit unit, auto value) {
        metrics.push_back({fmt::format("{} {}", of.name, head), fmt::format("{}.{}", of.name, key),
                           unit, [i, value](const Summary& summary) {
                               return i < summary.classes.size() ? value(summary.classes[i]) : 0;
                           }});
    };
    add("p50", "p50_us", Unit::time,
        [](const ClassSummary& of) { return static_cast<double>(of.latency.p50); });
    add("p99", "p99_us", Unit::time,
        [](const ClassSummary& of) { return static_cast<double>(of.latency.p99); });
    add("max", "max_us", Unit::time,
        [](const ClassSummary& of) { return static_cast<double>(of.latency.max); });
    add("x alone", "turnaround", Unit::number,
        [](const ClassSummary& of) { return of.turnaround; });
    if (of.slo_met)
        add("SLO met", "slo_met", Unit::share,
            [](const ClassSummary& of) { return of.slo_met.value_or(0); });
}

std::vector<Metric> metrics_of(const Summary& like) {
    std::vector<Metric> metrics;
    for (std::size_t i = 0; i < like.classes.size(); i++)
        add_class_metrics(metrics, like, i);
    metrics.push_back({"busy", "utilisation", Unit::share, mean_utilisation});
    metrics.push_back({"ANTT", "antt", Unit::number, [](const Summary& of) { return of.antt; }});
    metrics.push_back({"STP", "stp", Unit::number, [](const Summary& of) { return of.stp; }});
    return metrics;
}

bool fits(const std::string& head, const std::string& column) {
    return head == column || head.starts_with(column + " ") || head.ends_with(" " + column);
}

std::vector<Metric> chosen(const std::vector<Metric>& all,
                           const std::vector<std::string>& columns) {
    if (columns.empty())
        return all;
    std::vector<Metric> metrics;
    for (const std::string& column : columns) {
        const std::size_t before = metrics.size();
        std::ranges::copy_if(all, std::back_inserter(metrics),
                             [&](const Metric& metric) { return fits(metric.head, column); });
        if (metrics.size() != before)
            continue;
        std::string heads;
        for (const Metric& metric : all)
            heads += (heads.empty() ? "" : ", ") + metric.head;
        throw Error(EINVAL,
                    fmt::format("--columns: no column is \"{}\"; there are {}", column, heads));
    }
    return metrics;
}

std::string format(const Estimate& estimate, Unit unit, bool interval) {
    const auto one = [&](double value) {
        switch (unit) {
        case Unit::time:
            return format_time(value);
        case Unit::share:
            return fmt::format("{:.1f}%", 100 * value);
        default:
            return fmt::format("{:.2f}", value);
        }
    };
    return interval ? fmt::format("{} ± {}", one(estimate.mean), one(estimate.half_width))
                    : one(estimate.mean);
}

std::string describe(const std::vector<Setting>& settings) {
    std::string text;
    for (const Setting& setting : settings)
        text += fmt::format("{}{}={}", text.empty() ? "" : ", ", setting.key, setting.value.dump());
    return text;
}

/// Runs work(0) .. work(count - 1) on threads; rethrows the failure of the lowest index.
void for_each_index(std::size_t count, unsigned threads,
                    const std::function<void(double)>& progress,
                    const std::function<void(std::size_t)>& work) {
    std::atomic<std::size_t> next = 0;
    std::mutex mutex;
    std::size_t done = 0;
    std::size_t failed_index = count;
    std::exception_ptr failure;
    const auto worker = [&] {
        for (std::size_t i; (i = next++) < count;) {
            std::exception_ptr caught;
            try {
                work(i);
            } catch (...) {
                caught = std::current_exception();
            }
            const std::scoped_lock lock(mutex);
            if (caught && i < failed_index) {
                failed_index = i;
                failure = caught;
                next = count;
            }
            done++;
            if (progress)
                progress(static_cast<double>(done) / static_cast<double>(count));
        }
    };
    {
        std::vector<std::jthread> pool;
        for (unsigned i = 1; i < threads && i < count; i++)
            pool.emplace_back(worker);
        worker();
    }
    if (failure)
        std::rethrow_exception(failure);
}

Scenario scenario_at(const Experiment& experiment, const std::vector<Setting>& settings) {
    nlohmann::json document = experiment.document;
    for (const Setting& setting : settings)
        apply_setting(document, setting);
    try {
        return parse_scenario(document, experiment.directory);
    } catch (const Error& error) {
        if (settings.empty())
            throw;
        throw Error(error.code(), fmt::format("with {}: {}", describe(settings), error.what()));
    }
}

/// A summary of a run of `scenario`, as far as it is known before.
Summary before_running(const Scenario& scenario) {
    Summary summary = {};
    for (const TaskClass& of : scenario.classes) {
        summary.classes.emplace_back().name = of.name;
        if (of.slo)
            summary.classes.back().slo_met = 1;
    }
    return summary;
}

} // namespace

std::vector<Point> run_experiment(const Experiment& experiment) {
    const std::size_t size = experiment.grid != nullptr ? experiment.grid->size() : 1;
    std::vector<Point> points(size);
    std::vector<Scenario> scenarios;
    for (std::size_t i = 0; i < size; i++) {
        if (experiment.grid != nullptr)
            points[i].settings = experiment.grid->at(i);
        scenarios.push_back(scenario_at(experiment, points[i].settings));
        points[i].runs.resize(experiment.repeat);
    }
    chosen(metrics_of(before_running(scenarios.front())), experiment.columns);
    for_each_index(
        size * experiment.repeat, experiment.threads, experiment.progress, [&](std::size_t i) {
            const std::size_t point = i / experiment.repeat;
            const std::size_t run = i % experiment.repeat;
            points[point].runs[run] = simulate(scenarios[point], scenarios[point].seed + run);
        });
    return points;
}

std::string to_text(const std::vector<Point>& points, const std::vector<std::string>& columns) {
    const std::vector<Metric> metrics = chosen(metrics_of(points.front().runs.front()), columns);
    std::vector<std::string> head;
    for (const Setting& setting : points.front().settings)
        head.push_back(setting.key);
    for (const Metric& metric : metrics)
        head.push_back(metric.head);
    Table table(head);
    for (const Point& point : points) {
        std::vector<std::string> row;
        for (const Setting& setting : point.settings)
            row.push_back(setting.value.is_string() ? setting.value.get<std::string>()
                                                    : setting.value.dump());
        for (const Metric& metric : metrics)
            row.push_back(
                format(estimate(point.runs, metric.value), metric.unit, point.runs.size() > 1));
        table.add(row);
    }
    return table.text();
}

Json to_json(const std::vector<Point>& points) {
    Json list = Json::array();
    for (const Point& point : points) {
        Json json = {{"settings", Json::object()}, {"runs", point.runs.size()}};
        for (const Setting& setting : point.settings)
            json["settings"][setting.key] = setting.value;
        for (const Metric& metric : metrics_of(point.runs.front())) {
            const Estimate of = estimate(point.runs, metric.value);
            json[metric.key] = {{"mean", of.mean}};
            if (point.runs.size() > 1)
                json[metric.key]["ci95"] = of.half_width;
        }
        list.push_back(json);
    }
    return list;
}

} // namespace overtake::simulator
