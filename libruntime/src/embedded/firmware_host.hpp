// SPDX-License-Identifier: MIT
//
// FirmwareHost: gives firmware-sim threads, time and a lock inside a process.
//
// One mutex protects every firmware call.  Each core has a thread, which executes FCs outside the
// mutex.  One more thread waits for the next instant of device time (none under a manual clock).
// Device time is CLOCK_MONOTONIC, or the time of the manual clock.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "embedded/coarse_counters.hpp"
#include "embedded/device_mutex.hpp"
#include "embedded/event_ring.hpp"
#include "embedded/job.hpp"
#include "embedded/profiles.hpp"
#include "embedded/task_service.hpp"
#include "overtake/device.hpp"

namespace overtake {

/// The options of a host of several clients that an embedded device does not have.
struct SharedOptions {
    unsigned clients = 1; ///< the most at a time
    /// Device time that a job may be in flight, whatever deadline it asks for.
    std::uint64_t job_max_ns = OVT_TIME_NEVER;
    std::optional<ServiceOptions> service; ///< nullopt: there is no service mode
    bool measure_lock = false;             ///< measures how long the lock is held: longest_hold()
};

class FirmwareHost {
public:
    /// Throws Error EINVAL for options that make no device.  `profiles`: of each core, in place of
    /// the profiles that the options name.
    explicit FirmwareHost(const EmbeddedOptions& options, const SharedOptions& shared = {},
                          std::vector<ovt_profile> profiles = {});
    /// Called when all contexts have been closed.
    ~FirmwareHost() { stop_threads(); }
    FirmwareHost(const FirmwareHost&) = delete;
    FirmwareHost& operator=(const FirmwareHost&) = delete;

    // All functions from here on are thread safe.
    drm_overtake_device_info info();
    std::vector<drm_overtake_core_info> cores();
    /// Returns the counters for clients that must not see the work of others.
    std::vector<drm_overtake_core_info> coarse_cores();
    std::vector<drm_overtake_core_profile> core_profiles() const;
    bool has_like_cores() const noexcept { return like_cores_; }
    unsigned core_count() const noexcept { return config_.core_count; }
    /// The profile of core 1.
    const ovt_profile& profile() const noexcept { return profiles_.front(); }
    /// The longest hold of the device's lock so far.
    DeviceMutex::Longest longest_hold() { return mutex_.longest(); }
    /// Slots of the command queue that live jobs, contexts and limits have reserved.
    std::uint32_t command_slots_reserved();

    std::unique_ptr<EmbeddedContext> open_context(const QueueOptions& options,
                                                  EmbeddedClient& client,
                                                  CompletionSink* sink = nullptr);
    /// Ends the context's jobs and waits until the firmware has released it.
    void close_context(EmbeddedContext& context);

    /// Submits jobs in their order, and pauses so that other clients' jobs go between.  Throws
    /// Error at the first job that finds no room; the jobs before it are in flight.  `admitted`
    /// counts these, unless it is null.
    void submit(EmbeddedContext& context, std::span<const std::shared_ptr<EmbeddedJob>> jobs,
                std::size_t* admitted = nullptr);
    bool cancel(EmbeddedContext& context, std::uint64_t tag);
    /// See Queue::reap().
    std::size_t reap(EmbeddedContext& context, std::span<Completion> out, std::int64_t deadline_ns);
    std::size_t in_flight(const EmbeddedContext& context);
    void interrupt(EmbeddedContext& context);
    /// Jobs of all contexts of the client that are not yet reaped.
    unsigned jobs_of(const EmbeddedClient& client);
    BusyTimes busy_of(const EmbeddedClient& client);

    // Service mode.  The jobs of a task are made before, with tag 0.

    const ServiceSettings& service_settings() const noexcept { return service_->settings(); }
    /// `process.context` has no sink.
    void open_process(HostedProcess& process, std::uint32_t workers, bool keeps_place);
    /// Ends the tasks of the process, and waits until nothing of them is left.
    void close_process(HostedProcess& process);
    /// Throws Error EEXIST or ENOSPC, or std::bad_alloc.
    void submit_task(HostedProcess& process, std::unique_ptr<HostedTask> task);
    /// Calls `tell` for events in their order until it returns false; that event comes again with
    /// the next call.  `tell` is called with the host's lock held: it must be quick.
    void take_events(HostedProcess& process,
                     const std::function<bool(const ovt_service_task& task)>& tell);
    /// Returns 0, or a negative errno, as ovt_service_cpu_done(); -ENOENT if there is no such task.
    s32 cpu_done(HostedProcess& process, std::uint64_t tag, std::uint32_t segment, s32 status);
    bool cancel_task(HostedProcess& process, std::uint64_t tag);
    struct ProcessStatus {
        ovt_service_counts counts;
        std::uint64_t ended;
        std::uint64_t waited_ns;
        std::uint64_t overdue;
    };
    ProcessStatus status_of(const HostedProcess& process);

