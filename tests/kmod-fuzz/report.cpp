// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

namespace overtake::fuzz {

namespace {

constexpr uint64_t least_percent = 30; // least share of successful calls of a main kind
constexpr uint64_t least_calls = 300;  // a share is computed from so many calls on

uint64_t total(const std::atomic<uint64_t> (&counters)[error_count]) {
    uint64_t sum = 0;
    for (const auto& counter : counters)
        sum += counter;
    return sum;
}

std::string by_error(const std::atomic<uint64_t> (&counters)[error_count]) {
    std::string text;
    for (uint32_t error = 1; error < error_count; error++)
        if (counters[error]) {
            const char* name = strerrorname_np(static_cast<int>(error));
            text.append(" ").append(name ? name : "?").append(" ");
            text.append(std::to_string(counters[error]));
        }
    return text;
}

bool report_kind(const Shared& shared, std::size_t index) {
    const KindInfo& kind = info(static_cast<Kind>(index));
    const uint64_t succeeded = shared.succeeded[index];
    const uint64_t made = succeeded + total(shared.refused[index]);
    if (!made)
        return true;
    const uint64_t percent = 100 * succeeded / made;
    std::printf("# %-24s %9llu %9llu %4llu %% %s\n", kind.name,
                static_cast<unsigned long long>(made), static_cast<unsigned long long>(succeeded),
                static_cast<unsigned long long>(percent), by_error(shared.refused[index]).c_str());
    // Calls that waited in vain were accepted, too; their number depends on the machine.  But some
    // calls must succeed.
    uint64_t taken = succeeded;
    for (const int error : {ETIMEDOUT, ETIME, EINTR})
        taken += shared.refused[index][error];
    if (!kind.main || made < least_calls ||
        (100 * taken / made >= least_percent && percent >= least_percent / 3))
        return true;
    std::printf("# too many refusals: %s\n", kind.name);
    return false;
}

} // namespace

bool report(const Options& options, const Shared& shared, int64_t seconds, uint32_t killed) {
    bool right = true;
    std::printf("# %-24s %9s %9s %6s %s\n", "call", "made", "succeeded", "", "refused with");
    for (std::size_t index = 0; index < kind_count; index++)
        right &= report_kind(shared, index);

    const uint64_t jobs = total(shared.jobs);
    std::printf("# jobs collected: %llu, right %llu,%s\n", static_cast<unsigned long long>(jobs),
                static_cast<unsigned long long>(shared.jobs[0].load()),
                by_error(shared.jobs).c_str());
    if (jobs >= least_calls && 100 * shared.jobs[0] / jobs < least_percent) {
        std::printf("# too many jobs fail\n");
        right = false;
    }
    const uint64_t wanted = shared.calls / options.reference_interval;
    std::printf("# %llu calls in %lld s (%lld a second), %u clients killed, %llu rounds of "
                "reference jobs right of "
                "%llu, %u answers that are not documented\n",
                static_cast<unsigned long long>(shared.calls.load()),
                static_cast<long long>(seconds),
                static_cast<long long>(shared.calls) / (seconds ? seconds : 1), killed,
                static_cast<unsigned long long>(shared.references_right.load()),
                static_cast<unsigned long long>(wanted), shared.undocumented.load());
    right &=
        shared.calls >= options.calls && shared.references_right >= wanted && !shared.undocumented;
    return right;
}

void print_stacks(const Shared& shared, uint32_t clients) {
    namespace fs = std::filesystem;
    for (uint32_t client = 0; client < clients; client++) {
        for (const char* last : shared.last[client])
            if (shared.pids[client] > 0)
                std::cerr << last;
        const fs::path tasks = "/proc/" + std::to_string(shared.pids[client]) + "/task";
        std::error_code error;
        for (const auto& task : fs::directory_iterator(tasks, error)) {
            std::ifstream stack(task.path() / "stack");
            std::cerr << task.path().string() << ":\n" << stack.rdbuf() << "\n";
        }
    }
}

} // namespace overtake::fuzz
