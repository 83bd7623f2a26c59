// SPDX-License-Identifier: MIT
#include "compiler/configuration/value.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numeric>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "compiler/ir/error.hpp"
#include "time_units.hpp"

namespace overtake::compiler {
namespace {

// Returns how many letters have to be inserted, removed or exchanged.
std::size_t edit_distance(const std::string& left, const std::string& right) {
    std::vector<std::size_t> row(right.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < left.size(); ++i) {
        std::size_t diagonal = row[0]++;
        for (std::size_t j = 0; j < right.size(); ++j) {
            const std::size_t exchanged = diagonal + (left[i] != right[j]);
            diagonal = row[j + 1];
            row[j + 1] = std::min({exchanged, row[j] + 1, diagonal + 1});
        }
    }
    return row.back();
}

std::string trimmed(const std::string& text) {
    const auto is_space = [](unsigned char c) { return std::isspace(c) != 0; };
    const auto first = std::ranges::find_if_not(text, is_space);
    const auto last =
        std::find_if_not(text.rbegin(), std::string::const_reverse_iterator(first), is_space);
    return {first, last.base()};
}

} // namespace

std::string nearest_name(const std::string& name, const std::vector<std::string>& known,
                         std::optional<std::size_t> most) {
    std::string nearest;
    std::size_t least = most.value_or(std::max<std::size_t>(name.size() / 2, 2)) + 1;
    for (const std::string& candidate : known)
        if (const std::size_t distance = edit_distance(name, candidate); distance < least) {
            least = distance;
            nearest = candidate;
        }
    return nearest;
}

void ConfigurationValue::refuse(const std::string& reason) const {
    throw ConfigurationError(problems_->path(), line_, key_ + ": " + reason);
}

void ConfigurationValue::warn(const std::string& reason) const {
    problems_->warn(line_, key_ + ": " + reason);
}

std::string ConfigurationValue::place_of_error() const {
    return problems_->path() + ":" + std::to_string(line_);
}

std::string ConfigurationValue::place_of_warning() const {
    return place_of_error() + ": warning: " + key_;
}

bool ConfigurationValue::is_empty() const {
    return node_.IsScalar() ? trimmed(node_.Scalar()).empty()
                            : !node_.IsDefined() || node_.IsNull() || node_.size() == 0;
}

std::string ConfigurationValue::text() const {
    if (!node_.IsScalar())
        refuse("must be a single value");
    const std::string text = trimmed(node_.Scalar());
    if (text.empty())
        refuse("is empty; leave the key out for its default");
    return text;
}

std::string ConfigurationValue::word() const {
    std::string text = this->text();
    std::ranges::transform(text, text.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

bool ConfigurationValue::truth() const {
    return choice<bool>({{"true", true}, {"false", false}});
}

std::int64_t ConfigurationValue::whole(std::int64_t low, std::int64_t high) const {
    std::istringstream stream(text());
    std::int64_t number = 0;
    if (!(stream >> number) || !stream.eof() || number < low || number > high)
        refuse(fmt::format("'{}' is no whole number in {}..{}", text(), low, high));
    return number;
}

std::int64_t ConfigurationValue::microseconds(std::int64_t low, std::int64_t high) const {
    constexpr double ns_per_us = 1000;
    const std::optional<double> ns = read_time_ns(text(), ns_per_us);
    const std::optional<double> whole = ns ? whole_of(*ns / ns_per_us) : std::nullopt;
    if (!whole || *whole < static_cast<double>(low) || *whole > static_cast<double>(high))
        refuse(fmt::format("'{}' is no whole number in {}..{} microseconds, nor such a time with "
                           "a unit (2ms, 0.5s)",
                           text(), low, high));
    return static_cast<std::int64_t>(*whole);
}

double ConfigurationValue::real(double low, double high) const {
    std::istringstream stream(text());
    double number = 0;
    if (!(stream >> number) || !stream.eof() || !(number >= low && number <= high))
        refuse(fmt::format("'{}' is no number in {}..{}", text(), low, high));
    return number;
}

std::optional<ConfigurationValue> ConfigurationValue::entry(const std::string& key) const {
    for (const auto& pair : node_)
        if (pair.first.Scalar() == key || (key.empty() && node_.size() == 1))
            return ConfigurationValue(*problems_, key_, pair.second.Mark().line + 1, pair.second);
    return std::nullopt;
}

std::vector<std::pair<std::string, ConfigurationValue>> ConfigurationValue::entries() const {
    if (!node_.IsMap())
        refuse("must be a map from names to values");
    std::vector<std::pair<std::string, ConfigurationValue>> result;
    for (const auto& pair : node_) {
        if (!pair.first.IsScalar())
            refuse("must be a map from names to values");
        const std::string& name = pair.first.Scalar();
        result.emplace_back(name, ConfigurationValue(*problems_, key_ + ": " + name,
                                                     pair.first.Mark().line + 1, pair.second));
    }
    return result;
}

std::vector<ConfigurationValue> ConfigurationValue::parts() const {
    return divided_by(";");
}

std::vector<ConfigurationValue> ConfigurationValue::words() const {
    return divided_by(";,");
}

std::vector<ConfigurationValue> ConfigurationValue::divided_by(const std::string& dividers) const {
    std::vector<ConfigurationValue> result;
    const auto add = [&](const YAML::Node& node) {
        const int line = node.Mark().line < 0 ? line_ : node.Mark().line + 1;
        result.emplace_back(*problems_, key_, line, node);
    };
    if (node_.IsSequence()) {
        for (const YAML::Node& node : node_)
            add(node);
        return result;
    }
    const std::string text = this->text();
    for (std::size_t start = 0, end = 0; end != std::string::npos; start = end + 1) {
        end = text.find_first_of(dividers, start);
        if (const std::string part = trimmed(text.substr(start, end - start)); !part.empty())
            result.emplace_back(*problems_, key_, line_, YAML::Node(part));
    }
    return result;
}

std::vector<float> ConfigurationValue::numbers() const {
    std::string all;
    if (node_.IsSequence())
        for (const YAML::Node& node : node_)
            all += (node.IsScalar() ? node.Scalar() : "?") + " ";
    else
        all = text();
    std::ranges::replace(all, ',', ' ');
    std::istringstream stream(all);
    std::vector<float> result;
    for (std::string word; stream >> word;) {
        std::istringstream number(word);
        float value = 0;
        if (!(number >> value) || !number.eof() || !std::isfinite(value))
            refuse(fmt::format("'{}' is no number", word));
        result.push_back(value);
    }
    return result;
}

std::vector<std::int64_t> ConfigurationValue::shape() const {
    std::istringstream stream(word());
    std::vector<std::int64_t> result;
    for (std::string size; std::getline(stream, size, 'x');)
        result.push_back(ConfigurationValue(*problems_, key_, line_, YAML::Node(trimmed(size)))
                             .whole(1, 1 << 20));
    return result;
}

} // namespace overtake::compiler
