// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "printable.hpp"

namespace overtake::command {

/// JSON as people and programs read it. Names that are not UTF-8, which JSON has to be, lose the
/// bytes that are not; control and format characters are escaped, since it may be shown in a
/// terminal.
template <typename Json>
std::string text_of(const Json& json) {
    return printable_json(json.dump(2, ' ', false, Json::error_handler_t::replace));
}

} // namespace overtake::command
