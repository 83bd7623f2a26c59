// SPDX-License-Identifier: MIT
#include "random_scenario.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "draw.hpp"
#include "oracle.hpp"
#include "task_oracle.hpp"

namespace overtake::test {

using nlohmann::json;

namespace {

/// The common part of both kinds: cores, limits, ids, priorities, and the unit of drawn times.
class Drawer {
public:
    Drawer(std::uint64_t seed, bool all_fair) : draw_(seed) {
        fair_ = draw_.one_in(3) || all_fair;
        // Now and then many cores, up to 64: sets of cores are bits of one word.
        cores_ = draw_.one_in(8) ? draw_.of<std::uint64_t>({8, 31, 32, 33, 63, 64, 64})
                                 : 1 + draw_.below(4);
        // Many times are equal in whole units; half milliseconds meet the variables in ms.
        unit_ = draw_.of<std::uint64_t>({1, 1, 1, 7, 500, 1000});
        // Now and then times beyond 32 bits, or beyond what a double holds exactly.
        origin_ =
            draw_.one_in(20) ? draw_.of<std::uint64_t>({(1ull << 32) - 10, (1ull << 53) + 1}) : 0;
    }

protected:
    json head(const std::string& kind) {
        json scenario = {{"version", 1}, {"kind", kind}, {"cores", cores_}};
        if (fair_ || draw_.one_in(4))
            scenario["fair"] = fair_;
        if (draw_.one_in(2)) {
            json limits = json::array();
            for (std::uint64_t core = 0; core < cores_; core++)
                limits.push_back(limit());
            scenario["core_limit"] = limits;
        } else if (!draw_.one_in(5)) {
            scenario["core_limit"] = limit();
        }
        return scenario;
    }

    std::uint64_t limit() {
        if (draw_.one_in(10))
            return draw_.of<std::uint64_t>({8, 63, 64, 65, 100, 1ull << 32});
        return draw_.below(4);
    }

    /// Returns a number that is larger than a scenario needs, and larger than narrow arithmetic
    /// holds.
    std::uint64_t huge() {
        return draw_.of<std::uint64_t>({1ull << 32, (1ull << 53) + 1, 1ull << 62, ~0ull >> 1});
    }

    std::string id(std::size_t number) {
        const std::string digits = std::to_string(number);
        return draw_.one_in(15) ? draw_.of<std::string>({"a.0", "\"\\", "é ", "-"}) + digits
                                : "t" + digits;
    }

    std::uint64_t at(std::uint64_t units) { return origin_ + unit_ * draw_.below(units); }

    std::uint64_t duration() {
        const std::uint64_t whole = unit_ * (1 + draw_.below(10));
        return draw_.one_in(30) ? whole + 1 : whole;
    }

    json durations() {
        // Now and then more FCs than a hardware ring holds.
        const std::uint64_t most = fair_ ? 12 : 4; // a turn is up to 8
        const std::uint64_t count = draw_.one_in(60) ? 150 : 1 + draw_.below(most);
        json list = json::array();
        for (std::uint64_t i = 0; i < count; i++)
            list.push_back(duration());
        return list;
    }

    /// Draws core, priority and custom_id; leaves each out at times.
    void put_common(json& entry) {
        if (!draw_.one_in(4))
            entry["core"] = draw_.one_in(3) ? 0 : 1 + draw_.below(cores_);
        if (!draw_.one_in(8))
            entry["priority"] = draw_.one_in(4) ? 255
                                : fair_ ? draw_.of({0, 1, 31, 32, 33, 64, 95, 223, 224, 254})
                                        : draw_.of({0, 1, 2, 2, 3, 254});
        if (draw_.one_in(3))
            entry["custom_id"] =
                draw_.of<std::int64_t>({-1, 0, 1, 2, std::numeric_limits<std::int64_t>::min(),
                                        std::numeric_limits<std::int64_t>::max()});
    }

    /// Draws cancels, most of them at an instant of the timeline that the earlier cancels give.
    template <typename TimelineOf>
    void put_cancels(json& scenario, const char* entries, const TimelineOf& instants_of) {
        const std::size_t count = draw_.one_in(2) ? 0 : 1 + draw_.below(4);
        for (std::size_t i = 0; i < count; i++) {
            const json& entry = scenario[entries][draw_.below(scenario[entries].size())];
            const std::uint64_t arrival = entry["at"];
            std::vector<std::uint64_t> instants = instants_of(scenario, entry["id"]);
            std::erase_if(instants, [&](std::uint64_t at) { return at < arrival; });
            std::uint64_t at = arrival + draw_.below(30) * unit_;
            if (!instants.empty() && !draw_.one_in(5))
                at = draw_.of(instants) + (draw_.one_in(4) ? 1 : 0);
            scenario["cancels"].push_back({{"id", entry["id"]}, {"at", at}});
        }
    }

