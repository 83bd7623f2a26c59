// SPDX-License-Identifier: MIT
//
// Reads JSON; errors name the place of the wrong value.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace overtake::simulator {

/// A value in a document and its place there, e.g. `tasks[3].core`. All members throw Error
/// (EINVAL) "PLACE: what is wrong".
class Place {
public:
    /// The place of a whole document, which must outlive all places in it and must not change.
    explicit Place(const nlohmann::json& document) : Place(document, document) {}

    const nlohmann::json& value() const { return *value_; }
    /// Returns the path, for which it searches the whole document: for messages only.
    std::string path() const;
    [[noreturn]] void fail(const std::string& what) const;

    /// Checks that the value is an object with these keys only.
    void expect_object(std::span<const std::string_view> keys) const;
    void expect_object(std::initializer_list<std::string_view> keys) const {
        expect_object(std::span(keys.begin(), keys.size()));
    }
    bool has(std::string_view key) const;
    Place at(std::string_view key) const; ///< the key is required
    /// Returns the elements of a list that is not empty.
    std::vector<Place> elements() const;
    /// Returns the elements of a list, which may be empty.
    std::vector<Place> elements_if_any() const;

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
    Place(const nlohmann::json& document, const nlohmann::json& value)
        : document_(&document), value_(&value) {}

    const nlohmann::json* document_;
    const nlohmann::json* value_;
};

/// 2^63: no time may pass it.
inline constexpr std::uint64_t time_limit = std::uint64_t{1} << 63;

} // namespace overtake::simulator
