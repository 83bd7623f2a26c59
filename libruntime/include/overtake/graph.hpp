// SPDX-License-Identifier: MIT
//
// GraphRun: the life cycle of a model on an engine with several processors, step by step: prepare,
// run as often as is wanted, release (docs/reference/graph-run.md).
//
//     overtake::GraphRun graph(engine, overtake::Model::load("detector.ovm"));
//     graph.prerun();                              // all or nothing
//     std::ranges::copy(pixels, graph.input(0).begin());
//     graph.run(false);
//     graph.wait();
//     use(graph.output(0));
//     graph.postrun();
//
// Each call is allowed in some states.  In the others it throws one Error that names the state and
// the remedy, EBUSY while a run is under way and EINVAL otherwise:
//
//     call             created   ready     running   done      error
//     prerun           -> ready  EINVAL    EBUSY     EINVAL    EINVAL
//     input, output    EINVAL    yes       EBUSY     yes       yes
//     run              EINVAL    -> running EBUSY    -> running -> running
//     wait             EINVAL    EINVAL    yes       yes       throws the run's error
//     cancel           nothing   nothing   yes       nothing   nothing
//     postrun          EINVAL    -> created EBUSY    -> created -> created
//
// A run that ends leaves the state done or error by itself, whether or not a thread waits.  While
// one thread is in prerun() or postrun(), these calls of other threads throw EBUSY.
//
// Thread safety: every function, from any thread, but for the destructor.
// fork(): as of a Device (overtake/device.hpp).
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

/// Where a graph is in its life cycle.
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
    std::size_t unit;      ///< of the model, from 0
    std::string processor; ///< its name
    std::string reason;    ///< why it does not take the unit
};

/// A model, one inference of it at a time, and the memory of that inference.
class OVERTAKE_API GraphRun {
public:
    /// Prepares nothing.  EINVAL if the engine has no EngineOptions::processors, or for
    /// TaskOptions::deadline_ns, which is one moment: a graph runs often, so it takes slo_ns.
    GraphRun(Engine& engine, std::shared_ptr<const Model> model, const TaskOptions& options = {});
    /// Cancels a run that is under way.  What it uses is kept until its end.
    ~GraphRun();
    GraphRun(const GraphRun&) = delete;
    GraphRun& operator=(const GraphRun&) = delete;

    const Model& model() const noexcept; ///< what it was made of

    /// Uploads the model, has each processor of the program's prepare each unit, checks that each
    /// unit has a processor, and takes the memory of one inference.  A unit that one class refuses
    /// is another's: EINVAL only if all refuse it, naming the unit, each processor and why.  ENOSPC
    /// or ENOMEM; EPERM for a priority above the engine's.  After an error nothing is prepared.
    void prerun();
    /// The same with memory of the caller's, used from here to postrun().
    void prerun(std::span<const TensorMemory> inputs, std::span<const TensorMemory> outputs);
    /// The values of an input, dense row-major, to be filled in before run().  Valid until
    /// postrun().  EINVAL if there is no such input, or if its memory is the caller's.
    std::span<float> input(std::size_t index);
    /// The values of an output, as of the last run that succeeded.  Likewise.
    std::span<const float> output(std::size_t index);

    /// Begins from the inputs, whatever became of the run before.  With `block` it waits for the
    /// end and throws the Error of a run that failed: wait().
    void run(bool block = true);
    /// Until the run has ended or deadline_ns (absolute CLOCK_MONOTONIC).  True if it has.  Throws
    /// the Error of a run that failed, which names the units and the processor where these are to
    /// blame.
    bool wait(std::int64_t deadline_ns = deadline_never);
    /// Work that has not started never runs.  Returns at once; the run ends some time later, with
    /// ECANCELED if that was in time.
    void cancel();
    /// Releases everything that prerun() prepared, after a run that failed as well.  A processor
    /// of the program's that was given up, because it did not say that a call is done, has its
    /// units released when that call goes.
    void postrun();

    /// What it is ready for.
    GraphState state() const noexcept;
    /// Why the last run failed; empty if it did not.
    std::string error() const;
    /// What the last prerun() found of units that some processor does not take.
    std::vector<UnitRefusal> refusals() const;
    /// Of the last run: Request::runs().  Empty while it is under way.
    std::vector<RunRecord> runs() const;

private:
    struct OVERTAKE_HIDDEN State;
    std::unique_ptr<State> state_;
};

} // namespace overtake
