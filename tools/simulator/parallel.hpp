// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>

namespace overtake::simulator {

/// Runs work(0) .. work(count - 1), begun in this order, on at most `threads` threads; the calling
/// thread is one of them. After an exception no more work begins, and the exception with the lowest
/// index is thrown again. `progress`, which may be empty, is called with the share done, by one
/// thread at a time.
void for_each_index(std::size_t count, unsigned threads,
                    const std::function<void(double)>& progress,
                    const std::function<void(std::size_t)>& work);

} // namespace overtake::simulator
