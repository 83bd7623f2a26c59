// SPDX-License-Identifier: MIT
//
// Executors of runs: cores with their rings and batches (docs/reference/scenarios.md, "The core"),
// and pools of workers. Runs are numbered in the order of dispatch.
#pragma once

#include <deque>
#include <functional>

#include "processors_format.hpp"

namespace overtake::test::processors {

using RunNumber = std::size_t;

/// An FC that has started.
struct FcRecord {
    RunNumber run;
    std::size_t index;
    std::size_t processor;
    bool high;
    Time start;
    Time end;
};

class Executor {
public:
    virtual ~Executor() = default;

    struct Work {
        RunNumber run;
        bool high; ///< of priority 255
        Time lead;
        std::vector<Time> times; ///< FCs of a core, units of a pool, as in the file
    };
    virtual void enter(const Work& work) = 0;
    virtual std::optional<Time> next_end() const = 0;
    /// Ends the FCs and runs of pools that are due now.  Returns the runs that have been executed
    /// to their ends.
    virtual std::vector<RunNumber> end(Time now) = 0;
    /// Idle workers take runs, an idle core chooses an FC. Without leads, these take `factor`
    /// percent of their times.
    virtual void choose(Time now, Time factor) = 0;
    /// Removes the part of the run that has not started.  Returns whether the run executes now.
    virtual bool leave(RunNumber run) = 0;
    /// Ends the running FCs and runs, and removes all runs.
    virtual void stop(Time now) = 0;
    /// Returns when the run started, if it has.
    std::optional<Time> start_of(RunNumber run) const;
    /// Returns the time that the run has executed until now, lead included.
    virtual Time executed(RunNumber run, Time now) const = 0;

protected:
    std::map<RunNumber, Time> starts_;
};

class CoreExecutor : public Executor {
public:
    /// Adds the FCs to `records` as they start.
    CoreExecutor(std::size_t processor, std::size_t core_limit, std::vector<FcRecord>& records)
        : processor_(processor), core_limit_(core_limit), records_(records) {}

    void enter(const Work& work) override;
    std::optional<Time> next_end() const override;
    std::vector<RunNumber> end(Time now) override;
    void choose(Time now, Time factor) override;
    bool leave(RunNumber run) override;
    void stop(Time now) override;
    Time executed(RunNumber run, Time now) const override;

private:
    struct Fc {
        RunNumber run;
        std::size_t index;
        bool high;
        Time lead;
        Time time;
    };

    std::deque<Fc>* next_list();
    bool has_fcs(RunNumber run) const;

    std::size_t processor_;
    std::size_t core_limit_;
    std::vector<FcRecord>& records_;
    std::deque<Fc> high_;
    std::deque<Fc> normal_;
    std::deque<Fc> committed_;
    std::optional<std::size_t> running_; ///< index of its record
};

class PoolExecutor : public Executor {
public:
    explicit PoolExecutor(std::size_t workers) : workers_(workers) {}

    void enter(const Work& work) override;
    std::optional<Time> next_end() const override;
    std::vector<RunNumber> end(Time now) override;
    void choose(Time now, Time factor) override;
    bool leave(RunNumber run) override;
    void stop(Time now) override;
    Time executed(RunNumber run, Time now) const override;

    /// Returns the run of each worker.
    std::vector<std::optional<RunNumber>> executing() const;
    /// Returns the waiting runs, in the order in which they start.
    std::vector<RunNumber> waiting(bool only_high) const;

private:
    struct Execution {
        RunNumber run;
        Time end;
    };

    std::vector<std::optional<Execution>> workers_;
    std::vector<Work> waiting_;
    std::map<RunNumber, Time> executed_; ///< of runs that are over
};

} // namespace overtake::test::processors
