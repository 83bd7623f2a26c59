// SPDX-License-Identifier: MIT
#include "scenario.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <numeric>
#include <ostream>
#include <stdexcept>
#include <tuple>

#include <nlohmann/json.hpp>

namespace overtake::test {

using nlohmann::json;

namespace {

/// Returns a text, or an integer as text.
std::string context_from(const json& from) {
    return from.is_number() ? std::to_string(from.get<std::int64_t>()) : from.get<std::string>();
}

ScenarioJob job_from(const json& from) {
    ScenarioJob job;
    job.id = from.at("id");
    job.at = from.at("at");
    job.core = from.value("core", 0u);
    job.priority = from.value("priority", 0u);
    job.custom_id = from.value("custom_id", std::int64_t{0});
    if (from.contains("context"))
        job.context = context_from(from.at("context"));
    job.fcs = from.at("fcs").get<std::vector<std::uint64_t>>();
    return job;
}

} // namespace

json read_json(const std::string& path) {
    std::ifstream file(path);
    if (!file)
        throw std::runtime_error(path + ": cannot be opened");
    return json::parse(file);
}

std::uint64_t Scenario::over() const {
    std::uint64_t latest = 0;
    std::uint64_t work = 0;
    for (const ScenarioJob& job : jobs) {
        latest = std::max(latest, job.at);
        work = std::accumulate(job.fcs.begin(), job.fcs.end(), work);
    }
    for (const ScenarioCancel& cancel : cancels)
        latest = std::max(latest, cancel.at);
    return latest + work + 1;
}

void Timeline::sort_fcs() {
    std::ranges::sort(fcs, {}, [](const TimelineFc& fc) { return std::tuple(fc.start, fc.core); });
}

std::vector<unsigned> core_limits_from(const json& from) {
    // Limits above the number of FCs in a scenario all have the same effect.
    const auto limit_from = [](const json& limit) {
        return static_cast<unsigned>(std::min(limit.get<std::uint64_t>(), std::uint64_t{1} << 31));
    };
    const json limit = from.value("core_limit", json(0));
    if (!limit.is_array())
        return std::vector<unsigned>(from.at("cores").get<unsigned>(), limit_from(limit));
    std::vector<unsigned> limits;
    std::ranges::transform(limit, std::back_inserter(limits), limit_from);
    return limits;
}

std::vector<ScenarioLimit> limits_from(const json& from) {
    std::vector<ScenarioLimit> limits;
    for (const json& change : from.value("limits", json::array()))
        limits.push_back({change.at("at"), change.at("core"),
                          static_cast<unsigned>(std::min(change.at("limit").get<std::uint64_t>(),
                                                         std::uint64_t{1} << 31))});
    return limits;
}

void refuse_drawn_times(const json& from) {
    for (const char* key : {"fc_jitter", "cpu_jitter", "dispatch_cost"})
        if (from.contains(key))
            throw std::runtime_error(std::string(key) + ": the reference takes times as they are");
}

Scenario scenario_from(const json& from) {
    if (from.at("version") != 1 || from.at("kind") != "fc")
        throw std::runtime_error("not an FC-level scenario of version 1");
    refuse_drawn_times(from);
    Scenario scenario;
    scenario.cores = from.at("cores");
    scenario.core_limits = core_limits_from(from);
    scenario.limits = limits_from(from);
    scenario.fair = from.value("fair", false);
    for (const json& job : from.at("jobs"))
        scenario.jobs.push_back(job_from(job));
    for (const json& cancel : from.value("cancels", json::array())) {
        const std::string id = cancel.at("id");
        const auto job = std::ranges::find(scenario.jobs, id, &ScenarioJob::id);
        if (job == scenario.jobs.end())
            throw std::runtime_error("cancels an unknown job");
        scenario.cancels.push_back(
            {static_cast<std::size_t>(job - scenario.jobs.begin()), cancel.at("at")});
    }
    return scenario;
}

Timeline timeline_from(const json& from) {
    Timeline timeline;
    for (const json& fc : from.at("fcs"))
        timeline.fcs.push_back({fc.at("job"), fc.at("index"), fc.at("core"),
                                fc.at("ring") == "high", fc.at("start"), fc.at("end")});
    for (const json& job : from.at("jobs")) {
        std::optional<std::uint64_t> start;
        if (!job.at("start").is_null())
            start = job.at("start").get<std::uint64_t>();
        timeline.jobs.push_back({job.at("id"), job.at("core"), job.at("arrival"), start,
                                 job.at("end"), job.at("preemptions"), job.at("cancelled")});
    }
    return timeline;
}

Scenario read_scenario(const std::string& path) {
    return scenario_from(read_json(path));
}

Timeline read_timeline(const std::string& path) {
    return timeline_from(read_json(path));
}

std::ostream& operator<<(std::ostream& out, const Scenario& scenario) {
    json to = {{"version", 1},
               {"kind", "fc"},
               {"cores", scenario.cores},
               {"core_limit", scenario.core_limits},
               {"fair", scenario.fair},
               {"jobs", json::array()}};
    for (const ScenarioJob& job : scenario.jobs)
        to["jobs"].push_back({{"id", job.id},
                              {"at", job.at},
                              {"core", job.core},
                              {"priority", job.priority},
                              {"custom_id", job.custom_id},
                              {"context", job.context},
                              {"fcs", job.fcs}});
    for (const ScenarioCancel& cancel : scenario.cancels)
        to["cancels"].push_back({{"id", scenario.jobs[cancel.job].id}, {"at", cancel.at}});
    return out << to.dump();
}

std::ostream& operator<<(std::ostream& out, const TimelineFc& fc) {
    return out << fc.job << "[" << fc.index << "] core " << fc.core
               << (fc.high ? " high " : " normal ") << fc.start << ".." << fc.end;
}

std::ostream& operator<<(std::ostream& out, const TimelineJob& job) {
    return out << job.id << " core " << job.core << " arrival " << job.arrival << " start "
               << (job.start ? std::to_string(*job.start) : "null") << " end " << job.end
               << " preemptions " << job.preemptions << (job.cancelled ? " cancelled" : "");
}

std::ostream& operator<<(std::ostream& out, const Timeline& timeline) {
    out << "fcs:\n";
    for (const TimelineFc& fc : timeline.fcs)
        out << "  " << fc << "\n";
    out << "jobs:\n";
    for (const TimelineJob& job : timeline.jobs)
        out << "  " << job << "\n";
    return out;
}

std::vector<std::size_t> arrival_order(const Scenario& scenario) {
    std::vector<std::size_t> order(scenario.jobs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return scenario.jobs[i].at; });
    return order;
}

} // namespace overtake::test
