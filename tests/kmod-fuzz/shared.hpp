// SPDX-License-Identifier: MIT
// The memory that all processes of a fuzz run share: one anonymous mapping made by the supervisor.
// Everything in it is atomic, as any process may be killed at any instruction.
#pragma once

#include <atomic>
#include <cstdint>

#include "kinds.hpp"

namespace overtake::fuzz {

constexpr uint32_t max_clients = 16;
constexpr uint32_t max_threads = 8;
constexpr uint32_t error_count = 134; // greater than any errno of a call

struct Options {
    uint64_t seed = 1;
    uint64_t calls = 20000;
    uint32_t threads = 2;
    uint32_t clients = 3;
    uint64_t reference_interval = 10000; // calls between two rounds of reference jobs
    const char* device = "/dev/accel/accel0";
    const char* log = nullptr;
    const char* inject = nullptr; // file to plan faults; nullptr: no faults

    // With one of each, the sequence of calls depends on the seed and on nothing else.
    bool is_replayable() const { return threads == 1 && clients == 1; }
};

constexpr std::size_t max_log_line = 1024;

struct Shared {
    std::atomic<uint64_t> calls;                          // made in all
    std::atomic<uint64_t> made[max_clients][max_threads]; // of each stream, over all its lives
    std::atomic<int32_t> pids[max_clients];               // clients that may be killed
    std::atomic<uint64_t> succeeded[kind_count];
    std::atomic<uint64_t> refused[kind_count][error_count];
    std::atomic<uint64_t> jobs[error_count]; // that were collected, by status
    std::atomic<uint64_t> references_right;
    std::atomic<uint32_t> undocumented; // errors that are not documented
    std::atomic<uint32_t> stop;         // ends the reference client
    // The last call of each stream, for print_stacks().
    char last[max_clients][max_threads][max_log_line];
};

} // namespace overtake::fuzz
