// SPDX-License-Identifier: MIT
//
// Engine: runs requests of any number of models on a device, by priority, with threads of its own.
//
//     auto device = overtake::open_device("auto");
//     overtake::Engine engine(device);
//     auto network = engine.load(overtake::Model::load("detector.ovm"));
//     auto request = engine.create_request();
//     request->add(network, inputs, outputs);       // TensorMemory of each
//     request->submit({.priority = 200});
//     request->wait();
//
// A request is a task of the scheduling contract (docs/reference/scenarios.md): a chain of
// segments, some on the device, some on the engine's CPU workers.  A Session leaves CPU segments to
// the thread that waits.  An engine goes on by itself, orders waiting requests by priority and
// custom_id, and fills the gaps that a chain leaves on its core.  One engine is one library queue
// of its process.
//
// Thread safety: any thread, and any callback, may call every function except the destructors.
// Errors: overtake::Error.  A request that fails throws nothing: its status() reports the failure.
// fork(): as for a Device (overtake/device.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "overtake/cpu_layout.hpp"
#include "overtake/device.hpp"
#include "overtake/export.hpp"
#include "overtake/model.hpp"
#include "overtake/processor.hpp"
#include "overtake/service.hpp"
#include "overtake/session.hpp"

namespace overtake {

/// With several processors: what the engine does with a task below priority 255 that has not begun,
/// or that waits between two runs, when its deadline comes.
enum class Drop : std::uint8_t {
    never,    ///< it goes on
    late,     ///< it ends with -ETIME
    predicted ///< as `late`, but already when its plan ends after the deadline
};

/// Cores of a device, or CPU workers, as a processor of an engine (docs/use/processors.md).
struct ProcessorOptions {
    std::string name; ///< with several cores, each has a name NAME.1 to NAME.n
    /// One of the model's classes (overtake compile --class); empty: `name`.  If a model has no
    /// such class, the engine takes the class of the cores' profile, or the model's first class of
    /// workers.
    std::string class_name{};
    unsigned workers = 0; ///< threads of a pool; 0: cores
    /// A processor of the program's own (overtake/processor.hpp).  Null: the one that is registered
    /// under the class's name (register_processor()), if there is one and `workers`, `device` and
    /// `cores` are not set.
    std::shared_ptr<OwnProcessor> own{};
    std::shared_ptr<Device> device{}; ///< the device of the cores; null: the engine's
    std::vector<unsigned> cores{};    ///< cores of the device, from 1; empty: all
    unsigned depth = 1;               ///< cores: unfinished runs that make a core busy; 1..8
    std::uint64_t overhead_ns = 0;    ///< time that the plan adds before each run
};

/// Parses a text that names processors, for options of a program: entries with commas between them.
/// NAME: a processor that is registered under that name (register_processor()), or else cores of
/// `device`; NAME=1+2: its cores 1 and 2; NAME=x4, or `cpu` alone: four CPU workers.  NAME@DEVICE
/// and NAME=1+2@DEVICE: cores of another device, which open_device() opens.  An entry of cores
/// without numbers takes those free cores of its device that have the profile of the first free
/// core; entries take theirs in the order of the text.  A name that is not registered has letters,
/// digits, '-' and '_'.  EINVAL, naming the entry and the remedy; an error of open_device().
OVERTAKE_API std::vector<ProcessorOptions> parse_processors(const std::string& text,
                                                            const std::shared_ptr<Device>& device);
/// Parses the same text; an embedded device that an entry names has these options.
OVERTAKE_API std::vector<ProcessorOptions> parse_processors(const std::string& text,
                                                            const std::shared_ptr<Device>& device,
                                                            const EmbeddedOptions& embedded);

/// The state of a processor of an engine.
struct ProcessorState {
    std::string name;          ///< the processor's name; NAME.n if its entry has several cores
    std::string class_name;    ///< its class
    bool in_use;               ///< false: it has failed, and is tried again
    double slowness;           ///< present time of runs / their time before; 1 = the same
    unsigned unfinished;       ///< runs dispatched and not ended
    std::uint64_t runs;        ///< runs that are done
    std::uint64_t busy_ns;     ///< execution time of these and of other ended runs
    std::uint64_t failures;    ///< failures of the processor
    std::uint64_t retries;     ///< runs that its failures stopped
    std::uint64_t trial_in_ns; ///< while it is not in use: until the next trial
};

/// Settings of an engine, for its life; the defaults are the documented ones
/// (docs/reference/scenarios.md).
struct EngineOptions {
    std::string policy = "priority"; ///< of the task scheduler: a name that `overtake sim` knows
    std::uint32_t slots = 1;         ///< tasks that may interleave on a core, below priority 255
    std::uint32_t task_limit = 8;    ///< tasks begun and not ended, below priority 255
    std::uint32_t workers = 4;       ///< threads that compute CPU segments
    /// Percent of the gap owner's next BPU segment by which a task may exceed the rest of the gap.
    std::uint32_t threshold_percent = 10;
    std::uint64_t insert_max_time_ns = 1'000'000'000; ///< tasks shorter than this fill any gap
    std::uint64_t wait_dispatch_time_ns = 20'000'000; ///< gaps longer than this take any task
    unsigned max_priority = 254;                      ///< 255 needs CAP_SYS_NICE on a kernel device
    unsigned core_limit = 0;           ///< asked for while the engine lives; needs max_priority 255
    std::vector<unsigned> worker_cpus; ///< host CPUs on which workers run; empty = any
    /// Service mode: tasks wait in one queue with those of all other processes in service mode, on
    /// a device server or a kernel device.  Then the device's administrator chooses policy, slots,
    /// task_limit, threshold_percent and the two times above; workers stay the engine's own.
    bool service = false;
    /// Several processors behind one coordinator (docs/use/processors.md).  Then `policy` is one of
    /// its seven, `workers` are threads that copy tensors and compute the computations that
    /// requests add, and slots, task_limit, threshold_percent and the two times above have no
    /// meaning.  Empty: one library queue, as above.  The tensors are in memory of the engine's own
    /// device.
    std::vector<ProcessorOptions> processors;
    // The settings up to run_timeout_ns are for several processors only.
    unsigned window = 8;             ///< waiting tasks that a decision plans; 1..64
    Drop drop = Drop::never;         ///< what happens to late tasks
    unsigned smoothing_percent = 10; ///< weight of a new record in expected times; 1..100
    std::uint64_t retry_after_ns = 100'000'000; ///< from a processor's failure to its first trial
    /// A core of a device server counts as failed if the engine has a run on it and no run has
    /// ended on it for this long, for example because the server was stopped.  Its runs come back
    /// when the server answers or ends: until then the server may write to the tensors.  0: the
    /// engine waits for ever.
    std::uint64_t run_timeout_ns = 60'000'000'000;
    CpuLayout cpu_layout = CpuLayout::automatic; ///< of values between operators of the CPU
    /// Threads of each worker that compute an operator of the CPU, 1..64: as
    /// SessionOptions::cpu_threads.
    unsigned cpu_threads = 1;
    /// As SessionOptions::record.  Tasks of service mode are not recorded.  With several
    /// processors, the engine records only runs on cores.  Level 2 is refused with service mode and
    /// with several processors (EINVAL).
    unsigned record = 0;
};

class ExpectedTimes; // overtake/expected_times.hpp

/// The layout of the elements of a TensorMemory.
enum class TensorForm : std::uint8_t {
    device, ///< as Tensor describes device memory; it is used in place and needs an address
    packed, ///< as `device` without padding: pixels of `channels` elements, or rows of nv12
    dense   ///< a row-major array of the tensor's `shape`, of the type `element`
};

/// The elements of a dense array.
enum class Element : std::uint8_t { float32, int8, uint8, int32, int64 };

/// The memory of one tensor of a request.  It belongs to the caller and is used from submit() to
/// the request's end.
struct TensorMemory {
    TensorForm form = TensorForm::dense; ///< layout of its elements
    Element element = Element::float32;  ///< type of a dense array's elements
    std::byte* data = nullptr;           ///< aligned to the element's size
    std::uint64_t address = 0;           ///< of `data` on the device, if it is in a Buffer
    /// nv12 whose planes are apart: the chroma plane; null = right behind luma.
    std::byte* chroma = nullptr;
    std::uint64_t chroma_address = 0; ///< of `chroma`, in the form `device`
    /// nv12 in the form `device`: bytes from one row to the next, of luma and of chroma; 0 = as the
    /// tensor's.
    std::uint32_t row_stride = 0;
    /// nv12 in the form `device`: rows of the whole picture.  The device resizes the part below to
    /// the tensor's size.  0 = the picture has the tensor's size, and the part is all of it.
    std::uint32_t picture_height = 0;
    std::uint32_t picture_width = 0; ///< its columns
    std::uint32_t left = 0;          ///< first column of the part, even
    std::uint32_t top = 0;           ///< first row of the part, even
    std::uint32_t right = 0;         ///< last column of the part, odd
    std::uint32_t bottom = 0;        ///< last row of the part, odd
};

/// The memory of one inference.
struct InferenceMemory {
    std::span<const TensorMemory> inputs;  ///< as many as the model has inputs
    std::span<const TensorMemory> outputs; ///< as many as the model has outputs
};

/// A model that is ready to run on an engine's device.  Keeps the model, its memory on the device,
/// and the measured times of its segments for the scheduler.
class OVERTAKE_API LoadedModel {
public:
    struct OVERTAKE_HIDDEN State;
    /// For the library alone.
    OVERTAKE_HIDDEN explicit LoadedModel(std::unique_ptr<State> state) noexcept;
    ~LoadedModel();
    LoadedModel(const LoadedModel&) = delete;
    LoadedModel& operator=(const LoadedModel&) = delete;

