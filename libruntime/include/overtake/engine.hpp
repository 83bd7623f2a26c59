// SPDX-License-Identifier: MIT
//
// Engine: runs requests of any number of models on one device, by priority, with threads of its
// own.
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
// segments, some on the device, some on the engine's CPU workers.  Where a Session leaves CPU
// segments to the thread that waits, an engine goes on by itself, orders what waits by priority and
// custom_id, and fills the gaps that a chain leaves on its core.  One engine is one library queue
// of its process.
//
// Thread safety: every function, from any thread, callbacks included, but for destructors.
// Errors: overtake::Error.  What becomes of a request is its status(), not an exception.
// fork(): as of a Device (overtake/device.hpp).
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

/// What becomes of a task below 255 that has not begun, or waits between two runs, at its deadline.
enum class Drop : std::uint8_t {
    never,    ///< it goes on
    late,     ///< it ends with -ETIME
    predicted ///< likewise, as soon as its plan ends behind the deadline
};

/// Cores of a device, or CPU workers, as a processor of an engine (docs/use/processors.md).
struct ProcessorOptions {
    std::string name; ///< of several cores NAME.1 to NAME.n are the names of each
    /// Of the model's classes (overtake compile --class); empty: `name`.  Where a model has no such
    /// class it is the one of the cores' profile, or the model's first class of workers.
    std::string class_name{};
    unsigned workers = 0; ///< threads of a pool; 0: cores
    /// A processor of the program's own (overtake/processor.hpp).  Null: what register_processor()
    /// has under the class's name, if anything, and there are no workers, device and cores.
    std::shared_ptr<OwnProcessor> own{};
    std::shared_ptr<Device> device{}; ///< of cores; null: the engine's
    std::vector<unsigned> cores{};    ///< of the device, from 1; empty: all
    unsigned depth = 1;               ///< of cores: runs that wait on one; 1..8
    std::uint64_t overhead_ns = 0;    ///< in front of each run, for the plan
};

/// Processors as a text names them, for options of a program: entries with commas between them.
/// An entry is NAME, which is a processor that register_processor() has under that name, or else
/// cores of `device`; NAME=1+2: cores 1 and 2 of it; NAME=x4, or `cpu` alone: four CPU workers.
/// NAME@DEVICE and NAME=1+2@DEVICE: of another device, which open_device() opens.  Entries without
/// numbers take the groups of like cores of their device that are left, in order.
/// A name that is not registered has letters, digits, '-' and '_'.  EINVAL, naming the entry and
/// the remedy.
OVERTAKE_API std::vector<ProcessorOptions> parse_processors(const std::string& text,
                                                            const std::shared_ptr<Device>& device);
/// The same; an embedded device that an entry names has these options.
OVERTAKE_API std::vector<ProcessorOptions> parse_processors(const std::string& text,
                                                            const std::shared_ptr<Device>& device,
                                                            const EmbeddedOptions& embedded);

/// How a processor of an engine does.
struct ProcessorState {
    std::string name;          ///< of the processor, as ProcessorOptions has it
    std::string class_name;    ///< of its class
    bool in_use;               ///< false: it has failed, and is tried again
    double slowness;           ///< what runs take by what they took before; 1 = the same
    unsigned unfinished;       ///< runs
    std::uint64_t runs;        ///< that are done
    std::uint64_t busy_ns;     ///< execution time of these and of others that have ended
    std::uint64_t failures;    ///< of the processor
    std::uint64_t retries;     ///< runs that its failures stopped
    std::uint64_t trial_in_ns; ///< while it is not in use: until the next trial
};

/// Settings of an engine, for its life; the defaults are the documented ones
/// (docs/reference/scenarios.md).
struct EngineOptions {
    std::string policy = "priority"; ///< of the task scheduler: what `overtake sim` knows by name
    std::uint32_t slots = 1;         ///< tasks that may interleave on a core, below priority 255
    std::uint32_t task_limit = 8;    ///< tasks begun and not ended, below priority 255
    std::uint32_t workers = 4;       ///< threads that compute CPU segments
    std::uint32_t threshold_percent = 10; ///< see docs/reference/settings.md
    std::uint64_t insert_max_time_ns = 1'000'000'000; ///< shorter tasks may fill any gap
    std::uint64_t wait_dispatch_time_ns = 20'000'000; ///< any task may fill longer gaps
    unsigned max_priority = 254;                      ///< 255 needs CAP_SYS_NICE on a kernel device
    unsigned core_limit = 0;           ///< asked for while the engine lives; needs max_priority 255
    std::vector<unsigned> worker_cpus; ///< host CPUs that workers stay on; empty = any
    /// Service mode: tasks wait in one queue with those of all other processes that say so, on a
    /// device server or a kernel device.  Then policy, slots, task_limit and the three times above
    /// are the device's, which its administrator chooses; workers stay the engine's own.
    bool service = false;
    /// Several processors behind one coordinator (docs/use/processors.md).  Then `policy` is one of
    /// its seven, `workers` are threads that copy tensors and compute what requests add, and slots,
    /// task_limit and the three times above have no meaning.  Empty: one library queue, as above.
    /// The tensors are in memory of the engine's own device.
    std::vector<ProcessorOptions> processors;
    unsigned window = 8;                        ///< waiting tasks that a decision plans; 1..64
    Drop drop = Drop::never;                    ///< of tasks that are late
    unsigned smoothing_percent = 10;            ///< of a new record in expected times; 1..100
    std::uint64_t retry_after_ns = 100'000'000; ///< from a processor's failure to its first trial
    /// A core of a served device that has ended no run of the engine's for so long while it has one
    /// counts as failed: its server may have been stopped.  What it was given comes back when the
    /// server answers or ends, for it may write to the tensors until then.  0: for ever
    std::uint64_t run_timeout_ns = 60'000'000'000;
    CpuLayout cpu_layout = CpuLayout::automatic; ///< of values between operators of the CPU
    /// Of each worker, that compute an operator of the CPU, 1..64: as SessionOptions::cpu_threads.
    unsigned cpu_threads = 1;
    /// As SessionOptions::record.  Tasks of service mode are not recorded, and several processors
    /// record those of cores.  Level 2 goes with neither (EINVAL).
    unsigned record = 0;
};

