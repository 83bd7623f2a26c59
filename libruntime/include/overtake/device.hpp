// SPDX-License-Identifier: MIT
//
// Device: one queue interface for all backends (io_uring, ioctl, embedded).
//
// Thread safety: a Device and everything made from it may be used by several threads.  A
// Queue belongs to one thread at a time, and may change threads only while nothing is in
// flight; any thread may destroy it at any time.
// Errors: functions throw overtake::Error, whose code() is an errno value and whose text names
// the place and the remedy.  What becomes of a job is not an exception: it is in its Completion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "overtake_accel.h"

namespace overtake {

class Error : public std::runtime_error {
public:
    Error(int code, const std::string& text) : std::runtime_error(text), code_(code) {}
    /// errno value
    int code() const noexcept { return code_; }

private:
    int code_;
};

constexpr unsigned priority_high = OVERTAKE_PRIORITY_HIGH;
constexpr unsigned core_any = OVERTAKE_CORE_ANY;
constexpr std::int64_t deadline_never = OVERTAKE_DEADLINE_NEVER;

/// Memory that the host and the device share; page aligned, zeroed, mapped on both sides.
/// Keeps its device open.  The device's work in flight keeps its own reference.
class Buffer {
public:
    virtual ~Buffer() = default;
    std::byte* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    /// device address of byte 0
    std::uint64_t address() const noexcept { return address_; }

protected:
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
    std::uint64_t address_ = 0;
};

/// One job: the FCs of one BPU segment.  Spans are read during submit() only.
struct Job {
    std::uint64_t tag = 0; ///< unique among the queue's jobs in flight; comes back in Completion
    std::span<const overtake_fc> fcs;
    std::span<const overtake_binding> bindings;
    std::uint32_t scratch_bytes = 0;
    unsigned priority = 0; ///< 0..254 NORMAL, 255 HIGH
    std::int64_t custom_id = 0;
    unsigned core = core_any;
    /// When the job ends with -ETIME if it has not ended before: absolute CLOCK_MONOTONIC (device
    /// time under a manual clock), 0 = the device's default after submission.
    std::int64_t deadline_ns = 0;
};

/// What became of a job; times are device time in nanoseconds.
using Completion = overtake_result;

struct QueueOptions {
    unsigned max_priority = 254; ///< 255 needs CAP_SYS_NICE on a kernel device
    unsigned core_limit = 0;     ///< asked for while the queue lives; needs max_priority 255
};

/// A context of the device.  Destroying it cancels what is in flight and waits for the end.
class Queue {
public:
    virtual ~Queue() = default;
    /// Hand jobs to the device in order, in one system call where the backend allows it.
    /// All are accepted, or Error says which was not: those before it are in flight, those behind
    /// it are not.
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
};

/// Steps device time by hand (tests, scenarios).  See Device::manual_clock().
class ManualClock {
public:
    virtual ~ManualClock() = default;
    virtual std::uint64_t now_ns() const = 0;
    /// Everything before device time now_ns happens, and is finished, before this returns; what
    /// arrives at now_ns itself is seen together once time moves on.
    virtual void advance_to(std::uint64_t now_ns) = 0;
};

/// One FC that a core executed, for timelines.
struct FcRecord {
    std::uint64_t tag;
    std::uint32_t index;
    unsigned core;
    bool high;
    std::uint64_t start_ns;
    std::uint64_t end_ns;
};

class Device {
public:
    virtual ~Device() = default;
    /// "embedded", "ioctl" or "io_uring"
    virtual std::string_view backend() const noexcept = 0;
    virtual drm_overtake_device_info info() const = 0;
    /// Coarse on a kernel device, unless the process has CAP_PERFMON: see overtake_accel.h.
    virtual std::vector<drm_overtake_core_info> cores() const = 0;
    virtual std::unique_ptr<Buffer> create_buffer(std::size_t bytes) = 0;
    virtual std::unique_ptr<Queue> create_queue(const QueueOptions& options = {}) = 0;
    /// Null unless the device has a manual clock and this process may step it.
    virtual ManualClock* manual_clock() noexcept { return nullptr; }
};

/// Settings of an embedded device (its own cores inside this process, not shared with others).
struct EmbeddedOptions {
    unsigned cores = 2;
    unsigned mode = OVERTAKE_MODE_FUNCTIONAL;
    std::string profile = "default";
    unsigned core_limit = 0;           ///< of every core; queues may ask for a tighter one
    std::vector<unsigned> core_limits; ///< one per core, instead of core_limit; empty = not used
    /// After so many HIGH FCs in a row a waiting NORMAL one runs; 0 = never. Needs a core limit.
    unsigned normal_floor = 0;
    /// NORMAL takes turns by queue, weighted by priority (docs/scenarios.md, "Fair").
    bool fair = false;
    bool manual_clock = false;
    /// AVX2 where the CPU has it: the same bytes, sooner.  OVERTAKE_SIMD=off in the environment turns
    /// it off as well.
    bool simd = true;
    std::uint64_t watchdog_cycles = 0;  ///< cycles one FC may execute, 0 = default (5e9)
    /// CPU time that executing one FC may take, 0 = default (60 s); five times that in all, on a busy
    /// machine.  Then its job ends with -ETIMEDOUT.
    std::uint64_t fc_clock_ns = 0;
    /// Time that an FC may go on executing after its job was cancelled or its deadline passed.
    std::uint64_t stop_grace_ns = 100'000'000;
    std::uint64_t queue_timeout_ns = 0; ///< device time a job may be in flight, 0 = default (10 s)
    /// Called as FCs end, in the order of device time per core, from the device's own threads and
    /// with its lock held: it must be quick and must not call into the device.
    void (*on_fc)(void* context, const FcRecord& record) = nullptr;
    void* on_fc_context = nullptr;
};

enum class KernelBackend { automatic, io_uring, ioctl };

std::shared_ptr<Device> open_embedded(const EmbeddedOptions& options = {});
/// path like "/dev/accel/accel0".  automatic tries io_uring and falls back to ioctl where
/// io_uring is forbidden.
std::shared_ptr<Device> open_kernel(const std::string& path,
                                    KernelBackend backend = KernelBackend::automatic);
/// "auto", "embedded", "kernel" or a path.  auto takes the kernel device if its node exists (a
/// permission error is an error) and embedded otherwise, saying so on stderr.
std::shared_ptr<Device> open_device(std::string_view name, const EmbeddedOptions& embedded = {});

} // namespace overtake
