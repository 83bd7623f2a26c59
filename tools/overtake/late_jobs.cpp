// SPDX-License-Identifier: MIT
#include "late_jobs.hpp"

#include <fmt/format.h>

#include "blame/sentence.hpp"
#include "watch/jobs.hpp"

namespace overtake::command {

namespace {

std::string name_of(const blame::Who& who) {
    return watch::owner_name(who.model, who.pid);
}

} // namespace

LateJobs::LateJobs(std::size_t most)
    : worst_(most),
      blame_({.rules = {.one_queue = true}}, [this](const blame::Report& report) { keep(report); }),
      in_order_([this](const Event& event) { blame_.add(event); }) {}

void LateJobs::lost(std::uint64_t count, std::uint64_t of_engines) {
    if (count == lost_)
        return;
    blame_.lost(count - lost_ == of_engines - lost_of_engines_);
    lost_ = count;
    lost_of_engines_ = of_engines;
}

void LateJobs::keep(const blame::Report& report) {
    const std::string name = name_of(report.who);
    const auto [owner, is_new] = owners_.try_emplace(name, owners_.size());
    worst_.add(owner->second, {report, {}, name});
}

std::vector<std::string> LateJobs::lines() const {
    std::vector<std::string> lines;
    for (const blame::Worst::Item& item : worst_.list())
        lines.push_back(blame::sentence(item.name, item.report, name_of) +
                        (item.report.incomplete ? " (events of it are missing)" : ""));
    return lines;
}

nlohmann::ordered_json LateJobs::to_json() const {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const blame::Worst::Item& item : worst_.list()) {
        const blame::Report& report = item.report;
        nlohmann::ordered_json parts = nlohmann::ordered_json::array();
        for (const blame::Part& part : report.parts) {
            nlohmann::ordered_json entry{{"cause", blame::cause_name(part.cause)}};
            if (blame::has_blocker(part.cause))
                entry["by"] = name_of(part.by);
            entry["ns"] = part.ns;
            parts.push_back(std::move(entry));
        }
        all.push_back({{"name", item.name},
                       {"is_task", report.is_task},
                       {"tag", report.tag},
                       {"priority", report.priority},
                       {"core", report.core},
                       {"latency_ns", report.latency_ns()},
                       {"preemptions", report.preemptions},
                       {"status", report.status},
                       {"incomplete", report.incomplete},
                       {"parts", parts}});
    }
    return all;
}

} // namespace overtake::command