    static void put_instants(std::vector<std::uint64_t>& instants, const Timeline& timeline) {
        for (const TimelineFc& fc : timeline.fcs) {
            instants.push_back(fc.start);
            instants.push_back(fc.end);
        }
    }

    Draw draw_;
    bool fair_;
    std::uint64_t cores_;
    std::uint64_t unit_;
    std::uint64_t origin_ = 0;
};

class FcDrawer : Drawer {
public:
    using Drawer::Drawer;

    json scenario() {
        json scenario = head("fc");
        const std::size_t jobs = 1 + draw_.below(14);
        for (std::size_t i = 0; i < jobs; i++) {
            json job = {{"id", id(i)}, {"at", at(40)}, {"fcs", durations()}};
            put_common(job);
            put_context(job);
            scenario["jobs"].push_back(job);
        }
        put_cancels(scenario, "jobs", [](const json& so_far, const std::string&) {
            std::vector<std::uint64_t> instants;
            put_instants(instants, oracle_timeline(scenario_from(so_far)));
            return instants;
        });
        return scenario;
    }

private:
    /// Draws one of six contexts: the one without a name, a, b, c, -1, or 7 as a number or as text.
    void put_context(json& job) {
        if (!fair_ && !draw_.one_in(10))
            return;
        switch (draw_.below(8)) {
        case 0:
            return;
        case 1:
            job["context"] = 7;
            return;
        case 2:
            job["context"] = -1;
            return;
        default:
            job["context"] = draw_.of<std::string>({"", "7", "a", "b", "c", "a"});
        }
    }
};

class TaskDrawer : Drawer {
public:
    using Drawer::Drawer;

    json scenario() {
        gaps_ = draw_.one_in(2);
        if (draw_.one_in(50))
            origin_ = 1ull << 62;
        if (gaps_)
            cores_ = draw_.one_in(8) ? 64 : 1 + draw_.below(2);
        json scenario = head("task");
        if (draw_.one_in(2))
            scenario["policy"] =
                draw_.of<std::string>({"priority", "fifo", "shortest", "deadline", "deadline"});
        if (!draw_.one_in(3))
            scenario["service_mode"] = draw_.one_in(2);
        if (!draw_.one_in(gaps_ ? 4 : 2))
            scenario["slots"] = gaps_ ? 1 : 1 + draw_.below(3);
        if (draw_.one_in(100))
            scenario["slots"] = huge();
        if (gaps_ || !draw_.one_in(20))
            scenario["env"] = gaps_ ? env_of_gaps() : env();
        if (scenario.contains("env") && !scenario["env"].empty() && draw_.one_in(30)) {
            const std::size_t variable = draw_.below(scenario["env"].size());
            *std::next(scenario["env"].begin(), static_cast<std::ptrdiff_t>(variable)) = huge();
        }
        const std::size_t models = 1 + draw_.below(4);
        for (std::size_t i = 0; i < models; i++)
            scenario["models"][model_name(i)] = {{"segments", gaps_ ? gap_or_short() : segments()}};
        const std::size_t tasks = draw_.one_in(50) ? 40 : 1 + draw_.below(12);
        const std::uint64_t arrivals = draw_.of<std::uint64_t>({1, 4, 20, 60});
        processes_ = gaps_ ? 1 : 1 + draw_.below(3);
        if (service_)
            put_service(scenario);
        for (std::size_t i = 0; i < tasks; i++)
            scenario["tasks"].push_back(task(i, arrivals, models));
        if (wanted_ && !wanted_(scenario))
            return nullptr;
        put_cancels(scenario, "tasks", &TaskDrawer::instants_of_task);
        if (service_) {
            if (!scenario.contains("deaths"))
                put_deaths(scenario);
            put_workers(scenario);
        }
        return scenario;
    }

    void want(const IsWanted& wanted) { wanted_ = wanted; }

