// SPDX-License-Identifier: MIT
#include "scheduler/groups.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <vector>

#include "scheduler/groups_model.hpp"
#include "scheduler/program.hpp"
#include "scheduler/violation.hpp"
#include "simulator/random.hpp"

namespace overtake::fuzz {
namespace {

constexpr std::uint64_t no_time = ~0ull;
constexpr std::uint32_t group_watchdog = 100;
constexpr std::uint32_t group_commands = 4096;

class GroupRun {
public:
    GroupRun(std::uint64_t seed, GroupTotals& totals) : random_(seed), totals_(totals) {
        cores_.resize(pick(std::array{1u, 2u, 2u, 3u, 4u, 8u}));
        mode_ = random_.one_in(3) ? OVT_MODE_FUNCTIONAL : OVT_MODE_TIMED;
        fair_ = random_.one_in(3);
        quota_ = fair_ && random_.one_in(3) ? random_.between(20, 200) : 0;
        profile_ = *ovt_profile_find("ideal");
        profile_.sync_cycles = pick(std::array{0u, 0u, 1u, 5u, 20u});
        sync_ = mode_ == OVT_MODE_FUNCTIONAL ? 0 : profile_.sync_cycles;
        hardware_.resize(cores_.size());
        states_.resize(cores_.size());
        commands_.resize(group_commands);
        events_.resize(pick(std::array{16u, 32u, 256u}));
        start_firmware();
    }

    void run() {
        for (std::uint32_t core = 1; core <= cores_.size(); core++)
            set_limit(core, pick(std::array{0u, 1u, 1u, 2u, 3u, 70u}));
        pump();
        const std::uint64_t steps = random_.between(5, 60);
        for (std::uint64_t i = 0; i < steps; i++) {
            command();
            if (!random_.one_in(3))
                pass(random_.between(0, 25));
        }
        release();
        pump();
        drain();
        check_nothing_left(fw_, states_);
    }

private:
    template <class List>
    typename List::value_type pick(const List& list) {
        return list[random_.below(list.size())];
    }

    void start_firmware() {
        const ovt_fw_config config = {
            .profile = &profile_,
            .mode = mode_,
            .core_count = static_cast<u32>(cores_.size()),
            .fair = fair_,
            .quota_ns = quota_,
            .watchdog_cycles = group_watchdog,
            .clock = {},
            .lag_max_ns = 0,
            .stretch_max_ns = 0,
            .cores = hardware_.data(),
            .core_states = states_.data(),
            .commands = commands_.data(),
            .command_count = group_commands,
            .events = events_.data(),
            .event_count = static_cast<u32>(events_.size()),
        };
        ovt_fw_init(&fw_, &config);
        for (int i = 0; i < 3; i++)
            contexts_.push_back(new_context());
    }

    ovt_fw_context* new_context() {
        ovt_fw_context* const context = &all_contexts_.emplace_back();
        ovt_fw_context_init(context);
        if (fair_)
            ovt_fw_context_take_turns(context, turns_.emplace_back(cores_.size()).data(),
                                      static_cast<u32>(cores_.size()));
        return context;
    }

    // Commands of clients

    void command() {
        const std::uint64_t kind = random_.below(100);
        if (kind < 60)
            submit();
        else if (kind < 78)
            cancel();
        else if (kind < 82)
            kill();
        else if (kind < 86)
            reset();
        else if (kind < 91)
            set_limit(any_core(), pick(std::array{0u, 1u, 2u, 3u, 70u}));
        else if (kind < 96)
            set_floor(any_core(), pick(std::array{0u, 1u, 2u, 3u}));
        else if (held_)
            release();
        else
            hold();
    }

    std::uint32_t any_core() {
        return static_cast<std::uint32_t>(random_.between(1, cores_.size()));
    }

    Fc fc() {
        if (random_.one_in(80))
            return {FcKind::bad_instruction, 1};
        if (random_.one_in(120))
            return {FcKind::stuck, 1};
        return {FcKind::good, static_cast<std::uint32_t>(random_.between(1, 12))};
    }

