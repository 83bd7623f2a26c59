// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include "scheduler/case.hpp"

namespace overtake::fuzz {

/// Returns a small case that still fails: fewer commands and cores, a better host, shorter models.
/// `fails` is called a few thousand times at most.
Case shrink(Case failing, const std::function<bool(const Case&)>& fails);

} // namespace overtake::fuzz
