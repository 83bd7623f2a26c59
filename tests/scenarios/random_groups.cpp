// SPDX-License-Identifier: MIT
#include "random_groups.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "draw.hpp"
#include "groups_oracle.hpp"

namespace overtake::test {

using nlohmann::json;

namespace {

class GroupsDrawer {
public:
    explicit GroupsDrawer(std::uint64_t seed) : draw_(seed) {
        cores_ = draw_.one_in(12) ? draw_.of<std::uint64_t>({8, 33, 64}) : 1 + draw_.below(4);
        unit_ = draw_.of<std::uint64_t>({1, 1, 1, 10, 500, 1000});
    }

    json fc_level() {
        json scenario = head("fc");
        const std::uint64_t jobs = 1 + draw_.below(9);
        for (std::uint64_t i = 0; i < jobs; i++) {
            json job = {{"id", "j" + std::to_string(i)}, {"at", at()}};
            put_priority(job);
            if (draw_.one_in(3)) {
                job["fcs"] = durations(draw_.one_in(15) ? 100 : 1 + draw_.below(4));
                if (!draw_.one_in(3))
                    job["core"] = draw_.below(cores_ + 1);
            } else {
                job["parts"] = parts(draw_.one_in(2));
            }
            scenario["jobs"].push_back(std::move(job));
        }
        put_cancels(scenario, "jobs");
        return scenario;
    }

    json task_level() {
        json scenario = head("task");
        if (draw_.one_in(2))
            scenario["slots"] = 1 + draw_.below(2);
        if (draw_.one_in(2))
            scenario["service_mode"] = draw_.one_in(2);
        put_env(scenario);
        if (draw_.one_in(3))
            scenario["overdue"] = {{"min_time", unit_ * (1 + draw_.below(8))},
                                   {"factor", draw_.below(4)}};
        std::vector<std::string> narrow; // models without groups: their tasks may name a core
        const std::uint64_t models = 1 + draw_.below(4);
        for (std::uint64_t i = 0; i < models; i++) {
            const std::string name = "M" + std::to_string(i);
            bool has_parts = false;
            json segments = json::array();
            const std::uint64_t count = 1 + draw_.below(5);
            for (std::uint64_t k = 0; k < count; k++) {
                segments.push_back(segment());
                has_parts |= segments.back().contains("parts");
            }
            scenario["models"][name]["segments"] = std::move(segments);
            if (!has_parts)
                narrow.push_back(name);
        }
        const std::uint64_t tasks = 1 + draw_.below(9);
        for (std::uint64_t i = 0; i < tasks; i++)
            scenario["tasks"].push_back(task(i, models, narrow));
        put_cancels(scenario, "tasks");
        return scenario;
    }

private:
    json head(const char* kind) {
        json scenario = {{"version", 1}, {"kind", kind}, {"cores", cores_}};
        scenario["core_limit"] = for_each_core([&] { return limit(); });
        if (draw_.one_in(2))
            scenario["normal_floor"] = for_each_core([&] { return draw_.below(4); });
        if (!draw_.one_in(3))
            scenario["sync"] = draw_.one_in(3) ? draw_.below(3 * unit_ + 2) : unit_;
        return scenario;
    }

    template <typename Value>
    json for_each_core(const Value& value) {
        if (draw_.one_in(2))
            return value();
        json list = json::array();
        for (std::uint64_t core = 0; core < cores_; core++)
            list.push_back(value());
        return list;
    }

    /// Returns a core limit: now and then about the number of FCs that a hardware ring holds, or
    /// more.
    std::uint64_t limit() {
        return draw_.one_in(10) ? draw_.of<std::uint64_t>({63, 64, 65, 120, 1ull << 31})
                                : draw_.below(4);
    }

    std::uint64_t at() { return unit_ * draw_.below(25); }

    json durations(std::uint64_t count) {
        json list = json::array();
        for (std::uint64_t i = 0; i < count; i++)
            list.push_back(unit_ * (1 + draw_.below(6)));
        return list;
    }

    void put_priority(json& entry) {
        if (!draw_.one_in(5))
            entry["priority"] = draw_.one_in(3) ? 255u : draw_.of<unsigned>({0, 1, 2, 254});
        if (draw_.one_in(5))
            entry["custom_id"] = draw_.of<int>({-1, 0, 1});
    }

