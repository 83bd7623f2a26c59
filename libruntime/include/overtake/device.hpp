// SPDX-License-Identifier: MIT
//
// Device: one queue interface for all backends (io_uring, ioctl, server, embedded).
//
// Thread safety: a Device and everything made from it may be used by several threads.  A
// Queue belongs to one thread at a time, and may change threads only while nothing is in
// flight; any thread may destroy it at any time.
// Errors: functions throw overtake::Error, whose code() is an errno value and whose text names
// the place and the remedy.  What becomes of a job is not an exception: it is in its Completion.
// fork(): only the process that opened a device can use it.  In a child of fork() each function of
// the Device, and of all that was made from it, throws ENOTSUP and names fork(); those that cannot
// throw return 0.  Destructors and exit() return at once there and release nothing: the parent's
// work goes on.  A child opens a device of its own.  It has the parent's descriptors until it ends
// or calls exec(), so a driver or a server sees the parent's end only then.
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

/// The priority that overtakes all others; needs a right (QueueOptions::max_priority).
constexpr unsigned priority_high = OVERTAKE_PRIORITY_HIGH;
/// Whichever core is free first, of those that Job::cores names; cores are counted from 1.
constexpr unsigned core_any = OVERTAKE_CORE_ANY;
/// A deadline that never passes.
constexpr std::int64_t deadline_never = OVERTAKE_DEADLINE_NEVER;

/// Memory that the host and the device share; page aligned, zeroed, mapped on both sides.
/// Keeps the device's memory, not the device.  Work in flight keeps its own reference.
/// The library does not order accesses: what the host writes before Queue::submit() the job sees,
/// what the job writes the host sees once Queue::reap() has returned its Completion.
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
    std::uint32_t scratch_bytes = 0; ///< memory of its own while it runs, contents undefined
    unsigned priority = 0;           ///< 0..254 NORMAL, 255 HIGH
    std::int64_t custom_id = 0;      ///< within one priority the smaller goes first
    unsigned core = core_any;        ///< core_any, or the number of a core, counted from 1
    /// When the job ends with -ETIME if it has not ended before: absolute CLOCK_MONOTONIC (device
    /// time under a manual clock), 0 = the device's default after submission.
    std::int64_t deadline_ns = 0;
    /// With core_any: which cores may take it, bit k - 1 for core k; 0 = all.  The device takes the
    /// one with the fewest unfinished FCs, jobs on their way to it included.
    std::uint64_t cores = 0;
    /// With `cores`: where submit() puts the number of the core that takes it, before it returns.
    unsigned* chosen_core = nullptr;
    std::uint64_t model = 0; ///< what events of the job call its model; model_id() of a name

    /// A group: a part for each of several cores, all of which arrive at once.  Their FCs follow
    /// each other in `fcs`; `core`, `cores` and `chosen_core` are not set.  Empty: no group, which
    /// has neither stages nor a record (EINVAL).
    std::span<const overtake_part> parts;
    /// Of a group: the stage of each FC, from 0, never less than that of the FC before it in its
    /// part.  A stage opens when the one before has ended in all parts.  Each has an FC.
    std::span<const std::uint32_t> stages;
    /// Of a group: the device address of an overtake_group_record with as many parts, in writable
    /// memory, which is written before the job completes; 0: none.
    std::uint64_t group_record = 0;
};

/// A recorded job, for one time (Queue::replay()).  Spans are read during replay() only.  What has
/// the name of a member of Job means the same.
struct Replay {
    std::uint32_t recording = 0;                ///< what Queue::record() returned
    std::uint64_t tag = 0;                      ///< see there, as all that is not described here
    std::span<const overtake_binding> bindings; ///< of regions that the recording has not bound
    unsigned priority = 0;                      ///< Job::priority
    std::int64_t custom_id = 0;                 ///< Job::custom_id
    unsigned core = core_any;                   ///< Job::core
    std::int64_t deadline_ns = 0;               ///< Job::deadline_ns
    std::uint64_t cores = 0;                    ///< Job::cores
    unsigned* chosen_core = nullptr;            ///< Job::chosen_core
    std::uint64_t model = 0;                    ///< 0: as recorded
    std::span<const unsigned> part_cores; ///< of a group: in place of overtake_part::core, or empty
    std::uint64_t group_record = 0;       ///< Job::group_record
};

/// What became of a job, as overtake_accel.h describes it; times are device time in nanoseconds.
using Completion = overtake_result;

/// Rights of a queue.
struct QueueOptions {
    /// 255 needs CAP_SYS_NICE on a kernel device, and to be allowed by a server.
    unsigned max_priority = 254;
    unsigned core_limit = 0;    ///< asked for while the queue lives; needs max_priority 255
    bool interruptible = false; ///< for Queue::interrupt(); costs some backends a thread
};

class EventSource;
struct EventOptions;
class ServiceQueue;
struct ServiceQueueOptions;