    /// Draws FCs: every part and every stage has at least one FC.
    void draw_fcs(GroupJob& job, std::size_t parts, std::uint32_t stages) {
        job.parts.resize(parts);
        job.stage_fcs.assign(stages, 0);
        job.in_stage.resize(stages);
        const bool is_long = random_.one_in(30);
        for (std::uint32_t stage = 0; stage < stages; stage++)
            for (std::size_t part = 0; part < parts; part++) {
                std::uint64_t count = random_.one_in(3) ? 0 : random_.between(1, is_long ? 70 : 3);
                if ((part + 1 == parts && job.stage_fcs[stage] == 0) ||
                    (stage + 1 == stages && job.parts[part].kinds.empty()))
                    count = std::max<std::uint64_t>(count, 1);
                for (std::uint64_t i = 0; i < count; i++) {
                    job.parts[part].kinds.push_back(fc());
                    job.parts[part].stages.push_back(stage);
                    job.stage_fcs[stage]++;
                    job.in_stage[stage].insert(part);
                }
            }
    }

    void submit() {
        if (!ovt_fw_reserve(&fw_, 2))
            return;
        GroupJob& job = jobs_.emplace_back();
        const bool is_group = random_.below(10) < 6;
        const std::size_t parts = is_group ? random_.between(1, cores_.size()) : 1;
        draw_fcs(job, parts, is_group ? static_cast<std::uint32_t>(random_.between(1, 5)) : 1);
        const bool names_cores = random_.one_in(2);
        std::vector<std::uint32_t> cores;
        for (std::uint32_t core = 1; core <= cores_.size(); core++)
            cores.push_back(core);
        for (std::size_t i = 0; i < parts; i++)
            std::swap(cores[i], cores[random_.between(i, cores.size() - 1)]);
        job.device_parts.resize(parts);
        std::memset(static_cast<void*>(job.device_parts.data()), 0x5a, parts * sizeof(ovt_fw_part));
        for (std::size_t i = 0; i < parts; i++) {
            GroupPart& part = job.parts[i];
            for (const Fc& kind : part.kinds)
                part.fcs.push_back(program.range(kind));
            job.device.fc_count += static_cast<u32>(part.fcs.size());
            ovt_fw_part& device = job.device_parts[i];
            device.fcs = part.fcs.data();
            device.stages = part.stages.data();
            device.fc_count = static_cast<u32>(part.fcs.size());
            device.core = names_cores ? cores[i] : 0;
        }
        std::memset(&job.group, 0x5a, sizeof(job.group));
        job.group.parts = job.device_parts.data();
        job.group.part_count = static_cast<u32>(parts);
        job.group.stage_fcs = job.stage_fcs.data();
        job.group.stage_count = static_cast<u32>(job.stage_fcs.size());
        if (is_group) {
            job.device.group = &job.group;
        } else {
            job.device.fcs = job.parts[0].fcs.data();
            job.device.core = job.device_parts[0].core;
        }
        job.device.context = contexts_[random_.below(contexts_.size())];
        job.device.priority = pick(std::array{255u, 255u, 10u, 10u, 100u});
        job.device.regions[OVERTAKE_REGION_PROGRAM] = program.region();
        job.left = job.stage_fcs;
        job.unfinished = job.device.fc_count;
        open_jobs_++;
        totals_.groups += is_group;
        ovt_fw_submit(&fw_, &job.device, now_);
    }

    /// Cancels a job, mostly a recent one.
    void cancel() {
        if (jobs_.empty())
            return;
        GroupJob& job =
            jobs_[jobs_.size() - 1 - std::min<std::size_t>(random_.below(6), jobs_.size() - 1)];
        if (job.ended || job.cancelled)
            return;
        job.cancelled = true;
        ovt_fw_cancel(&fw_, &job.device, now_);
        pump();
    }

    void kill() {
        if (!ovt_fw_reserve(&fw_, 1))
            return;
        pump();
        ovt_fw_context*& context = contexts_[random_.below(contexts_.size())];
        for (GroupJob& job : jobs_)
            if (job.device.context == context && job.sequence != 0 && !job.ended)
                kill_job(job);
        ovt_fw_kill_context(&fw_, context, now_);
        context = new_context();
        pump();
    }

    void kill_job(GroupJob& job) {
        for (const GroupPart& part : job.parts) {
            GroupCore& core = cores_[part.core - 1];
            if (core.running && core.running->job == &job && core.abort == 0)
                core.abort = OVERTAKE_FAULT_KILLED;
        }
        withdraw(job);
    }

    void reset() {
        if (!ovt_fw_reserve(&fw_, 1))
            return;
        pump();
        const std::uint32_t number = any_core();
        GroupCore& core = cores_[number - 1];
        if (core.running && core.abort == 0)
            core.abort = OVERTAKE_FAULT_RESET;
        ovt_fw_reset(&fw_, number, now_);
        pump();
    }