    /// Reports all later events to `writer`, until forget() is called.
    void watch(EventWriter& writer);
    void forget(EventWriter& writer);

    // See CoreFaults.
    void fail_core(unsigned core);
    void recover_core(unsigned core);
    void throttle_core(unsigned core, unsigned percent);

    bool has_manual_clock() const noexcept { return options_.manual_clock; }
    std::uint64_t manual_now();
    /// See ManualClock::advance_to().
    void advance_to(std::uint64_t now_ns);

private:
    friend class TaskService;
    using Lock = DeviceLock;

    void require_core(unsigned core) const;
    void stop_threads();
    void run_core(unsigned core);
    void execute(Lock& lock, unsigned core);
    void run_timer();
    void step_manual_clock(Lock& lock, std::uint64_t now_ns);
    void step_service(Lock& lock, std::uint64_t now_ns);

    // The functions from here on are called with the lock held.
    std::uint64_t now() const;
    ovt_advance advance();
    void pump(Lock& lock);
    void pause(Lock& lock);
    void stop_by_register(unsigned core);
    drm_overtake_core_info exact_core(std::size_t index);
    void roll_coarse_counters();
    void deliver_events();
    void deliver(const ovt_event& event);
    void count_fc(EmbeddedClient& client, const ovt_event& event);
    void report_fc(const ovt_event& event);
    bool is_watched() const noexcept { return !watchers_.empty(); }
    void tell(const Event& event) const;
    Event event_of(EventType type, const EmbeddedContext& context, std::uint64_t time_ns) const;
    Event event_of(EventType type, const EmbeddedJob& job, std::uint64_t time_ns) const;
    void tell_context(EventType type, const EmbeddedContext& context);
    void tell_arrival(const EmbeddedJob& job, std::uint64_t time_ns);
    /// Reports `event` once for each part, as the part enters its core's ring.
    void tell_parts(const ovt_fw_group& group, Event event) const;
    void tell_start(const ovt_event& event);
    void tell_fc_end(const ovt_event& event);
    void tell_job_end(const ovt_event& event);
    void tell_limit(unsigned core, unsigned before, unsigned limit, const EmbeddedClient* by);
    void tell_task(EventType type, const HostedTask& task, std::uint64_t time_ns) const;
    void end_job(EmbeddedJob& job);
    void let_go(std::shared_ptr<EmbeddedJob> job);
    void admit(EmbeddedContext& context, const std::shared_ptr<EmbeddedJob>& job);
    void request_cancel(EmbeddedJob& job, s32 error);
    void expire_deadlines();
    std::uint64_t next_deadline() const;
    void settle_service(Lock& lock);
    std::uint64_t next_instant() const;
    void init_context(EmbeddedContext& context);
    void submit_prepared(EmbeddedContext& owner, const std::shared_ptr<EmbeddedJob>& job);
    void stop_job(EmbeddedJob& job);
    bool take_some_events(HostedProcess& process,
                          const std::function<bool(const ovt_service_task& task)>& tell,
                          HostedTask*& collected);
    void give_back_slots(EmbeddedContext& context, HostedTask& task);
    void wait_for_context(Lock& lock, EmbeddedContext& context);
    void start_closing(EmbeddedContext& context);
    /// `by`: the client whose context is created or destroyed; null: none.
    void apply_limits(const EmbeddedClient* by);
    unsigned wanted_limit(unsigned core_index) const;

    const EmbeddedOptions options_;
    const std::vector<ovt_profile> profiles_; ///< by core
    const bool like_cores_;
    ovt_fw_config config_{};
    std::vector<ovt_core> silicon_;
    std::vector<bool> failed_;           ///< by core
    std::vector<ovt_simd_scratch> simd_; ///< one per core; empty: scalar operators
    std::vector<ovt_fw_core> core_states_;
    std::unique_ptr<ovt_command[]> commands_;
    std::vector<ovt_event> events_;

    std::mutex clock_mutex_; ///< held by the thread that moves the manual clock; before mutex_
    DeviceMutex mutex_;
    ovt_fw firmware_{};
    std::uint64_t manual_now_;
    std::vector<unsigned> limits_;             ///< by core, as last sent to the firmware
    std::multiset<unsigned> requested_limits_; ///< the limits of live contexts, if not 0
    JobDeadlines deadlines_;                   ///< the deadlines of jobs in flight
    const std::uint64_t job_max_ns_;
    std::unique_ptr<TaskService> service_;
    CoarseCounters coarse_;
    std::vector<EventWriter*> watchers_;
    std::optional<ovt_event> overtaking_; ///< until the overtaking FC has started
    bool stopping_ = false;

    std::vector<std::condition_variable> core_wake_;
    std::condition_variable timer_wake_;
    std::uint64_t timer_waits_for_ = 0; ///< device time
    std::condition_variable settled_;   ///< a core has finished executing
    std::vector<std::thread> threads_;
};

} // namespace overtake
