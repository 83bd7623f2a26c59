// SPDX-License-Identifier: MIT
//
// Replays of recordings: every FC runs at the nanosecond at which it ran before.
#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "observe/record/recording.hpp"
#include "overtake/device.hpp"
#include "random_groups.hpp"
#include "random_scenario.hpp"
#include "simulator/event_source.hpp"
#include "simulator/recorder.hpp"

namespace overtake::record {
namespace {

using nlohmann::json;
using simulator::Recorder;

/// Times in ns from the first event on.
struct Timeline {
    using Fc = std::array<std::uint64_t, 6>;  ///< job, index, core, HIGH, start, end
    using Job = std::array<std::uint64_t, 6>; ///< core, arrival, start + 1, end, preemptions, cut
    std::vector<Fc> fcs;
    std::vector<Job> jobs;
};

Timeline timeline_of(const Recorder& recorder, std::uint64_t tick_ns, std::uint64_t origin) {
    Timeline timeline;
    const auto ns = [&](std::uint64_t time) { return time * tick_ns - origin; };
    for (const Recorder::Fc& fc : recorder.fcs())
        timeline.fcs.push_back({fc.job, fc.index, fc.core, fc.high, ns(fc.start), ns(fc.end)});
    for (const Recorder::Job& job : recorder.jobs())
        timeline.jobs.push_back({job.core, ns(job.arrival), job.start ? ns(*job.start) + 1 : 0,
                                 ns(job.end), job.preemptions, job.cancelled});
    return timeline;
}

struct Recorded {
    json recorded;
    Timeline timeline;
    std::uint64_t origin = 0;
    std::vector<std::string> notes;
};

/// Throws Error (ERANGE) for times that events cannot represent.
Recorded record_run(const simulator::Scenario& scenario) {
    Recording recording({.cores = scenario.cores,
                         .core_limits = scenario.core_limits,
                         .normal_floors = scenario.normal_floors,
                         .fair = scenario.fair,
                         .name = [&](std::uint64_t, std::uint32_t, std::uint64_t model) {
                             return scenario.classes[model - 1].name;
                         }});
    std::optional<std::uint64_t> origin;
    Recorder recorder(scenario);
    simulator::EventSource source(scenario, [&](const Event& event) {
        origin = origin.value_or(event.time_ns);
        recording.add(event);
    });
    const std::array<simulator::Observer*, 2> observers = {&recorder, &source};
    simulator::Simulator(scenario, scenario.seed, observers).run();
    std::ostringstream text;
    recording.write(text);
    return {json::parse(text.str()), timeline_of(recorder, scenario.tick_ns, *origin), *origin,
            recording.notes()};
}

Timeline replay(const json& recorded) {
    const simulator::Scenario scenario = simulator::parse_scenario(recorded, ".");
    Recorder recorder(scenario);
    const std::array<simulator::Observer*, 1> observers = {&recorder};
    simulator::Simulator(scenario, scenario.seed, observers).run();
    return timeline_of(recorder, scenario.tick_ns, 0);
}

TEST(Recording, TheDemosFiveSetUpsAndOtherBundledScenariosReplay) {
    std::size_t replayed = 0;
    std::size_t demos = 0;
    for (const auto& entry : std::filesystem::directory_iterator(OVERTAKE_SCENARIOS)) {
        const std::string name = entry.path().stem().string();
        if (entry.path().extension() != ".json" || name.starts_with("disb-"))
            continue;
        const auto scenario = simulator::parse_scenario(simulator::read_json(entry.path()),
                                                        entry.path().parent_path());
        const Recorded run = record_run(scenario);
        const Timeline again = replay(run.recorded);
        EXPECT_EQ(again.fcs, run.timeline.fcs) << name;
        EXPECT_EQ(again.jobs, run.timeline.jobs) << name;
        EXPECT_TRUE(run.notes.empty()) << name;
        EXPECT_GT(again.fcs.size(), 10u) << name;
        replayed++;
        demos += name.starts_with("demo-");
    }
    EXPECT_GE(replayed, 9u);
    EXPECT_GE(demos, 5u);
}

/// Returns whether a replay can differ. A fair device forgets a context when its last waiting FCs
/// are cancelled, but a recording has only the end of the job. And events do not show that
/// processes of service mode are one context of a fair device.
bool can_differ(const json& scenario) {
    return scenario.value("fair", false) &&
           (scenario.contains("cancels") || scenario.contains("deaths") ||
            scenario.value("service_mode", false));
}

TEST(Recording, RandomLoadsReplay) {
    std::size_t replayed = 0;
    std::size_t cancelled = 0;
    std::size_t with_limits = 0;
    for (std::uint64_t seed = 1; seed <= 400; seed++)
        for (int kind = 0; kind < 3; kind++) {
            json document = kind == 0   ? test::random_fc_scenario(seed)
                            : kind == 1 ? test::random_task_scenario(seed)
                                        : test::random_service_scenario(seed);
            test::put_random_limits(document, seed);
            if (can_differ(document))
                continue;
            std::optional<Recorded> run;
            try {
                run = record_run(simulator::parse_scenario(document, "."));
            } catch (const Error&) {
                continue; // no job at all, or times that are too large
            }
            const Timeline again = replay(run->recorded);
            ASSERT_EQ(again.fcs, run->timeline.fcs) << kind << " " << seed << " " << document;
            ASSERT_EQ(again.jobs, run->timeline.jobs) << kind << " " << seed << " " << document;
            replayed++;
            cancelled += run->recorded.contains("cancels");
            with_limits += run->recorded.contains("limits");
        }
    EXPECT_GT(replayed, 800u);
    EXPECT_GT(cancelled, 100u);
    EXPECT_GT(with_limits, 100u);
}

/// Events do not have the stages of FCs that never ran. So no group here was cancelled.
TEST(Recording, RandomGroupsReplay) {
    std::size_t replayed = 0;
    std::size_t groups = 0;
    for (std::uint64_t seed = 1; seed <= 400; seed++)
        for (const bool task_level : {false, true}) {
            json document = test::random_groups(seed, task_level);
            document.erase("cancels");
            document.erase("deaths");
            if (can_differ(document))
                continue;
            std::optional<Recorded> run;
            try {
                run = record_run(simulator::parse_scenario(document, "."));
            } catch (const Error&) {
                continue; // no job at all, or times that are too large
            }
            for (const json& job : run->recorded["jobs"])
                groups += job.contains("parts");
            const Timeline again = replay(run->recorded);
            ASSERT_EQ(again.fcs, run->timeline.fcs) << task_level << " " << seed << " " << document;
            ASSERT_EQ(again.jobs, run->timeline.jobs) << task_level << " " << seed << document;
            replayed++;
        }
    EXPECT_GT(replayed, 480u);
    EXPECT_GT(groups, 1200u);
}

/// Events that a test writes.
class Hand : public testing::Test {
protected:
    void add(EventType type, std::uint64_t time, std::uint64_t tag, std::uint32_t number = 0,
             std::int32_t status = 0, std::uint32_t priority = 0) {
        Event event;
        event.type = type;
        event.time_ns = time;
        event.client = 3;
        event.context = 1;
        event.tag = tag;
        event.core = 1;
        event.fc_index = number;
        event.fc_count = number;
        event.executed = number;
        event.status = status;
        event.priority = priority;
        recording.add(event);
    }
    void add_part(EventType type, std::uint64_t time, std::uint32_t part, std::uint32_t number,
                  std::uint32_t stage) {
        Event event;
        event.type = type;
        event.time_ns = time;
        event.client = 3;
        event.context = 1;
        event.tag = 1;
        event.core = static_cast<std::uint16_t>(part + 1);
        event.part = static_cast<std::uint16_t>(part);
        event.stage = stage;
        event.fc_index = event.fc_count = number;
        recording.add(event);
    }
    /// Submits job 1, whose part i is on core i + 1.
    void submit_group(const std::vector<std::uint32_t>& fcs) {
        recording = Recording(Options{.cores = 2});
        for (std::uint32_t part = 0; part < fcs.size(); part++)
            add_part(EventType::fc_submit, 0, part, fcs[part], 0);
    }
    void start_part(std::uint64_t time, std::uint32_t part, std::uint32_t index,
                    std::uint32_t stage) {
        add_part(EventType::fc_start, time, part, index, stage);
    }
    void end_part(std::uint64_t time, std::uint32_t part, std::uint32_t index,
                  std::uint32_t stage) {
        add_part(EventType::fc_done, time, part, index, stage);
    }
    void run_part(std::uint64_t from, std::uint64_t to, std::uint32_t part, std::uint32_t index,
                  std::uint32_t stage) {
        start_part(from, part, index, stage);
        end_part(to, part, index, stage);
    }
    void submit_high(std::uint64_t time) { add(EventType::fc_submit, time, 9, 1, 0, 255); }
    void whole_job(std::uint64_t time, std::uint64_t tag) {
        add(EventType::fc_submit, time, tag, 1);
        add(EventType::fc_start, time, tag);
        add(EventType::fc_done, time + 10, tag);
        add(EventType::job_done, time + 10, tag, 1);
    }
    std::string refusal() {
        try {
            recording.document();
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    }

    Recording recording{Options{}};
};

TEST_F(Hand, TimeBeginsWithTheRecording) {
    whole_job(1000, 7);
    const auto document = recording.document();
    EXPECT_EQ(document["jobs"][0]["at"], 0);
    EXPECT_EQ(document["jobs"][0]["fcs"], json({10}));
    EXPECT_EQ(document["jobs"][0]["class"], "client 3");
    EXPECT_EQ(document["time_unit"], "ns");
}

/// At one instant a core may choose before a HIGH job comes; a replay keeps this order.
TEST_F(Hand, WhoComesJustAfterAChoiceComesLater) {
    for (const bool is_first : {false, true}) {
        recording = Recording(Options{.core_limits = {1}});
        add(EventType::fc_submit, 0, 1, 2);
        add(EventType::fc_start, 0, 1, 0);
        add(EventType::fc_done, 100, 1, 0);
        if (is_first)
            submit_high(100);
        else
            add(EventType::fc_start, 100, 1, 1);
        const std::uint64_t start = is_first ? 100 : 200;
        if (!is_first) {
            submit_high(100);
            add(EventType::fc_done, 200, 1, 1);
            add(EventType::job_done, 200, 1, 2);
        }
        add(EventType::fc_start, start, 9, 0);
        add(EventType::fc_done, start + 50, 9, 0);
        add(EventType::job_done, start + 50, 9, 1);
        if (is_first) {
            add(EventType::fc_start, 150, 1, 1);
            add(EventType::fc_done, 250, 1, 1);
            add(EventType::job_done, 250, 1, 2);
        }
        const Timeline again = replay(json::parse(recording.document().dump()));
        ASSERT_EQ(again.fcs.size(), 3u);
        EXPECT_EQ(again.fcs[1][3], is_first ? 1u : 0u);
        EXPECT_EQ(again.fcs[1][4], 100u);
    }
}

/// A job that is cancelled at that instant is not cancelled before it comes.
TEST_F(Hand, WhoComesJustAfterAChoiceMayEndAtOnce) {
    add(EventType::fc_submit, 0, 1, 1);
    add(EventType::fc_start, 0, 1, 0);
    submit_high(0);
    add(EventType::job_done, 0, 9, 0, -ECANCELED);
    add(EventType::fc_done, 10, 1, 0);
    add(EventType::job_done, 10, 1, 1);
    const auto document = recording.document();
    EXPECT_EQ(document["jobs"][1]["at"], 1);
    EXPECT_EQ(document["cancels"][0]["at"], 1);
}

TEST_F(Hand, LostEventsAreRefused) {
    whole_job(0, 1);
    recording.lost(3);
    EXPECT_NE(refusal().find("3 events were lost"), std::string::npos) << refusal();
}

TEST_F(Hand, NothingIsRefused) {
    EXPECT_NE(refusal().find("no job reached a core"), std::string::npos) << refusal();
}

TEST_F(Hand, AJobThatMissesAnFcIsRefused) {
    add(EventType::fc_submit, 0, 1, 2);
    add(EventType::fc_start, 0, 1, 0);
    add(EventType::fc_done, 10, 1, 0);
    EXPECT_THROW(add(EventType::job_done, 20, 1, 2), Error);
}

TEST_F(Hand, AnFcThatStartsOutOfOrderIsRefused) {
    add(EventType::fc_submit, 0, 1, 2);
    EXPECT_THROW(add(EventType::fc_start, 0, 1, 1), Error);
}

/// Part 1 has no FC in stage 1, so that stage 2 opens at once for part 0 alone.
TEST_F(Hand, AGroupIsRecordedWithItsStages) {
    submit_group({3, 2});
    start_part(0, 0, 0, 0);
    start_part(0, 1, 0, 0);
    end_part(10, 0, 0, 0);
    end_part(20, 1, 0, 0);
    start_part(25, 0, 1, 1);
    end_part(55, 0, 1, 1);
    start_part(55, 0, 2, 2);
    start_part(60, 1, 1, 2);
    end_part(65, 0, 2, 2);
    end_part(75, 1, 1, 2);
    add(EventType::job_done, 75, 1, 5);
    const auto document = recording.document();
    EXPECT_EQ(document.value("sync", 0), 5);
    const auto& job = document["jobs"][0];
    EXPECT_FALSE(job.contains("fcs") || job.contains("core"));
    EXPECT_EQ(job["parts"][0], json({{"core", 1}, {"stages", {{10}, {30}, {10}}}}));
    EXPECT_EQ(job["parts"][1], json({{"core", 2}, {"stages", {{20}, json::array(), {15}}}}));
    const Timeline again = replay(json::parse(document.dump()));
    EXPECT_EQ(again.fcs.back(), (Timeline::Fc{0, 1, 2, 0, 60, 75}));
}

/// The FCs that never ran are one more stage, or stage 0 if no FC ran.
TEST_F(Hand, AGroupThatWasCancelledIsCutThere) {
    for (const bool one_ran : {false, true}) {
        recording = Recording(Options{.cores = 2});
        submit_group({1, 3});
        if (one_ran)
            run_part(0, 20, 1, 0, 0);
        add(EventType::job_done, 30, 1, one_ran, -ECANCELED);
        const auto document = recording.document();
        EXPECT_EQ(document["cancels"][0]["at"], 30);
        const auto& parts = document["jobs"][0]["parts"];
        EXPECT_EQ(parts[0]["stages"], one_ran ? json({json::array(), {1}}) : json({{1}}));
        EXPECT_EQ(parts[1]["stages"], one_ran ? json({{20}, {1, 1}}) : json({{1, 1, 1}}));
    }
}

TEST_F(Hand, PartsThatContradictTheGroupAreRefused) {
    const auto refused = [&](EventType type, std::uint32_t part, std::uint32_t stage) {
        recording = Recording(Options{.cores = 2});
        submit_group({2, 2});
        EXPECT_THROW(add_part(type, 0, part, 0, stage), Error);
    };
    refused(EventType::fc_start, 2, 0);
    refused(EventType::fc_start, 1, 4); // more stages than FCs
    refused(EventType::fc_done, 1, 0);
    refused(EventType::fc_submit, 3, 0);
    recording = Recording(Options{.cores = 2});
    submit_group({2, 2});
    run_part(0, 10, 0, 0, 1);
    EXPECT_THROW(add_part(EventType::fc_start, 10, 0, 1, 0), Error);
}

TEST_F(Hand, AnFcThatEndsWithoutAStartIsRefused) {
    add(EventType::fc_submit, 0, 1, 2);
    EXPECT_THROW(add(EventType::fc_done, 5, 1, 0), Error);
}

TEST_F(Hand, TimeThatRunsBackwardsIsRefused) {
    whole_job(100, 1);
    EXPECT_THROW(add(EventType::fc_submit, 50, 2, 1), Error);
}

TEST_F(Hand, WhatHadBegunBeforeIsLeftOutAndSaid) {
    add(EventType::fc_done, 5, 99);
    add(EventType::job_done, 5, 99, 1);
    add(EventType::fc_start, 6, 98);
    whole_job(10, 1);
    EXPECT_EQ(recording.document()["jobs"].size(), 1u);
    ASSERT_EQ(recording.notes().size(), 1u);
    EXPECT_EQ(recording.notes()[0].find("2 jobs had begun before"), 0u) << recording.notes()[0];
}

TEST_F(Hand, WhatHasNotEndedIsCutAtTheEndAndSaid) {
    add(EventType::fc_submit, 0, 1, 3);
    add(EventType::fc_start, 0, 1, 0);
    add(EventType::fc_done, 10, 1, 0);
    add(EventType::fc_start, 10, 1, 1);
    add(EventType::fc_submit, 15, 2, 1);
    const auto document = recording.document();
    EXPECT_EQ(document["jobs"][0]["fcs"], json({10, 5, 1}));
    EXPECT_EQ(document["cancels"].size(), 2u);
    EXPECT_EQ(document["cancels"][0]["at"], 15);
    ASSERT_EQ(recording.notes().size(), 1u);
    EXPECT_EQ(recording.notes()[0].find("2 jobs had not ended"), 0u) << recording.notes()[0];
    const Timeline again = replay(json::parse(document.dump()));
    EXPECT_EQ(again.fcs, (std::vector<Timeline::Fc>{{0, 0, 1, 0, 0, 10}, {0, 1, 1, 0, 10, 15}}));
}

} // namespace
} // namespace overtake::record