    void set_limit(std::uint32_t core, std::uint32_t limit) {
        if (!ovt_fw_reserve(&fw_, 1))
            return;
        pump();
        cores_[core - 1].limit = limit;
        ovt_fw_limit(&fw_, core, limit, now_);
    }

    void set_floor(std::uint32_t core, std::uint32_t floor) {
        if (!ovt_fw_reserve(&fw_, 1))
            return;
        pump();
        cores_[core - 1].floor = floor;
        ovt_fw_normal_floor(&fw_, core, floor, now_);
    }

    void hold() {
        if (!ovt_fw_reserve(&fw_, 2))
            return;
        pump();
        held_ = true;
        ovt_fw_hold(&fw_, now_);
        pump();
    }

    void release() {
        if (!held_)
            return;
        pump();
        held_ = false;
        ovt_fw_release(&fw_, now_);
    }

    // The device

    /// Executes the FCs of mode functional that are due by now. Returns whether there were any.
    bool execute_functional() {
        bool any = false;
        for (std::uint32_t core = 1; core <= cores_.size(); core++) {
            GroupCore& of = cores_[core - 1];
            if (of.running && ovt_fw_runnable(&fw_, core) &&
                (of.executed_at <= now_ || of.abort != 0)) {
                execute(core);
                any = true;
            }
        }
        return any;
    }

    void execute(std::uint32_t core) {
        while (ovt_core_step(&hardware_[core - 1], 1000) == OVT_STEP_MORE)
            ;
        ovt_fw_executed(&fw_, core, now_);
    }

    /// Runs the firmware up to now, the choices of now included.
    void pump() {
        bool more = true;
        while (more) {
            more = ovt_fw_advance(&fw_, now_) == OVT_ADVANCE_EVENTS;
            more |= take_events();
            if (mode_ == OVT_MODE_FUNCTIONAL)
                more |= execute_functional();
        }
        check_settled();
    }

    void pass(std::uint64_t ticks) {
        pump();
        const std::uint64_t until = now_ + ticks;
        while (now_ < until) {
            now_ = std::min(until, std::max(next_instant(), now_ + 1));
            pump();
        }
    }

    std::uint64_t next_instant() const {
        std::uint64_t next = ovt_fw_next(&fw_);
        if (mode_ == OVT_MODE_FUNCTIONAL)
            for (const GroupCore& core : cores_)
                if (core.running)
                    next = std::min(next, core.executed_at);
        return next;
    }

    void drain() {
        for (int i = 0; open_jobs_ != 0; i++) {
            const std::uint64_t next = next_instant();
            if (next == no_time || i > 1'000'000)
                violate("{} ns: {} jobs are left and nothing will happen", now_, open_jobs_);
            now_ = std::max(next, now_ + 1);
            pump();
        }
        pump();
    }

    bool take_events() {
        ovt_event event;
        bool any = false;
        while (ovt_fw_pop_event(&fw_, &event)) {
            take(event);
            any = true;
        }
        return any;
    }

    static GroupJob& job_of(const ovt_event& event) {
        return *reinterpret_cast<GroupJob*>(event.job);
    }

    void take(const ovt_event& event) {
        if (event.time_ns < time_)
            violate("an event of {} ns after one of {} ns", event.time_ns, time_);
        time_ = event.time_ns;
        switch (event.type) {
        case OVT_EVENT_ARRIVED:
            return arrived(job_of(event));
        case OVT_EVENT_STARTED:
            return started(event);
        case OVT_EVENT_DONE:
        case OVT_EVENT_FAULT:
        case OVT_EVENT_HUNG:
            return fc_ended(event);
        case OVT_EVENT_ENDED:
            return ended(job_of(event));
        case OVT_EVENT_CANCELLED:
            return cancel_answered(job_of(event));
        default:
            return;
        }
    }

    std::uint64_t unfinished(std::size_t core) const {
        const GroupCore& of = cores_[core];
        return of.high.size() + of.normal.size() + of.batch.size() + of.running.has_value();
    }

