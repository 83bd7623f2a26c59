// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include "scheduler/case.hpp"

namespace overtake::fuzz {

/// A small case that still fails: fewer commands, a better host, shorter models, fewer cores.
/// `fails` is called a few thousand times at most.
Case shrink(Case failing, const std::function<bool(const Case&)>& fails);

} // namespace overtake::fuzz
