// SPDX-License-Identifier: MIT
#include "scheduler/host.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <optional>
#include <queue>
#include <vector>

#include "scheduler/core_counter.hpp"
#include "scheduler/fc_checker.hpp"
#include "scheduler/program.hpp"
#include "scheduler/schedulers.hpp"
#include "scheduler/task_checker.hpp"
#include "scheduler/violation.hpp"
#include "scheduler/wake.hpp"
#include "scheduler/work.hpp"
#include "simulator/random.hpp"

namespace overtake::fuzz {
namespace {

constexpr std::uint64_t never = ~0ull;
/// Ticks between two checks of the device by its host, since interrupts may get lost.
constexpr std::uint64_t backstop_period = 97;
/// If at least this number of ticks passes at once, the host does not run meanwhile.
constexpr std::uint64_t jump = 200;
/// Most ticks that the thread of a core takes for an FC that ends by itself.
constexpr std::uint64_t steps_of_fc = 16;
/// Far more wake-ups than any case needs.
constexpr std::uint64_t wake_limit = 5'000'000;

const Program program;

class Host {
public:
    explicit Host(const Case& of)
        : case_(of), random_(of.faults.seed), firmware_(of), fc_checker_(of), task_checker_(of) {
        if (of.task_level)
            scheduler_.start(of);
        set_core_limits();
        for (std::uint32_t process = 0; process < of.processes; process++)
            contexts_of_.push_back(new_context());
        if (of.faults.lost_percent != 0)
            push(backstop_period, WakeKind::backstop, 0);
    }

    Totals run() {
        for (const Command& command : case_.commands) {
            pass_time(command.after);
            perform(command);
            totals_.commands++;
        }
        if (held_) {
            release();
            ring_doorbell();
        }
        drain();
        check_end();
        totals_.fcs = fc_checker_.started();
        totals_.jobs = jobs_.size();
        totals_.tasks = tasks_.size();
        return totals_;
    }

private:
    void set_core_limits() {
        for (std::uint32_t core = 1; core <= case_.cores(); core++) {
            set_limit(core, case_.core_limits[core - 1]);
            pump();
        }
    }

    ovt_fw_context* new_context() {
        ovt_fw_context* const context = &contexts_.emplace_back();
        ovt_fw_context_init(context);
        if (case_.fair)
            ovt_fw_context_take_turns(context, turns_.emplace_back(case_.cores()).data(),
                                      case_.cores());
        return context;
    }

    // Time and wake-ups

    void push(std::uint64_t time, WakeKind kind, std::uint32_t number) {
        wakes_.push({time, next_wake_++, kind, number});
    }

    bool percent(std::uint32_t chance) { return chance != 0 && random_.below(100) < chance; }

    std::uint64_t latency() {
        return case_.faults.latency_max == 0 ? 0 : random_.below(case_.faults.latency_max + 1);
    }

    /// Requests a wake-up, which the case may delay, lose or deliver twice.
    void interrupt(std::uint64_t time, WakeKind kind, std::uint32_t number) {
        if (percent(case_.faults.lost_percent))
            return;
        push(time + latency(), kind, number);
        if (percent(case_.faults.duplicate_percent))
            push(time + latency(), kind, number);
    }

    void pass_time(std::uint64_t ticks) {
        if (ticks == 0)
            return;
        pump_if_asked();
        const std::uint64_t until = now_ + ticks;
        if (ticks >= jump)
            now_ = until;
        while (!wakes_.empty() && wakes_.top().time <= until) {
            wake_next();
            pump_if_asked();
        }
        now_ = until;
    }