    const Model& model() const noexcept; ///< the loaded one; at record level 2 as Session::model()
    /// As Session::given_back_bytes().
    std::size_t given_back_bytes() const noexcept;
    /// The estimate of a segment, counted from 0, in nanoseconds; see Engine.  If requests that
    /// name no core run on several cores at once, it is the estimate for such a run.  EINVAL if
    /// there is no such segment.
    std::uint64_t estimate_ns(std::size_t segment) const;

private:
    friend class Request;
    friend class ExpectedTimes;
    std::unique_ptr<State> state_;
};

/// The result of one segment of a request.
struct SegmentRecord {
    std::uint64_t
        start_ns;         ///< device time: submitted to the device, or begun on a worker; 0 = never
    std::uint64_t end_ns; ///< device time
    bool on_bpu;          ///< true: `job` is the device's report
    Completion job;       ///< zero on the CPU; with several processors all jobs of the run together
};

/// A piece of a request on one of several processors.
struct RunRecord {
    std::uint32_t number;        ///< in its inference, from 0, in the order of dispatch
    std::uint64_t units;         ///< units of the model, one bit each
    std::string processor;       ///< the processor's name
    std::uint64_t dispatched_ns; ///< device time
    std::uint64_t start_ns;      ///< device time; 0: it never started
    std::uint64_t end_ns;        ///< device time
    std::int32_t status;         ///< 0 or a negative errno; -EIO: the processor failed
};

/// A task: inferences and computations, one after the other, that wait and compete as one task.
class OVERTAKE_API Request : public std::enable_shared_from_this<Request> {
public:
    struct OVERTAKE_HIDDEN State;
    /// For the library alone.
    OVERTAKE_HIDDEN explicit Request(std::unique_ptr<State> state) noexcept;
    /// For the library alone.
    OVERTAKE_HIDDEN State& state() const noexcept { return *state_; }
    /// Cancels the request unless it has ended; the memory that it keeps lives until its end.
    ~Request();
    Request(const Request&) = delete;
    Request& operator=(const Request&) = delete;

