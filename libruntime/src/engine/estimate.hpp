// SPDX-License-Identifier: MIT
//
// The time that a segment takes, as far as it has been measured.
#pragma once

#include <cstdint>
#include <mutex>

namespace overtake::engine {

/// Shared by all tasks of a model.  Thread safe.
class Estimate {
public:
    /// Starts with the compiler's time, which holds until there is a measurement.
    explicit Estimate(std::uint64_t compiled_ns) : ns_(static_cast<double>(compiled_ns)) {}

    /// A number that no other Estimate of this process has.
    std::uint64_t id() const noexcept { return id_; }
    /// The time, rounded to the nearest ns; at most INT64_MAX.
    std::uint64_t ns() const;
    /// Records one execution, without waits and without jobs that ran in between.  The first one
    /// replaces the compiler's number, each later one has the weight 0.1: so a constant time is
    /// kept exactly.
    void record(std::uint64_t executed_ns);

private:
    static std::uint64_t next_id() noexcept;

    const std::uint64_t id_ = next_id();
    mutable std::mutex mutex_;
    double ns_;
    bool recorded_ = false;
};

} // namespace overtake::engine
