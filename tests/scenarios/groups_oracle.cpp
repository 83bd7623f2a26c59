// SPDX-License-Identifier: MIT
#include "groups_oracle.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "groups_board.hpp"
#include "groups_tasks.hpp"

namespace overtake::test {

using nlohmann::json;

namespace {

/// Returns the first "at" of an entry that is `from` or later.
std::optional<std::uint64_t> first_at(const json& entries, std::uint64_t from) {
    std::optional<std::uint64_t> first;
    for (const json& entry : entries) {
        const std::uint64_t at = entry.at("at");
        if (at >= from && (!first || at < *first))
            first = at;
    }
    return first;
}

std::vector<GroupsBoard::Part> parts_of(const json& job) {
    std::vector<GroupsBoard::Part> parts;
    const auto add = [&](Stages stages, std::size_t core) {
        parts.push_back({std::move(stages), {}});
        if (core != 0)
            parts.back().core = core - 1;
    };
    if (job.contains("fcs"))
        add({job["fcs"].get<std::vector<std::uint64_t>>()}, job.value("core", 0));
    else
        for (const json& part : job.at("parts"))
            add(part.at("stages").get<Stages>(), part.value("core", 0));
    return parts;
}

json fc_level(const json& scenario) {
    GroupsBoard board(board_settings(scenario));
    const json cancels = scenario.value("cancels", json::array());
    std::map<std::string, std::size_t> numbers;
    std::uint64_t from = 0; // the first instant that is still to come
    while (true) {
        std::optional<std::uint64_t> now = first_at(scenario.at("jobs"), from);
        for (const auto other :
             {first_at(cancels, from), from == 0 ? std::nullopt : board.next_instant(from - 1)})
            if (other && (!now || *other < *now))
                now = other;
        if (!now)
            return board.timeline();
        board.end_fcs(*now);
        for (const json& job : scenario["jobs"])
            if (job.at("at") == *now)
                numbers[job.at("id")] =
                    board.submit(*now, job["id"], job.value("priority", 0) == 255,
                                 job.contains("parts"), parts_of(job));
        for (const json& cancel : cancels)
            if (cancel.at("at") == *now)
                board.cancel(*now, numbers.at(cancel.at("id")));
        board.choose(*now);
        from = *now + 1;
    }
}

} // namespace

GroupsBoard::Settings board_settings(const json& scenario) {
    const auto for_each_core = [&](const char* key) {
        const json value = scenario.value(key, json(0));
        if (value.is_array())
            return value.get<std::vector<std::uint64_t>>();
        return std::vector<std::uint64_t>(scenario.at("cores"), value.get<std::uint64_t>());
    };
    return {for_each_core("core_limit"), for_each_core("normal_floor"),
            scenario.value("sync", std::uint64_t{0})};
}

json groups_timeline(const json& scenario) {
    json timeline = scenario.at("kind") == "fc" ? fc_level(scenario) : GroupsTasks(scenario).run();
    timeline["version"] = 1;
    return timeline;
}

} // namespace overtake::test