    /// Returns the time at which all jobs and tasks are over if FCs and CPU segments run one after
    /// the other and every wake-up comes as late as the case permits.
    std::uint64_t latest_end() const {
        Work work;
        for (const Task& task : tasks_)
            for (const Segment& segment : task.model->segments)
                work.add(segment, case_.watchdog);
        for (const Job& job : jobs_)
            if (job.task == Job::no_task)
                work.add(*job.segment, case_.watchdog);
        const std::uint64_t wake_ups = 4; // of a step: doorbell, core, timer, the steps of the core
        const std::uint64_t late = case_.faults.latency_max + steps_of_fc +
                                   (case_.faults.lost_percent != 0 ? 8 * backstop_period : 0);
        return now_ + work.ticks + work.steps * wake_ups * late;
    }

    void drain() {
        const std::uint64_t latest = latest_end();
        while (!over()) {
            pump_if_asked();
            if (over())
                break;
            if (wakes_.empty())
                violate("{} ns: work is left and nothing will ever wake the host", now_);
            wake_next();
            if (now_ > latest)
                violate("{} ns: work is left that should have ended by {} ns", now_, latest);
        }
        if (!ovt_fw_settled(&fw_, now_))
            violate("{} ns: all is over, and the firmware has something to do", now_);
    }

    bool over() const {
        return jobs_open_ == 0 && tasks_open_ == 0 && fw_.command_head == fw_.command_tail;
    }

    void wake_next() {
        const Wake wake = wakes_.top();
        wakes_.pop();
        now_ = std::max(now_, wake.time);
        if (++wake_count_ > wake_limit)
            violate("{} ns: no end after {} wake-ups", now_, wake_limit);
        switch (wake.kind) {
        case WakeKind::core:
            run_core(wake.number);
            break;
        case WakeKind::cpu:
            end_cpu(tasks_[wake.number]);
            break;
        case WakeKind::backstop:
            for (std::uint32_t core = 1; core <= case_.cores(); core++)
                run_core(core);
            push(now_ + backstop_period, WakeKind::backstop, 0);
            [[fallthrough]];
        case WakeKind::timer:
            timer_at_ = never;
            [[fallthrough]];
        case WakeKind::doorbell:
            pump();
        }
    }

    /// Runs the execution thread of a core for one step.
    void run_core(std::uint32_t core) {
        if (!ovt_fw_runnable(&fw_, core)) {
            ovt_fw_executed(&fw_, core, now_); // a second report of an end changes nothing
            return;
        }
        switch (ovt_core_step(&firmware_.cores[core - 1], budgets[random_.below(budgets.size())])) {
        case OVT_STEP_MORE:
            return push(now_ + random_.below(2), WakeKind::core, core);
        case OVT_STEP_PRICED:
            ovt_fw_priced(&fw_, core);
            pump();
            return push(now_ + latency(), WakeKind::core, core);
        case OVT_STEP_FINISHED:
            ovt_fw_executed(&fw_, core, now_);
            pump();
        }
    }

    // The device

    /// Wakes the device at once, as a system call does, or later, as an interrupt does.
    void ring_doorbell() {
        if (case_.faults.latency_max != 0 && random_.one_in(2))
            interrupt(now_, WakeKind::doorbell, 0);
        else if (random_.one_in(2))
            pump();
        else
            pump_asked_ = true; // later in this instant
    }

    void pump_if_asked() {
        while (pump_asked_)
            pump();
    }

    void pump() {
        pump_asked_ = false;
        while (ovt_fw_advance(&fw_, now_) == OVT_ADVANCE_EVENTS)
            take_events();
        take_events();
        if (ovt_fw_settled(&fw_, now_))
            fc_checker_.settled();
        const std::uint64_t next = ovt_fw_next(&fw_);
        if (next < timer_at_) {
            timer_at_ = next;
            interrupt(std::max(next, now_), WakeKind::timer, 0);
        }
        go_on();
    }

    void take_events() {
        ovt_event event;
        while (ovt_fw_pop_event(&fw_, &event)) {
            fc_checker_.event(event);
            take(event);
        }
    }