    /// Draws a scenario with the rules of service mode for processes that do not trust each other.
    json service_scenario() {
        service_ = true;
        return scenario();
    }

private:
    void put_service(json& scenario) {
        scenario["service_mode"] = !draw_.one_in(6);
        processes_ = 2 + draw_.below(4);
        if (!draw_.one_in(4))
            scenario["env"]["HB_MAX_TASK_NUM"] = 1 + draw_.below(5);
        if (!draw_.one_in(4))
            scenario["share"] = !draw_.one_in(5);
        if (draw_.one_in(4))
            return;
        scenario["overdue"]["min_time"] =
            draw_.one_in(20) ? ~0ull >> 1 : unit_ * (1 + draw_.below(6));
        if (!draw_.one_in(5))
            scenario["overdue"]["factor"] = draw_.one_in(30) ? huge() : draw_.below(4);
        for (auto& [name, model] : scenario["models"].items())
            for (json& segment : model["segments"])
                if (segment.contains("cpu") && draw_.one_in(2))
                    segment["estimate"] = draw_.one_in(10) ? huge() : duration();
    }

    /// Draws deaths, each at or after the last arrival of its process, most at an instant of the
    /// timeline or 1 later.
    void put_deaths(json& scenario) {
        std::map<std::string, std::uint64_t> last_arrival;
        for (const json& task : scenario["tasks"]) {
            std::uint64_t& last = last_arrival[task.value("process", "")];
            last = std::max<std::uint64_t>(last, task["at"]);
        }
        for (const auto& [process, last] : last_arrival) {
            if (!draw_.one_in(4))
                continue;
            std::vector<std::uint64_t> instants = instants_of_task(scenario, "");
            std::erase_if(instants, [from = last](std::uint64_t at) { return at < from; });
            std::uint64_t at = last + draw_.below(30) * unit_;
            if (!instants.empty() && !draw_.one_in(4))
                at = draw_.of(instants) + draw_.below(2);
            scenario["deaths"].push_back({{"process", process}, {"at", at}});
        }
    }

    void put_workers(json& scenario) {
        std::set<std::string> processes;
        for (const json& task : scenario["tasks"])
            processes.insert(task.value("process", ""));
        for (const std::string& process : processes)
            if (draw_.one_in(4))
                scenario["workers"].push_back(
                    {{"process", process},
                     {"count", draw_.one_in(30) ? UINT32_MAX : 1 + draw_.below(3)}});
    }

    static std::string model_name(std::size_t number) {
        return std::string("M").append(std::to_string(number));
    }

    json env() {
        json env = json::object();
        if (!draw_.one_in(4))
            env["HB_DNN_BPU_SCHEDULE_THRESHOLD"] = draw_.of({0, 10, 25, 50, 100, 200});
        // With the defaults, all insertions would be allowed at these times. The drawn values let
        // mostly one of the three settings decide.
        const bool in_ms = unit_ >= 500;
        if (!draw_.one_in(10))
            env["HB_DNN_SCHEDULE_INSERT_FC_MAX_TIME"] = in_ms ? draw_.below(8) : draw_.below(8) / 7;
        if (!draw_.one_in(10))
            env["HB_DNN_SCHEDULE_WAIT_DISPATCH_TIME"] = in_ms ? draw_.below(6) : 1;
        if (!draw_.one_in(2))
            env["HB_MAX_TASK_NUM"] = 1 + draw_.below(4);
        if (!draw_.one_in(2))
            env["HB_MAX_THREAD_NUM"] = 1 + draw_.below(2);
        return env;
    }

    /// Draws settings with which one condition of insertion decides, since the others rarely hold.
    json env_of_gaps() {
        json env = {{"HB_DNN_BPU_SCHEDULE_THRESHOLD", 0},
                    {"HB_DNN_SCHEDULE_INSERT_FC_MAX_TIME", 0},
                    {"HB_DNN_SCHEDULE_WAIT_DISPATCH_TIME", 1000}};
        const std::uint64_t condition = unit_ < 500 ? 0 : draw_.below(3);
        if (condition == 0)
            env["HB_DNN_BPU_SCHEDULE_THRESHOLD"] = draw_.of({0, 10, 25, 33, 34, 50, 100, 200});
        else if (condition == 1)
            env["HB_DNN_SCHEDULE_INSERT_FC_MAX_TIME"] = 1 + draw_.below(4);
        else
            env["HB_DNN_SCHEDULE_WAIT_DISPATCH_TIME"] = 1 + draw_.below(5);
        if (!draw_.one_in(3))
            env["HB_MAX_TASK_NUM"] = 2 + draw_.below(3);
        if (draw_.one_in(3))
            env["HB_MAX_THREAD_NUM"] = 1 + draw_.below(2);
        return env;
    }

