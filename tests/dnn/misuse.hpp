// SPDX-License-Identifier: MIT
#pragma once

namespace overtake::test {

/// The table of docs/board-errors.md, on standard output.
void print_misuses();

} // namespace overtake::test