    void take(const ovt_event& event) {
        switch (event.type) {
        case OVT_EVENT_STARTED: {
            // In mode functional the time of an FC passes on the host.
            const std::uint64_t work = case_.mode == OVT_MODE_FUNCTIONAL ? random_.below(13) : 0;
            return interrupt(now_ + work, WakeKind::core, event.core);
        }
        case OVT_EVENT_ENDED:
            return end_job(Job::of(event.job));
        case OVT_EVENT_CANCELLED: {
            Job& job = Job::of(event.job);
            if (job.cancel_answered)
                violate("{} ns: the cancel of job {} is answered twice", now_, job.number);
            job.cancel_answered = true;
            return let_go(job);
        }
        default:
            return;
        }
    }

    void let_go(Job& job) {
        if (job.released())
            job.as_released = job.device;
    }

    void end_job(Job& job) {
        if (job.ended)
            violate("{} ns: job {} ends twice", now_, job.number);
        job.ended = true;
        jobs_open_--;
        if (!job.cancel_queued)
            ovt_fw_unreserve(&fw_, 1);
        let_go(job);
        if (job.task == Job::no_task)
            return;
        ended_segments_.push_back(job.task);
    }

    /// Returns false if the queue is full.
    bool reserve(std::uint32_t slots) {
        if (ovt_fw_reserve(&fw_, slots))
            return true;
        totals_.refused++;
        return false;
    }

    bool submit(const Segment& segment, std::uint32_t priority, std::uint32_t core,
                std::uint32_t process, std::uint32_t task) {
        if (!reserve(2))
            return false;
        Job& job = jobs_.emplace_back();
        job.number = static_cast<std::uint32_t>(jobs_.size() - 1);
        job.task = task;
        job.segment = &segment;
        for (const Fc& fc : segment.fcs)
            job.fcs.push_back(program.range(fc));
        job.device.context = contexts_of_[process];
        job.device.fcs = job.fcs.data();
        job.device.fc_count = static_cast<u32>(job.fcs.size());
        job.device.core = core;
        job.device.priority = priority;
        job.device.regions[OVERTAKE_REGION_PROGRAM] = program.region();
        jobs_open_++;
        fc_checker_.queued_submit(job, now_);
        ovt_fw_submit(&fw_, &job.device, now_);
        return true;
    }

    void cancel_job(Job& job) {
        if (job.ended || job.cancel_queued)
            return;
        job.cancel_queued = true;
        fc_checker_.queued_cancel(job, now_);
        ovt_fw_cancel(&fw_, &job.device, now_);
    }

    // Commands of clients

    void perform(const Command& command) {
        switch (command.type) {
        case CommandType::submit:
            if (case_.task_level)
                arrive(command);
            else
                submit_job(command);
            break;
        case CommandType::cancel:
            cancel(command.target);
            break;
        case CommandType::kill:
            kill(command.process);
            break;
        case CommandType::reset:
            if (!reserve(1))
                return;
            fc_checker_.queued_reset(command.core, now_);
            ovt_fw_reset(&fw_, command.core, now_);
            break;
        case CommandType::limit:
            set_limit(command.core, command.value);
            break;
        case CommandType::floor:
            set_floor(command.core, command.value);
            break;
        case CommandType::hold:
            hold();
            break;
        case CommandType::release:
            release();
            break;
        case CommandType::wait:
            return;
        }
        ring_doorbell();
    }

    /// Holds the device. Reserves a slot for the RELEASE, too: waiting jobs may reserve all other
    /// slots meanwhile.
    void hold() {
        if (held_ || !reserve(2))
            return;
        held_ = true;
        fc_checker_.queued_hold(now_);
        ovt_fw_hold(&fw_, now_);
    }

    void release() {
        if (!held_)
            return;
        held_ = false;
        fc_checker_.queued_release(now_);
        ovt_fw_release(&fw_, now_);
    }

    void set_limit(std::uint32_t core, std::uint32_t limit) {
        if (!reserve(1))
            return;
        fc_checker_.queued_limit(core, limit, now_);
        ovt_fw_limit(&fw_, core, limit, now_);
    }

