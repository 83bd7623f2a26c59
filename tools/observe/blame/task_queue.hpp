// SPDX-License-Identifier: MIT
//
// TaskQueue: a queue of tasks as its events show it, and why each task in it waits.
//
// The rules are those of the task scheduler (docs/scenarios.md), seen from outside. A task that is
// not dispatched waits for a place of the task limit if there is none; else, as one that is ready,
// for a better placed task that waits for a slot of the same core; else for the slot. Tasks that
// wait alike stand in one line, and of a line all but the first wait for the same. So an event
// costs as much as there are lines, not tasks.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "observe/blame/meter.hpp"
#include "observe/blame/parts.hpp"

namespace overtake::blame {

/// A task that holds a slot in a gap, and one that waits for a slot of its core.
struct Gap {
    std::uint64_t holder; ///< tags
    std::uint64_t waiting;
    std::uint32_t segment;                         ///< the holder's CPU segment
    std::optional<std::uint64_t> running_since_ns; ///< none: it waits for a worker
    std::uint64_t now_ns;
};

/// What the scheduler was told.  Events may know better, and then they do.
struct Rules {
    std::uint32_t cores = 1;      ///< at least
    std::uint32_t slots = 1;      ///< of a queue on each core
    std::uint32_t task_limit = 8; ///< of a queue
    bool one_queue = false;       ///< service mode: all clients of a device share one
    bool share = false;           ///< places of the limit are kept for clients that hold none
    /// Whether the one may not be inserted into the gap of the other. Without it, nobody may.
    std::function<bool(const Gap&)> in_the_way = {};
};

/// A task of a queue. What Tasks does not set is the queue's.
struct QueuedTask {
    std::array<std::uint64_t, 2> rank{}; ///< smaller goes first
    std::uint64_t arrival = 0;           ///< its number among all
    std::uint32_t owner = 0;
    std::uint64_t client = 0;

    bool waits = false; ///< in a line
    bool ready = false;
    std::uint16_t line_core = 0; ///< from 1; 0: any
    bool first = false;
    Meter::Snapshot snapshot;  ///< of the line's meter as it became, or was no more, the first
    std::uint64_t joined = 0;  ///< when it joined its line
    std::uint64_t waited = 0;  ///< of the time since, what is in `parts`
    Parts parts;               ///< of the task
    std::uint64_t counted = 0; ///< its number among those that count for the limit; 0: does not
    std::uint64_t holds = 0;   ///< its number among holders of slots; 0: holds none
    std::uint16_t slot_core = 0;
    bool in_gap = false;
    std::uint32_t gap_segment = 0;
    std::optional<std::uint64_t> gap_running_since;
    std::uint64_t tag = 0;

    auto order() const { return std::tuple(rank, arrival); }
};

class TaskQueue {
public:
    explicit TaskQueue(const Rules& rules) : rules_(rules) {}

    /// As a task that arrives says.
    void set_rules(std::uint32_t slots, std::uint32_t task_limit, bool share);
    void see_core(std::uint16_t core);
    /// Nobody waits in it or holds anything of it.
    bool empty() const { return lines_.empty() && counted_.empty() && holders_.empty(); }

    /// It waits for `core` (0: any) from now on, undispatched or `ready`.
    void join(QueuedTask& task, std::uint16_t core, bool ready, std::uint64_t time);
    /// It does not; its parts get what it waited for.
    void leave(QueuedTask& task, std::uint64_t time);
    void count(QueuedTask& task, std::uint64_t time);
    void discount(QueuedTask& task, std::uint64_t time);
    void take_slot(QueuedTask& task, std::uint16_t core, std::uint64_t time);
    /// It is in a gap, in CPU segment `segment`, which runs or waits for a worker.
    void set_gap(QueuedTask& task, std::uint32_t segment, bool running, std::uint64_t time);
    void end_gap(QueuedTask& task, std::uint64_t time);
    void give_slot(QueuedTask& task, std::uint64_t time);
    std::uint64_t steps() const { return steps_; }

private:
    struct Before {
        bool operator()(const QueuedTask* a, const QueuedTask* b) const {
            return a->order() < b->order();
        }
    };
    struct LineKey {
        std::uint64_t client; ///< 0 unless the limit is shared out
        std::uint16_t core;
        bool ready;
        auto operator<=>(const LineKey&) const = default;
    };
    struct Line {
        std::set<QueuedTask*, Before> tasks;
        Meter first; ///< why the first waits, by part_key()
        Meter others;
        std::uint32_t first_key = part_key(Cause::host);
        std::uint32_t others_key = part_key(Cause::host);
        std::uint64_t since = 0; ///< until then it is in the meters

        void count(std::uint64_t time);
    };
    struct Holders {
        std::map<std::uint64_t, QueuedTask*> active;
        std::map<std::uint64_t, QueuedTask*> in_gap;
    };
    /// The best placed task that waits for a slot: of each core, and of any.
    using Heads = std::map<std::uint16_t, const QueuedTask*>;

    LineKey key_of(const QueuedTask& task) const;
    static void collect(const Line& line, QueuedTask& task);
    static void look_at_first(Line& line);
    bool has_room(const LineKey& key) const;
    void change_waiting(std::uint64_t client, int by);
    void change_counted(std::uint64_t client, int by);
    bool place_kept(std::uint64_t client) const;
    void settle(std::uint64_t time);
    Heads heads() const;
    std::uint32_t limit_key() const;
    std::uint32_t slot_key(std::uint16_t core, const QueuedTask& task, std::uint64_t time) const;
    std::uint32_t key_of_first(const QueuedTask& task, std::uint16_t core, const Heads& heads,
                               std::uint64_t time) const;
    std::uint32_t key_of_first_of_any(const QueuedTask& task, const Heads& heads,
                                      std::uint64_t time) const;

    Rules rules_;
    std::map<LineKey, Line> lines_; ///< none is empty
    std::map<std::uint64_t, QueuedTask*> counted_;
    std::map<std::uint64_t, std::uint32_t> counted_of_; ///< by client
    std::map<std::uint64_t, std::uint32_t> waiting_of_; ///< undispatched, by client
    std::uint32_t places_kept_ = 0;
    std::map<std::uint16_t, Holders> holders_; ///< by core
    std::uint64_t next_ = 1;
    std::uint64_t steps_ = 0;
};

} // namespace overtake::blame
