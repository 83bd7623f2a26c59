// SPDX-License-Identifier: MIT
#include "scheduler/first_failure.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>

#include "simulator/parallel.hpp"

namespace overtake::fuzz {
namespace {

/// Number of cases that a thread takes at a time.
constexpr std::uint64_t portion = 64;

} // namespace

std::optional<FirstFailure>
first_failure(std::uint64_t cases, unsigned threads, const std::function<void(double)>& progress,
              const std::function<std::optional<std::string>(std::uint64_t)>& attempt) {
    if (threads == 0)
        threads = std::max(1u, std::thread::hardware_concurrency());
    // The number of the first case that has failed: later cases need not run.
    std::atomic<std::uint64_t> stop = std::numeric_limits<std::uint64_t>::max();
    std::mutex mutex;
    std::optional<FirstFailure> first;
    simulator::for_each_index(
        (cases + portion - 1) / portion, threads, progress, [&](std::size_t taken) {
            const std::uint64_t last = std::min((taken + 1) * portion, cases);
            for (std::uint64_t i = taken * portion; i < last && i < stop; i++) {
                std::optional<std::string> what = attempt(i);
                const std::lock_guard lock(mutex);
                if (!what || i >= stop)
                    continue;
                stop = i;
                first = {i, std::move(*what)};
            }
        });
    return first;
}

} // namespace overtake::fuzz