    static json bpu(const std::vector<std::uint64_t>& durations) { return {{"bpu", durations}}; }
    static json cpu(std::uint64_t duration) { return {{"cpu", duration}}; }

    /// Draws segments with gaps, or short ones that may fill gaps.
    json gap_or_short() {
        const std::uint64_t brief = unit_ * (1 + draw_.below(3));
        switch (draw_.below(5)) {
        case 0:
            return json::array({bpu({duration()})});
        case 1:
            return json::array({bpu({brief})});
        case 2:
            return json::array({cpu(brief), bpu({duration()})});
        case 3:
            return json::array({bpu({brief}), cpu(duration()), bpu({duration(), duration()})});
        default:
            return json::array({bpu({brief}), cpu(duration()), cpu(brief), bpu({duration()})});
        }
    }

    json segments() {
        json segments = json::array();
        const bool cpu_only = draw_.one_in(12);
        const std::size_t count = 1 + draw_.below(5);
        for (std::size_t i = 0; i < count; i++)
            if (cpu_only || draw_.one_in(2))
                segments.push_back({{"cpu", duration()}});
            else
                segments.push_back({{"bpu", durations()}});
        return segments;
    }

    json task(std::size_t number, std::uint64_t arrivals, std::size_t models) {
        json task = {{"id", id(number)}, {"at", at(arrivals)}};
        if (processes_ > 1)
            task["process"] = std::string(1, static_cast<char>('p' + draw_.below(processes_)));
        if (draw_.one_in(10))
            task["process"] = "";
        const auto model = [&] { return model_name(draw_.below(models)); };
        if (draw_.one_in(5)) {
            task["models"] = json::array();
            const std::size_t count = 1 + draw_.below(3);
            for (std::size_t i = 0; i < count; i++)
                task["models"].push_back(model());
        } else {
            task["model"] = model();
        }
        put_common(task);
        if (draw_.one_in(2)) // a deadline, for the policy of that name
            task["slo"] = draw_.one_in(20) ? (1ull << 53) + 1 : unit_ * (1 + draw_.below(60));
        return task;
    }

    /// Returns instants of the timeline; those of the task are repeated, so that they are drawn
    /// more.
    static std::vector<std::uint64_t> instants_of_task(const json& so_far, const std::string& id) {
        const TaskTimeline timeline = task_oracle_timeline(task_scenario_from(so_far));
        std::vector<std::uint64_t> instants;
        put_instants(instants, timeline.device);
        for (const TimelineCpu& cpu : timeline.cpu) {
            const int weight = cpu.task == id ? 8 : 1;
            for (int i = 0; i < weight; i++) {
                instants.push_back(cpu.start);
                instants.push_back(cpu.end);
            }
        }
        for (const TimelineFc& fc : timeline.device.fcs) {
            if (fc.job.substr(0, fc.job.rfind('.')) != id)
                continue;
            for (int i = 0; i < 4; i++) {
                instants.push_back(fc.start);
                instants.push_back(fc.end);
            }
        }
        return instants;
    }

    IsWanted wanted_;
    bool service_ = false;
    bool gaps_ = false; ///< most tasks have gaps, or may fill gaps
    std::uint64_t processes_ = 1;
};

} // namespace

json random_fc_scenario(std::uint64_t seed, bool all_fair) {
    return FcDrawer(seed, all_fair).scenario();
}

json random_task_scenario(std::uint64_t seed, bool all_fair, const IsWanted& wanted) {
    TaskDrawer drawer(seed, all_fair);
    drawer.want(wanted);
    return drawer.scenario();
}

void put_random_limits(json& scenario, std::uint64_t seed) {
    Draw draw(seed ^ 0x11317);
    if (!draw.one_in(3))
        return;
    // Changes come at an arrival or shortly after, when FCs may be committed.
    const char* entries = scenario.contains("jobs") ? "jobs" : "tasks";
    for (std::uint64_t i = 1 + draw.below(4); i > 0; i--) {
        const json& entry = scenario[entries][draw.below(scenario[entries].size())];
        const std::uint64_t at = entry["at"];
        const std::uint64_t later = draw.below(12) * draw.of<std::uint64_t>({1, 1, 7, 500, 1000});
        scenario["limits"].push_back({{"at", at + later},
                                      {"core", 1 + draw.below(scenario["cores"])},
                                      {"limit", draw.below(4)}});
    }
}

json random_service_scenario(std::uint64_t seed, const IsWanted& wanted) {
    TaskDrawer drawer(seed, false);
    drawer.want(wanted);
    return drawer.service_scenario();
}

} // namespace overtake::test
