// SPDX-License-Identifier: MIT
//
// Values of a configuration file: their forms and their lines.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "compiler/configuration/problems.hpp"

namespace overtake::compiler {

/// Returns the known name that differs in the fewest letters; empty if none is within `most`
/// letters, by default half of the name's and at least 2.
std::string nearest_name(const std::string& name, const std::vector<std::string>& known,
                         std::optional<std::size_t> most = std::nullopt);

/// A key and its value.  The reading functions throw ConfigurationError naming file, line and key.
class ConfigurationValue {
public:
    /// `problems` outlives the value.
    ConfigurationValue(ConfigurationProblems& problems, std::string key, int line, YAML::Node node)
        : problems_(&problems), key_(std::move(key)), line_(line), node_(std::move(node)) {}

    [[noreturn]] void refuse(const std::string& reason) const;
    /// Adds a warning; the file is still accepted.
    void warn(const std::string& reason) const;
    /// Return FILE:LINE, for faults that only the network shows, and FILE:LINE: warning: KEY.
    std::string place_of_error() const;
    std::string place_of_warning() const;
    /// Runs the step, and keeps a fault that it throws; reading goes on.
    template <typename Step>
    void keeping_faults(const Step& step) const {
        problems_->attempt(step);
    }
    /// Returns a value with another text, and with the same key and line.
    ConfigurationValue with_text(const std::string& text) const {
        return {*problems_, key_, line_, YAML::Node(text)};
    }
    int line() const { return line_; }
    /// Whether there is no value, or an empty text, list or map.
    bool is_empty() const;

    std::string text() const;
    /// Returns the text in small letters.
    std::string word() const;
    bool truth() const;
    /// Returns a whole number in [low, high].
    std::int64_t whole(std::int64_t low, std::int64_t high) const;
    /// Returns a number of microseconds in [low, high].  The text may have another unit, such as
    /// 2ms.
    std::int64_t microseconds(std::int64_t low, std::int64_t high) const;
    double real(double low, double high) const;
    /// Returns the meaning of the text, which is one of `names` in capital or small letters.
    template <typename Meaning>
    Meaning choice(const std::map<std::string, Meaning>& names) const {
        const auto found = names.find(word());
        if (found != names.end())
            return found->second;
        std::string known;
        for (const auto& [name, meaning] : names)
            known += (known.empty() ? "" : ", ") + name;
        refuse(std::string("'").append(text()).append("' is none of ").append(known));
    }
    /// Returns the parts of a text, divided by ';', or of a list.
    std::vector<ConfigurationValue> parts() const;
    /// Returns the same parts, divided by ',' as well.
    std::vector<ConfigurationValue> words() const;
    /// Returns the entries of a map by name; each value's key is this one's and the name.
    std::vector<std::pair<std::string, ConfigurationValue>> entries() const;
    /// Returns the numbers of a text, divided by spaces or commas, or of a list.
    std::vector<float> numbers() const;
    /// Returns the sizes of a text such as 1x3x224x224.
    std::vector<std::int64_t> shape() const;

    /// Returns the entry of a map with this key; none if the map lacks it.  With an empty key,
    /// returns the entry of a map that has only one.
    std::optional<ConfigurationValue> entry(const std::string& key) const;
    bool is_map() const { return node_.IsMap(); }
    bool is_list() const { return node_.IsSequence(); }

private:
    std::vector<ConfigurationValue> divided_by(const std::string& dividers) const;

    ConfigurationProblems* problems_;
    std::string key_;
    int line_; ///< from 1
    YAML::Node node_;
};

} // namespace overtake::compiler