    void arrived(GroupJob& job) {
        if (job.sequence != 0)
            violate("{} ns: a job arrives twice", time_);
        job.sequence = ++arrivals_;
        std::vector<std::size_t> order;
        for (std::size_t core = 0; core < cores_.size(); core++)
            order.push_back(core);
        std::ranges::stable_sort(order, {}, [&](std::size_t core) { return unfinished(core); });
        job.open_at.assign(job.stage_fcs.size(),
                           std::vector<std::uint64_t>(job.parts.size(), no_time));
        job.open_at[0].assign(job.parts.size(), time_);
        for (std::size_t i = 0; i < job.parts.size(); i++) {
            const ovt_fw_part& device = job.device.group ? job.device_parts[i] : job.device.part;
            GroupPart& part = job.parts[i];
            part.core = device.placed_core;
            const std::uint64_t right =
                device.core != 0 ? device.core : static_cast<std::uint64_t>(order[i]) + 1;
            if (part.core != right && quota_ == 0)
                violate("{} ns: part {} went to core {}, not {}", time_, i, part.core, right);
        }
        for (std::size_t i = 0; i < job.parts.size(); i++) {
            GroupCore& core = cores_[job.parts[i].core - 1];
            for (std::uint32_t fc = 0; fc < job.parts[i].kinds.size(); fc++)
                (job.high() ? core.high : core.normal).push_back({&job, i, fc});
        }
        if (job.device.context->killed != 0)
            withdraw(job);
    }

    void started(const ovt_event& event) {
        GroupJob& job = job_of(event);
        GroupCore& core = cores_[event.core - 1];
        const std::size_t number =
            job.device.group ? static_cast<std::size_t>(event.part - job.device_parts.data()) : 0;
        GroupPart& part = job.parts.at(number);
        const WaitingFc fc = {&job, number, event.fc_index};
        if (job.ended || job.withdrawn || held_)
            violate("{} ns: an FC starts that must not", time_);
        if (core.running || part.core != event.core || part.next != event.fc_index)
            violate("{} ns: FC {} of part {} starts on core {}, where it is not the next", time_,
                    event.fc_index, number, event.core);
        if (fc.held(time_))
            violate("{} ns: FC {} of part {} starts before stage {} is open for it", time_,
                    event.fc_index, number, part.stages[event.fc_index]);
        const bool ready_normal = next_ready_normal(core, time_).has_value();
        const std::optional<WaitingFc> right = group_choice(core, time_);
        if (fair_ && !job.high())
            check_turn(core, fc);
        else if (right != fc && !(fair_ && right && !right->job->high()))
            violate("{} ns: core {} starts FC {} of part {} out of order", time_, event.core,
                    event.fc_index, number);
        if (!fair_ && !job.high())
            commit_group_batch(core, time_);
        std::erase(core.high, fc);
        std::erase(core.normal, fc);
        std::erase(core.batch, fc);
        core.overtook =
            job.high() && core.limit_active != 0 && ready_normal ? core.overtook + 1 : 0;
        core.running = fc;
        core.abort = 0;
        part.next++;
        job.running++;
        totals_.fcs++;
        totals_.held_starts += part.stages[event.fc_index] != 0;
        if (mode_ == OVT_MODE_FUNCTIONAL)
            core.executed_at = now_ + random_.below(13);
        else
            execute(event.core);
    }

    /// Checks that the FC is the first ready one of its context.
    void check_turn(const GroupCore& core, const WaitingFc& fc) const {
        for (const WaitingFc& other : core.normal) {
            if (other == fc)
                return;
            if (other.job->device.context == fc.job->device.context && !other.held(time_))
                violate("{} ns: an FC starts before an older one of its context", time_);
        }
        violate("{} ns: an FC starts that does not wait", time_);
    }

    void fc_ended(const ovt_event& event) {
        GroupJob& job = job_of(event);
        GroupCore& core = cores_[event.core - 1];
        if (!core.running || core.running->job != &job)
            violate("{} ns: an FC ends that does not run", time_);
        const WaitingFc fc = *core.running;
        std::uint32_t fault = core.abort;
        if (fault == 0 && fc.kind().kind == FcKind::bad_instruction)
            fault = OVERTAKE_FAULT_OPCODE;
        if (fault == 0 && fc.kind().kind == FcKind::stuck)
            fault = OVERTAKE_FAULT_WATCHDOG;
        if ((fault == 0) != (event.type == OVT_EVENT_DONE))
            violate("{} ns: an FC ends as event {}", time_, static_cast<int>(event.type));
        core.running.reset();
        job.running--;
        job.unfinished--;
        if (fault != 0) {
            totals_.faults++;
            job.fault = job.fault != 0 ? job.fault : fault;
            withdraw(job);
        } else if (!job.withdrawn) {
            stage_fc_ended(job, job.parts[fc.part].stages[fc.fc]);
        }
    }

    void stage_fc_ended(GroupJob& job, std::uint32_t stage) {
        if (--job.left[stage] != 0 || stage + 1 == job.left.size())
            return;
        for (std::size_t part = 0; part < job.parts.size(); part++)
            job.open_at[stage + 1][part] =
                time_ + (job.in_stage[stage] == std::set{part} ? 0 : sync_);
    }

