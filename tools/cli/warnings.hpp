// SPDX-License-Identifier: MIT
//
// Warnings: messages for the user of a command that succeeds.
#pragma once

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "compiler/inputs/samples.hpp"
#include "printable.hpp"

namespace overtake::command {

/// Keeps each warning once.
class Warnings {
public:
    compiler::Warn sink() {
        return [this](const std::string& text) {
            if (std::ranges::find(texts_, text) == texts_.end())
                texts_.push_back(text);
        };
    }
    void print() const {
        for (const std::string& text : texts_)
            fmt::print(stderr, "overtake: {}\n", printable(text));
    }

private:
    std::vector<std::string> texts_;
};

} // namespace overtake::command
