// SPDX-License-Identifier: MIT
#include "simulator/settings.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "overtake/device.hpp"

namespace overtake::simulator {
namespace {

using nlohmann::json;

/// The most points of a grid, and values of a range: more than a user waits for or reads.
constexpr std::size_t points_max = 100'000;

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts(1);
    for (const char c : text) {
        if (c == separator)
            parts.emplace_back();
        else
            parts.back() += c;
    }
    return parts;
}

std::optional<std::int64_t> whole_number(const std::string& text) {
    std::int64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || stop != end)
        return {};
    return number;
}

json json_or_text(const std::string& text) {
    json value = json::parse(text, nullptr, false);
    return value.is_discarded() ? json(text) : value;
}

/// Returns the member called `name` of an object, or of a list, whose members have an id, a name or
/// a number; null if there is none.
json* member(json& of, const std::string& name) {
    if (of.is_object())
        return of.contains(name) ? &of[name] : nullptr;
    if (!of.is_array())
        return nullptr;
    for (json& element : of)
        if (element.is_object() &&
            (element.value("id", json()) == name || element.value("name", json()) == name))
            return &element;
    const auto number = whole_number(name);
    if (!number || *number < 0 || static_cast<std::size_t>(*number) >= of.size())
        return nullptr;
    return &of[static_cast<std::size_t>(*number)];
}

/// Returns "; did you mean loads.camera.priority?" if a list of the scenario has the member with
/// which the key begins.
std::string suggestion(json& document, const std::string& key, const std::string& first) {
    for (const char* list : {"loads", "tasks", "jobs", "processors", "models"})
        if (document.is_object() && document.contains(list) && member(document[list], first))
            return fmt::format("; did you mean {}.{}?", list, key);
    return "";
}

[[noreturn]] void fail_values(const std::string& key, const std::string& values) {
    throw Error(EINVAL, fmt::format("{}={}: values are A..B, A..B:STEP or V|V|V", key, values));
}

/// Returns the end of the JSON list, object or text that begins at `at`; `at` if none begins there
/// or if it does not end.
std::size_t end_of_json(const std::string& text, std::size_t at) {
    if (at == text.size() || std::string_view("[{\"").find(text[at]) == std::string_view::npos)
        return at;
    std::size_t depth = 0;
    bool quoted = false;
    for (std::size_t i = at; i < text.size(); i++) {
        const char c = text[i];
        if (quoted && c == '\\')
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '[' || c == '{'))
            depth++;
        else if (!quoted && (c == ']' || c == '}'))
            depth--;
        if (depth == 0 && !quoted)
            return i + 1;
    }
    return at;
}

/// "KEY=VALUES" with the values separated.
struct Part {
    std::string key;
    std::vector<std::string> values;
    std::string text; ///< the values as they were given
};

/// Parses the part that begins at `at`, and moves `at` to its end. A value that begins as a JSON
/// list, object or text may have commas and bars.
Part parse_part(const std::string& text, std::size_t& at) {
    const std::size_t equals = text.find('=', at);
    if (equals == at || equals == std::string::npos || equals > text.find(',', at))
        throw Error(EINVAL,
                    fmt::format("--sweep \"{}\": KEY=A..B[,KEY=A..B...] is needed; values of "
                                "one key have | between them, as in policy=fifo|deadline",
                                text));
    Part part = {text.substr(at, equals - at), {}, {}};
    std::size_t value = equals + 1;
    for (;;) {
        const std::size_t end =
            std::min(text.find_first_of(",|", end_of_json(text, value)), text.size());
        part.values.push_back(text.substr(value, end - value));
        value = end + 1;
        if (end < text.size() && text[end] == '|')
            continue;
        part.text = text.substr(equals + 1, end - equals - 1);
        at = end;
        return part;
    }
}

/// Returns whether a value is meant as a range: a number, two dots, and then the beginning of a
/// number or nothing. A file in another directory ("../a.ovm") is no range.
bool is_range(const std::string& value) {
    constexpr std::string_view digits = "-0123456789";
    const std::size_t dots = value.find_first_not_of(digits);
    if (dots == 0 || dots == std::string::npos || value.compare(dots, 2, "..") != 0)
        return false;
    return dots + 2 == value.size() || digits.find(value[dots + 2]) != digits.npos;
}

