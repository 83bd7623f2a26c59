// SPDX-License-Identifier: MIT
//
// Device: one queue interface for all backends (io_uring, ioctl, server, embedded).
//
// Thread safety: several threads may use a Device, its buffers and its manual clock.  A Queue
// belongs to one thread at a time, and may change threads only while nothing is in flight.  Any
// thread may call interrupt() of a Queue and destroy the Queue at any time.
// Errors: functions throw overtake::Error, whose code() is an errno value and whose text names
// the place and the remedy.  A job that fails throws nothing: its Completion reports the failure.
// fork(): only the process that opened a device can use it.  In a child of fork() each function of
// the Device, and of all objects made from it, throws ENOTSUP and names fork().  Of the functions
// that cannot throw, in_flight(), live() and lost() return 0 there, and the others return what they
// returned in the parent.  Destructors and exit() return at once in the child and release nothing:
// the parent's work goes on.  A child opens a device of its own.  The child has the parent's
// descriptors until it ends or calls exec(), so a driver or a server notices the parent's end only
// then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "overtake/error.hpp"
#include "overtake/export.hpp"
#include "overtake_accel.h"

namespace overtake {

/// The priority of the HIGH ring; needs a right (QueueOptions::max_priority).
constexpr unsigned priority_high = OVERTAKE_PRIORITY_HIGH;
/// The job names no core.  The device takes, of the cores in Job::cores, the one with the fewest
/// unfinished FCs, on a tie the lowest number.  Cores are counted from 1.
constexpr unsigned core_any = OVERTAKE_CORE_ANY;
/// A deadline that never passes.
constexpr std::int64_t deadline_never = OVERTAKE_DEADLINE_NEVER;

/// Memory that the host and the device share.  The memory is page aligned, zeroed at first, and
/// mapped on both sides.  A Buffer does not keep the Device.  A job in flight keeps the memory even
/// if the Buffer is destroyed.  The library does not order accesses.  A job sees what the host
/// writes before Queue::submit().  The host sees what the job writes once Queue::reap() has
/// returned the job's Completion.
class OVERTAKE_API Buffer {
public:
    virtual ~Buffer();
    /// First byte in this process; valid as long as the Buffer lives.
    std::byte* data() const noexcept { return data_; }
    /// Bytes, at least as many as were asked for.
    std::size_t size() const noexcept { return size_; }
    /// Device address of byte 0.
    std::uint64_t address() const noexcept { return address_; }

protected:
    std::byte* data_ = nullptr; ///< set by the device that makes the buffer
    std::size_t size_ = 0;      ///< bytes
    std::uint64_t address_ = 0; ///< on the device
};

/// One job: the FCs of one BPU segment.  Spans are read during submit() only.
struct Job {
    std::uint64_t tag = 0; ///< unique among the queue's jobs in flight; comes back in Completion
    std::span<const overtake_fc> fcs;           ///< in the order in which they run
    std::span<const overtake_binding> bindings; ///< one for each region that the FCs use
    std::uint32_t scratch_bytes = 0; ///< memory for this job alone; its contents are undefined
    unsigned priority = 0;           ///< 0..254 enters the NORMAL ring, 255 the HIGH ring
    std::int64_t custom_id = 0;      ///< recorded in events; devices do not order jobs by it
    unsigned core = core_any;        ///< core_any, or the number of a core, counted from 1
    /// The time at which the job ends with -ETIME if it has not ended before: absolute
    /// CLOCK_MONOTONIC (device time under a manual clock); 0 = the device's default after
    /// submission.
    std::int64_t deadline_ns = 0;
    /// With core_any: the cores that may run the job, bit k - 1 for core k; 0 = all cores.  With
    /// such a choice, FCs of jobs on their way to a core count among the core's unfinished FCs.
    std::uint64_t cores = 0;
    /// If `cores` is not 0, submit() writes the number of the core that the device has chosen here
    /// before it returns.
    unsigned* chosen_core = nullptr;
    std::uint64_t model = 0; ///< the model that events of the job name: model_id() of its name