    /// Appends an inference, with as many inputs and outputs as the model has.  EINVAL, naming the
    /// tensor, for memory that does not fit it; ENOSPC or ENOMEM; EBUSY once submitted.
    void add(const std::shared_ptr<LoadedModel>& model, std::span<const TensorMemory> inputs,
             std::span<const TensorMemory> outputs);
    /// Appends several inferences of a model: all of them or, if one is refused, none.
    void add_all(const std::shared_ptr<LoadedModel>& model,
                 std::span<const InferenceMemory> inferences);
    /// Appends a computation on a worker.  `compute` returns 0 or a negative errno, and may throw
    /// Error.  A value outside 0 to -4095 counts as -EIO.  `expected_ns` is the scheduler's
    /// estimate of its time.  EBUSY once submitted.
    void add(std::function<std::int32_t()> compute, std::uint64_t expected_ns = 0);
    /// Keeps `memory` until the request's end.  EBUSY once submitted.
    void keep(std::shared_ptr<void> memory);

    /// Submits the request.  EBUSY if it has been submitted; EINVAL if it is empty or the options
    /// are impossible; EPERM for a priority above the engine's.  TaskOptions::deadline_ns is for
    /// policies and, with several processors, for EngineOptions::drop.
    void submit(const TaskOptions& options = {});
    /// Waits until the request has ended or until deadline_ns (absolute CLOCK_MONOTONIC).  True if
    /// it has ended.  EINVAL before submit().
    bool wait(std::int64_t deadline_ns = deadline_never);
    /// Cancels the request: work that has not started never runs.  Returns at once; the request
    /// ends some time later.
    void cancel();
    /// Registers a function that a thread of the engine calls once after the request's end.  A
    /// later callback replaces one that has not been called.  It may be registered before submit().
    void on_end(std::function<void()> callback);