    /// Draws parts; each part and each stage has an FC.
    json parts(bool named) {
        const std::uint64_t count = 1 + draw_.below(std::min<std::uint64_t>(cores_, 5));
        const std::uint64_t stages = 1 + draw_.below(5);
        std::vector<std::vector<std::uint64_t>> fcs(count, std::vector<std::uint64_t>(stages));
        for (auto& part : fcs)
            for (std::uint64_t& in_stage : part)
                in_stage = draw_.one_in(3) ? 0 : 1 + draw_.below(draw_.one_in(6) ? 4 : 2);
        for (auto& part : fcs)
            if (std::ranges::all_of(part, [](std::uint64_t n) { return n == 0; }))
                part[draw_.below(stages)] = 1;
        for (std::uint64_t stage = 0; stage < stages; stage++)
            if (std::ranges::all_of(fcs, [&](const auto& part) { return part[stage] == 0; }))
                fcs[draw_.below(count)][stage] = 1;
        std::vector<std::uint64_t> cores(cores_);
        for (std::uint64_t core = 0; core < cores_; core++)
            cores[core] = core + 1;
        json list = json::array();
        for (const auto& part : fcs) {
            json entry = {{"stages", json::array()}};
            for (const std::uint64_t in_stage : part)
                entry["stages"].push_back(durations(in_stage));
            if (named) {
                const auto taken =
                    cores.begin() + static_cast<std::ptrdiff_t>(draw_.below(cores.size()));
                entry["core"] = *taken;
                cores.erase(taken);
            }
            list.push_back(std::move(entry));
        }
        return list;
    }

    json segment() {
        switch (draw_.below(4)) {
        case 0:
            return {{"bpu", durations(1 + draw_.below(3))}};
        case 1:
            return cpu_segment();
        default:
            return {{"parts", parts(false)}};
        }
    }

    json cpu_segment() {
        json segment = {{"cpu", unit_ * (1 + draw_.below(20))}};
        if (draw_.one_in(4))
            segment["estimate"] = unit_ * (1 + draw_.below(20));
        return segment;
    }

    json task(std::uint64_t number, std::uint64_t models, const std::vector<std::string>& narrow) {
        json task = {{"id", "t" + std::to_string(number)}, {"at", at()}};
        put_priority(task);
        if (draw_.one_in(2))
            task["process"] = draw_.of<std::string>({"p", "q"});
        if (!narrow.empty() && draw_.one_in(3)) {
            task["model"] = draw_.of(narrow);
            task["core"] = draw_.below(cores_ + 1);
            return task;
        }
        const auto model = [&] { return "M" + std::to_string(draw_.below(models)); };
        if (draw_.one_in(4))
            task["models"] = {model(), model()};
        else
            task["model"] = model();
        return task;
    }

    void put_env(json& scenario) {
        json env = json::object();
        if (draw_.one_in(2))
            env["HB_DNN_BPU_SCHEDULE_THRESHOLD"] = draw_.of<unsigned>({0, 10, 50, 100});
        if (!draw_.one_in(4))
            env["HB_DNN_SCHEDULE_INSERT_FC_MAX_TIME"] = draw_.of<unsigned>({0, 0, 1, 5});
        if (!draw_.one_in(4))
            env["HB_DNN_SCHEDULE_WAIT_DISPATCH_TIME"] = draw_.of<unsigned>({0, 1, 5, 1000});
        if (draw_.one_in(3))
            env["HB_MAX_TASK_NUM"] = 1 + draw_.below(3);
        if (draw_.one_in(3))
            env["HB_MAX_THREAD_NUM"] = 1 + draw_.below(2);
        scenario["env"] = std::move(env);
    }

    /// Draws cancels, most at an instant at which an FC would start or end.
    void put_cancels(json& scenario, const char* entries) {
        const std::uint64_t count = draw_.one_in(2) ? 0 : 1 + draw_.below(3);
        for (std::uint64_t i = 0; i < count; i++) {
            const json& entry = scenario[entries][draw_.below(scenario[entries].size())];
            const std::uint64_t arrival = entry["at"];
            std::vector<std::uint64_t> instants;
            const json so_far = groups_timeline(scenario);
            for (const json& fc : so_far["fcs"])
                for (const char* key : {"start", "end"})
                    if (fc[key] >= arrival)
                        instants.push_back(fc[key]);
            std::uint64_t at = arrival + unit_ * draw_.below(30);
            if (!instants.empty() && !draw_.one_in(5))
                at = draw_.of(instants) + (draw_.one_in(4) ? 1 : 0);
            scenario["cancels"].push_back({{"id", entry["id"]}, {"at", at}});
        }
    }

    Draw draw_;
    std::uint64_t cores_;
    std::uint64_t unit_;
};

} // namespace

json random_groups(std::uint64_t seed, bool task_level) {
    GroupsDrawer drawer(seed);
    return task_level ? drawer.task_level() : drawer.fc_level();
}

} // namespace overtake::test
