// SPDX-License-Identifier: MIT
//
// Recorder: the whole timeline of a run, in memory and as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "simulator/simulator.hpp"

namespace overtake::simulator {

/// Records a run. Memory grows with the run: about 100 bytes for each FC and job.
class Recorder : public Observer {
public:
    struct Fc {
        std::size_t job; ///< index into jobs()
        std::uint32_t index;
        std::uint32_t part;
        std::uint32_t stage;
        std::uint32_t core;
        bool high;
        std::uint64_t start;
        std::uint64_t end;
    };
    struct Part {
        std::uint32_t core;
        std::optional<std::uint64_t> start;
        std::optional<std::uint64_t> end;
        std::uint32_t preemptions;
    };
    struct Job {
        std::size_t task; ///< index into tasks()
        std::uint32_t segment;
        std::uint32_t core;
        std::uint64_t arrival;
        std::optional<std::uint64_t> start;
        std::uint64_t end;
        std::uint32_t preemptions;
        bool cancelled;
        std::vector<Part> parts; ///< of a group; empty if the job is no group
    };
    struct Cpu {
        std::size_t task;
        std::uint32_t segment;
        std::uint64_t start;
        std::uint64_t end;
    };
    struct Task {
        std::string id;
        std::uint32_t task_class;
        std::uint32_t core;
        std::uint64_t arrival;
        std::optional<std::uint64_t> dispatched;
        std::uint64_t end;
        bool cancelled;
    };
    struct Preemption {
        std::size_t job;
        std::uint32_t core;
        std::uint64_t time;
    };

    explicit Recorder(const Scenario& scenario);

    const std::vector<Fc>& fcs() const { return fcs_; }    ///< by start, then core
    const std::vector<Job>& jobs() const { return jobs_; } ///< by arrival
    const std::vector<Cpu>& cpu() const { return cpu_; }   ///< by start, then task, once sorted
    /// Returns the listed tasks in file order, then generated tasks in order of arrival.
    const std::vector<Task>& tasks() const { return tasks_; }
    const std::vector<Preemption>& preemptions() const { return preemptions_; }
    std::string job_name(const Job& job) const;

    void arrived(LiveTask& task, std::uint64_t time) override;
    void cpu_started(LiveTask& task, std::uint32_t segment, std::uint64_t time,
                     std::uint64_t end) override;
    void submitted(LiveTask& task, std::uint32_t segment, std::uint64_t time) override;
    void fc_started(LiveTask& task, unsigned core, bool high, std::uint32_t index,
                    std::uint64_t time, std::uint64_t end) override;
    void preempted(LiveTask& task, unsigned core, std::uint64_t time) override;
    void job_ended(LiveTask& task, std::uint64_t time) override;
    void abandoned(LiveTask& task, std::uint64_t time) override;
    void ended(LiveTask& task, std::uint64_t time) override;

    /// Sorts cpu(). Call it after the run.
    void sort();
    /// Writes the timeline in the contract's form. Call it after the run.
    void write(std::ostream& out);

private:
    std::string part_text(const Fc& fc) const;
    static std::string parts_text(const Job& job);

    const Scenario& scenario_;
    std::vector<Fc> fcs_;
    std::vector<Job> jobs_;
    std::vector<Cpu> cpu_;
    std::vector<Task> tasks_;
    std::vector<Preemption> preemptions_;
};

} // namespace overtake::simulator
