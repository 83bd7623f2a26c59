// SPDX-License-Identifier: MIT
//
// GraphRun: the life cycle of a model on an engine with several processors, step by step: prepare,
// run any number of times, release (docs/reference/graph-run.md).
//
//     overtake::GraphRun graph(engine, overtake::Model::load("detector.ovm"));
//     graph.prerun();                              // all or nothing
//     std::ranges::copy(pixels, graph.input(0).begin());
//     graph.run(false);
//     graph.wait();
//     use(graph.output(0));
//     graph.postrun();
//
// Each call is allowed in some states.  In other states it throws an Error that names the state and
// the remedy: EBUSY while a run is under way, EINVAL otherwise.
//
//     call             created   ready     running   done      error
//     prerun           -> ready  EINVAL    EBUSY     EINVAL    EINVAL
//     input, output    EINVAL    yes       EBUSY     yes       yes
//     run              EINVAL    -> running EBUSY    -> running -> running
//     wait             EINVAL    EINVAL    yes       yes       throws the run's error
//     cancel           nothing   nothing   yes       nothing   nothing
//     postrun          EINVAL    -> created EBUSY    -> created -> created
//
// When a run ends, the state becomes done or error, whether or not a thread waits.  While one
// thread is in prerun() or postrun(), these calls of other threads throw EBUSY, except cancel().
//
// Thread safety: any thread may call every function but the destructor.
// fork(): as for a Device (overtake/device.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "overtake/engine.hpp"
#include "overtake/export.hpp"
#include "overtake/model.hpp"

namespace overtake {

/// The state of a graph in its life cycle.
enum class GraphState : std::uint8_t {
    created = 0, ///< nothing is prepared
    ready = 1,   ///< prepared, and not run yet
    running = 2, ///< a run is under way
    done = 3,    ///< the last run succeeded
    error = 4    ///< the last run failed
};

/// "created", "ready", ...; "?" for a number that is no state.  The text lives for ever.
OVERTAKE_API const char* name_of(GraphState state) noexcept;

/// A unit that a processor does not take.
struct UnitRefusal {
    std::size_t unit;      ///< number of the unit in its model, from 0
    std::string processor; ///< the processor's name
    std::string reason;    ///< why it does not take the unit
};

/// A model on an engine, and the memory of one inference.  It runs one inference at a time.
class OVERTAKE_API GraphRun {
public:
    /// Prepares nothing.  EINVAL if the engine has no EngineOptions::processors.  EINVAL for a
    /// TaskOptions::deadline_ns, which is one moment: a graph may run many times, so use slo_ns.
    GraphRun(Engine& engine, std::shared_ptr<const Model> model, const TaskOptions& options = {});
    /// Cancels a run that is under way.  The memory that the run uses is kept until its end.
    ~GraphRun();
    GraphRun(const GraphRun&) = delete;
    GraphRun& operator=(const GraphRun&) = delete;

    const Model& model() const noexcept; ///< the model of the constructor

    /// Uploads the model, lets each processor of the program prepare each unit, checks that each
    /// unit has a processor, and allocates the memory of one inference.  A unit that one class
    /// refuses runs on another class.  EINVAL if all of them refuse a unit, naming the unit, each
    /// processor and its reason; ENOSPC or ENOMEM; EPERM for a priority above the engine's
    /// max_priority.  After an error nothing is prepared.
    void prerun();
    /// Does the same with the caller's memory, which the graph uses until postrun().
    void prerun(std::span<const TensorMemory> inputs, std::span<const TensorMemory> outputs);
    /// The values of an input, dense row-major.  The caller fills them in before run().  Valid
    /// until postrun().  EINVAL if there is no such input, or if prerun() was given the caller's
    /// memory.
    std::span<float> input(std::size_t index);
    /// The values of an output of the last run that succeeded, dense row-major.  Valid until
    /// postrun().  EINVAL if there is no such output, or if prerun() was given the caller's memory.
    std::span<const float> output(std::size_t index);

    /// Begins a run from the inputs, also after a run that failed.  If `block` is true, waits for
    /// the end and throws the Error of a run that failed, as wait() does.
    void run(bool block = true);
    /// Waits until the run has ended or until deadline_ns (absolute CLOCK_MONOTONIC).  Returns true
    /// if the run succeeded, false at the deadline.  Throws the Error of a run that failed, which
    /// names the units and the processor if these are the cause.
    bool wait(std::int64_t deadline_ns = deadline_never);
    /// Cancels the run: work that has not started never runs.  Returns at once; the run ends some
    /// time later, with ECANCELED if the cancel was in time.
    void cancel();
    /// Releases everything that prerun() prepared, also after a run that failed.  If a processor of
    /// the program did not report the end of a call, and the engine has given that call up, the
    /// units are released when the call is freed.
    void postrun();

    /// The state of the life cycle.
    GraphState state() const noexcept;
    /// The reason why the last run failed; empty unless state() is GraphState::error.
    std::string error() const;
    /// The units that a processor does not take, as the last prerun() found them.
    std::vector<UnitRefusal> refusals() const;
    /// Request::runs() of the last run.  Empty while a run is under way, and after postrun().
    std::vector<RunRecord> runs() const;

private:
    struct OVERTAKE_HIDDEN State;
    std::unique_ptr<State> state_;
};

} // namespace overtake