    /// 0, or a negative errno; -EINPROGRESS before its end, -EINVAL before submit(), -ENOTSUP in a
    /// child of fork().
    std::int32_t status() const;
    /// The reason why the request failed, for people; empty if it did not fail.
    std::string error() const;
    /// The record of each segment, in order; with several processors a record of each run, in the
    /// order of their ends.  Empty before the request's end.
    std::vector<SegmentRecord> segments() const;
    /// On several processors: the record of each run, in the order of their ends; empty before the
    /// request's end, and without EngineOptions::processors.
    std::vector<RunRecord> runs() const;
    /// Device time when the request left the queue; 0 before its end, or if it never left.
    std::uint64_t dispatched_ns() const;
    /// Device time when the request ended; 0 before.
    std::uint64_t ended_ns() const;
    /// The core that took the request's BPU segments; 0 before the request's end, or if no core
    /// did.
    unsigned core() const;

private:
    std::unique_ptr<State> state_;
};

/// A library queue of this process on a device.
///
/// A model may have a plan for several cores (overtake compile --cores).  A request of such a model
/// that names no core takes all cores of the plan at once, if the device has as many with the
/// plan's profiles; in service mode, too.  With EngineOptions::processors this plan is not used:
/// each run is on one core, on one pool of workers or on one processor of the program.
///
/// The estimate of a segment is the compiler's until it has run once, and then the measured time,
/// of execution only, smoothed with weight 0.1.  A request keeps the estimates of its submission.
///
/// When the device fails, is unplugged or its server ends, each request ends with the reason
/// (-ENODEV, say), and so does one that is submitted later.  If a worker is computing a segment
/// of a request, the request ends when the worker has finished, because it uses the caller's
/// memory.
class OVERTAKE_API Engine {
public:
    /// EINVAL for options that are impossible; EPERM, naming the remedy, for a priority or a core
    /// limit that this process may not ask for; EAGAIN if a thread cannot be started.
    explicit Engine(std::shared_ptr<Device> device, const EngineOptions& options = {});
    /// Cancels the requests, and waits for their ends and for the last callback.  A callback must
    /// not call it.
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    /// Uploads the model unless that has been done.  ENOSPC or ENOMEM if there is no room.
    std::shared_ptr<LoadedModel> load(std::shared_ptr<const Model> model);
    /// Loads a model on several processors, with expected times of its runs: the first plans use
    /// these times, and the times of later runs are smoothed into them.  EINVAL, naming the place
    /// in the file and the remedy, for times of another model, of other processors or of another
    /// machine, and for an engine without EngineOptions::processors; EBUSY while the engine has the
    /// model already.  After any of these errors nothing is loaded.
    std::shared_ptr<LoadedModel> load(std::shared_ptr<const Model> model,
                                      const ExpectedTimes& times);
    /// Makes an empty request of this engine.
    std::shared_ptr<Request> create_request();
    /// In service mode: the settings of the device for all processes.  Null otherwise.
    const ServiceSettings* service_settings() const noexcept;
    /// The state of each of EngineOptions::processors, each core by itself; empty without them.
    std::vector<ProcessorState> processors() const;

    struct OVERTAKE_HIDDEN State;
    /// For the library alone.
    OVERTAKE_HIDDEN explicit Engine(std::shared_ptr<State> state) noexcept;
    /// For the library alone.
    OVERTAKE_HIDDEN State& state() const noexcept { return *state_; }

private:
    std::shared_ptr<State> state_;
};

} // namespace overtake
