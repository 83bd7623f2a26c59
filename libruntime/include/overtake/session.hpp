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
// Only a session that was made with {.max_priority = 255} may use priority 255, which goes ahead of
// the others if the cores have a core limit: session(device, model, {.max_priority = 255}).
//
// Thread safety: a Session and its Tasks belong to one thread at a time.  Threads that share a
// device and a model each make their own Session; the program and weights of the model are still
// uploaded only once.  A Session has no thread of its own.  Jobs on the device go on by themselves.
// start(), wait(), poll() and wait_any() run CPU segments in the calling thread and submit the next
// BPU segment.
// Errors: overtake::Error.  status() reports a task that failed (cancelled, faulted, timed out).
// Only misuse and a broken device throw.
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
    unsigned max_priority = 254; ///< as QueueOptions::max_priority
    unsigned core_limit = 0;     ///< as QueueOptions::core_limit, while the session lives
    CpuLayout cpu_layout = CpuLayout::automatic; ///< layout of values between CPU operators
    /// Threads that compute a CPU operator, 1..64; convolutions and matrix products use them
    /// (docs/use/cpu.md).  They are OpenMP threads, which OpenMP keeps for each thread that runs
    /// tasks.
    unsigned cpu_threads = 1;
    /// 0: the session submits each BPU segment each time.  1: the session records a BPU segment
    /// that runs for the second time, and replays it from then on (Queue::record()): the results
    /// are the same, with less work for each task.  2: the session records each BPU segment in its
    /// first run, and refuses it where level 1 would submit it.  At level 2 the session does not
    /// keep the Model: the Model's file and tables are freed when its last other owner releases it
    /// (docs/use/recordings.md).
    unsigned record = 0;
};

/// Options of one run of a task: how it competes with other tasks.
struct TaskOptions {
    unsigned priority = 0; ///< 0..254 NORMAL, 255 HIGH
    /// In an engine: within one priority the task with the smaller number goes first.  In a Session
    /// it changes no order, as Job::custom_id.
    std::int64_t custom_id = 0;
    /// core_any: the device chooses a core for the first BPU segment, and the other segments run on
    /// the same core.  On a device with cores of different kinds that core has the profile of the
    /// model, or, if no core has it, the profile of core 1.  A model with a plan for several cores
    /// (overtake compile --cores) uses as many cores as the plan, if the device has them.
    unsigned core = core_any;
    std::int64_t deadline_ns = 0; ///< deadline of each job of the task; see Job::deadline_ns
    /// With several processors in an engine: the name of the processor or of the entry that runs
    /// the task; empty: any processor.  deadline_ns is then the deadline of the task, for policies
    /// and EngineOptions::drop.
    std::string on{};
    /// With several processors: the time from submit() to the deadline; 0 = no deadline.
    std::uint64_t slo_ns = 0;
    /// With several processors and no slo_ns: the time from submit() to the deadline, as a multiple
    /// of the worst expected latency of the model, in which each unit runs on the slowest class
    /// that supports it; 0 = no deadline.
    double slo_scale = 0;
};

/// One inference request and its buffers.  A task that has ended may be started again.  Sessions
/// make tasks.  On an empty task (made by Task(), or moved from), every function but status(),
/// ended_ns() and completions() throws EINVAL.
class OVERTAKE_API Task {
public:
    /// Makes an empty task, to which a task can be assigned.
    Task() noexcept;
    Task(Task&&) noexcept; ///< leaves the other one empty
    /// Ends the task that it held, as ~Task() does.
    Task& operator=(Task&&) noexcept;
    /// Cancels the task if it is running, and waits for its end.  Under a manual clock, step the
    /// clock before that.
    ~Task();

    /// Copies `values`, dense row-major in the shape of the input, to the input.  Quantises them
    /// (rounds half to even and saturates) and stores them in the layout of the device.  EBUSY
    /// while the task is running.  EINVAL for another number of values, or if there is no such
    /// input.
    void set_input(std::size_t index, std::span<const float> values);
    /// Returns the buffer of an input in device memory, which the caller may fill while the task is
    /// not running (Model::input() describes the layout).  The task owns the buffer.  EINVAL if the
    /// input is not in device memory, or if there is no such input.
    std::span<std::byte> input_buffer(std::size_t index);

