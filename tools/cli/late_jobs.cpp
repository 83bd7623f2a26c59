// SPDX-License-Identifier: MIT
#include "late_jobs.hpp"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "drop_oldest.hpp"
#include "observe/blame/sentence.hpp"
#include "observe/watch/jobs.hpp"

namespace overtake::command {

namespace {

std::string name_of(const blame::Who& who) {
    if (who == blame::Who{})
        return "others";
    return watch::owner_name(who.model, who.pid);
}

/// The longest parts stay as they are.  Of the others, all parts with one cause become one part,
/// whose owner is Who{}.
std::vector<blame::Part> shortened(std::vector<blame::Part> parts) {
    if (parts.size() <= LateJobs::most_parts)
        return parts;
    std::ranges::nth_element(parts, parts.begin() + LateJobs::most_parts, std::greater<>{},
                             &blame::Part::ns);
    std::map<blame::Cause, std::uint64_t> rest;
    for (std::size_t i = LateJobs::most_parts; i < parts.size(); i++)
        rest[parts[i].cause] += parts[i].ns;
    parts.resize(LateJobs::most_parts);
    for (const auto& [cause, ns] : rest)
        parts.push_back({cause, {}, ns});
    std::ranges::sort(parts, {}, [](const blame::Part& of) { return std::tie(of.cause, of.by); });
    return parts;
}

} // namespace

LateJobs::LateJobs(std::size_t most)
    : worst_(most),
      blame_({.rules = {.one_queue = true}, .most_live = most_live, .most_owners = most_owners},
             [this](const blame::Report& report) { keep(report); }),
      in_order_([this](const Event& event) { blame_.add(event); }) {}

void LateJobs::lost(std::uint64_t count, std::uint64_t of_engines) {
    if (count == lost_)
        return;
    blame_.lost(count - lost_ == of_engines - lost_of_engines_);
    lost_ = count;
    lost_of_engines_ = of_engines;
}

void LateJobs::keep(const blame::Report& all) {
    blame::Report report = all;
    report.parts = shortened(std::move(report.parts));
    const std::string name = name_of(report.who);
    Owner& owner = owners_.try_emplace(name, Owner{.group = reports_}).first->second;
    owner.last = reports_++;
    worst_.add(owner.group, {report, {}, name});
    if (owners_.size() > most_groups || (worst_.size() > most_reports && owners_.size() > 1))
        drop_oldest_owners();
}

void LateJobs::drop_oldest_owners() {
    dropped_ += drop_oldest(
        owners_, [](const auto& of) { return of.second.last; },
        [&](auto oldest) {
            worst_.forget(oldest->second.group);
            return owners_.erase(oldest);
        });
}

void LateJobs::forget(const std::set<std::uint32_t>& pids) {
    in_order_.finish();
    blame_.forget(pids);
}

std::vector<std::string> LateJobs::lines() const {
    std::vector<std::string> lines;
    for (const blame::Worst::Item& item : worst_.list())
        lines.push_back(blame::sentence(item.name, item.report, name_of));
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