    /// Not empty: the job is a group, with one part for each of several cores.  All parts arrive at
    /// once.  The FCs of the parts follow each other in `fcs`; `core`, `cores` and `chosen_core`
    /// are not set.  Empty: the job is no group, and has neither `stages` nor a `group_record`
    /// (EINVAL).
    std::span<const overtake_part> parts;
    /// Group: the stage of each FC, from 0, never less than the stage of the FC before it in its
    /// part.  A stage opens when the stage before has ended in all parts.  Each stage has an FC.
    std::span<const std::uint32_t> stages;
    /// Group: the device address of an overtake_group_record with as many parts, in writable
    /// memory.  The device writes the record before the job completes; 0: no record.
    std::uint64_t group_record = 0;
};

/// One submission of a recorded job (Queue::replay()).  Spans are read during replay() only.  A
/// member with the name of a member of Job means the same.
struct Replay {
    std::uint32_t recording = 0;                ///< number from Queue::record()
    std::uint64_t tag = 0;                      ///< Job::tag
    std::span<const overtake_binding> bindings; ///< regions not bound by the recording
    unsigned priority = 0;                      ///< Job::priority
    std::int64_t custom_id = 0;                 ///< Job::custom_id
    unsigned core = core_any;                   ///< Job::core
    std::int64_t deadline_ns = 0;               ///< Job::deadline_ns
    std::uint64_t cores = 0;                    ///< Job::cores
    unsigned* chosen_core = nullptr;            ///< Job::chosen_core
    std::uint64_t model = 0;                    ///< 0: as recorded
    std::span<const unsigned> part_cores;       ///< group: cores of the parts; empty: as recorded
    std::uint64_t group_record = 0;             ///< Job::group_record
};

/// The result of a job, as overtake_accel.h describes it; times are device time in nanoseconds.
using Completion = overtake_result;

/// Rights of a queue.
struct QueueOptions {
    /// The greatest priority of the queue's jobs.  255 needs CAP_SYS_NICE on a kernel device, and
    /// the server's permission on the device of a server.
    unsigned max_priority = 254;
    /// While the queue lives, it asks for this limit on each core (the tightest limit holds); 0 =
    /// none.  Needs max_priority 255.
    unsigned core_limit = 0;
    bool interruptible = false; ///< permits Queue::interrupt(); costs some backends a thread
};

class EventSource;
struct EventOptions;
class ServiceQueue;
struct ServiceQueueOptions;

/// A context of the device.  The destructor cancels the jobs in flight and waits for their ends.
class OVERTAKE_API Queue {
public:
    virtual ~Queue();
    /// Submits jobs to the device in order, in one system call if the backend allows it.  If a job
    /// is refused, Error names it.  The jobs before it are in flight then, the jobs behind it are
    /// not.  EINVAL for a job that is malformed, EEXIST for a tag that is in flight, EPERM for a
    /// priority above the queue's max_priority, ENOENT for an address that is in no buffer, E2BIG
    /// for a job that is too large, ENOSPC for one job too many, ENOTSUP for a group on a driver
    /// that takes none (Device::takes_groups()), ESHUTDOWN if the kernel device has banned the
    /// queue because too many of its jobs failed.
    virtual void submit(std::span<const Job> jobs) = 0;
    /// Waits until at least one job has ended or deadline_ns (absolute CLOCK_MONOTONIC; 0 polls)
    /// has passed.  Writes at most out.size() completions to `out`, in the order in which they
    /// became known, and returns their number.  The number is 0 at the deadline, and also if
    /// nothing is in flight, and may be 0 after interrupt().  EINVAL for a negative deadline.
    virtual std::size_t reap(std::span<Completion> out, std::int64_t deadline_ns) = 0;
    /// Cancels a job: FCs that have not started never run, and the job completes with -ECANCELED.
    /// A running FC ends normally, unless it still executes after the grace time
    /// (EmbeddedOptions::stop_grace_ns): then the device stops it.  Returns false if no such job is
    /// in flight.
    virtual bool cancel(std::uint64_t tag) = 0;
    /// Returns the number of jobs that are submitted and not yet reaped.
    virtual std::size_t in_flight() const noexcept = 0;
    /// Makes the reap() that waits, or else the next reap(), return at once with the completions
    /// that there are, maybe 0.  Several calls before that reap() count as one.  Any thread may
    /// call interrupt() while the queue lives.  EINVAL unless the queue was created with
    /// QueueOptions::interruptible.
    virtual void interrupt() = 0;
    /// Checks a job and keeps it for replay(): its FCs, parts, stages and model, `bindings` (memory
    /// that is the same each time), and scratch memory for each instance.  `instances` (1..64) is
    /// the number of its replays that can be in flight at a time.  All other members of the job are
    /// ignored.  Returns the number of the recording.  Scratch memory is zeroed only here: a job
    /// finds in it what an earlier replay left there.  Error as submit(); E2BIG for too many
    /// instances; ENOSPC for one recording too many (1024 a queue); ENOTSUP if the driver is too
    /// old (Device::records()).  The queue releases its recordings when it is destroyed.
    virtual std::uint32_t record(const Job& job, unsigned instances);
    /// Submits recorded jobs.  They compete, end and are reaped as other jobs do.  replay()
    /// allocates nothing and takes as long for one FC as for 60,000.  Error as submit(); EBUSY if
    /// all instances of a recording are in flight (until one is reaped); ENOENT for a number that
    /// names no recording.
    virtual void replay(std::span<const Replay> replays);
    /// Releases a recording.  Its memory is freed when its jobs in flight have ended.  ENOENT for a
    /// number that names no recording.
    virtual void forget(std::uint32_t recording);
};

/// Steps device time by hand (tests, scenarios).  See Device::manual_clock().
class OVERTAKE_API ManualClock {
public:
    virtual ~ManualClock();
    /// Device time in nanoseconds.
    virtual std::uint64_t now_ns() const = 0;
    /// Moves device time to now_ns.  All events before now_ns, and the ends of FCs at now_ns
    /// itself, happen before the call returns.  Jobs that arrive at now_ns after that compete with
    /// each other: a core chooses its next FC of that instant only when time moves on.  In service
    /// mode tasks of that instant are dispatched when time moves on, or by another call for the
    /// same now_ns.  EINVAL for a time in the past, or at or beyond deadline_never.
    virtual void advance_to(std::uint64_t now_ns) = 0;
};

/// One FC that a core executed, for timelines.
struct FcRecord {
    std::uint64_t tag;      ///< the job's tag
    std::uint32_t index;    ///< number of the FC in its job, or in its part of a group, from 0
    unsigned core;          ///< the core that executed the FC, from 1
    bool high;              ///< whether the FC was in the HIGH ring
    std::uint64_t start_ns; ///< device time of its start
    std::uint64_t end_ns;   ///< device time of its end
    std::uint32_t part = 0; ///< number of the part in its group, from 0
};

/// An accelerator.  Its queues keep it open; its buffers keep only memory.
class OVERTAKE_API Device {
public:
    virtual ~Device();
    /// "embedded", "server", "ioctl" or "io_uring"
    virtual std::string_view backend() const noexcept = 0;
    /// The numbers of the device and of core 1, as overtake_accel.h describes them.
    virtual drm_overtake_device_info info() const = 0;
    /// The counters of each core.  On a kernel device they are coarse unless the process has
    /// CAP_PERFMON.  On a server they are coarse unless the user is root or the server's user.
    /// overtake_accel_cores.h describes coarse counters.
    virtual std::vector<drm_overtake_core_info> cores() const = 0;
    /// Makes a zeroed buffer.  EINVAL for 0 bytes, E2BIG for more bytes than one buffer may have,
    /// ENOSPC or ENOMEM if there is no more room.
    virtual std::unique_ptr<Buffer> create_buffer(std::size_t bytes) = 0;
    /// Makes a queue.  EPERM, naming the remedy, if this process may not have the priority.  EINVAL
    /// for a priority above 255, or a core limit without priority 255.  ENOSPC for one queue too
    /// many.
    virtual std::unique_ptr<Queue> create_queue(const QueueOptions& options = {}) = 0;
    /// Returns the manual clock, which the device owns.  Null if the device has no manual clock, or
    /// if this process may not step it.
    virtual ManualClock* manual_clock() noexcept { return nullptr; }
    /// Makes a queue of service mode (overtake/service.hpp).  Error as create_queue(); EINVAL also
    /// for `workers` outside 1..1024; ENOTSUP, naming the remedy, on an embedded device, on a
    /// driver older than service mode, and on a device with cores of different kinds.
    virtual std::unique_ptr<ServiceQueue> create_service_queue(const ServiceQueueOptions& options);
    /// Makes a source of all events on the device from now on (overtake/event_source.hpp), of all
    /// clients.  EPERM, naming the remedy, for a user who may not see other users' work on a
    /// server; EINVAL for an option that is impossible; ENOTSUP on a kernel device, whose events
    /// are the driver's tracepoints.
    virtual std::unique_ptr<EventSource> events(const EventOptions& options);
    /// The profile of each core.  Profiles may differ; info() has the numbers of core 1.  If the
    /// driver cannot report profiles, each core gets the numbers of info(), and no name.
    virtual std::vector<drm_overtake_core_profile> core_profiles() const;
    /// Whether the device's queues take jobs with parts (Job::parts).  False for a driver older
    /// than version 1.2.
    virtual bool takes_groups() const noexcept;
    /// Whether the device's queues record jobs (Queue::record()).  False for a driver older than
    /// version 1.3.
    virtual bool records() const noexcept;
};

/// Settings of an embedded device (cores inside this process, not shared with other processes).
struct EmbeddedOptions {
    unsigned cores = 2;                       ///< 1..64
    unsigned mode = OVERTAKE_MODE_FUNCTIONAL; ///< OVERTAKE_MODE_FUNCTIONAL, _TIMED or _BOTH
    std::string profile = "default";          ///< a built-in profile's name
    unsigned core_limit = 0; ///< core limit of every core; queues may ask for a tighter limit
    std::vector<unsigned> core_limits; ///< one per core, instead of core_limit; empty = not used
    /// After this many HIGH FCs in a row a waiting NORMAL FC runs; 0 = never.  Has no effect
    /// without a core limit.
    unsigned normal_floor = 0;
    /// Queues take turns with their NORMAL jobs, weighted by priority (docs/reference/scenarios.md,
    /// "Fair").
    bool fair = false;
    /// Device time stands still until Device::manual_clock() moves it.
    bool manual_clock = false;
    /// Uses the best vector instructions of the CPU, which give the same bytes sooner.
    /// OVERTAKE_SIMD in the environment limits them: auto, avx512-vbmi, avx512-vnni, avx-vnni, avx2
    /// or off.
    bool simd = true;
    /// The most cycles that one FC may execute; 0 = one second of its core's clock.
    std::uint64_t watchdog_cycles = 0;
    /// The most CPU time that executing one FC may take, 0 = default (60 s).  Its wall time may be
    /// five times that, for a busy machine.  An FC that takes longer ends its job with -ETIMEDOUT.
    std::uint64_t fc_clock_ns = 0;
    /// Time for which an FC may go on executing after its job was cancelled or its deadline passed.
    std::uint64_t stop_grace_ns = 100'000'000;
    /// Device time for which a job without a deadline may be in flight; 0 = default (10 s).
    std::uint64_t queue_timeout_ns = 0;
    /// The device calls on_fc when an FC ends, for each core in the order of device time.  The
    /// caller is a thread of the device, or any thread that calls a function of the device, and
    /// holds the device's lock.  So on_fc must be quick, must call no function of the device, and
    /// must not wait for a thread that does.
    void (*on_fc)(void* context, const FcRecord& record) = nullptr;
    void* on_fc_context = nullptr; ///< the first argument of on_fc; outlives the device
    /// Names of built-in profiles, one per core, instead of `profile`; empty = not used.
    std::vector<std::string> profiles;
};

/// How the library submits jobs to a kernel device.
enum class KernelBackend {
    automatic, ///< io_uring, or ioctl if io_uring is forbidden
    io_uring,  ///< only io_uring; Error if it is forbidden
    ioctl      ///< one system call for each job
};

/// Makes a device inside this process.  EINVAL for a setting that is impossible; EAGAIN if a thread
/// cannot be started.
OVERTAKE_API std::shared_ptr<Device> open_embedded(const EmbeddedOptions& options = {});
/// Opens a kernel device by its path, such as "/dev/accel/accel0".  EACCES, naming the remedy,
/// without permission; otherwise the errno of open().
OVERTAKE_API std::shared_ptr<Device> open_kernel(const std::string& path,
                                                 KernelBackend backend = KernelBackend::automatic);
/// Opens the device of a server (`overtake serve`) by its socket.  If socket_path is empty, the
/// socket is the one that OVERTAKE_SERVER names.  Without OVERTAKE_SERVER it is
/// /run/overtake/device for root, and overtake/device in XDG_RUNTIME_DIR for other users.  Throws
/// Error, naming the remedy, if no server answers.  If the server ends, calls on the device and on
/// objects made from it throw ENODEV: open the device again.
OVERTAKE_API std::shared_ptr<Device> open_server(const std::string& socket_path = {});
/// Opens the device called "auto", "embedded", "kernel", "server" or "server:SOCKET", or a kernel
/// device by its absolute path.  "kernel" is /dev/accel/accel0.  "auto" takes that device if its
/// node exists, or else the default server if it answers.  An error of either is thrown, for
/// example a missing permission.  Otherwise "auto" takes an embedded device and prints a line about
/// that to stderr.  EINVAL for another name.
OVERTAKE_API std::shared_ptr<Device> open_device(std::string_view name,
                                                 const EmbeddedOptions& embedded = {});

} // namespace overtake