    /// Begins the task, up to its first job.  EBUSY if the task is running.  EINVAL for impossible
    /// options, EPERM for a priority above the session's max_priority, or another error of
    /// Queue::submit(); status() then returns the same error.
    void start(const TaskOptions& options = {});
    /// Waits until the task has ended or until deadline_ns (absolute CLOCK_MONOTONIC).  Returns
    /// true if it has ended.
    bool wait(std::int64_t deadline_ns = deadline_never);
    /// Goes on with the task without waiting.  Returns true if it has ended.
    bool poll() { return wait(0); }
    /// Cancels the task: FCs and segments that have not started never run.  The task ends with
    /// -ECANCELED, unless its last segment had ended or its job had failed before.
    void cancel();

    /// Returns 0 or the negative errno of the segment that failed; -EINPROGRESS while the task
    /// runs, -EINVAL before the first start().
    std::int32_t status() const noexcept;
    /// Returns when the task ended, in nanoseconds of CLOCK_MONOTONIC; 0 until then.  A task ends
    /// when the session notices the end of its last job, or has run its last CPU segment.
    std::int64_t ended_ns() const noexcept;
    /// Returns the results of the jobs that have ended, one per BPU segment.  Valid until the next
    /// start().
    std::span<const Completion> completions() const noexcept;
    /// Returns the values of an output, dense row-major in its shape.  Throws Error with the code
    /// of status() if that is not 0; EINVAL if there is no such output.
    std::vector<float> output(std::size_t index) const;
    /// Writes the same values to `to`, which has as many elements as the output's shape (else
    /// EINVAL), without allocating anything.  If this throws, `to` has not changed.
    void output(std::size_t index, std::span<float> to) const;
    /// Returns the buffer of an output in device memory.  The task owns the buffer; the next
    /// start() overwrites it.  EINVAL if the output is not in device memory, or if there is no such
    /// output.
    std::span<const std::byte> output_buffer(std::size_t index) const;

private:
    friend class Session;
    struct OVERTAKE_HIDDEN State;
    OVERTAKE_HIDDEN explicit Task(std::unique_ptr<State> state) noexcept;
    OVERTAKE_HIDDEN State& state() const; // throws EINVAL if there is none
    std::unique_ptr<State> state_;
};

/// Runs one model in a queue of the device, and keeps both.  Every function of a Session that was
/// moved from throws EINVAL.
class OVERTAKE_API Session {
public:
    /// Uploads the model unless that has been done, and prepares its CPU operators.  EPERM, naming
    /// the remedy, if this process may not have the priority; EINVAL for an option that is
    /// impossible; ENOSPC or ENOMEM if there is no room; ENOENT for a custom operator that is not
    /// registered; ENOTSUP for record level 2 on a driver without recordings.
    Session(std::shared_ptr<Device> device, std::shared_ptr<const Model> model,
            const SessionOptions& options = {});
    Session(Session&&) noexcept;            ///< takes over the other's queue and tasks
    Session& operator=(Session&&) noexcept; ///< likewise; tasks of the replaced session live on
    /// Tasks may outlive their Session.
    ~Session();

    /// Returns the model that the session runs.  At record level 2 this model belongs to the
    /// session and has only the name, profile, inputs and outputs of the given model: its tensors()
    /// are the inputs and outputs, in that order, and its program(), weights() and file() are
    /// empty.
    const Model& model() const;
    /// At record level 2, returns the bytes of the model's file and tables that the session does
    /// not keep; for a model of a pack, those of the whole file.  They are freed when the Model has
    /// no other owner.  At other levels, returns 0.
    std::size_t given_back_bytes() const;
    /// Makes a task with buffers of its own, and does not start it.  ENOSPC or ENOMEM if there is
    /// no more room.
    Task create_task();
    /// Calls create_task(), set_input() for every input, and start().  EINVAL for another number of
    /// inputs.
    Task submit(std::span<const std::span<const float>> inputs, const TaskOptions& options = {});
    /// Does the same for a model with one input.
    Task submit(std::span<const float> input, const TaskOptions& options = {});
    /// Waits until a running task of the session has ended, or until deadline_ns (absolute
    /// CLOCK_MONOTONIC).  Returns true if a task has ended; false at once if no task runs.
    bool wait_any(std::int64_t deadline_ns = deadline_never);

private:
    friend class Task;
    struct OVERTAKE_HIDDEN State;
    OVERTAKE_HIDDEN State& state() const; // throws EINVAL if there is none
    std::shared_ptr<State> state_;
};

} // namespace overtake
