// SPDX-License-Identifier: MIT
#include "simulator/summary.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "simulator/table.hpp"

namespace overtake::simulator {
namespace {

using Json = nlohmann::ordered_json;

Percentiles percentiles(const Distribution& distribution) {
    return {.p50 = distribution.percentile(50),
            .p90 = distribution.percentile(90),
            .p99 = distribution.percentile(99),
            .p99_9 = distribution.percentile(99.9),
            .max = distribution.max(),
            .mean = distribution.mean(),
            .exact = distribution.exact(),
            .samples = distribution.count()};
}

double ratio(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

ClassSummary class_summary(const TaskClass& of, const ClassAccount& account, std::uint64_t time,
                           std::uint64_t tick_ns) {
    ClassSummary summary;
    summary.name = of.name;
    summary.tick_ns = tick_ns;
    summary.tasks = account.ended + account.dropped;
    summary.cancelled = account.cancelled;
    summary.dropped = account.dropped;
    summary.preemptions = account.preemptions;
    summary.latency = percentiles(account.latency);
    summary.slo = of.slo;
    if (account.with_slo != 0)
        summary.slo_met = ratio(account.slo_met, account.with_slo);
    summary.slo_missed = account.with_slo - account.slo_met;
    if (time != 0)
        summary.throughput =
            1e9 / static_cast<double>(tick_ns) * ratio(account.latency.count(), time);
    summary.turnaround = ratio(account.latency.sum(), account.isolated_sum);
    summary.latency_sum = account.latency_sum;
    summary.queued = account.queued;
    summary.worker = account.worker;
    summary.cpu = account.cpu;
    summary.running = account.running;
    summary.blocked_by = account.blocked_by;
    summary.preempted_by = account.preempted_by;
    summary.over = account.ended;
    return summary;
}

std::uint64_t sum(const std::vector<std::uint64_t>& values) {
    return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

void add_latency(std::vector<std::string>& row, const Percentiles& latency, bool any,
                 std::uint64_t tick_ns) {
    if (!any) {
        row.insert(row.end(), 5, "-");
        return;
    }
    const auto add = [&](double percent, std::uint64_t time) {
        row.push_back(format_percentile(in_us(time, tick_ns), latency.rests_on_few(percent)));
    };
    add(50, latency.p50);
    add(90, latency.p90);
    add(99, latency.p99);
    add(99.9, latency.p99_9);
    row.push_back(format_time(in_us(latency.max, tick_ns)));
}

std::string class_table(const Summary& summary) {
    const auto uses = [&](auto member) {
        return std::ranges::any_of(summary.classes,
                                   [&](const ClassSummary& of) { return of.*member != 0; });
    };
    const bool slo = std::ranges::any_of(
        summary.classes, [](const ClassSummary& of) { return of.slo_met.has_value(); });
    const bool dropped = uses(&ClassSummary::dropped);
    const bool cancelled = uses(&ClassSummary::cancelled);
    std::vector<std::string> head = {"class", "tasks", "p50", "p90", "p99", "p99.9", "max"};
    if (slo)
        head.insert(head.end(), {"SLO", "met", "missed"});
    if (dropped)
        head.push_back("dropped");
    if (cancelled)
        head.push_back("cancelled");
    head.insert(head.end(), {"preempted", "x alone"});
    Table table(head);
    for (const ClassSummary& of : summary.classes) {
        const bool any = of.any_completed();
        std::vector<std::string> row = {of.name, std::to_string(of.tasks)};
        add_latency(row, of.latency, any, summary.tick_ns);
        if (slo)
            row.insert(row.end(), {of.slo ? format_time(in_us(*of.slo, summary.tick_ns)) : "-",
                                   of.slo_met ? format_share(*of.slo_met) : "-",
                                   of.slo_met ? std::to_string(of.slo_missed) : "-"});
        if (dropped)
            row.push_back(std::to_string(of.dropped));
        if (cancelled)
            row.push_back(std::to_string(of.cancelled));
        row.push_back(std::to_string(of.preemptions));
        row.push_back(any ? fmt::format("{:.2f}", of.turnaround) : "-");
        table.add(row);
    }
    return table.text();
}

std::string priority_table(const Summary& summary) {
    Table table({"priority", "tasks", "p50", "p90", "p99", "p99.9", "max"});
    for (const PrioritySummary& of : summary.priorities) {
        std::vector<std::string> row = {std::to_string(of.priority), std::to_string(of.tasks)};
        add_latency(row, of.latency, true, summary.tick_ns);
        table.add(row);
    }
    return table.text();
}

/// Returns means per task: a row for each class, a column for each place in which any task was.
std::string place_table(const Summary& summary) {
    struct Column {
        std::string head;
        std::vector<std::uint64_t> sums;
    };
    std::vector<Column> columns;
    const auto add = [&](std::string head, auto value_of) {
        Column column{std::move(head), {}};
        for (const ClassSummary& of : summary.classes)
            column.sums.push_back(value_of(of));
        if (sum(column.sums) != 0)
            columns.push_back(std::move(column));
    };
    add("queued", [](const ClassSummary& of) { return of.queued; });
    add("no worker", [](const ClassSummary& of) { return of.worker; });
    for (std::size_t i = 0; i < summary.classes.size(); i++)
        add("behind " + summary.classes[i].name,
            [i](const ClassSummary& of) { return of.blocked_by[i]; });
    for (std::size_t i = 0; i < summary.classes.size(); i++)
        add("preempted by " + summary.classes[i].name,
            [i](const ClassSummary& of) { return of.preempted_by[i]; });
    add("on CPU", [](const ClassSummary& of) { return of.cpu; });
    add("running", [](const ClassSummary& of) { return of.running; });

    std::vector<std::string> head = {"class", "latency"};
    for (const Column& column : columns)
        head.push_back(column.head);
    Table table(head);
    for (std::size_t i = 0; i < summary.classes.size(); i++) {
        const ClassSummary& of = summary.classes[i];
        if (of.over == 0)
            continue;
        const auto mean = [&](std::uint64_t total) {
            return format_time(in_us(total, summary.tick_ns) / static_cast<double>(of.over));
        };
        std::vector<std::string> row = {of.name, mean(of.latency_sum)};
        for (const Column& column : columns)
            row.push_back(column.sums[i] == 0 ? "-" : mean(column.sums[i]));
        table.add(row);
    }
    return table.text();
}

std::string core_table(const Summary& summary) {
    const bool gaps =
        std::ranges::any_of(summary.cores, [](const CoreSummary& of) { return of.gap != 0; });
    std::vector<std::string> head = {"core", "busy", "HIGH FCs", "NORMAL FCs"};
    if (gaps)
        head.insert(head.end(), {"in gaps", "filled"});
    Table table(head);
    for (std::size_t i = 0; i < summary.cores.size(); i++) {
        const CoreSummary& of = summary.cores[i];
        std::vector<std::string> row = {std::to_string(i + 1), format_share(of.utilisation),
                                        std::to_string(of.fcs_high), std::to_string(of.fcs_normal)};
        if (gaps)
            row.insert(row.end(), {format_time(in_us(of.gap, summary.tick_ns)),
                                   of.gap == 0 ? "-" : format_share(ratio(of.gap_filled, of.gap))});
        table.add(row);
    }
    return table.text();
}

/// Returns the meaning of ~, if a figure has this mark.
std::string note_of_few(const Summary& summary) {
    const auto marked = [](const auto& of) {
        return of.latency.samples != 0 && of.latency.rests_on_few(99.9);
    };
    return std::ranges::any_of(summary.classes, marked) ||
                   std::ranges::any_of(summary.priorities, marked)
               ? "~ rests on fewer than 10 latencies\n"
               : "";
}

/// Returns a time in us: a whole number unless the scenario's unit is finer.
Json json_us(std::uint64_t ticks, std::uint64_t tick_ns) {
    return tick_ns == 1000 ? Json(ticks) : Json(in_us(ticks, tick_ns));
}

/// Returns null for latencies that no task had.
Json to_json(const Percentiles& latency, bool any, std::uint64_t tick_ns) {
    if (!any)
        return nullptr;
    const auto us = [tick_ns](std::uint64_t ticks) { return json_us(ticks, tick_ns); };
    Json few = Json::array();
    for (const auto& [percent, key] : {std::pair(50.0, "p50"), std::pair(90.0, "p90"),
                                       std::pair(99.0, "p99"), std::pair(99.9, "p99_9")})
        if (latency.rests_on_few(percent))
            few.push_back(key);
    return {{"p50", us(latency.p50)}, {"p90", us(latency.p90)},
            {"p99", us(latency.p99)}, {"p99_9", us(latency.p99_9)},
            {"max", us(latency.max)}, {"mean", latency.mean * static_cast<double>(tick_ns) / 1e3},
            {"exact", latency.exact}, {"samples", latency.samples},
            {"rest_on_few", few}};
}

Json to_json(const Summary& summary, const ClassSummary& of) {
    const auto us = [&](std::uint64_t ticks) { return json_us(ticks, summary.tick_ns); };
    Json blocked = Json::object();
    Json preempted = Json::object();
    for (std::size_t i = 0; i < summary.classes.size(); i++) {
        if (of.blocked_by[i] != 0)
            blocked[summary.classes[i].name] = us(of.blocked_by[i]);
        if (of.preempted_by[i] != 0)
            preempted[summary.classes[i].name] = us(of.preempted_by[i]);
    }
    const bool any = of.any_completed();
    return {{"class", of.name},
            {"tasks", of.tasks},
            {"dropped", of.dropped},
            {"cancelled", of.cancelled},
            {"preemptions", of.preemptions},
            {"latency_us", to_json(of.latency, any, summary.tick_ns)},
            {"slo_us", of.slo ? us(*of.slo) : Json(nullptr)},
            {"slo_met", of.slo_met ? Json(*of.slo_met) : Json(nullptr)},
            {"slo_missed", of.slo_met ? Json(of.slo_missed) : Json(nullptr)},
            {"throughput_per_s", of.throughput ? Json(*of.throughput) : Json(nullptr)},
            {"turnaround", any ? Json(of.turnaround) : Json(nullptr)},
            {"time_us",
             {{"latency", us(of.latency_sum)},
              {"queued", us(of.queued)},
              {"worker", us(of.worker)},
              {"blocked_by", blocked},
              {"preempted_by", preempted},
              {"cpu", us(of.cpu)},
              {"running", us(of.running)}}}};
}

} // namespace

bool Percentiles::rests_on_few(double percent) const {
    return Distribution::samples_of(percent, samples) < 10;
}

std::string format_share(double share) {
    // The rounding error of the share is far below the share of one task among many.
    return fmt::format("{:.1f}%", std::floor(1000 * share + 1e-9) / 10);
}

std::string format_percentile(double us, bool rests_on_few) {
    return (rests_on_few ? "~" : "") + format_time(us);
}

std::string format_time(double us) {
    if (us < 999.95)
        return us == static_cast<double>(static_cast<std::uint64_t>(us))
                   ? fmt::format("{:.0f} us", us)
                   : fmt::format("{:.1f} us", us);
    if (us < 9.9995e5)
        return fmt::format("{:.2f} ms", us / 1e3);
    return fmt::format("{:.2f} s", us / 1e6);
}

Summary summarise(const Scenario& scenario, const Accounts& accounts) {
    accounts.check();
    Summary summary{};
    summary.tick_ns = scenario.tick_ns;
    summary.from = accounts.from();
    summary.to = accounts.to();
    std::uint32_t programs = 0;
    for (std::size_t i = 0; i < scenario.classes.size(); i++) {
        summary.classes.push_back(class_summary(scenario.classes[i], accounts.classes()[i],
                                                summary.to - summary.from, scenario.tick_ns));
        const double turnaround = summary.classes.back().turnaround;
        if (turnaround == 0)
            continue;
        programs++;
        summary.antt += turnaround;
        summary.stp += 1 / turnaround;
    }
    if (programs != 0)
        summary.antt /= programs;
    for (unsigned priority = 256; priority-- > 0;)
        if (const auto& of = accounts.priorities()[priority])
            summary.priorities.push_back({priority, of->count(), percentiles(*of)});
    for (const CoreAccount& core : accounts.cores()) {
        summary.cores.push_back({ratio(core.busy, summary.to - summary.from),
                                 core.fcs[1],
                                 core.fcs[0],
                                 core.gap,
                                 core.gap_filled,
                                 {}});
        summary.fcs += core.fcs[0] + core.fcs[1];
    }
    return summary;
}

std::string to_text(const Summary& summary) {
    return fmt::format("{}\n{}{}\nwhere the time went, mean of a task\n{}\n{}\n"
                       "{} FCs in {}; ANTT {:.2f}, STP {:.2f}\n",
                       class_table(summary), priority_table(summary), note_of_few(summary),
                       place_table(summary), core_table(summary), summary.fcs,
                       format_time(in_us(summary.to - summary.from, summary.tick_ns)), summary.antt,
                       summary.stp);
}

Json to_json(const Summary& summary) {
    Json json = {{"from_us", json_us(summary.from, summary.tick_ns)},
                 {"to_us", json_us(summary.to, summary.tick_ns)},
                 {"fcs", summary.fcs},
                 {"antt", summary.antt},
                 {"stp", summary.stp},
                 {"classes", Json::array()},
                 {"priorities", Json::array()},
                 {"cores", Json::array()}};
    for (const ClassSummary& of : summary.classes)
        json["classes"].push_back(to_json(summary, of));
    for (const PrioritySummary& of : summary.priorities)
        json["priorities"].push_back({{"priority", of.priority},
                                      {"tasks", of.tasks},
                                      {"latency_us", to_json(of.latency, true, summary.tick_ns)}});
    for (const CoreSummary& of : summary.cores)
        json["cores"].push_back({{"utilisation", of.utilisation},
                                 {"fcs_high", of.fcs_high},
                                 {"fcs_normal", of.fcs_normal},
                                 {"gap_us", json_us(of.gap, summary.tick_ns)},
                                 {"gap_filled_us", json_us(of.gap_filled, summary.tick_ns)}});
    return json;
}

} // namespace overtake::simulator