/// A context of the device.  Destroying it cancels what is in flight and waits for the end.
class OVERTAKE_API Queue {
public:
    virtual ~Queue();
    /// Hand jobs to the device in order, in one system call where the backend allows it.
    /// All are accepted, or Error says which was not: those before it are in flight, those behind
    /// it are not.  EINVAL for a job that is malformed, EEXIST for a tag that is in flight, EPERM
    /// for a priority above the queue's, ENOENT for an address that is no buffer's, E2BIG for a job
    /// that is too large, ENOSPC for one too many.
    virtual void submit(std::span<const Job> jobs) = 0;
    /// Wait until at least one job has ended or deadline_ns (absolute CLOCK_MONOTONIC; 0 polls)
    /// has passed; at most out.size() completions, in the order in which they are known.
    /// Returns how many; 0 at the deadline or if nothing is in flight.
    virtual std::size_t reap(std::span<Completion> out, std::int64_t deadline_ns) = 0;
    /// FCs that have not started never run.  The job still completes, with -ECANCELED.
    /// An FC that runs ends normally.  False if no such job is in flight.
    virtual bool cancel(std::uint64_t tag) = 0;
    /// Jobs submitted and not yet reaped.
    virtual std::size_t in_flight() const noexcept = 0;
    /// The reap() that waits, or else the next one that would, returns what it has, if only 0.
    /// Of several calls before that one counts.  From any thread while the queue lives; EINVAL
    /// unless it was created with QueueOptions::interruptible.
    virtual void interrupt() = 0;
    /// Checks a job and keeps it, for replay(): its FCs, what of a group they are, scratch for each
    /// of `instances` (1..64), which is how many replays of it can be in flight, and `bindings`:
    /// memory that is the same each time.  What Replay says is not looked at.  Returns its number.
    /// Scratch is zeroed here alone: a job finds in it what an earlier replay left there.
    /// Error as submit(); ENOSPC for one recording too many (1024 a queue); ENOTSUP if the device
    /// is too old (Device::records()).  A recording goes with its queue.
    virtual std::uint32_t record(const Job& job, unsigned instances);
    /// As submit(), of recorded jobs: they end, compete and are reaped as others do.  It allocates
    /// nothing and takes as long for one FC as for 60,000.  EBUSY while all instances of a
    /// recording are in flight, until one is reaped; ENOENT for a recording that is none.
    virtual void replay(std::span<const Replay> replays);
    /// No replay of it follows.  Its memory goes once those in flight have ended.  Error ENOENT.
    virtual void forget(std::uint32_t recording);
};

/// Steps device time by hand (tests, scenarios).  See Device::manual_clock().
class OVERTAKE_API ManualClock {
public:
    virtual ~ManualClock();
    /// Device time in nanoseconds.
    virtual std::uint64_t now_ns() const = 0;
    /// Everything before device time now_ns happens, and is finished, before this returns, and so
    /// do the ends of FCs at now_ns itself.  What arrives at now_ns from then on is seen together
    /// once time moves on: only then does a core choose what it begins with at that instant.
    /// In service mode tasks of that instant are dispatched once time moves on, or by another call
    /// for the same now_ns.
    virtual void advance_to(std::uint64_t now_ns) = 0;
};

/// One FC that a core executed, for timelines.
struct FcRecord {
    std::uint64_t tag;      ///< of its job
    std::uint32_t index;    ///< in its job, or in its part of a group, from 0
    unsigned core;          ///< from 1
    bool high;              ///< whether it was in the HIGH ring
    std::uint64_t start_ns; ///< device time
    std::uint64_t end_ns;   ///< device time
    std::uint32_t part = 0; ///< of a group, from 0
};

/// An accelerator.  Queues that it made keep it open; buffers keep only its memory.
class OVERTAKE_API Device {
public:
    virtual ~Device();
    /// "embedded", "server", "ioctl" or "io_uring"
    virtual std::string_view backend() const noexcept = 0;
    /// Cores, mode, profile of core 1 and limits, as overtake_accel.h describes them.
    virtual drm_overtake_device_info info() const = 0;
    /// One entry for each core.
    /// Coarse on a kernel device, unless the process has CAP_PERFMON: see overtake_accel.h.
    virtual std::vector<drm_overtake_core_info> cores() const = 0;
    /// EINVAL for 0 bytes, E2BIG for more than one buffer may have, ENOSPC or ENOMEM where there is
    /// no more room.
    virtual std::unique_ptr<Buffer> create_buffer(std::size_t bytes) = 0;
    /// EPERM, naming the remedy, if this process may not have the priority.
    virtual std::unique_ptr<Queue> create_queue(const QueueOptions& options = {}) = 0;
    /// Null unless the device has a manual clock and this process may step it.  Belongs to the
    /// device.
    virtual ManualClock* manual_clock() noexcept { return nullptr; }
    /// A queue of service mode (overtake/service.hpp).  EINVAL and EPERM as create_queue();
    /// ENOTSUP, naming the remedy, on a device that is this process's alone, and on one whose cores
    /// are unlike.
    virtual std::unique_ptr<ServiceQueue> create_service_queue(const ServiceQueueOptions& options);
    /// What happens on the device from now on (overtake/event_source.hpp), of all its clients.
    /// EPERM, naming the remedy, for who may not see others' work on a server; EINVAL for an option
    /// that is impossible; ENOTSUP on a kernel device, whose events are the driver's tracepoints.
    virtual std::unique_ptr<EventSource> events(const EventOptions& options);
    /// One entry for each core, whose profiles may differ; info() has the numbers of core 1.  Of a
    /// driver or a backend that does not know: those of info(), with no name.
    virtual std::vector<drm_overtake_core_profile> core_profiles() const;
    /// Whether its queues take jobs with parts (Job::parts).  Not so of an old driver.
    virtual bool takes_groups() const noexcept;
    /// Whether its queues record jobs (Queue::record()).  Not so of an old driver.
    virtual bool records() const noexcept;
};

