// SPDX-License-Identifier: MIT
//
// Session: runs one model on one device for one thread.
//
//     auto device = overtake::open_device("auto");
//     auto model = overtake::Model::load("detector.ovm");
//     overtake::Session session(device, model);
//     std::vector<float> pixels(model->input(0).elements());
//     overtake::Task task = session.submit(pixels, {.priority = 200});
//     task.wait();
//     std::vector<float> boxes = task.output(0);
//
// Only a session made with that right may use priority 255, which overtakes: session(device, model,
// {.max_priority = 255}).
//
// Thread safety: a Session and its Tasks belong to one thread at a time; threads that share a
// device and a model each make their own Session, and the model's program and weights are still
// uploaded only once.  A Session has no thread of its own: jobs on the device go on by themselves,
// and wait(), poll() and wait_any() do what follows (CPU segments, submitting the next BPU
// segment).
// Errors: overtake::Error.  status() reports a task that failed (cancelled, faulted, timed out);
// only misuse and a broken device throw.
// fork(): as for a Device (overtake/device.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "overtake/cpu_layout.hpp"
#include "overtake/device.hpp"
#include "overtake/export.hpp"
#include "overtake/model.hpp"

namespace overtake {

/// Rights of a session.
struct SessionOptions {
    unsigned max_priority = 254; ///< 255 needs CAP_SYS_NICE on a kernel device
    unsigned core_limit = 0;     ///< asked for while the session lives; needs max_priority 255
    CpuLayout cpu_layout = CpuLayout::automatic; ///< of values between operators of the CPU
    /// Threads that compute an operator of the CPU, 1..64; convolutions and matrix products use
    /// them (docs/use/cpu.md).  They are threads of OpenMP, which keeps them for each thread that
    /// runs tasks.
    unsigned cpu_threads = 1;
    /// 1: a BPU segment that runs for the second time is recorded, and replayed from then on
    /// (Queue::record()): the same results, with less to do for each task.  0: each is submitted
    /// each time.  2: each is recorded in its first run, and refused where level 1 would submit it.
    /// The session does not keep the Model: its file and tables are freed when its last other owner
    /// releases it (docs/use/recordings.md).
    unsigned record = 0;
};

/// How a task competes with others.
struct TaskOptions {
    unsigned priority = 0;      ///< 0..254 NORMAL, 255 HIGH
    std::int64_t custom_id = 0; ///< within one priority the smaller goes first
    /// core_any: the device chooses a core for the first BPU segment, and the others follow it.  On
    /// a device with cores of different kinds the core has the model's profile, or, if none has,
    /// that of core 1.  A model with a plan for several cores (overtake compile --cores) uses all
    /// of these, if the device has them.
    unsigned core = core_any;
    std::int64_t deadline_ns = 0; ///< of each of its jobs; see Job::deadline_ns
    /// With several processors in an engine: the name of the processor or of the entry that runs
    /// the task; empty: any.  Then deadline_ns is the task's, for policies and EngineOptions::drop.
    std::string on{};
    /// With several processors: the time from submit() to the deadline; 0 = no deadline.
    std::uint64_t slo_ns = 0;
    /// With several processors and no slo_ns: the time from submit() to the deadline, in worst
    /// expected latencies of the model, which have each unit on the slowest class that supports it;
    /// 0 = no deadline.
    double slo_scale = 0;
};

/// One inference request and its buffers; may be started again once it has ended.  Sessions make
/// tasks.  With an empty one (made by Task(), or moved from), every function but status(),
/// ended_ns() and completions() throws EINVAL.
class OVERTAKE_API Task {
public:
    /// An empty task, to be assigned to.
    Task() noexcept;
    Task(Task&&) noexcept; ///< leaves the other one empty
    /// Ends what it held as ~Task() does.
    Task& operator=(Task&&) noexcept;
    /// Cancels the task if it is running, and waits for its end (under a manual clock, step it
    /// first).
    ~Task();

    /// Copies values in, dense row-major in the input's shape: quantised (rounded half to even,
    /// saturated) and laid out for the device.  EBUSY while the task is running.  EINVAL if the
    /// count is not the input's or there is no such input.
    void set_input(std::size_t index, std::span<const float> values);
    /// The device's own buffer of an input, to be filled in place while the task is not running
    /// (layout: Tensor, as Model::input() gives it).  It belongs to the task.  EINVAL if the input
    /// is not in device memory, or if there is no such input.
    std::span<std::byte> input_buffer(std::size_t index);

