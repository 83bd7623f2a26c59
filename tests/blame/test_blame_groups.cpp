// SPDX-License-Identifier: MIT
//
// Tests tools/observe/blame on hand-written events of groups, jobs with parts on several cores.
#include <array>
#include <random>
#include <utility>

#include <gtest/gtest.h>

#include "told.hpp"

namespace overtake::blame {
namespace {

/// Adds an event of part `part` of job (client 1, tag 1) on core `part` + 1.
void tell_part(Told& told, EventType type, std::uint64_t time, unsigned part, std::uint32_t index,
               std::uint32_t stage) {
    told.add(type, time, 1, 1, [&](Event& event) {
        event.core = static_cast<std::uint16_t>(part + 1);
        event.part = static_cast<std::uint16_t>(part);
        event.stage = stage;
        event.fc_index = index;
        event.fc_count = 2;
        event.high = true;
    });
}

/// Adds the events of two parts with an FC in each of two stages; core 2 runs a NORMAL job
/// until 30.
void tell_group(Told& told) {
    told.queue(0, 2, 1, 2);
    told.add(EventType::fc_start, 0, 2, 1, [](Event& event) { event.core = 2; });
    told.add(EventType::job_queue, 10, 1, 1, [](Event& event) { event.fc_count = 4; });
    tell_part(told, EventType::fc_submit, 10, 0, 0, 0);
    tell_part(told, EventType::fc_submit, 10, 1, 0, 0);
    tell_part(told, EventType::fc_start, 10, 0, 0, 0);
    tell_part(told, EventType::fc_done, 20, 0, 0, 0);
    told.add(EventType::fc_done, 30, 2, 1, [](Event& event) { event.core = 2; });
    tell_part(told, EventType::fc_start, 30, 1, 0, 0);
    tell_part(told, EventType::fc_done, 50, 1, 0, 0);
    tell_part(told, EventType::fc_start, 55, 0, 1, 1);
    tell_part(told, EventType::fc_start, 55, 1, 1, 1);
    tell_part(told, EventType::fc_done, 60, 1, 1, 1);
    tell_part(told, EventType::fc_done, 95, 0, 1, 1);
    told.done(95, 1, 1);
}

/// In stage 0 the second part is critical, in stage 1 the first.
TEST(Blame, TheCriticalPartOfEachStageOfAGroupCounts) {
    Told told;
    tell_group(told);
    ASSERT_EQ(told.reports.size(), 1u);
    EXPECT_EQ(told.causes(0),
              (Causes{{Cause::behind_normal, 20}, {Cause::running, 20 + 40}, {Cause::stages, 5}}));
    EXPECT_EQ(told.reports[0].parts[0].by.client, 2u);
}

/// Only the host delays the second of two FCs of one stage.
TEST(Blame, WithinAStageTheHostIsLate) {
    Told told;
    told.add(EventType::job_queue, 0, 1, 1, [](Event& event) { event.fc_count = 5; });
    tell_part(told, EventType::fc_submit, 0, 0, 0, 0);
    tell_part(told, EventType::fc_submit, 0, 1, 0, 0);
    tell_part(told, EventType::fc_start, 3, 0, 0, 0);
    tell_part(told, EventType::fc_done, 10, 0, 0, 0);
    tell_part(told, EventType::fc_start, 14, 1, 0, 1);
    tell_part(told, EventType::fc_done, 20, 1, 0, 1);
    tell_part(told, EventType::fc_start, 25, 1, 1, 1);
    tell_part(told, EventType::fc_done, 30, 1, 1, 1);
    told.done(31, 1, 1);
    EXPECT_EQ(told.causes(0),
              (Causes{{Cause::host, 3 + 5}, {Cause::stages, 4 + 1}, {Cause::running, 7 + 6 + 5}}));
}

/// Core 1 runs no FC from 20 to 55, and the group holds it.
TEST(Blame, AHighGroupBetweenItsStagesHoldsItsCores) {
    Told told;
    const auto on_core_1 = [](Event& event) { event.fc_count = 1; };
    told.add(EventType::job_queue, 0, 3, 9, on_core_1);
    told.add(EventType::fc_submit, 0, 3, 9, on_core_1);
    tell_group(told);
    told.add(EventType::fc_start, 95, 3, 9);
    told.add(EventType::fc_done, 100, 3, 9);
    told.done(100, 3, 9);
    EXPECT_EQ(told.causes(1), (Causes{{Cause::host, 10},
                                      {Cause::behind_high, 10 + 40},
                                      {Cause::held, 35},
                                      {Cause::running, 5}}));
    for (const Part& part : told.reports[1].parts)
        if (part.cause == Cause::held) {
            EXPECT_EQ(part.by.client, 1u);
        }
}

/// Reports add up if any events of a group are missing.
TEST(Blame, EventsOfAGroupMayBeMissing) {
    std::mt19937 random(7);
    for (int round = 0; round < 3000; round++) {
        Told told;
        std::uint64_t time = 0;
        bool lost = false;
        for (int i = 0; i < 30; i++) {
            time += random() % 3;
            const auto type =
                std::array{EventType::job_queue, EventType::fc_submit, EventType::fc_start,
                           EventType::fc_done, EventType::job_done}[random() % 5];
            if (!std::exchange(lost, true))
                told.add(EventType::job_queue, time, 1, 1);
            told.blame.lost();
            tell_part(told, type, time, random() % 4, random() % 3, random() % 3);
        }
        for (const Report& report : told.reports) {
            std::uint64_t sum = 0;
            for (const Part& part : report.parts)
                sum += part.ns;
            EXPECT_EQ(sum, report.latency_ns());
        }
    }
}

} // namespace
} // namespace overtake::blame
