// SPDX-License-Identifier: MIT
//
// Settings: other values for keys of a scenario, one (--set) or many (--sweep).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace overtake::simulator {

/// A key of the scenario, e.g. `core_limit`, `env.HB_MAX_TASK_NUM`, `loads.camera.priority`
/// (members of a list by their "id", "name" or number), and a value for it.
struct Setting {
    std::string key;
    nlohmann::json value;
};

/// Sets the key, which may be new in an object that exists, or in `env`. Throws Error (EINVAL),
/// which names the part of the key that the document does not have.
void apply_setting(nlohmann::json& document, const Setting& setting);

/// Parses "KEY=VALUE"; a value that is no JSON is a text. Throws Error (EINVAL).
Setting parse_setting(const std::string& text);

/// All combinations of the values of some keys; the last key varies fastest.
class Grid {
public:
    /// Parses "KEY=VALUES[,KEY=VALUES...]", where VALUES is A..B, A..B:STEP or V|V|V. A value that
    /// is a JSON list, object or text may have commas and bars. Throws Error (EINVAL).
    explicit Grid(const std::string& text);
    /// Reads a list of [key, [values...]]. Throws Error (EINVAL).
    static Grid from_json(const nlohmann::json& list);

    /// Returns the list that from_json() reads.
    nlohmann::json to_json() const;
    const std::vector<std::string>& keys() const { return keys_; }
    std::size_t size() const;
    /// Returns point `index`: a setting for each key.
    std::vector<Setting> at(std::size_t index) const;

private:
    Grid() = default;

    std::vector<std::string> keys_;
    std::vector<std::vector<nlohmann::json>> values_; ///< the values of each key
};

} // namespace overtake::simulator
