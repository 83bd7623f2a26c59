// SPDX-License-Identifier: MIT
#include "inputs.hpp"

#include <algorithm>

namespace overtake::compiler {

const InputOptions& options_of(const std::vector<InputOptions>& all, const std::string& name) {
    static const InputOptions plain;
    const auto found = std::ranges::find(all, name, &InputOptions::name);
    return found == all.end() ? plain : *found;
}

} // namespace overtake::compiler
