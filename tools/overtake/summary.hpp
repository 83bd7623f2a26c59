// SPDX-License-Identifier: MIT
//
// What there is to say of a model file, as JSON: the one source of every printed form.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace overtake::command {

/// Of a verified model file; times in microseconds, sizes in bytes.
nlohmann::ordered_json summarise(std::span<const std::byte> file);
nlohmann::ordered_json summarise(const std::vector<std::uint8_t>& file);

/// FCs, modelled time and memory on one line.
std::string one_line_summary(const nlohmann::ordered_json& summary);

} // namespace overtake::command
