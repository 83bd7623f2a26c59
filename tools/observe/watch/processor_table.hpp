// SPDX-License-Identifier: MIT
//
// ProcessorTable: how the processors of each engine do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "observe/processor_event.hpp"

namespace overtake::watch {

struct ProcessorRow {
    std::uint32_t pid = 0;
    std::uint32_t engine = 0; ///< in its process, from 1, in the order in which they were seen
    ProcessorEvent last{};    ///< of type processor: what it said last
    double busy = 0;          ///< share of the interval, of all workers together, 0..1
    std::uint64_t runs = 0;   ///< that were done in the interval
};

class ProcessorTable {
public:
    static constexpr std::size_t most_engines = 1u << 12; ///< of all processes
    static constexpr std::size_t most_of_process = 64;

    /// Watching begins at `now_ns`, CLOCK_MONOTONIC.
    explicit ProcessorTable(std::uint64_t now_ns = 0) : taken_ns_(now_ns) {}

    void add(const ProcessorEvent& event);
    /// Of those that are seen, now; by process, engine and number.  The interval is the time since
    /// the last call, or since watching began; `now_ns` is CLOCK_MONOTONIC.
    std::vector<ProcessorRow> take(std::uint64_t now_ns);
    /// What it is called; empty: not known.
    std::string name_of(std::uint32_t pid, std::uint64_t engine, std::uint32_t processor) const;
    std::vector<std::uint32_t> processes() const;
    /// These processes are gone.
    void forget(const std::set<std::uint32_t>& pids);
    /// Engines that are not shown, since there are too many.
    std::uint64_t refused() const noexcept { return refused_; }

private:
    struct Processor {
        ProcessorEvent last;
        std::uint64_t runs = 0;    ///< before the interval
        std::uint64_t busy_ns = 0; ///< likewise
    };
    struct Engine {
        std::uint32_t number;
        std::map<std::uint32_t, Processor> processors;
    };
    using Key = std::pair<std::uint32_t, std::uint64_t>; ///< pid and address

    std::map<Key, Engine> engines_;
    std::map<std::uint32_t, std::uint32_t> numbers_; ///< the last of each process
    std::uint64_t taken_ns_;
    std::uint64_t refused_ = 0;
};

} // namespace overtake::watch
