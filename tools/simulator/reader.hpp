// SPDX-License-Identifier: MIT
//
// Reading of JSON that names the place of whatever is wrong.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace overtake::simulator {

/// A value in a document and where it stands there, e.g. `tasks[3].core`.
/// All members throw Error (EINVAL) "PLACE: what is wrong".
class Place {
public:
    Place(const nlohmann::json& value, std::string path) : value_(&value), path_(std::move(path)) {}

    const nlohmann::json& value() const { return *value_; }
    const std::string& path() const { return path_; }
    [[noreturn]] void fail(const std::string& what) const;

    /// An object with these keys only.
    void expect_object(std::initializer_list<std::string_view> keys) const;
    bool has(std::string_view key) const;
    Place at(std::string_view key) const; ///< the key is required
    /// The elements of a list that is not empty.
    std::vector<Place> elements() const;

    std::uint64_t time() const;     ///< 0..2^63
    std::uint64_t duration() const; ///< 1..2^63
    std::uint64_t integer(std::uint64_t from, std::uint64_t to) const;
    std::int64_t any_integer() const;
    double number_above_zero() const;
    double number_up_to(double most) const; ///< from 0
    bool boolean() const;
    std::string text() const;
    std::string name() const; ///< a text that is not empty

private:
    const nlohmann::json* value_;
    std::string path_;
};

/// 2^63: no time may pass it.
inline constexpr std::uint64_t time_limit = std::uint64_t{1} << 63;

} // namespace overtake::simulator
