// SPDX-License-Identifier: MIT
#include "scheduler/case.hpp"

#include <algorithm>
#include <array>

#include "simulator/random.hpp"

namespace overtake::fuzz {
namespace {

using simulator::Random;

/// Jobs longer than a ring has entries, so that rings are full.
constexpr std::uint32_t long_job = OVT_RING_ENTRIES + 30;

template <class List>
auto pick(Random& random, const List& list) {
    return list[random.below(std::size(list))];
}

class Draw {
public:
    Draw(std::uint64_t seed, unsigned commands)
        : random_(seed), service_random_(~seed), commands_(commands) {}

    Case draw() {
        case_.task_level = random_.one_in(2);
        device();
        if (case_.task_level)
            scheduler();
        const std::uint64_t models = random_.between(2, 5);
        for (std::uint64_t i = 0; i < models; i++)
            case_.models.push_back(model());
        if (case_.task_level)
            service();
        faults();
        for (unsigned i = 0; i < commands_; i++)
            case_.commands.push_back(command());
        return std::move(case_);
    }

private:
    void device() {
        case_.mode = random_.one_in(4) ? OVT_MODE_FUNCTIONAL
                                       : (random_.one_in(4) ? OVT_MODE_BOTH : OVT_MODE_TIMED);
        // Now and then there are as many cores as possible: sets of cores are bits of one word.
        case_.core_limits.resize(random_.one_in(16)
                                     ? pick(random_, std::array{8, 31, 32, 33, 63, 64, 64})
                                     : pick(random_, std::array{1, 1, 1, 2, 2, 3, 4}));
        for (std::uint32_t& limit : case_.core_limits)
            limit = pick(random_, std::array{0u, 1u, 1u, 2u, 3u, 8u});
        case_.fair = random_.one_in(3);
        case_.watchdog = random_.between(30, 200);
        case_.command_count = pick(random_, std::array{16u, 64u, 256u});
        if (case_.task_level && !random_.one_in(8))
            case_.command_count = 1024; // a full queue fails tasks
        case_.event_count = pick(random_, std::array{16u, 32u, 256u});
        case_.processes = static_cast<std::uint32_t>(random_.between(1, 3));
    }

    void scheduler() {
        ovt_sched_settings& of = case_.settings;
        of.policy = ovt_sched_policy_at(pick(random_, std::array{0u, 0u, 0u, 0u, 0u, 1u, 2u, 3u}));
        case_.service_mode = random_.one_in(3);
        of.slots = pick(random_, std::array{1u, 1u, 1u, 2u, 3u});
        of.task_limit = pick(random_, std::array{1u, 2u, 3u, 8u, 8u, 8u});
        of.workers = pick(random_, std::array{1u, 2u, 4u});
        of.threshold_percent = pick(random_, std::array{0u, 10u, 50u, 100u, 100u, 200u});
        of.insert_max_time = random_.one_in(3) ? random_.between(1, 30) : 0;
        of.wait_dispatch_time = random_.one_in(3) ? random_.between(1, 30) : 1000;
    }

    /// Draws the settings of a host that shares its scheduler between processes.
    void service() {
        ovt_sched_settings& of = case_.settings;
        Random& random = service_random_;
        of.share = random.one_in(2);
        if (random.one_in(2)) {
            of.overdue_min_time = random.between(1, 40);
            of.overdue_factor = random.below(3);
        }
        for (Model& model : case_.models)
            for (Segment& segment : model.segments)
                if (segment.fcs.empty() && random.one_in(3))
                    segment.estimate = random.between(1, 40);
    }

    std::uint32_t duration() { return static_cast<std::uint32_t>(random_.between(1, 12)); }

    Fc fc() {
        if (random_.one_in(60))
            return {FcKind::bad_instruction, 1};
        if (random_.one_in(150))
            return {FcKind::stuck, 1};
        return {FcKind::good, duration()};
    }

    Segment bpu(std::uint64_t fcs) {
        Segment segment{{}, 0};
        for (std::uint64_t i = 0; i < fcs; i++)
            segment.fcs.push_back(fc());
        return segment;
    }

