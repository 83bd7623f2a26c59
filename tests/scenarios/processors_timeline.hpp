// SPDX-License-Identifier: MIT
//
// What happened on several processors, as the file of a timeline has it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "processors_board.hpp"

namespace overtake::test::processors {

nlohmann::json timeline_of(const Scenario& scenario, const Board& board);

} // namespace overtake::test::processors
