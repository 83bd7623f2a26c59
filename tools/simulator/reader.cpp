// SPDX-License-Identifier: MIT
#include "simulator/reader.hpp"

#include <cerrno>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "overtake/device.hpp"

namespace overtake::simulator {
namespace {

constexpr std::size_t longest_quote = 40;

/// Returns the value as the user wrote it, shortened, on one line.
std::string quote(const nlohmann::json& value) {
    std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    if (text.size() > longest_quote)
        text = text.substr(0, longest_quote) + "...";
    return text;
}

std::string join(const std::string& path, std::string_view key) {
    return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

/// Adds to `path` the path from `from` to `wanted`. Returns false if `from` does not have it.
bool find(const nlohmann::json& from, const nlohmann::json& wanted, std::string& path) {
    if (&from == &wanted)
        return true;
    const std::size_t length = path.size();
    if (from.is_object()) {
        for (const auto& [key, value] : from.get_ref<const nlohmann::json::object_t&>()) {
            path = join(path, key);
            if (find(value, wanted, path))
                return true;
            path.resize(length);
        }
    } else if (from.is_array()) {
        for (std::size_t i = 0; i < from.size(); i++) {
            path += fmt::format("[{}]", i);
            if (find(from[i], wanted, path))
                return true;
            path.resize(length);
        }
    }
    return false;
}

} // namespace

std::string Place::path() const {
    std::string path;
    find(*document_, *value_, path);
    return path;
}

void Place::fail(const std::string& what) const {
    const std::string where = path();
    throw Error(EINVAL, fmt::format("{}: {}", where.empty() ? "the scenario" : where, what));
}

void Place::expect_object(std::span<const std::string_view> keys) const {
    if (!value_->is_object())
        fail(fmt::format("{} is not an object", quote(*value_)));
    for (const auto& [key, unused] : value_->get_ref<const nlohmann::json::object_t&>()) {
        bool known = false;
        for (std::string_view allowed : keys)
            known = known || allowed == key;
        if (known)
            continue;
        std::string printable = quote(nlohmann::json(key));
        printable = printable.substr(1, printable.size() - 2);
        const auto kind = document_->find("kind");
        throw Error(EINVAL,
                    fmt::format("{}: unknown key{}; possible here: {}", join(path(), printable),
                                kind == document_->end() ? "" : ", kind " + quote(*kind),
                                fmt::join(keys, ", ")));
    }
}

bool Place::has(std::string_view key) const {
    return value_->contains(key);
}

Place Place::at(std::string_view key) const {
    const auto found = value_->find(key);
    if (found == value_->end())
        throw Error(EINVAL, fmt::format("{}: missing", join(path(), key)));
    return {*document_, *found};
}

std::vector<Place> Place::elements() const {
    std::vector<Place> elements = elements_if_any();
    if (elements.empty())
        fail("the list is empty");
    return elements;
}

std::vector<Place> Place::elements_if_any() const {
    if (!value_->is_array())
        fail(fmt::format("{} is not a list", quote(*value_)));
    std::vector<Place> elements;
    elements.reserve(value_->size());
    for (const nlohmann::json& element : *value_)
        elements.push_back({*document_, element});
    return elements;
}

std::uint64_t Place::integer(std::uint64_t from, std::uint64_t to) const {
    if (!value_->is_number_integer())
        fail(fmt::format("{} is not an integer", quote(*value_)));
    const bool negative = !value_->is_number_unsigned() && value_->get<std::int64_t>() < 0;
    const auto number = value_->get<std::uint64_t>();
    if (negative || number < from)
        fail(fmt::format("{}, but at least {} is needed", quote(*value_), from));
    if (number > to)
        fail(fmt::format("{}, but at most {} is possible", quote(*value_), to));
    return number;
}

std::uint64_t Place::time() const {
    return integer(0, time_limit);
}

std::uint64_t Place::duration() const {
    return integer(1, time_limit);
}

std::int64_t Place::any_integer() const {
    if (!value_->is_number_integer())
        fail(fmt::format("{} is not an integer", quote(*value_)));
    if (value_->is_number_unsigned() &&
        value_->get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max())
        fail(fmt::format("{} does not fit 64 bits", quote(*value_)));
    return value_->get<std::int64_t>();
}

double Place::number_above_zero() const {
    if (!value_->is_number())
        fail(fmt::format("{} is not a number", quote(*value_)));
    const auto number = value_->get<double>();
    if (!std::isfinite(number) || number <= 0)
        fail(fmt::format("{}, but a number above 0 is needed", quote(*value_)));
    return number;
}

double Place::number_up_to(double most) const {
    if (!value_->is_number())
        fail(fmt::format("{} is not a number", quote(*value_)));
    const auto number = value_->get<double>();
    if (!(number >= 0 && number <= most))
        fail(fmt::format("{}, but a number from 0 to {} is needed", quote(*value_), most));
    return number;
}

bool Place::boolean() const {
    if (!value_->is_boolean())
        fail(fmt::format("{} is neither true nor false", quote(*value_)));
    return value_->get<bool>();
}

std::string Place::text() const {
    if (!value_->is_string())
        fail(fmt::format("{} is not a text", quote(*value_)));
    return value_->get<std::string>();
}

std::string Place::name() const {
    std::string name = text();
    if (name.empty())
        fail("a name is needed");
    return name;
}

} // namespace overtake::simulator
