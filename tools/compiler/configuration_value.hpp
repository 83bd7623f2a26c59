// SPDX-License-Identifier: MIT
//
// Values of a configuration file: what they must look like, and where they stand.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <yaml-cpp/yaml.h>

namespace overtake::compiler {

/// Of the known names the one that differs in the fewest letters; empty if none is near.
std::string nearest_name(const std::string& name, const std::vector<std::string>& known);

/// A key and its value.  The reading functions throw CompileError naming file, line and key.
class ConfigurationValue {
public:
    ConfigurationValue(const std::string& path, std::string key, int line, YAML::Node node)
        : path_(path), key_(std::move(key)), line_(line), node_(std::move(node)) {}

    [[noreturn]] void refuse(const std::string& reason) const;

    std::string text() const;
    /// The text in small letters.
    std::string word() const;
    bool truth() const;
    /// A whole number in [low, high].
    std::int64_t whole(std::int64_t low, std::int64_t high) const;
    double real(double low, double high) const;
    /// One of `names`, in whichever case.
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
    /// A text with parts divided by ';', or a list.
    std::vector<ConfigurationValue> parts() const;
    /// Numbers divided by spaces or commas, or a list.
    std::vector<float> numbers() const;
    /// 1x3x224x224.
    std::vector<std::int64_t> shape() const;

    /// Of a map; none if it has not such a key.  With an empty key, the only one.
    std::optional<ConfigurationValue> entry(const std::string& key) const;
    bool is_map() const { return node_.IsMap(); }
    bool is_list() const { return node_.IsSequence(); }

private:
    std::string path_;
    std::string key_;
    int line_; ///< from 1
    YAML::Node node_;
};

} // namespace overtake::compiler
