// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace overtake::command {

/// JSON as people and programs read it. Names that are not UTF-8, which JSON has to be, lose the
/// bytes that are not: nobody's work is refused for its name.
template <typename Json>
std::string text_of(const Json& json) {
    return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

} // namespace overtake::command