    void set_floor(std::uint32_t core, std::uint32_t floor) {
        if (!reserve(1))
            return;
        fc_checker_.queued_floor(core, floor, now_);
        ovt_fw_normal_floor(&fw_, core, floor, now_);
    }

    void submit_job(const Command& command) {
        const bool taken = submit(case_.models[command.model].segments.front(), command.priority,
                                  command.core, command.process, Job::no_task);
        submitted_.push_back(taken ? static_cast<std::int64_t>(jobs_.size()) - 1 : -1);
    }

    void cancel(std::uint32_t target) {
        if (case_.task_level) {
            if (target < tasks_.size())
                cancel_task(tasks_[target]);
        } else if (target < submitted_.size() && submitted_[target] >= 0) {
            cancel_job(jobs_[static_cast<std::size_t>(submitted_[target])]);
        }
    }

    /// A client dies: its tasks are cancelled and its context is killed.
    void kill(std::uint32_t process) {
        if (!reserve(1))
            return;
        ovt_sched_action action;
        while (case_.task_level &&
               ovt_sched_abandon(&sched_, &scheduler_.processes[process], &action)) {
            task_checker_.abandoned(process, &action);
            carry_out(action);
        }
        if (case_.task_level)
            task_checker_.abandoned(process, nullptr);
        ovt_fw_context* const dead = contexts_of_[process];
        fc_checker_.queued_kill(dead, now_);
        ovt_fw_kill_context(&fw_, dead, now_);
        contexts_of_[process] = new_context();
    }

    // Tasks

    void arrive(const Command& command) {
        Task& task = tasks_.emplace_back();
        task.number = static_cast<std::uint32_t>(tasks_.size() - 1);
        task.process = command.process;
        task.model = &case_.models[command.model];
        for (const Segment& segment : task.model->segments) {
            std::uint64_t time = segment.fcs.empty() ? segment.estimated_cpu() : 0;
            for (const Fc& fc : segment.fcs)
                time += fc.duration;
            task.segments.push_back({time, static_cast<u32>(segment.fcs.size())});
        }
        task.sched.process = &scheduler_.processes[command.process];
        task.sched.segments = task.segments.data();
        task.sched.segment_count = static_cast<u32>(task.segments.size());
        task.sched.priority = command.priority;
        task.sched.core = command.core;
        task.sched.custom_id = command.custom_id;
        task.sched.deadline = command.slo == 0 ? never : now_ + command.slo;
        tasks_open_++;
        task_checker_.arrived(task);
        ovt_sched_arrive(&sched_, &task.sched, now_);
    }

    void cancel_task(Task& task) {
        ovt_sched_action action;
        const bool acted = ovt_sched_cancel(&sched_, &task.sched, &action);
        task_checker_.cancelled(task, acted ? &action : nullptr);
        if (acted)
            carry_out(action);
    }

    void end_cpu(Task& task) {
        if (task.ended) // the task ended with its process
            return;
        segment_ended(task, true);
        pump();
    }

    void segment_ended(Task& task, bool ok) {
        ovt_sched_action action;
        const bool acted = ovt_sched_segment_ended(&sched_, &task.sched, ok, now_, &action);
        task_checker_.segment_ended(task, ok, now_, acted ? &action : nullptr);
        if (acted)
            carry_out(action);
    }

    /// Runs the task scheduler until it has no more actions.
    void go_on() {
        if (!case_.task_level)
            return;
        do {
            while (!ended_segments_.empty()) {
                Task& task = tasks_[ended_segments_.front()];
                ended_segments_.pop_front();
                segment_ended(task, jobs_[task.job].device.status == OVT_JOB_OK);
            }
            ovt_sched_action action;
            while (ovt_sched_next(&sched_, now_, &action)) {
                task_checker_.next(now_, &action);
                carry_out(action);
            }
            task_checker_.next(now_, nullptr);
        } while (!ended_segments_.empty());
        const std::uint64_t overdue = ovt_sched_next_time(&sched_);
        if (overdue != overdue_at_ && overdue != never) {
            overdue_at_ = overdue;
            interrupt(overdue, WakeKind::doorbell, 0);
        }
        if (jobs_submitted_) {
            jobs_submitted_ = false;
            ring_doorbell();
        }
    }

