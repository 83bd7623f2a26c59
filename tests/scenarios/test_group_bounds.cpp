// SPDX-License-Identifier: MIT
//
// Waits of HIGH jobs beside groups: compares the bounds of docs/reference/scenarios.md, "Groups",
// with timelines of `overtake sim`.
#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "simulator/simulate.hpp"

namespace overtake::test {
namespace {

using nlohmann::json;
using Random = std::mt19937_64;

std::int64_t pick(Random& random, std::int64_t first, std::int64_t last) {
    return std::uniform_int_distribution<std::int64_t>(first, last)(random);
}

json simulated(const json& scenario) {
    std::ostringstream out;
    simulator::simulate(scenario, ".", out);
    return json::parse(out.str());
}

json random_fcs(Random& random, std::int64_t most, std::int64_t longest) {
    json fcs = json::array();
    for (std::int64_t left = pick(random, 1, most); left > 0; --left)
        fcs.push_back(pick(random, 1, longest));
    return fcs;
}

json random_parts(Random& random, std::int64_t width, std::int64_t stages, std::int64_t longest) {
    json parts = json::array();
    for (std::int64_t core = 1; core <= width; ++core) {
        json part{{"core", core}, {"stages", json::array()}};
        for (std::int64_t stage = 0; stage < stages; ++stage)
            part["stages"].push_back(random_fcs(random, 3, longest));
        parts.push_back(part);
    }
    return parts;
}

// Returns a job's FCs on each core, each with the core's number first.
std::vector<std::pair<std::int64_t, std::int64_t>> fcs_of(const json& job) {
    std::vector<std::pair<std::int64_t, std::int64_t>> result;
    if (job.contains("fcs")) {
        for (const json& fc : job["fcs"])
            result.emplace_back(job["core"].get<std::int64_t>(), fc.get<std::int64_t>());
        return result;
    }
    for (const json& part : job["parts"])
        for (const json& stage : part["stages"])
            for (const json& fc : stage)
                result.emplace_back(part["core"].get<std::int64_t>(), fc.get<std::int64_t>());
    return result;
}

// Returns the sum over stages of the longest part, with the sync before it if it waits for others.
std::int64_t time_alone(const json& job, std::int64_t sync) {
    std::int64_t all = 0;
    if (job.contains("fcs")) {
        for (const json& fc : job["fcs"])
            all += fc.get<std::int64_t>();
        return all;
    }
    const json& parts = job["parts"];
    const auto is_busy = [&](std::size_t part, std::size_t stage) {
        return !parts[part]["stages"][stage].empty();
    };
    for (std::size_t stage = 0; stage < parts[0]["stages"].size(); ++stage) {
        std::int64_t longest = 0;
        for (std::size_t part = 0; part < parts.size(); ++part) {
            std::int64_t time = 0;
            for (const json& fc : parts[part]["stages"][stage])
                time += fc.get<std::int64_t>();
            if (time == 0)
                continue;
            std::size_t before = 0;
            for (std::size_t other = 0; stage > 0 && other < parts.size(); ++other)
                before += is_busy(other, stage - 1);
            if (stage > 0 && (before != 1 || !is_busy(part, stage - 1)))
                time += sync;
            longest = std::max(longest, time);
        }
        all += longest;
    }
    return all;
}

struct Bounds {
    std::size_t met = 0;         // HIGH parts and jobs that met as many NORMAL FCs as they may
    std::int64_t most_spare = 0; // greatest time from a group's end to its bound
};

// Checks the page's bounds for a scenario whose cores have limits and no floor.
void check(const json& scenario, Bounds& bounds) {
    const json timeline = simulated(scenario);
    const std::int64_t sync = scenario.value("sync", 0);
    std::map<std::int64_t, std::int64_t> longest, limit; // NORMAL's FC, by core
    for (std::size_t core = 0; core < scenario["core_limit"].size(); ++core)
        limit[static_cast<std::int64_t>(core) + 1] = scenario["core_limit"][core];
    std::map<std::string, json> jobs, ended;
    for (const json& job : scenario["jobs"]) {
        jobs[job["id"]] = job;
        if (job.value("priority", 0) < 255)
            for (const auto& [core, time] : fcs_of(job))
                longest[core] = std::max(longest[core], time);
    }
    const json& ends = timeline["jobs"];
    for (const json& job : ends)
        ended[job["id"]] = job;
    for (const auto& [id, job] : jobs) {
        if (job.value("priority", 0) < 255)
            continue;
        const std::int64_t arrival = job["at"];
        // NORMAL FCs that a part of the job meets on its core, from its arrival to its last start.
        std::map<std::int64_t, std::int64_t> last_start, normal;
        const json& fcs = timeline["fcs"];
        for (const json& fc : fcs)
            if (fc["job"] == id) {
                const std::int64_t core = fc["core"], start = fc["start"];
                last_start[core] = std::max(last_start[core], start);
            }
        for (const json& fc : fcs) {
            const std::int64_t core = fc["core"], start = fc["start"], end = fc["end"];
            const std::string of = fc["job"];
            if (jobs[of].value("priority", 0) < 255 && last_start.contains(core) && end > arrival &&
                start < last_start[core])
                ++normal[core];
        }
        for (const auto& [core, count] : normal) {
            ASSERT_LE(count, limit[core]) << id << " on core " << core << "\n" << scenario;
            bounds.met += count == limit[core];
        }
        // The end of the whole group.
        std::int64_t bound = arrival;
        std::int64_t wait = 0;
        std::set<std::int64_t> cores;
        for (const auto& [other, of] : jobs) {
            const std::int64_t at = of["at"];
            const std::int64_t end = ended[other]["end"];
            if (of.value("priority", 0) < 255 || at > arrival || end <= arrival)
                continue;
            bound += time_alone(of, sync);
            for (const auto& [core, time] : fcs_of(of))
                cores.insert(core);
        }
        for (const std::int64_t core : cores)
            wait = std::max(wait, limit[core] * longest[core]);
        const std::int64_t end = ended[id]["end"];
        ASSERT_LE(end, bound + wait) << id << "\n" << scenario;
        bounds.most_spare = std::max(bounds.most_spare, bound + wait - end);
    }
}

} // namespace

/// A detector on one core beside a network that has all four cores busy without a gap.
TEST(GroupBounds, AHighDetectorWaitsForNoMoreFcsThanTheLimit) {
    Random random(1);
    Bounds bounds;
    for (int round = 0; round < 20; ++round) {
        json scenario{{"version", 1}, {"kind", "fc"}, {"cores", 4}, {"sync", pick(random, 0, 5)}};
        const std::int64_t limit = pick(random, 1, 4);
        scenario["core_limit"] = {limit, limit, limit, limit};
        std::int64_t work = 0;
        for (int group = 0; group < 12; ++group) {
            json job{{"id", "net" + std::to_string(group)}, {"at", 0}, {"priority", 100}};
            job["parts"] = random_parts(random, 4, pick(random, 1, 6), 100);
            work += time_alone(job, 0);
            scenario["jobs"].push_back(job);
        }
        for (int detector = 0; detector < 15; ++detector)
            scenario["jobs"].push_back({{"id", "detector" + std::to_string(detector)},
                                        {"at", pick(random, 0, work)},
                                        {"priority", 255},
                                        {"core", pick(random, 1, 4)},
                                        {"fcs", random_fcs(random, 4, 20)}});
        ASSERT_NO_FATAL_FAILURE(check(scenario, bounds));
    }
    EXPECT_GT(bounds.met, 20u); // so the greatest allowed wait occurs
}

TEST(GroupBounds, AHighGroupEndsByTheBoundOfThePage) {
    Random random(2);
    Bounds bounds;
    for (int round = 0; round < 150; ++round) {
        const std::int64_t cores = pick(random, 1, 4);
        json scenario{
            {"version", 1}, {"kind", "fc"}, {"cores", cores}, {"sync", pick(random, 0, 5)}};
        for (std::int64_t core = 0; core < cores; ++core)
            scenario["core_limit"].push_back(pick(random, 1, 3));
        const std::int64_t count = pick(random, 4, 14);
        for (std::int64_t index = 0; index < count; ++index) {
            json job{{"id", "job" + std::to_string(index)},
                     {"at", pick(random, 0, 300)},
                     {"priority", pick(random, 0, 2) == 0 ? 255 : 7}};
            if (pick(random, 0, 1) == 0)
                job["parts"] = random_parts(random, pick(random, 1, cores), pick(random, 1, 4), 40);
            else
                job.update({{"core", pick(random, 1, cores)}, {"fcs", random_fcs(random, 6, 40)}});
            scenario["jobs"].push_back(job);
        }
        ASSERT_NO_FATAL_FAILURE(check(scenario, bounds));
    }
    EXPECT_GT(bounds.met, 50u);
    EXPECT_GT(bounds.most_spare, 0);
}

} // namespace overtake::test
