// SPDX-License-Identifier: MIT
#include "simulator/settings.hpp"

#include <cerrno>
#include <charconv>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "overtake/device.hpp"

namespace overtake::simulator {
namespace {

using nlohmann::json;

/// More points than anybody waits for or reads.
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

/// The member called `name` of an object or of a list; null if there is none.
json* member(json& of, const std::string& name) {
    if (of.is_object())
        return of.contains(name) ? &of[name] : nullptr;
    if (!of.is_array())
        return nullptr;
    for (json& element : of)
        if (element.is_object() && element.value("id", json()) == name)
            return &element;
    const auto number = whole_number(name);
    if (!number || *number < 0 || static_cast<std::size_t>(*number) >= of.size())
        return nullptr;
    return &of[static_cast<std::size_t>(*number)];
}

[[noreturn]] void fail_values(const std::string& key, const std::string& values) {
    throw Error(EINVAL, fmt::format("{}={}: values are A..B, A..B:STEP or V|V|V", key, values));
}

std::vector<json> parse_range(const std::string& key, const std::string& values) {
    const std::size_t dots = values.find("..");
    const std::vector<std::string> rest = split(values.substr(dots + 2), ':');
    const auto from = whole_number(values.substr(0, dots));
    const auto to = whole_number(rest[0]);
    const auto step = rest.size() == 2 ? whole_number(rest[1]) : std::optional<std::int64_t>(1);
    if (!from || !to || !step || rest.size() > 2 || *step < 1 || *from > *to)
        fail_values(key, values);
    const auto span = static_cast<std::uint64_t>(*to) - static_cast<std::uint64_t>(*from);
    if (span / static_cast<std::uint64_t>(*step) >= points_max)
        throw Error(EINVAL, fmt::format("{}={}: more than {} values", key, values, points_max));
    std::vector<json> list;
    for (std::uint64_t offset = 0; offset <= span; offset += static_cast<std::uint64_t>(*step))
        list.emplace_back(*from + static_cast<std::int64_t>(offset));
    return list;
}

std::vector<json> parse_values(const std::string& key, const std::string& values) {
    if (values.find("..") != std::string::npos)
        return parse_range(key, values);
    std::vector<json> list;
    for (const std::string& value : split(values, '|')) {
        if (value.empty())
            fail_values(key, values);
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
        // An environment that is all defaults need not be there.
        if (next == nullptr && path == "env" && at->is_object())
            next = &((*at)[parts[i]] = json::object());
        if (next == nullptr)
            throw Error(EINVAL, fmt::format("{}: the scenario has no {}", setting.key, path));
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
    for (const std::string& part : split(text, ',')) {
        const std::size_t equals = part.find('=');
        if (equals == 0 || equals == std::string::npos)
            throw Error(EINVAL, fmt::format("{}: KEY=A..B[,KEY=A..B...] is needed", text));
        keys_.push_back(part.substr(0, equals));
        values_.push_back(parse_values(keys_.back(), part.substr(equals + 1)));
        if (size() > points_max)
            throw Error(EINVAL, fmt::format("{}: more than {} combinations", text, points_max));
    }
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
