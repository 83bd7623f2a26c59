// SPDX-License-Identifier: MIT
//
// Parts: the time of a job or task, by cause and by culprit.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

namespace overtake::blame {

/// From its arrival to its end, a job or task has exactly one of these causes at any moment.
enum class Cause : std::uint8_t {
    /// In the queue: no place of the task limit is free; by the task that has had its place for
    /// longest.
    task_limit,
    barred,        ///< in the queue: by a better placed task that waits for a slot of the same core
    slot,          ///< in the queue: by the task that holds the slot
    worker,        ///< waits for a CPU worker of its process
    behind_normal, ///< its job waits for a core that runs a NORMAL FC of another job
    behind_high,   ///< its job waits for a core that runs a HIGH FC of another job
    held,          ///< its job waits for a core that runs no FC: a HIGH group is between stages
    host,    ///< nothing else delays the job or task: its host or the driver has not handled it yet
    cpu,     ///< one of its CPU segments runs: before its first BPU segment or after its last
    gap,     ///< one of its CPU segments runs between BPU segments
    stages,  ///< its job is a group between two of its stages, and its critical part waits
    running, ///< one of its FCs runs; of a group, an FC of its critical part
};
inline constexpr std::size_t cause_count = static_cast<std::size_t>(Cause::running) + 1;

constexpr std::string_view cause_name(Cause cause) {
    constexpr std::array<std::string_view, cause_count> names{
        "task_limit", "barred", "slot", "worker", "behind_normal", "behind_high",
        "held",       "host",   "cpu",  "gap",    "stages",        "running"};
    return names[static_cast<std::size_t>(cause)];
}

/// Returns whether another job or task is to blame for the cause.
constexpr bool has_blocker(Cause cause) {
    return cause <= Cause::slot || (cause >= Cause::behind_normal && cause <= Cause::held);
}

/// Returns whether the cause is own work, which takes as long on an idle device.
constexpr bool is_own(Cause cause) {
    return cause >= Cause::cpu;
}

/// The owner of a job or task; all zero: no client owns it.
struct Who {
    std::uint64_t client = 0;
    std::uint64_t model = 0; ///< the client's number for its model; 0: the client gave none
    std::uint32_t pid = 0;
    auto operator<=>(const Who&) const = default;
};

struct Part {
    Cause cause;
    Who by; ///< all zero unless has_blocker(cause)
    std::uint64_t ns;
    bool operator==(const Part&) const = default;
};

/// Gives each owner a small number.
class Owners {
public:
    /// Each owner beyond the first `most` gets the number of Who{}, in which all is zero.
    explicit Owners(std::size_t most = SIZE_MAX) : most_(most) {}

    std::uint32_t number(const Who& who) {
        if (list_.size() >= most_ && !numbers_.contains(who) && who != Who{}) {
            unknown_++;
            return number(Who{});
        }
        const auto [found, is_new] =
            numbers_.try_emplace(who, static_cast<std::uint32_t>(list_.size()));
        if (is_new)
            list_.push_back(who);
        return found->second;
    }
    const Who& who(std::uint32_t number) const { return list_[number]; }

    /// Returns how often number() was called for an owner beyond the first `most`.
    std::uint64_t unknown() const { return unknown_; }

private:
    std::size_t most_;
    std::uint64_t unknown_ = 0;
    std::map<Who, std::uint32_t> numbers_;
    std::vector<Who> list_;
};

/// Combines a cause and a number of Owners in one key.
constexpr std::uint32_t part_key(Cause cause, std::uint32_t owner = 0) {
    return owner * static_cast<std::uint32_t>(cause_count) + static_cast<std::uint32_t>(cause);
}

/// Sums of time by part_key().
class Parts {
public:
    void add(std::uint32_t key, std::uint64_t ns) {
        if (ns != 0)
            sums_[key] += ns;
    }
    void add(const Parts& other) {
        for (const auto& [key, ns] : other.sums_)
            sums_[key] += ns;
    }
    std::uint64_t total() const {
        std::uint64_t total = 0;
        for (const auto& [key, ns] : sums_)
            total += ns;
        return total;
    }
    /// Returns the parts by cause, then by client, model and pid of the culprit.
    std::vector<Part> list(const Owners& owners) const;

private:
    std::map<std::uint32_t, std::uint64_t> sums_;
};

} // namespace overtake::blame
