// SPDX-License-Identifier: MIT
#include "processors/shrink.hpp"

#include <string>
#include <vector>

#include "overtake/error.hpp"

namespace overtake::fuzz {

using nlohmann::json;

namespace {

/// Removes an event. A processor fails and recovers in turn: its next event is removed, too.
json scenario_without_event(json scenario, std::size_t index) {
    json& events = scenario["events"];
    const json gone = events[index];
    events.erase(index);
    for (std::size_t i = index; gone["event"] != "throttle" && i < events.size(); i++)
        if (events[i]["processor"] == gone["processor"] && events[i]["event"] != "throttle") {
            events.erase(i);
            break;
        }
    return scenario;
}

json scenario_without_task(json scenario, std::size_t index) {
    const json id = scenario["tasks"][index]["id"];
    scenario["tasks"].erase(index);
    json cancels = json::array();
    for (const json& cancel : scenario.value("cancels", json::array()))
        if (cancel["id"] != id)
            cancels.push_back(cancel);
    scenario["cancels"] = cancels;
    return scenario;
}

std::size_t length_of(const json& scenario, const char* list) {
    return scenario.contains(list) ? scenario[list].size() : 0;
}

void add_without_members(std::vector<json>& smaller, const json& scenario,
                         const json::json_pointer& object, const std::vector<std::string>& keys) {
    for (const std::string& key : keys)
        if (scenario.at(object).contains(key)) {
            smaller.push_back(scenario);
            smaller.back()[object].erase(key);
        }
}

/// Returns all scenarios that are one step smaller, the biggest steps first. Some are not valid.
std::vector<json> smaller_scenarios(const json& scenario) {
    std::vector<json> smaller;
    for (std::size_t i = 0; length_of(scenario, "tasks") > 1 && i < scenario["tasks"].size(); i++)
        smaller.push_back(scenario_without_task(scenario, i));
    for (std::size_t i = 0; i < length_of(scenario, "events"); i++)
        smaller.push_back(scenario_without_event(scenario, i));
    for (const char* list : {"cancels", "rates", "processors"})
        for (std::size_t i = 0; i < length_of(scenario, list); i++) {
            smaller.push_back(scenario);
            smaller.back()[list].erase(i);
        }
    for (const auto& [name, model] : scenario["models"].items()) {
        const json::json_pointer place = json::json_pointer("/models") / name;
        smaller.push_back(scenario);
        smaller.back()["models"].erase(name);
        smaller.push_back(scenario);
        smaller.back()[place]["units"].erase(model["units"].size() - 1);
        add_without_members(smaller, scenario, place, {"input", "measured"});
        for (std::size_t i = 0; i < model["units"].size(); i++)
            add_without_members(smaller, scenario, place / "units" / i, {"bytes", "ops", "after"});
    }
    for (std::size_t i = 0; i < length_of(scenario, "tasks"); i++)
        add_without_members(smaller, scenario, json::json_pointer("/tasks") / i,
                            {"priority", "custom_id", "on", "slo"});
    for (std::size_t i = 0; i < length_of(scenario, "processors"); i++)
        add_without_members(smaller, scenario, json::json_pointer("/processors") / i,
                            {"core_limit", "depth", "overhead"});
    add_without_members(
        smaller, scenario, json::json_pointer(),
        {"rates", "cancels", "events", "map", "window", "drop", "smoothing", "retry_after"});
    return smaller;
}

} // namespace

json shrink(json scenario, const std::function<bool(const json&)>& fails) {
    const auto still_fails = [&](const json& smaller) {
        try {
            return fails(smaller);
        } catch (const Error&) {
            return false;
        }
    };
    for (bool again = true; again;) {
        again = false;
        for (const json& smaller : smaller_scenarios(scenario)) {
            if (!still_fails(smaller))
                continue;
            scenario = smaller;
            again = true;
            break;
        }
    }
    return scenario;
}

} // namespace overtake::fuzz
