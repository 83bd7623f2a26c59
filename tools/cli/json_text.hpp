// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "printable.hpp"

namespace overtake::command {

/// Returns JSON for people and programs. JSON must be UTF-8, so bytes of names that are no UTF-8
/// become U+FFFD. Control and format characters are escaped, since a terminal may show the text.
template <typename Json>
std::string text_of(const Json& json) {
    return printable_json(json.dump(2, ' ', false, Json::error_handler_t::replace));
}

} // namespace overtake::command
