// SPDX-License-Identifier: MIT
#include "simulator/experiment.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "overtake/device.hpp"
#include "simulator/parallel.hpp"
#include "simulator/table.hpp"

namespace overtake::simulator {
namespace {

using Json = nlohmann::ordered_json;

struct Estimate {
    std::size_t runs = 0; ///< runs that have the figure; without any there is no mean
    double mean = 0;
    double half_width = 0; ///< half the width of the 95 % confidence interval; needs two runs
    bool alike = true;     ///< all runs that have the figure have the same one
};

/// Returns the 97.5 % quantile of Student's t distribution, to three digits.
double student_t(std::size_t degrees) {
    constexpr std::array<double, 30> table = {
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
        2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
        2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
    if (degrees <= table.size())
        return table[degrees - 1];
    // This is Cornish and Fisher's expansion about the normal quantile z, to the first order.
    constexpr double z = 1.959964;
    return z + (z * z * z + z) / (4 * static_cast<double>(degrees));
}

/// Returns a figure of a run; nothing for a run that has no such figure.
using Value = std::function<std::optional<double>(const Summary&)>;

/// Estimates a figure over the runs that have it.
Estimate estimate(const std::vector<Summary>& runs, const Value& value) {
    std::vector<double> values;
    for (const Summary& run : runs)
        if (const auto of = value(run))
            values.push_back(*of);
    Estimate result = {.runs = values.size()};
    const auto count = static_cast<double>(values.size());
    for (const double of : values)
        result.mean += of / count;
    if (values.size() < 2)
        return result;
    result.alike = std::ranges::adjacent_find(values, std::not_equal_to()) == values.end();
    double squares = 0;
    for (const double of : values)
        squares += std::pow(of - result.mean, 2);
    result.half_width = student_t(values.size() - 1) * std::sqrt(squares / (count - 1) / count);
    return result;
}

enum class Unit { time, share, number, count };

/// A figure of a summary: a column of the table, a key of the JSON.
struct Metric {
    std::string head;
    std::string key;
    Unit unit;
    Value value;
    bool usual = true; ///< shown without --columns, and with the name of its class
    /// Whether a percentile rests on few values.
    std::function<bool(const Summary&)> rests_on_few = nullptr;
};

double mean_utilisation(const Summary& summary) {
    double sum = 0;
    for (const CoreSummary& core : summary.cores)
        sum += core.utilisation;
    return sum / static_cast<double>(summary.cores.size());
}

/// A class that the runs of some point have.
struct ClassHead {
    std::string name;
    bool slo = false;
    bool dropped = false; ///< some of its tasks were dropped
    bool cancelled = false;
    bool can_fail = false; ///< its tasks run on several processors
    bool failed = false;
};

/// The classes of all points, each once. The classes differ where a setting names them.
class ClassHeads {
public:
    void add(const ClassHead& head) {
        const auto [at, is_new] = indexes_.emplace(head.name, list_.size());
        if (is_new)
            list_.push_back({.name = head.name});
        ClassHead& of = list_[at->second];
        of.slo |= head.slo;
        of.dropped |= head.dropped;
        of.cancelled |= head.cancelled;
        of.can_fail |= head.can_fail;
        of.failed |= head.failed;
    }
    const std::vector<ClassHead>& list() const { return list_; }

private:
    std::vector<ClassHead> list_; ///< in the order in which they appear
    std::unordered_map<std::string, std::size_t> indexes_;
};

/// Returns the class called `name`, most likely the one at `index`; null if the run has none.
const ClassSummary* find_class(const Summary& summary, const std::string& name, std::size_t index) {
    const std::vector<ClassSummary>& classes = summary.classes;
    if (index < classes.size() && classes[index].name == name)
        return &classes[index];
    const auto found = std::ranges::find(classes, name, &ClassSummary::name);
    return found == classes.end() ? nullptr : &*found;
}

/// The figures of one class.
class ClassMetrics {
public:
    ClassMetrics(std::vector<Metric>& metrics, const ClassHead& head, std::size_t index)
        : metrics_(metrics), head_(head), index_(index) {}

    void add() {
        add_latencies();
        add_completed("x alone", "turnaround", Unit::number,
                      [](const auto& of) { return of.turnaround; });
        if (head_.slo) {
            add("SLO met", "slo_met", Unit::share, [](const auto& of) { return of.slo_met; });
            add_count("missed", "slo_missed", &ClassSummary::slo_missed, false);
        }
        add_count("dropped", "dropped", &ClassSummary::dropped, head_.dropped);
        add_count("cancelled", "cancelled", &ClassSummary::cancelled, head_.cancelled);
        if (head_.can_fail)
            add("failed", "failed", Unit::count, [](const auto& of) {
                return static_cast<double>(of.failed.value_or(0));
            }).usual = head_.failed;
        add_count("preempted", "preemptions", &ClassSummary::preemptions, false);
        add("per s", "throughput_per_s", Unit::number, [](const auto& of) {
            return of.throughput;
        }).usual = false;
    }

private:
    using OfClass = std::function<std::optional<double>(const ClassSummary&)>;

    Metric& add(const char* of, const char* key, Unit unit, OfClass value) {
        return metrics_.emplace_back(
            Metric{.head = fmt::format("{} {}", head_.name, of),
                   .key = fmt::format("{}.{}", head_.name, key),
                   .unit = unit,
                   .value = [name = head_.name, index = index_,
                             value](const Summary& summary) -> std::optional<double> {
                       const ClassSummary* found = find_class(summary, name, index);
                       return found == nullptr ? std::nullopt : value(*found);
                   }});
    }

    /// Adds a figure of the tasks that completed; if none did, there is no latency.
    template <class Of>
    Metric& add_completed(const char* of, const char* key, Unit unit, Of value) {
        return add(of, key, unit,
                   [value, unit](const ClassSummary& found) -> std::optional<double> {
                       if (!found.any_completed())
                           return {};
                       const auto number = static_cast<double>(value(found));
                       return unit == Unit::time ? number * static_cast<double>(found.tick_ns) / 1e3
                                                 : number;
                   });
    }

    void add_percentile(const char* of, const char* key, double percent,
                        std::uint64_t Percentiles::*value, bool usual) {
        Metric& metric = add_completed(of, key, Unit::time,
                                       [value](const auto& of) { return of.latency.*value; });
        metric.usual = usual;
        metric.rests_on_few = [name = head_.name, index = index_, percent](const Summary& summary) {
            const ClassSummary* found = find_class(summary, name, index);
            return found != nullptr && found->latency.rests_on_few(percent);
        };
    }

    void add_latencies() {
        add_completed("mean", "mean_us", Unit::time, [](const auto& of) {
            return of.latency.mean;
        }).usual = false;
        add_percentile("p50", "p50_us", 50, &Percentiles::p50, true);
        add_percentile("p90", "p90_us", 90, &Percentiles::p90, false);
        add_percentile("p99", "p99_us", 99, &Percentiles::p99, true);
        add_percentile("p99.9", "p99_9_us", 99.9, &Percentiles::p99_9, false);
        add_completed("max", "max_us", Unit::time, [](const auto& of) { return of.latency.max; });
    }

    void add_count(const char* of, const char* key, std::uint64_t ClassSummary::*value,
                   bool usual) {
        add(of, key, Unit::count, [value](const auto& found) {
            return static_cast<double>(found.*value);
        }).usual = usual;
    }

    std::vector<Metric>& metrics_;
    const ClassHead& head_;
    std::size_t index_;
};

/// Returns the figure of the share of time in which one of several processors was busy.
Metric busy_of(const std::string& processor) {
    return {.head = processor + " busy",
            .key = processor + ".utilisation",
            .unit = Unit::share,
            .value = [processor](const Summary& summary) -> std::optional<double> {
                const auto found = std::ranges::find(summary.cores, processor, &CoreSummary::name);
                return found == summary.cores.end() ? std::nullopt
                                                    : std::optional(found->utilisation);
            },
            .usual = false};
}

/// Returns all figures. `processors` are the names of the processors, if there are several.
std::vector<Metric> metrics_of(const ClassHeads& classes,
                               const std::vector<std::string>& processors) {
    std::vector<Metric> metrics;
    for (std::size_t i = 0; i < classes.list().size(); i++)
        ClassMetrics(metrics, classes.list()[i], i).add();
    for (const std::string& processor : processors)
        metrics.push_back(busy_of(processor));
    // If no task of any class completed, there are no such figures, and both are 0.
    const auto unless_zero = [](double value) {
        return value == 0 ? std::nullopt : std::optional(value);
    };
    metrics.push_back({"busy", "utilisation", Unit::share, mean_utilisation});
    metrics.push_back(
        {"ANTT", "antt", Unit::number, [=](const Summary& of) { return unless_zero(of.antt); }});
    metrics.push_back(
        {"STP", "stp", Unit::number, [=](const Summary& of) { return unless_zero(of.stp); }});
    return metrics;
}

/// Adds each name once, in the order in which they appear; cores of one device have no name.
void add_name(std::vector<std::string>& names, const std::string& name) {
    if (!name.empty() && std::ranges::find(names, name) == names.end())
        names.push_back(name);
}

std::vector<Metric> metrics_of(const std::vector<Point>& points) {
    ClassHeads classes;
    std::vector<std::string> processors;
    for (const Point& point : points)
        for (const Summary& run : point.runs) {
            for (const ClassSummary& of : run.classes)
                classes.add({.name = of.name,
                             .slo = of.slo.has_value(),
                             .dropped = of.dropped != 0,
                             .cancelled = of.cancelled != 0,
                             .can_fail = of.failed.has_value(),
                             .failed = of.failed.value_or(0) != 0});
            for (const CoreSummary& of : run.cores)
                add_name(processors, of.name);
        }
    return metrics_of(classes, processors);
}

bool fits(const Metric& metric, const std::string& column) {
    return column == "all" || metric.head == column || metric.head.ends_with(" " + column) ||
           (metric.usual && metric.head.starts_with(column + " "));
}

std::vector<Metric> usual(const std::vector<Metric>& all) {
    std::vector<Metric> metrics;
    std::ranges::copy_if(all, std::back_inserter(metrics), &Metric::usual);
    return metrics;
}

/// Returns the chosen figures. A figure that several columns choose is shown once, for the first.
std::vector<Metric> chosen(const std::vector<Metric>& all,
                           const std::vector<std::string>& columns) {
    std::vector<Metric> metrics;
    std::vector<bool> taken(all.size());
    for (const std::string& column : columns) {
        bool any = false;
        for (std::size_t i = 0; i < all.size(); i++) {
            if (!fits(all[i], column))
                continue;
            any = true;
            if (!taken[i])
                metrics.push_back(all[i]);
            taken[i] = true;
        }
        if (any)
            continue;
        std::string heads;
        for (const Metric& metric : all)
            heads += (heads.empty() ? "" : ", ") + metric.head;
        throw Error(EINVAL,
                    fmt::format("--columns: no column is \"{}\"; there are {}", column, heads));
    }
    return metrics;
}

std::string format(double value, Unit unit) {
    switch (unit) {
    case Unit::time:
        return format_time(value);
    case Unit::share:
        return format_share(value);
    case Unit::count:
        return value == std::floor(value) ? fmt::format("{:.0f}", value)
                                          : fmt::format("{:.1f}", value);
    default:
        return fmt::format("{:.2f}", value);
    }
}

/// Formats half the width of an interval that is not 0, so that it does not look like 0.
std::string format_half_width(double value, Unit unit) {
    switch (unit) {
    case Unit::time:
        return format_time(std::max(value, 0.1));
    case Unit::share:
        return fmt::format("{:.1f}%", std::max(100 * value, 0.1));
    case Unit::count:
        return fmt::format("{:.1f}", std::max(value, 0.1));
    default:
        return fmt::format("{:.2f}", std::max(value, 0.01));
    }
}

std::string format(const Estimate& estimate, const Metric& metric, bool rests_on_few) {
    if (estimate.runs == 0)
        return "-";
    std::string text = metric.rests_on_few ? format_percentile(estimate.mean, rests_on_few)
                                           : format(estimate.mean, metric.unit);
    if (!estimate.alike)
        text += " ± " + format_half_width(estimate.half_width, metric.unit);
    return text;
}

/// Returns whether the percentile rests on few values in any run.
bool rests_on_few(const std::vector<Summary>& runs, const Metric& metric) {
    return metric.rests_on_few && std::ranges::any_of(runs, [&](const Summary& run) {
               return metric.value(run) && metric.rests_on_few(run);
           });
}

std::string describe(const std::vector<Setting>& settings) {
    std::string text;
    for (const Setting& setting : settings)
        text += fmt::format("{}{}={}", text.empty() ? "" : ", ", setting.key, setting.value.dump());
    return text;
}

/// A scenario of either kind.
struct AnyScenario {
    std::optional<Scenario> one_device;
    std::optional<processors::ProcessorScenario> processors;

    std::uint64_t seed() const { return processors ? processors->seed : one_device->seed; }
    Summary run(std::uint64_t seed, const Trim& trim) const {
        return processors ? processors::simulate(*processors, seed, trim)
                          : simulate(*one_device, seed, trim);
    }
};

AnyScenario scenario_at(const Experiment& experiment, const std::vector<Setting>& settings) {
    nlohmann::json document = experiment.document;
    for (const Setting& setting : settings)
        apply_setting(document, setting);
    try {
        AnyScenario scenario;
        if (processors::has_processors(document))
            scenario.processors =
                processors::parse_processor_scenario(document, experiment.directory);
        else
            scenario.one_device = parse_scenario(document, experiment.directory);
        return scenario;
    } catch (const Error& error) {
        if (settings.empty())
            throw;
        throw Error(error.code(), fmt::format("with {}: {}", describe(settings), error.what()));
    }
}

std::vector<ClassHead> heads_of(const AnyScenario& scenario) {
    std::vector<ClassHead> heads;
    if (!scenario.processors) {
        for (const TaskClass& of : scenario.one_device->classes)
            heads.push_back({.name = of.name, .slo = of.slo.has_value()});
        return heads;
    }
    for (const std::string& name : scenario.processors->task_classes)
        heads.push_back({.name = name, .can_fail = true});
    const auto note_slo = [&](const processors::TaskKind& kind) {
        heads[kind.task_class].slo |= kind.slo.has_value();
    };
    for (const auto& listed : scenario.processors->listed)
        note_slo(listed.kind);
    for (const auto& load : scenario.processors->loads)
        note_slo(load.kind);
    return heads;
}

/// The scenario of a point. The point's runs share it, and it is freed with the last of them.
class SharedScenario {
public:
    std::shared_ptr<const AnyScenario> enter(const Experiment& experiment,
                                             const std::vector<Setting>& settings) {
        const std::scoped_lock lock(mutex_);
        if (!scenario_)
            scenario_ = std::make_shared<const AnyScenario>(scenario_at(experiment, settings));
        return scenario_;
    }
    /// Call it after each of `runs` runs.
    void leave(unsigned runs) {
        const std::scoped_lock lock(mutex_);
        if (++left_ == runs)
            scenario_.reset();
    }

private:
    std::mutex mutex_;
    std::shared_ptr<const AnyScenario> scenario_;
    unsigned left_ = 0;
};

/// Refuses the first point whose scenario is invalid, and columns that fit no figure.
void check(const Experiment& experiment, const std::vector<Point>& points) {
    std::vector<std::vector<ClassHead>> classes(points.size());
    std::vector<std::vector<std::string>> processors(points.size());
    for_each_index(points.size(), experiment.threads, {}, [&](std::size_t i) {
        const AnyScenario scenario = scenario_at(experiment, points[i].settings);
        classes[i] = heads_of(scenario);
        if (scenario.processors)
            for (const auto& processor : scenario.processors->processors)
                processors[i].push_back(processor.name);
    });
    ClassHeads heads;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < points.size(); i++) {
        for (const ClassHead& of : classes[i])
            heads.add(of);
        for (const std::string& name : processors[i])
            add_name(names, name);
    }
    chosen(metrics_of(heads, names), experiment.columns);
}

std::string cell(const nlohmann::json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
}

Json to_json(const Estimate& estimate, std::size_t runs) {
    Json json = {{"mean", estimate.runs == 0 ? Json(nullptr) : Json(estimate.mean)}};
    if (runs > 1)
        json["ci95"] = estimate.runs < 2 ? Json(nullptr) : Json(estimate.half_width);
    if (estimate.runs != runs)
        json["runs"] = estimate.runs;
    return json;
}

} // namespace

std::vector<Point> points_of(const Grid* grid) {
    std::vector<Point> points(grid != nullptr ? grid->size() : 1);
    if (grid != nullptr)
        for (std::size_t i = 0; i < points.size(); i++)
            points[i].settings = grid->at(i);
    return points;
}

std::vector<Point> run_experiment(const Experiment& experiment) {
    std::vector<Point> points = points_of(experiment.grid);
    check(experiment, points);
    const std::vector<std::size_t> own = experiment.shard.points(points.size());
    for (const std::size_t i : own)
        points[i].runs.resize(experiment.repeat);
    std::vector<SharedScenario> scenarios(own.size());
    for_each_index(own.size() * experiment.repeat, experiment.threads, experiment.progress,
                   [&](std::size_t i) {
                       Point& point = points[own[i / experiment.repeat]];
                       SharedScenario& shared = scenarios[i / experiment.repeat];
                       const std::size_t run = i % experiment.repeat;
                       const auto scenario = shared.enter(experiment, point.settings);
                       point.runs[run] = scenario->run(scenario->seed() + run, experiment.trim);
                       shared.leave(experiment.repeat);
                   });
    return points;
}

std::uint64_t digest_of_files(const Experiment& experiment) {
    const std::vector<Point> points = points_of(experiment.grid);
    std::vector<std::uint64_t> digests(points.size());
    for_each_index(points.size(), experiment.threads, {}, [&](std::size_t i) {
        const AnyScenario scenario = scenario_at(experiment, points[i].settings);
        if (scenario.processors)
            throw Error(EINVAL, "a scenario with processors is not run in parts");
        digests[i] = digest_of(*scenario.one_device);
    });
    Digest all;
    for (const std::uint64_t digest : digests)
        all.add(digest);
    return all.value();
}

std::string to_text(const std::vector<Point>& points, const std::vector<std::string>& columns) {
    const std::vector<Metric> all = metrics_of(points);
    const std::vector<Metric> metrics = columns.empty() ? usual(all) : chosen(all, columns);
    std::vector<std::string> head;
    for (const Setting& setting : points.front().settings)
        head.push_back(setting.key);
    for (const Metric& metric : metrics)
        head.push_back(metric.head);
    Table table(head);
    bool any_few = false;
    for (const Point& point : points) {
        std::vector<std::string> row;
        for (const Setting& setting : point.settings)
            row.push_back(cell(setting.value));
        for (const Metric& metric : metrics) {
            const bool few = rests_on_few(point.runs, metric);
            any_few |= few;
            row.push_back(format(estimate(point.runs, metric.value), metric, few));
        }
        table.add(row);
    }
    return table.text() + (any_few ? "~ rests on fewer than 10 latencies\n" : "");
}

Json to_json(const std::vector<Point>& points, const std::vector<std::string>& columns) {
    const std::vector<Metric> all = metrics_of(points);
    const std::vector<Metric> metrics = columns.empty() ? all : chosen(all, columns);
    Json list = Json::array();
    for (const Point& point : points) {
        Json json = {{"settings", Json::object()}, {"runs", point.runs.size()}};
        for (const Setting& setting : point.settings)
            json["settings"][setting.key] = setting.value;
        for (const Metric& metric : metrics) {
            Json& figure = json[metric.key];
            figure = to_json(estimate(point.runs, metric.value), point.runs.size());
            if (rests_on_few(point.runs, metric))
                figure["rests_on_few"] = true;
        }
        list.push_back(json);
    }
    return list;
}

} // namespace overtake::simulator
