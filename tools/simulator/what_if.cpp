// SPDX-License-Identifier: MIT
#include "simulator/what_if.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "overtake/device.hpp"
#include "simulator/models.hpp"
#include "simulator/table.hpp"

namespace overtake::simulator {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 3> entry_lists = {"jobs", "tasks", "loads"};
constexpr std::array<std::string_view, 6> model_keys = {"max_time_per_fc", "fc_overhead", "fcs",
                                                        "segments",        "file",        "cpu"};

/// Returns whether an entry is called `name`. A recording calls a class "MODEL (pid PID)": MODEL
/// then names the classes of all its processes.
bool is_called(const json& entry, const std::string& name) {
    return std::ranges::any_of(std::array{"id", "class", "model"}, [&](const char* key) {
        const json value = entry.is_object() ? entry.value(key, json()) : json();
        return value == name || (value.is_string() &&
                                 value.get_ref<const std::string&>().starts_with(name + " (pid "));
    });
}

/// Returns the setting, given in us, in the scenario's unit of time.
std::uint64_t most_of(const json& document, const Setting& setting) {
    if (!setting.value.is_number_unsigned() || setting.value == 0)
        throw Error(EINVAL, fmt::format("{}: {} is not a whole number of us from 1", setting.key,
                                        setting.value.dump()));
    const auto us = setting.value.get<std::uint64_t>();
    const bool in_ns = document.value("time_unit", json()) == "ns";
    return us > std::numeric_limits<std::uint64_t>::max() / 1000 || !in_ns ? us : us * 1000;
}

/// Splits the FCs that an entry lists; the reader reports values that are no FCs.
void split_listed(json& entry, std::uint64_t most) {
    json parts = json::array();
    for (const json& fc : entry["fcs"]) {
        if (!fc.is_number_unsigned()) {
            parts.push_back(fc);
            continue;
        }
        for (const std::uint64_t part : equal_parts(fc.get<std::uint64_t>(), most))
            parts.push_back(part);
    }
    entry["fcs"] = std::move(parts);
}

/// Sets the key in the entries that are called `name`. Returns the number of changed entries.
std::size_t apply_to_entries(json& document, const std::string& name, const Setting& setting) {
    std::size_t changed = 0;
    for (const std::string_view list : entry_lists) {
        if (!document.contains(list) || !document[list].is_array())
            continue;
        for (json& entry : document[list]) {
            if (!is_called(entry, name))
                continue;
            if (setting.key == "max_time_per_fc") {
                if (!entry.contains("fcs") || !entry["fcs"].is_array())
                    continue;
                split_listed(entry, most_of(document, setting));
            } else {
                apply_setting(entry, setting);
            }
            changed++;
        }
    }
    return changed;
}

/// A figure of a class that is compared.
struct Figure {
    std::string head;
    std::string key;
    std::optional<double> (*value)(const ClassSummary&);
    std::string (*text)(double);
};

template <std::uint64_t Percentiles::*Value>
std::optional<double> latency(const ClassSummary& of) {
    if (!of.any_completed())
        return {};
    return in_us(of.latency.*Value, of.tick_ns);
}

std::optional<double> slo_met(const ClassSummary& of) {
    return of.slo_met;
}

const std::array<Figure, 4>& figures() {
    static const std::array<Figure, 4> all = {
        Figure{"p50", "p50_us", latency<&Percentiles::p50>, format_time},
        Figure{"p99", "p99_us", latency<&Percentiles::p99>, format_time},
        Figure{"max", "max_us", latency<&Percentiles::max>, format_time},
        Figure{"SLO met", "slo_met", slo_met, format_share},
    };
    return all;
}

const ClassSummary* find_class(const Summary& summary, const std::string& name) {
    const auto found = std::ranges::find(summary.classes, name, &ClassSummary::name);
    return found == summary.classes.end() ? nullptr : &*found;
}

std::optional<double> value_in(const Summary& summary, const std::string& name,
                               const Figure& figure) {
    const ClassSummary* of = find_class(summary, name);
    return of == nullptr ? std::nullopt : figure.value(*of);
}

/// Returns the classes of `before`, then those that are new in `after`.
std::vector<std::string> class_names(const Summary& before, const Summary& after) {
    std::vector<std::string> names;
    for (const Summary* summary : {&before, &after})
        for (const ClassSummary& of : summary->classes)
            if (std::ranges::find(names, of.name) == names.end())
                names.push_back(of.name);
    return names;
}

std::string difference(const Figure& figure, double before, double after) {
    const char* sign = after > before ? "+" : after < before ? "-" : "";
    return sign + figure.text(after > before ? after - before : before - after);
}

} // namespace

void apply_what_if(json& document, const Setting& setting) {
    const std::size_t dot = setting.key.find('.');
    if (dot == std::string::npos || !document.is_object() ||
        document.contains(setting.key.substr(0, dot)) || setting.key.starts_with("env.")) {
        apply_setting(document, setting);
        return;
    }
    const std::string name = setting.key.substr(0, dot);
    Setting of = {setting.key.substr(dot + 1), setting.value};
    std::size_t changed = 0;
    if (document.contains("models") && document["models"].is_object() &&
        document["models"].contains(name) &&
        std::ranges::find(model_keys, of.key) != model_keys.end()) {
        Setting of_model = of;
        if (of.key == "max_time_per_fc")
            of_model.value = most_of(document, of);
        apply_setting(document["models"][name], of_model);
        changed++;
    }
    if (changed == 0 || of.key == "max_time_per_fc")
        changed += apply_to_entries(document, name, of);
    if (changed == 0)
        throw Error(EINVAL, fmt::format("{}: the scenario has no model, class or id \"{}\" with "
                                        "something to change",
                                        setting.key, name));
}

std::string what_if_text(const Summary& before, const Summary& after) {
    std::vector<std::string> names = class_names(before, after);
    std::vector<std::string> head = {"class"};
    std::vector<const Figure*> shown;
    for (const Figure& figure : figures()) {
        const auto has = [&](const std::string& name) {
            return value_in(before, name, figure) || value_in(after, name, figure);
        };
        if (std::ranges::none_of(names, has))
            continue;
        shown.push_back(&figure);
        head.insert(head.end(), {figure.head + " before", "after", "difference"});
    }
    Table table(head);
    for (const std::string& name : names) {
        std::vector<std::string> row = {name};
        for (const Figure* figure : shown) {
            const auto was = value_in(before, name, *figure);
            const auto is = value_in(after, name, *figure);
            row.push_back(was ? figure->text(*was) : "-");
            row.push_back(is ? figure->text(*is) : "-");
            row.push_back(was && is ? difference(*figure, *was, *is) : "-");
        }
        table.add(row);
    }
    return table.text();
}

nlohmann::ordered_json what_if_json(const Summary& before, const Summary& after) {
    using Json = nlohmann::ordered_json;
    const auto or_null = [](const std::optional<double>& value) {
        return value ? Json(*value) : Json(nullptr);
    };
    Json list = Json::array();
    for (const std::string& name : class_names(before, after)) {
        Json of = {{"class", name}};
        for (const Figure& figure : figures()) {
            const auto was = value_in(before, name, figure);
            const auto is = value_in(after, name, figure);
            of[figure.key] = {{"before", or_null(was)},
                              {"after", or_null(is)},
                              {"difference", was && is ? Json(*is - *was) : Json(nullptr)}};
        }
        list.push_back(std::move(of));
    }
    return list;
}

} // namespace overtake::simulator