    void carry_out(const ovt_sched_action& action) {
        Task& task = Task::of(action.task);
        switch (action.type) {
        case OVT_SCHED_SUBMIT:
            submit_segment(task, action);
            break;
        case OVT_SCHED_RUN_CPU:
            push(now_ + task.segments[action.segment].time, WakeKind::cpu, task.number);
            break;
        case OVT_SCHED_CANCEL_JOB:
            cancel_job(jobs_[task.job]);
            jobs_submitted_ = true;
            break;
        case OVT_SCHED_OVERDUE:
            break;
        case OVT_SCHED_END:
            if (task.ended)
                violate("{} ns: task {} ends twice", now_, task.number);
            task.ended = true;
            task.as_released = task.sched;
            tasks_open_--;
            break;
        }
    }

    void submit_segment(Task& task, const ovt_sched_action& action) {
        task.job = static_cast<std::uint32_t>(jobs_.size());
        const Segment& segment = task.model->segments[action.segment];
        const std::uint32_t core = action.core != 0 ? action.core : place(task, action.cores);
        if (!submit(segment, task.sched.priority, core, task.process, task.number))
            return segment_ended(task, false); // as if the device refused it
        jobs_submitted_ = true;
    }

    std::uint32_t place(Task& task, std::uint64_t cores) {
        const std::uint32_t core = ovt_fw_place(&fw_, contexts_of_[task.process], cores);
        if (core != core_counter_.emptiest(cores))
            violate("{} ns: task {} goes to core {}, and another has fewer FCs", now_, task.number,
                    core);
        ovt_sched_placed(&sched_, &task.sched, core);
        task_checker_.placed(task, core);
        return core;
    }

    // The end

    void check_end() {
        fc_checker_.finish(fw_);
        for (const Job& job : jobs_)
            if (touched(job.device, job.as_released))
                violate("job {} was touched after the firmware let go of it", job.number);
        if (!case_.task_level)
            return;
        task_checker_.finish(scheduler_.queues, scheduler_.processes);
        for (const Task& task : tasks_)
            if (touched(task.sched, task.as_released))
                violate("task {} was touched after the scheduler let go of it", task.number);
    }

    static constexpr std::array<std::uint64_t, 3> budgets = {1, 8, 1000};

    const Case& case_;
    simulator::Random random_;
    Totals totals_;
    bool held_ = false; ///< between HOLD and RELEASE
    Firmware firmware_;
    ovt_fw& fw_ = firmware_.fw;
    TaskScheduler scheduler_;
    ovt_sched& sched_ = scheduler_.sched;
    std::deque<ovt_fw_context> contexts_;
    std::deque<std::vector<ovt_fw_turn>> turns_; ///< of each context, where the device is fair
    std::vector<ovt_fw_context*> contexts_of_;   ///< by process
    std::deque<Job> jobs_;
    std::deque<Task> tasks_;
    std::vector<std::int64_t> submitted_; ///< FC level: job of each submit, -1: refused
    std::deque<std::uint32_t> ended_segments_;
    CoreCounter core_counter_{jobs_};
    std::uint64_t jobs_open_ = 0;
    std::uint64_t tasks_open_ = 0;
    FcChecker fc_checker_;
    TaskChecker task_checker_;
    std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wakes_;
    std::uint64_t next_wake_ = 0;
    std::uint64_t wake_count_ = 0;
    std::uint64_t now_ = 0;
    std::uint64_t timer_at_ = never;
    std::uint64_t overdue_at_ = never; ///< time of the last requested wake-up
    bool pump_asked_ = false;
    bool jobs_submitted_ = false;
};

} // namespace

Totals run(const Case& of) {
    return Host(of).run();
}

} // namespace overtake::fuzz