/// Settings of an embedded device (its own cores inside this process, not shared with others).
struct EmbeddedOptions {
    unsigned cores = 2;                       ///< 1..64
    unsigned mode = OVERTAKE_MODE_FUNCTIONAL; ///< OVERTAKE_MODE_FUNCTIONAL, _TIMED or _BOTH
    std::string profile = "default";          ///< a built-in profile's name
    unsigned core_limit = 0;                  ///< of every core; queues may ask for a tighter one
    std::vector<unsigned> core_limits; ///< one per core, instead of core_limit; empty = not used
    /// After so many HIGH FCs in a row a waiting NORMAL one runs; 0 = never. Needs a core limit.
    unsigned normal_floor = 0;
    /// NORMAL takes turns by queue, weighted by priority (docs/reference/scenarios.md, "Fair").
    bool fair = false;
    /// Device time stands still until Device::manual_clock() moves it.
    bool manual_clock = false;
    /// AVX2 where the CPU has it: the same bytes, sooner.  OVERTAKE_SIMD=off in the environment
    /// turns it off as well.
    bool simd = true;
    /// Cycles one FC may execute, 0 = one second of its core's.
    std::uint64_t watchdog_cycles = 0;
    /// CPU time that executing one FC may take, 0 = default (60 s); five times that in all, on a
    /// busy machine.  Then its job ends with -ETIMEDOUT.
    std::uint64_t fc_clock_ns = 0;
    /// Time that an FC may go on executing after its job was cancelled or its deadline passed.
    std::uint64_t stop_grace_ns = 100'000'000;
    std::uint64_t queue_timeout_ns = 0; ///< device time a job may be in flight, 0 = default (10 s)
    /// Called as FCs end, in the order of device time per core, with the device's lock held, from
    /// its own threads and from any that calls into it: it must be quick, must not call into the
    /// device and must not wait for a lock whose holder does.
    void (*on_fc)(void* context, const FcRecord& record) = nullptr;
    void* on_fc_context = nullptr; ///< what on_fc is handed; outlives the device
    /// Built-in profiles' names, one per core, instead of profile; empty = not used.
    std::vector<std::string> profiles;
};

/// How to talk to a kernel device.
enum class KernelBackend {
    automatic, ///< io_uring, or ioctl where io_uring is forbidden
    io_uring,  ///< io_uring alone; Error if it is forbidden
    ioctl      ///< one system call for each job
};

/// A new device inside this process.  EINVAL for a setting that is impossible.
OVERTAKE_API std::shared_ptr<Device> open_embedded(const EmbeddedOptions& options = {});
/// path like "/dev/accel/accel0".  automatic tries io_uring and falls back to ioctl where
/// io_uring is forbidden.  EACCES, naming the remedy, without permission; or open()'s error.
OVERTAKE_API std::shared_ptr<Device> open_kernel(const std::string& path,
                                                 KernelBackend backend = KernelBackend::automatic);
/// The device of a server (`overtake serve`), by its socket; empty: what OVERTAKE_SERVER names, or
/// else /run/overtake/device for root and overtake/device in XDG_RUNTIME_DIR.  Throws Error naming
/// the remedy where no server answers.  If the server goes away, every call on what was made with
/// it throws ENODEV: open it again.
OVERTAKE_API std::shared_ptr<Device> open_server(const std::string& socket_path = {});
/// "auto", "embedded", "kernel", "server", "server:SOCKET" or a node's path.  auto takes the kernel
/// device if its node exists (a permission error is an error), a server if one answers, and
/// embedded otherwise, saying so on stderr.  EINVAL for another name.
OVERTAKE_API std::shared_ptr<Device> open_device(std::string_view name,
                                                 const EmbeddedOptions& embedded = {});

} // namespace overtake