    /// Begins the task.  EBUSY if it is running.  EINVAL for impossible options and EPERM for a
    /// priority above the session's; status() then has the same error.
    void start(const TaskOptions& options = {});
    /// Waits until the task has ended or until deadline_ns (absolute CLOCK_MONOTONIC).  True if it
    /// has ended.
    bool wait(std::int64_t deadline_ns = deadline_never);
    /// Goes on with the task without waiting.  True if it has ended.
    bool poll() { return wait(0); }
    /// Cancels the task: FCs and segments that have not started never run.  The task then ends with
    /// -ECANCELED, unless its last segment has ended or its job has failed before.
    void cancel();

    /// 0, or the negative errno of the job that failed; -EINPROGRESS while it runs, -EINVAL before
    /// the first start().
    std::int32_t status() const noexcept;
    /// When the task ended, CPU segments included, in nanoseconds of CLOCK_MONOTONIC; 0 before.
    std::int64_t ended_ns() const noexcept;
    /// The results of its jobs so far, one per BPU segment; valid until the next start().
    std::span<const Completion> completions() const noexcept;
    /// Values of an output, dense row-major in its shape.  Throws Error with the task's own error
    /// if the task has not ended with 0; EINVAL if there is no such output.
    std::vector<float> output(std::size_t index) const;
    /// Writes the same values to `to`, which has as many elements as the output's shape (else
    /// EINVAL), without allocating anything.  If this throws, `to` has not changed.
    void output(std::size_t index, std::span<float> to) const;
    /// The device's own buffer of an output (EINVAL if it is not in device memory, or if there is
    /// no such output).  It belongs to the task; the next start() overwrites it.
    std::span<const std::byte> output_buffer(std::size_t index) const;

private:
    friend class Session;
    struct OVERTAKE_HIDDEN State;
    OVERTAKE_HIDDEN explicit Task(std::unique_ptr<State> state) noexcept;
    OVERTAKE_HIDDEN State& state() const; // throws EINVAL if there is none
    std::unique_ptr<State> state_;
};

/// A queue of the device that runs one model; keeps both.  A Session that was moved from refuses
/// everything with EINVAL.
class OVERTAKE_API Session {
public:
    /// Uploads the model unless that has been done, and prepares its CPU operators.  EPERM, naming
    /// the remedy, if this process may not have the priority; ENOTSUP for record level 2 on a
    /// driver without recordings.
    Session(std::shared_ptr<Device> device, std::shared_ptr<const Model> model,
            const SessionOptions& options = {});
    Session(Session&&) noexcept;            ///< takes over the other's queue and tasks
    Session& operator=(Session&&) noexcept; ///< likewise; tasks of the replaced session live on
    /// Its tasks may outlive it.
    ~Session();

    /// The model that the session runs.  At record level 2 it is a model that belongs to the
    /// session and has the given one's name, profile, inputs and outputs: its tensors() are the
    /// inputs and outputs, in that order, and its program(), weights() and file() are empty.
    const Model& model() const;
    /// At record level 2: bytes of the model's file and tables that the session does not keep; for
    /// a model of a pack, of the whole file.  They are freed once the Model has no other owner.  At
    /// other levels 0.
    std::size_t given_back_bytes() const;
    /// Makes a task with buffers of its own, not started.  ENOSPC or ENOMEM if there is no more
    /// room.
    Task create_task();
    /// Calls create_task(), set_input() for every input, and start().  EINVAL for another number of
    /// inputs.
    Task submit(std::span<const std::span<const float>> inputs, const TaskOptions& options = {});
    /// Does the same for a model with one input.
    Task submit(std::span<const float> input, const TaskOptions& options = {});
    /// Waits until one of its running tasks has ended, or until deadline_ns (absolute
    /// CLOCK_MONOTONIC).  True if one has ended; false at once if none runs.
    bool wait_any(std::int64_t deadline_ns = deadline_never);

private:
    friend class Task;
    struct OVERTAKE_HIDDEN State;
    OVERTAKE_HIDDEN State& state() const; // throws EINVAL if there is none
    std::shared_ptr<State> state_;
};

} // namespace overtake
