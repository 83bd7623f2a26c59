// SPDX-License-Identifier: MIT
//
// The task level of the contract, with tasks of several cores, for the oracle of groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <nlohmann/json.hpp>

#include "groups_board.hpp"

namespace overtake::test {

GroupsBoard::Settings board_settings(const nlohmann::json& scenario);

class GroupsTasks {
public:
    /// Keeps a reference to the scenario.
    explicit GroupsTasks(const nlohmann::json& scenario);
    nlohmann::json run();

private:
    enum class State { to_come, waiting, ready, waits_for_worker, on_worker, on_cores, over };
    struct Segment {
        std::uint64_t cpu = 0;      ///< 0 for a BPU segment
        std::uint64_t estimate = 0; ///< of a CPU segment
        bool is_group = false;
        std::vector<Stages> parts;
        std::uint64_t alone = 0; ///< its time alone; 0 for a CPU segment
        bool is_bpu() const { return cpu == 0; }
    };
    struct Task {
        std::string id, process;
        std::uint64_t at = 0;
        unsigned priority = 0;
        std::int64_t custom_id = 0;
        std::optional<std::size_t> named; ///< a core, from 0
        std::size_t width = 1;
        std::vector<Segment> segments;
        std::uint64_t bpu = 0; ///< time of all its BPU segments alone

        State state = State::to_come;
        std::size_t segment = 0;
        std::vector<std::size_t> cores; ///< once they are settled
        std::optional<std::uint64_t> dispatched{}, end{};
        std::size_t dispatch_number = 0;
        std::size_t job = 0;
        std::uint64_t cpu_end = 0;
        bool is_cancelled = false;
        // For CPU segments that may be overdue.
        std::optional<std::uint64_t> late_at{}; ///< when the current segment becomes overdue
        std::uint64_t watched_since = 0;
        std::uint64_t allowance = 0; ///< left for all of them
        bool is_late = false;        ///< the current segment is overdue
        bool was_late = false;       ///< a segment was: the task does not count for the limit
        bool gave_slots_up = false;  ///< and has not taken them again

        bool is_high() const { return priority == 255; }
        const Segment& current() const { return segments[segment]; }
        bool has_bpu_before() const;
        const Segment* next_bpu() const;
        bool is_in_gap() const;
        bool holds_slots() const;
    };
    struct CpuRun {
        std::size_t task, segment;
        std::uint64_t start, end;
    };

    Task read_task(const nlohmann::json& entry) const;
    Segment read_segment(const nlohmann::json& entry) const;
    std::uint64_t time_alone(const std::vector<Stages>& parts) const;
    std::optional<std::uint64_t> next_instant() const;
    void at_instant();

    bool one_queue(const Task& a, const Task& b) const;
    auto place(const Task& task) const {
        return std::tuple(-static_cast<int>(task.priority), task.custom_id, task.at, &task);
    }
    void end_segments();
    void next_segment(Task& task);
    void watch(Task& task) const;
    void stop_watching(Task& task) const;
    void find_overdue();
    void enter(Task& task);
    void submit(Task& task);
    void end(Task& task);
    void cancel(Task& task);
    void dispatch(const Task& of_queue);
    bool go(Task& task);
    bool has_room(const Task& task) const;
    bool waits_for_slots(const Task& task) const;
    static bool wants(const Task& task, std::size_t core);
    std::vector<std::size_t> allowed_cores(const Task& task) const;
    bool is_barred(const Task& task, std::size_t core) const;
    bool has_free_slot(const Task& task, std::size_t core) const;
    bool gives_way(const Task& holder, const Task& to) const;
    void give_to_workers(const std::string& process);
    nlohmann::json timeline() const;

    const nlohmann::json& scenario_;
    GroupsBoard board_;
    std::uint64_t sync_;
    std::uint64_t setting(const char* name, std::uint64_t otherwise) const;
    std::vector<Task> tasks_; ///< in file order
    std::vector<std::string> processes_;
    std::vector<CpuRun> cpu_;
    std::optional<std::uint64_t> now_;
    std::size_t dispatches_ = 0;
};

} // namespace overtake::test
