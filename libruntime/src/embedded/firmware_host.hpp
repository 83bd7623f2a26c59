// SPDX-License-Identifier: MIT
//
// FirmwareHost: gives firmware-sim threads, time and a lock inside a process.
//
// One mutex around every firmware call; one thread a core, which executes FCs outside it; one
// thread that waits for the next instant of device time (none under a manual clock).  Device time
// is CLOCK_MONOTONIC, or what the manual clock says.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "embedded/job.hpp"
#include "overtake/device.hpp"

namespace overtake {

class FirmwareHost {
public:
    /// `clients`: how many there may be at a time.  Throws Error EINVAL for options that make no
    /// device.
    explicit FirmwareHost(const EmbeddedOptions& options, unsigned clients = 1);
    /// All contexts have been closed.
    ~FirmwareHost();
    FirmwareHost(const FirmwareHost&) = delete;
    FirmwareHost& operator=(const FirmwareHost&) = delete;

    // All of these are thread safe.
    drm_overtake_device_info info();
    std::vector<drm_overtake_core_info> cores();
    unsigned core_count() const noexcept { return config_.core_count; }
    /// Of the command queue: for jobs, contexts and limits that are not over; otherwise none.
    std::uint32_t command_slots_reserved();

    std::unique_ptr<EmbeddedContext> open_context(const QueueOptions& options,
                                                  EmbeddedClient& client,
                                                  CompletionSink* sink = nullptr);
    /// Ends its jobs and waits until the firmware knows nothing of it.
    void close_context(EmbeddedContext& context);

    /// Jobs arrive together, in order.  Throws Error at the first that finds no room; those
    /// before it are in flight: `admitted` says how many, if it is not null.
    void submit(EmbeddedContext& context, std::span<const std::shared_ptr<EmbeddedJob>> jobs,
                std::size_t* admitted = nullptr);
    bool cancel(EmbeddedContext& context, std::uint64_t tag);
    /// See Queue::reap().
    std::size_t reap(EmbeddedContext& context, std::span<Completion> out, std::int64_t deadline_ns);
    std::size_t in_flight(const EmbeddedContext& context);
    void interrupt(EmbeddedContext& context);
    /// Of all its contexts, not yet reaped.
    unsigned jobs_of(const EmbeddedClient& client);

    bool has_manual_clock() const noexcept { return options_.manual_clock; }
    std::uint64_t manual_now();
    /// See ManualClock::advance_to().
    void advance_to(std::uint64_t now_ns);

private:
    using Lock = std::unique_lock<std::mutex>;

    void run_core(unsigned core);
    void execute(Lock& lock, unsigned core);
    void run_timer();
    void step_manual_clock(Lock& lock, std::uint64_t now_ns);

    // The rest is called with the lock held.
    std::uint64_t now() const;
    ovt_advance advance();
    void pump();
    void deliver_events();
    void deliver(const ovt_event& event);
    void report_fc(const ovt_event& event);
    void end_job(EmbeddedJob& job);
    void admit(EmbeddedContext& context, const std::shared_ptr<EmbeddedJob>& job);
    void request_cancel(EmbeddedJob& job, s32 error);
    void expire_deadlines();
    std::uint64_t next_deadline() const;
    void apply_limits();
    unsigned wanted_limit(unsigned core_index) const;

    const EmbeddedOptions options_;
    ovt_fw_config config_{};
    std::vector<ovt_core> silicon_;
    std::vector<ovt_simd_scratch> simd_; ///< one per core; empty: scalar operators
    std::vector<ovt_fw_core> core_states_;
    std::unique_ptr<ovt_command[]> commands_;
    std::vector<ovt_event> events_;

    std::mutex clock_mutex_; ///< of whoever moves the manual clock; before mutex_
    std::mutex mutex_;
    ovt_fw firmware_{};
    std::uint64_t manual_now_;
    std::vector<unsigned> limits_;             ///< as last told to the firmware, per core
    std::multiset<unsigned> requested_limits_; ///< non-zero ones of live contexts
    std::set<std::pair<std::uint64_t, EmbeddedJob*>> deadlines_; ///< of jobs in flight
    bool stopping_ = false;

    std::vector<std::condition_variable> core_wake_;
    std::condition_variable timer_wake_;
    std::uint64_t timer_waits_for_ = 0; ///< device time
    std::condition_variable settled_;   ///< a core finished executing
    std::vector<std::thread> threads_;
};

} // namespace overtake
