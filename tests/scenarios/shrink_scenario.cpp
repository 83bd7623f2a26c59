// SPDX-License-Identifier: MIT
#include "shrink_scenario.hpp"

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace overtake::test {

using nlohmann::json;

namespace {

/// Sets the cancels. Without any, the key is left out, since an empty list is not valid.
void put_cancels(json& scenario, const json& cancels) {
    scenario.erase("cancels");
    if (!cancels.empty())
        scenario["cancels"] = cancels;
}

/// Removes one job or task, and its cancels.
json without_entry(json scenario, const char* entries, std::size_t index) {
    const json id = scenario[entries][index]["id"];
    scenario[entries].erase(index);
    json cancels = json::array();
    for (const json& cancel : scenario.value("cancels", json::array()))
        if (cancel["id"] != id)
            cancels.push_back(cancel);
    put_cancels(scenario, cancels);
    return scenario;
}

void add_smaller_lists(std::vector<json>& smaller, const json& scenario,
                       const json::json_pointer& list) {
    if (!scenario.contains(list) || scenario.at(list).size() < 2)
        return;
    for (std::size_t i = 0; i < scenario.at(list).size(); i++) {
        smaller.push_back(scenario);
        smaller.back().at(list).erase(i);
    }
}

/// Returns all scenarios that are one step smaller, the biggest steps first.
std::vector<json> smaller_ones(const json& scenario) {
    std::vector<json> smaller;
    const char* entries = scenario["kind"] == "fc" ? "jobs" : "tasks";
    for (std::size_t i = 0; scenario[entries].size() > 1 && i < scenario[entries].size(); i++)
        smaller.push_back(without_entry(scenario, entries, i));
    const json cancels = scenario.value("cancels", json::array());
    for (std::size_t i = 0; i < cancels.size(); i++) {
        json fewer = cancels;
        fewer.erase(i);
        smaller.push_back(scenario);
        put_cancels(smaller.back(), fewer);
    }
    const json models = scenario.value("models", json::object());
    for (const auto& [name, model] : models.items()) {
        const json::json_pointer segments = json::json_pointer("/models") / name / "segments";
        add_smaller_lists(smaller, scenario, segments);
        for (std::size_t i = 0; i < model["segments"].size(); i++)
            add_smaller_lists(smaller, scenario, segments / i / "bpu");
    }
    for (std::size_t i = 0; i < scenario[entries].size(); i++) {
        const json::json_pointer entry = json::json_pointer() / entries / i;
        add_smaller_lists(smaller, scenario, entry / "fcs");
        add_smaller_lists(smaller, scenario, entry / "models");
        for (const char* key : {"custom_id", "priority", "core", "process", "context", "slo"})
            if (scenario[entries][i].contains(key)) {
                smaller.push_back(scenario);
                smaller.back()[entries][i].erase(key);
            }
    }
    const json env = scenario.value("env", json::object());
    for (const auto& variable : env.items()) {
        smaller.push_back(scenario);
        smaller.back()["env"].erase(variable.key());
    }
    return smaller;
}

} // namespace

json shrink_scenario(json scenario, const std::function<bool(const json&)>& fails) {
    for (bool shrunk = true; shrunk;) {
        shrunk = false;
        for (json& smaller : smaller_ones(scenario)) {
            if (!fails(smaller))
                continue;
            scenario = std::move(smaller);
            shrunk = true;
            break;
        }
    }
    return scenario;
}

} // namespace overtake::test
