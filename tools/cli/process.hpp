// SPDX-License-Identifier: MIT
#pragma once

namespace overtake::command {

/// Prepares the process of a command: standard input, output and error are open, an interrupt is
/// reported on its own line, and exceeding a limit of file sizes is an error of writing. Call it
/// once, first in main(), before there are other threads.
void prepare_process();

} // namespace overtake::command