class ExpectedTimes; // overtake/expected_times.hpp

/// How the elements of a TensorMemory lie.
enum class TensorForm : std::uint8_t {
    device, ///< as Tensor describes device memory; used in place, needs an address
    packed, ///< the same without any padding: pixels of `channels` elements, or rows of nv12
    dense   ///< a row-major array of the tensor's `shape`, of the type `element`
};

/// The elements of a dense array.
enum class Element : std::uint8_t { float32, int8, uint8, int32, int64 };

/// Where one tensor of a request is.  The memory belongs to the caller and is used from submit()
/// to the request's end.
struct TensorMemory {
    TensorForm form = TensorForm::dense; ///< how its elements lie
    Element element = Element::float32;  ///< of a dense one
    std::byte* data = nullptr;           ///< a multiple of the element's size
    std::uint64_t address = 0;           ///< of `data` on the device, if it is in a Buffer
    /// Of nv12 whose planes lie apart: chroma; null = right behind luma.
    std::byte* chroma = nullptr;
    std::uint64_t chroma_address = 0; ///< of `chroma`, in the form `device`
    /// Bytes from one row to the next of nv12 in the form `device`, luma and chroma alike; 0 = as
    /// the tensor's.
    std::uint32_t row_stride = 0;
    /// Of nv12 in the form `device`: the size of the picture, of which the device is to resize a
    /// part to the tensor's size; height 0 = all of a picture of the tensor's size.
    std::uint32_t picture_height = 0;
    std::uint32_t picture_width = 0; ///< likewise
    std::uint32_t left = 0;          ///< first column of the part, even
    std::uint32_t top = 0;           ///< first row of it, even
    std::uint32_t right = 0;         ///< last column of it, odd
    std::uint32_t bottom = 0;        ///< last row of it, odd
};

/// The memory of one inference.
struct InferenceMemory {
    std::span<const TensorMemory> inputs;  ///< as many as the model has
    std::span<const TensorMemory> outputs; ///< the same
};

/// A model that is ready to run on an engine's device.  What its segments took is remembered here,
/// for the scheduler.  Keeps the model and its memory on the device.
class OVERTAKE_API LoadedModel {
public:
    struct OVERTAKE_HIDDEN State;
    /// For the library alone.
    OVERTAKE_HIDDEN explicit LoadedModel(std::unique_ptr<State> state) noexcept;
    ~LoadedModel();
    LoadedModel(const LoadedModel&) = delete;
    LoadedModel& operator=(const LoadedModel&) = delete;

    const Model& model() const noexcept; ///< what was loaded; at record level 2 as Session::model()
    /// As Session::given_back_bytes().
    std::size_t given_back_bytes() const noexcept;
    /// What a segment is taken to last, nanoseconds, from 0 on; see Engine.  EINVAL if there is
    /// none.  On several cores at once, if requests that name no core run so.
    std::uint64_t estimate_ns(std::size_t segment) const;

private:
    friend class Request;
    friend class ExpectedTimes;
    std::unique_ptr<State> state_;
};

/// What became of one segment of a request.
struct SegmentRecord {
    std::uint64_t
        start_ns;         ///< device time: submitted to the device, or begun on a worker; 0 = never
    std::uint64_t end_ns; ///< device time
    bool on_bpu;          ///< then `job` is what the device reports
    Completion job;       ///< zero on the CPU; on several processors of a run, all jobs together
};

/// A piece of a request on one of several processors.
struct RunRecord {
    std::uint32_t number;        ///< of its inference's runs, from 0, as they were dispatched
    std::uint64_t units;         ///< of the model, one bit each
    std::string processor;       ///< its name
    std::uint64_t dispatched_ns; ///< device time
    std::uint64_t start_ns;      ///< device time; 0: it never started
    std::uint64_t end_ns;        ///< device time
    std::int32_t status;         ///< 0 or a negative errno; -EIO of a processor that failed
};

