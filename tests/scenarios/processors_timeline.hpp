// SPDX-License-Identifier: MIT
//
// The timeline of several processors, in the form of its file.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "processors_board.hpp"

namespace overtake::test::processors {

nlohmann::json timeline_of(const Scenario& scenario, const Board& board);

} // namespace overtake::test::processors