    Model model() {
        if (random_.one_in(20))
            return {{bpu(random_.between(OVT_RING_ENTRIES, long_job))}};
        if (!case_.task_level)
            return {{bpu(random_.between(1, 6))}};
        Model model;
        const std::uint64_t segments = random_.between(1, 4);
        for (std::uint64_t i = 0; i < segments; i++) {
            if (random_.one_in(2))
                model.segments.push_back(bpu(random_.between(1, 3)));
            else
                model.segments.push_back({{}, random_.between(1, 20)});
        }
        return model;
    }

    void faults() {
        case_.faults.seed = random_.next();
        if (random_.one_in(3))
            return; // the host is always in time, so many events coincide
        case_.faults.latency_max = pick(random_, std::array{0u, 1u, 3u, 10u, 50u});
        case_.faults.lost_percent = pick(random_, std::array{0u, 0u, 5u, 30u});
        case_.faults.duplicate_percent = pick(random_, std::array{0u, 0u, 5u, 30u});
    }

    std::uint64_t gap() {
        if (random_.one_in(100))
            return random_.between(200, 5000); // a jump of the clock
        return random_.one_in(2) ? 0 : random_.between(1, 15);
    }

    std::uint32_t any_core() {
        return static_cast<std::uint32_t>(random_.between(1, case_.cores()));
    }

    Command submit(Command command) {
        command.type = CommandType::submit;
        command.model = static_cast<std::uint32_t>(random_.below(case_.models.size()));
        command.priority =
            random_.one_in(3) ? 255 : pick(random_, std::array{0u, 5u, 5u, 31u, 32u, 95u, 254u});
        command.custom_id = pick(random_, std::array{-1, 0, 0, 7});
        command.slo = case_.task_level && random_.one_in(2) ? random_.between(1, 60) : 0;
        command.core = random_.one_in(2) ? 0 : any_core();
        command.process = static_cast<std::uint32_t>(random_.below(case_.processes));
        submits_++;
        return command;
    }

    Command command() {
        Command command;
        command.after = gap();
        if (held_ && random_.one_in(5)) {
            command.type = CommandType::release;
            held_ = false;
            return command;
        }
        const std::uint64_t kind = random_.below(100);
        if (kind < 65 || submits_ == 0)
            return submit(command);
        if (kind < 85) {
            command.type = CommandType::cancel;
            // Mostly a submit whose job may still exist.
            const std::uint64_t back = random_.below(random_.one_in(4) ? submits_ : 8);
            command.target =
                static_cast<std::uint32_t>(submits_ - 1 - std::min(back, submits_ - 1));
        } else if (kind < 87) {
            command.type = CommandType::kill;
            command.process = static_cast<std::uint32_t>(random_.below(case_.processes));
        } else if (kind < 90) {
            command.type = CommandType::reset;
            command.core = any_core();
        } else if (kind < 92) {
            command.type = CommandType::limit;
            command.core = any_core();
            command.value = pick(random_, std::array{0u, 1u, 2u, 5u});
        } else if (kind < 94) {
            command.type = CommandType::floor;
            command.core = any_core();
            command.value = pick(random_, std::array{0u, 1u, 1u, 2u, 4u});
        } else if (kind < 95) {
            command.type = CommandType::hold;
            held_ = true;
        }
        return command;
    }

    Random random_;
    Random service_random_;
    unsigned commands_;
    Case case_;
    std::uint64_t submits_ = 0;
    bool held_ = false;
};

} // namespace

ovt_sched_settings without_times() {
    ovt_sched_settings settings;
    ovt_sched_settings_init(&settings, false);
    for (u32 i = 0; const ovt_setting* setting = ovt_setting_at(i); i++)
        if (setting->unit == OVT_UNIT_TIME || setting->unit == OVT_UNIT_FACTOR)
            ovt_setting_set(setting, &settings, 0);
    return settings;
}

Case draw(std::uint64_t seed, unsigned commands) {
    return Draw(seed, commands).draw();
}

} // namespace overtake::fuzz