    void withdraw(GroupJob& job) {
        if (job.withdrawn)
            return;
        job.withdrawn = true;
        for (const GroupPart& part : job.parts)
            for (auto* list : {&cores_[part.core - 1].high, &cores_[part.core - 1].normal,
                               &cores_[part.core - 1].batch})
                std::erase_if(*list, [&](const WaitingFc& fc) { return fc.job == &job; });
    }

    void ended(GroupJob& job) {
        if (job.ended || job.running != 0)
            violate("{} ns: a job ends {}", time_, job.ended ? "twice" : "while an FC of it runs");
        ovt_job_status right = OVT_JOB_OK;
        if (job.fault == OVERTAKE_FAULT_OPCODE)
            right = OVT_JOB_FAULTED;
        else if (job.fault == OVERTAKE_FAULT_WATCHDOG)
            right = OVT_JOB_HUNG;
        else if (job.fault == OVERTAKE_FAULT_RESET)
            right = OVT_JOB_RESET;
        else if (job.withdrawn || job.cancelled || job.fault != 0 || job.unfinished != 0)
            right = OVT_JOB_CANCELLED;
        // A cancel that comes when all FCs are over changes nothing.
        const bool too_late = job.device.status == OVT_JOB_OK && job.cancelled && !job.withdrawn &&
                              job.unfinished == 0;
        if (job.device.status != right && !too_late)
            violate("{} ns: a job ends with status {}, not {}", time_,
                    static_cast<int>(job.device.status), static_cast<int>(right));
        if (job.fault != job.device.fault || job.device.end_ns != time_)
            violate("{} ns: a job ends with fault {}, the first was {}", time_, job.device.fault,
                    job.fault);
        if (right == OVT_JOB_CANCELLED)
            withdraw(job);
        job.ended = true;
        open_jobs_--;
        totals_.cancelled += job.device.group && right == OVT_JOB_CANCELLED;
        if (!job.cancelled)
            ovt_fw_unreserve(&fw_, 1);
        let_go(job);
    }

    void cancel_answered(GroupJob& job) {
        job.cancel_answered = true;
        if (!job.ended)
            withdraw(job);
        let_go(job);
    }

    /// Fills the job, so that a write after the firmware has released it is seen.
    static void let_go(GroupJob& job) {
        if (!job.ended || (job.cancelled && !job.cancel_answered))
            return;
        std::memset(static_cast<void*>(job.device_parts.data()), 0x5a,
                    job.device_parts.size() * sizeof(ovt_fw_part));
        std::memset(&job.group, 0x5a, sizeof(job.group));
    }

    void check_settled() {
        for (const GroupJob& job : jobs_)
            if (job.sequence != 0 && !job.ended && job.running == 0 &&
                (job.withdrawn || job.unfinished == 0))
                violate("{} ns: a job of which nothing is left does not end", now_);
        if (held_ || quota_ != 0)
            return;
        for (GroupCore& core : cores_)
            if (!core.running && group_choice(core, now_))
                violate("{} ns: core {} is idle, and an FC is ready", now_,
                        &core - cores_.data() + 1);
    }

    inline static const Program program;

    simulator::Random random_;
    GroupTotals& totals_;
    ovt_mode mode_ = OVT_MODE_TIMED;
    bool fair_ = false;
    std::uint64_t quota_ = 0;
    std::uint64_t sync_ = 0;
    ovt_profile profile_ = {};
    std::vector<ovt_core> hardware_;
    std::vector<ovt_fw_core> states_;
    std::vector<ovt_command> commands_;
    std::vector<ovt_event> events_;
    ovt_fw fw_ = {};
    std::deque<ovt_fw_context> all_contexts_;
    std::deque<std::vector<ovt_fw_turn>> turns_;
    std::vector<ovt_fw_context*> contexts_;
    std::deque<GroupJob> jobs_;
    std::vector<GroupCore> cores_;
    std::uint64_t open_jobs_ = 0;
    std::uint64_t arrivals_ = 0;
    std::uint64_t now_ = 0;
    std::uint64_t time_ = 0; ///< of the last event
    bool held_ = false;
};

} // namespace

std::optional<std::string> group_violation(std::uint64_t seed, GroupTotals& totals) {
    try {
        GroupRun(seed, totals).run();
    } catch (const Violation& violation) {
        return violation.what();
    }
    return std::nullopt;
}

} // namespace overtake::fuzz
