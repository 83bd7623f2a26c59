// SPDX-License-Identifier: MIT
//
// ProcessorTable: the state of the processors of each engine.
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
    /// The engine's number in the process, from 1, in the order in which engines were seen.
    std::uint32_t engine = 0;
    ProcessorEvent last{};  ///< its last event of type processor
    double busy = 0;        ///< the processor's busy share of the interval, over all workers, 0..1
    std::uint64_t runs = 0; ///< runs done in the interval
};

class ProcessorTable {
public:
    static constexpr std::size_t most_engines = 1u << 12; ///< engines of all processes
    static constexpr std::size_t most_of_process = 64;

    /// `now_ns` (CLOCK_MONOTONIC) is when watching begins.
    explicit ProcessorTable(std::uint64_t now_ns = 0) : taken_ns_(now_ns) {}

    void add(const ProcessorEvent& event);
    /// Returns a row for each processor, sorted by pid, by address of the engine, and by number of
    /// the processor. The interval is the time since the last call, or since watching began;
    /// `now_ns` is CLOCK_MONOTONIC.
    std::vector<ProcessorRow> take(std::uint64_t now_ns);
    /// Returns the name of a processor; empty if it is not known.
    std::string name_of(std::uint32_t pid, std::uint64_t engine, std::uint32_t processor) const;
    std::vector<std::uint32_t> processes() const;
    /// Forgets the processes, which have ended.
    void forget(const std::set<std::uint32_t>& pids);
    /// Returns the number of events of engines that are not shown because there are too many
    /// engines.
    std::uint64_t refused() const noexcept { return refused_; }

private:
    struct Processor {
        ProcessorEvent last;
        std::uint64_t runs = 0;    ///< runs done before the interval
        std::uint64_t busy_ns = 0; ///< time busy before the interval
    };
    struct Engine {
        std::uint32_t number;
        std::map<std::uint32_t, Processor> processors;
    };
    using Key = std::pair<std::uint32_t, std::uint64_t>; ///< pid and address

    std::map<Key, Engine> engines_;
    std::map<std::uint32_t, std::uint32_t> numbers_; ///< the last number of each process
    std::uint64_t taken_ns_;
    std::uint64_t refused_ = 0;
};

} // namespace overtake::watch