std::vector<json> parse_range(const Part& part) {
    const std::string& values = part.values.front();
    const std::size_t dots = values.find("..");
    const std::vector<std::string> rest = split(values.substr(dots + 2), ':');
    const auto from = whole_number(values.substr(0, dots));
    const auto to = whole_number(rest[0]);
    const auto step = rest.size() == 2 ? whole_number(rest[1]) : std::optional<std::int64_t>(1);
    if (!from || !to || !step || rest.size() > 2 || *step < 1 || *from > *to)
        fail_values(part.key, part.text);
    // A signed number may not hold the differences and multiples.
    const auto first = static_cast<std::uint64_t>(*from);
    const auto distance = static_cast<std::uint64_t>(*step);
    const std::uint64_t last = (static_cast<std::uint64_t>(*to) - first) / distance;
    if (last >= points_max)
        throw Error(EINVAL,
                    fmt::format("{}={}: more than {} values", part.key, values, points_max));
    std::vector<json> list;
    for (std::uint64_t i = 0; i <= last; i++)
        list.emplace_back(static_cast<std::int64_t>(first + i * distance));
    return list;
}

std::vector<json> parse_values(const Part& part) {
    if (part.values.size() == 1 && is_range(part.values.front()))
        return parse_range(part);
    std::vector<json> list;
    for (const std::string& value : part.values) {
        if (value.empty() || is_range(value))
            fail_values(part.key, part.text);
        list.push_back(json_or_text(value));
    }
    return list;
}

} // namespace

void apply_setting(json& document, const Setting& setting) {
    const std::vector<std::string> parts = split(setting.key, '.');
    json* at = &document;
    std::string path;
    for (std::size_t i = 0; i < parts.size(); i++) {
        path += (i == 0 ? "" : ".") + parts[i];
        json* next = member(*at, parts[i]);
        if (next == nullptr && i + 1 == parts.size() && at->is_object())
            next = &(*at)[parts[i]];
        // The object `env` may be missing: its variables then have their defaults.
        if (next == nullptr && path == "env" && at->is_object())
            next = &((*at)[parts[i]] = json::object());
        if (next == nullptr)
            throw Error(EINVAL, fmt::format("{}: the scenario has no {}{}", setting.key, path,
                                            i == 0 ? suggestion(document, setting.key, path) : ""));
        at = next;
    }
    *at = setting.value;
}

Setting parse_setting(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
        throw Error(EINVAL, fmt::format("{}: KEY=VALUE is needed", text));
    return {text.substr(0, equals), json_or_text(text.substr(equals + 1))};
}

Grid::Grid(const std::string& text) {
    std::size_t at = 0;
    for (;;) {
        const Part part = parse_part(text, at);
        keys_.push_back(part.key);
        values_.push_back(parse_values(part));
        if (size() > points_max)
            throw Error(EINVAL, fmt::format("{}: more than {} combinations", text, points_max));
        if (at++ == text.size())
            return;
    }
}

Grid Grid::from_json(const json& list) {
    const auto is_key = [](const json& one) {
        return one.is_array() && one.size() == 2 && one[0].is_string() && one[0] != "" &&
               one[1].is_array() && !one[1].empty();
    };
    if (!list.is_array() || list.empty() || !std::ranges::all_of(list, is_key))
        throw Error(EINVAL, "the grid: keys, each with a list of values, are needed");
    Grid grid;
    for (const json& one : list) {
        grid.keys_.push_back(one[0]);
        grid.values_.emplace_back(one[1].begin(), one[1].end());
        if (grid.size() > points_max)
            throw Error(EINVAL, fmt::format("the grid: more than {} combinations", points_max));
    }
    return grid;
}

json Grid::to_json() const {
    json list = json::array();
    for (std::size_t i = 0; i < keys_.size(); i++)
        list.push_back({keys_[i], values_[i]});
    return list;
}

std::size_t Grid::size() const {
    std::size_t size = 1;
    for (const auto& values : values_)
        size *= values.size();
    return size;
}

std::vector<Setting> Grid::at(std::size_t index) const {
    std::vector<Setting> settings(keys_.size());
    for (std::size_t i = keys_.size(); i-- > 0;) {
        settings[i] = {keys_[i], values_[i][index % values_[i].size()]};
        index /= values_[i].size();
    }
    return settings;
}

} // namespace overtake::simulator