/// A task: inferences and computations, one after the other, that wait and compete as one.
class OVERTAKE_API Request : public std::enable_shared_from_this<Request> {
public:
    struct OVERTAKE_HIDDEN State;
    /// For the library alone.
    OVERTAKE_HIDDEN explicit Request(std::unique_ptr<State> state) noexcept;
    /// For the library alone.
    OVERTAKE_HIDDEN State& state() const noexcept { return *state_; }
    /// Cancels it if it was not; what it uses is kept until its end.
    ~Request();
    Request(const Request&) = delete;
    Request& operator=(const Request&) = delete;

    /// Appends an inference.  As many inputs and outputs as the model has.  EINVAL, naming the
    /// tensor, for memory that does not fit it; ENOSPC or ENOMEM; EBUSY once submitted.
    void add(const std::shared_ptr<LoadedModel>& model, std::span<const TensorMemory> inputs,
             std::span<const TensorMemory> outputs);
    /// The same for several inferences of a model: all of them or, if one is refused, none.
    void add_all(const std::shared_ptr<LoadedModel>& model,
                 std::span<const InferenceMemory> inferences);
    /// Appends a computation on a worker: 0, or a negative errno; it may throw Error.  What is no
    /// errno (0 to -4095) is taken for -EIO.
    /// `expected_ns` is what the scheduler takes it to last.
    void add(std::function<std::int32_t()> compute, std::uint64_t expected_ns = 0);
    /// Keeps `memory` until the end.
    void keep(std::shared_ptr<void> memory);

    /// Begins.  EBUSY if it has been submitted; EINVAL if it is empty or the options are
    /// impossible; EPERM for a priority above the engine's.  TaskOptions::deadline_ns is for
    /// policies.
    void submit(const TaskOptions& options = {});
    /// Until it has ended or deadline_ns (absolute CLOCK_MONOTONIC).  True if it has.
    bool wait(std::int64_t deadline_ns = deadline_never);
    /// Work that has not started never runs.  Returns at once; the request ends some time later.
    void cancel();
    /// Calls back once from a thread of the engine, after the end.  A later callback replaces one
    /// that has not been called.  Before submit() it is kept for the end.
    void on_end(std::function<void()> callback);

    /// 0, or a negative errno; -EINPROGRESS before its end, -EINVAL before submit(), -ENOTSUP in a
    /// child of fork().
    std::int32_t status() const;
    /// Why it failed, for people; empty if it did not.
    std::string error() const;
    /// Of each segment, in order; empty before its end.
    std::vector<SegmentRecord> segments() const;
    /// On several processors: each run, in the order in which they ended; empty before its end, and
    /// without EngineOptions::processors.
    std::vector<RunRecord> runs() const;
    /// Device time when it left the queue; 0 before its end, or if it never left.
    std::uint64_t dispatched_ns() const;
    /// Device time when it ended; 0 before.
    std::uint64_t ended_ns() const;
    /// That took its BPU segments; 0 = none did.
    unsigned core() const;

private:
    std::unique_ptr<State> state_;
};

/// A library queue of this process on a device.
///
/// A request that names no core, of a model with a plan for several cores (overtake compile
/// --cores), takes as many cores at once where the device has them and all are of the plan's
/// profile; with EngineOptions::service and EngineOptions::processors each segment runs on one
/// core.
///
/// The estimate of a segment is the compiler's until it has run once; then what was measured,
/// execution only, smoothed with weight 0.1.  A request keeps the estimates of its submission.
///
/// When the device fails, is unplugged or its server ends, each request ends with the reason
/// (-ENODEV, say), and so does what is submitted later.  One that a worker computes for ends when
/// that is over, for it works on the caller's memory.
class OVERTAKE_API Engine {
public:
    /// EINVAL for options that are impossible; EPERM, naming the remedy, for a priority or a core
    /// limit that this process may not ask for; EAGAIN if no thread can be had.
    explicit Engine(std::shared_ptr<Device> device, const EngineOptions& options = {});
    /// Cancels what it has, and waits for the ends and for the last callback.  Not from a callback.
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    /// Uploads the model unless that has been done.  ENOSPC or ENOMEM.
    std::shared_ptr<LoadedModel> load(std::shared_ptr<const Model> model);
    /// The same on several processors, with what runs of the model took before: the first plans go
    /// by these times, and what runs take from now on is smoothed into them.  EINVAL, naming the
    /// place in the file and the remedy, for times of another model, of other processors or of
    /// another machine, and for an engine without EngineOptions::processors; EBUSY while the engine
    /// has the model already.  Then nothing is loaded.
    std::shared_ptr<LoadedModel> load(std::shared_ptr<const Model> model,
                                      const ExpectedTimes& times);
    /// An empty one, of this engine.
    std::shared_ptr<Request> create_request();
    /// In service mode: the settings of the device for all processes.  Null otherwise.
    const ServiceSettings* service_settings() const noexcept;
    /// Of EngineOptions::processors, each core by itself; empty without.
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
