// SPDX-License-Identifier: MIT
//
// Conformance: jobs that are recorded once and replayed.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "backends.hpp"
#include "programs.hpp"

namespace overtake::test {
namespace {

constexpr std::uint32_t read_write = OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE;

/// FC 0 copies 512 bytes from region OVERTAKE_REGION_IO to the next one; then there are a wait, an
/// endless loop and a fault.
class RecordingsTest : public testing::TestWithParam<Backend> {
protected:
    enum Kind : std::uint32_t { copies, waits, loops, faults };

    void SetUp() override {
        EmbeddedOptions options;
        device = open_backend(GetParam(), {.manual_clock = false, .embedded = options});
        if (!device)
            return;
        queue = device->create_queue();
        overtake_insn bad{};
        bad.opcode = 999;
        program = std::make_unique<Program>(
            *device, std::vector{copy_insn(64), delay_insn(1000), jump_insn(2), bad});
        for (auto& each : memory)
            each = device->create_buffer(4096);
    }

    Job recorded(std::uint32_t first, std::uint32_t count = 1) {
        fcs.clear();
        for (std::uint32_t i = 0; i < count; i++)
            fcs.push_back({first + i, 1});
        Job job = program->job(0);
        job.fcs = fcs;
        return job;
    }
    std::uint32_t record(std::uint32_t first, unsigned instances) {
        return queue->record(recorded(first), instances);
    }
    std::vector<overtake_binding> bindings(unsigned from = 0, unsigned to = 1) {
        return {{memory[from]->address(), 4096, OVERTAKE_REGION_IO, OVERTAKE_MAP_READ},
                {memory[to]->address(), 4096, OVERTAKE_REGION_IO + 1, read_write}};
    }
    Replay replay_of(std::uint32_t recording, std::uint64_t tag,
                     std::span<const overtake_binding> with) {
        Replay replay;
        replay.recording = recording;
        replay.tag = tag;
        replay.bindings = with;
        return replay;
    }
    Completion run(const Replay& replay) {
        queue->replay({&replay, 1});
        const std::vector<Completion> ended = reap_all(*queue, 1);
        return ended.empty() ? Completion{} : ended.front();
    }
    void expect_refused(const std::function<void()>& call, int code, const std::string& text) {
        try {
            call();
            ADD_FAILURE() << "accepted: " << text;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), code) << error.what();
            EXPECT_TRUE(std::string(error.what()).ends_with(text)) << error.what();
        }
        EXPECT_EQ(queue->in_flight(), 0u);
    }

    std::shared_ptr<Device> device;
    std::unique_ptr<Queue> queue;
    std::unique_ptr<Program> program;
    std::unique_ptr<Buffer> memory[4];
    std::vector<overtake_fc> fcs;
};

TEST_P(RecordingsTest, AReplayIsAJobWithItsOwnBuffers) {
    SKIP_WITHOUT(device);
    EXPECT_TRUE(device->records());
    const std::uint32_t recording = record(copies, 2);
    fcs.assign(fcs.size(), {3, 1}); // the recording has read them
    for (unsigned i = 0; i < 3; i++) {
        std::memset(memory[i]->data(), static_cast<int>(i) + 1, 512);
        const auto with = bindings(i, i + 1);
        const Completion completion = run(replay_of(recording, 70 + i, with));
        EXPECT_EQ(completion.status, 0);
        EXPECT_EQ(completion.tag, 70u + i);
        EXPECT_EQ(completion.fcs_done, 1u);
        EXPECT_EQ(std::memcmp(memory[i]->data(), memory[i + 1]->data(), 512), 0);
        EXPECT_LE(completion.queued_ns, completion.start_ns);
        EXPECT_GE(completion.core, 1u);
    }
}

TEST_P(RecordingsTest, AnInstanceIsIdleWhenItsEndIsKnown) {
    SKIP_WITHOUT(device);
    const std::uint32_t one = record(copies, 1);
    const std::uint32_t many = record(copies, 8);
    const auto with = bindings();
    for (std::uint64_t round = 0; round < 5000; round++)
        ASSERT_EQ(run(replay_of(one, round, with)).status, 0);
    for (std::uint64_t round = 0; round < 500; round++) {
        std::vector<Replay> all;
        for (std::uint64_t i = 0; i < 8; i++)
            all.push_back(replay_of(many, 8 * round + i, with));
        queue->replay(all);
        for (const Completion& completion : reap_all(*queue, 8))
            ASSERT_EQ(completion.status, 0);
    }
}

TEST_P(RecordingsTest, AllInstancesInFlightIsBusy) {
    SKIP_WITHOUT(device);
    const std::uint32_t recording = record(loops, 2);
    const auto with = bindings();
    const std::vector<Replay> all{replay_of(recording, 1, with), replay_of(recording, 2, with),
                                  replay_of(recording, 3, with)};
    try {
        queue->replay(all);
        ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), EBUSY);
        EXPECT_TRUE(std::string(error.what())
                        .ends_with("job 3: all instances of recording " +
                                   std::to_string(recording) + " are in flight: reap first"))
            << error.what();
    }
    EXPECT_EQ(queue->in_flight(), 2u);
    EXPECT_TRUE(queue->cancel(1));
    const std::vector<Completion> ended = reap_all(*queue, 1);
    ASSERT_EQ(ended.size(), 1u);
    EXPECT_EQ(ended[0].status, -ECANCELED);
    queue->replay({&all[2], 1});
    EXPECT_TRUE(queue->cancel(2));
    EXPECT_TRUE(queue->cancel(3));
    reap_all(*queue, 2);
}

TEST_P(RecordingsTest, ScratchIsZeroedOnceAndTheRecordingsOwn) {
    SKIP_WITHOUT(device);
    overtake_insn save = copy_insn(64);
    save.in[0].region = OVERTAKE_REGION_SCRATCH;
    overtake_insn spoil = copy_insn(64);
    spoil.out.region = OVERTAKE_REGION_SCRATCH;
    const Program scratch(*device, {save, spoil});
    Job job = scratch.job(0);
    job.scratch_bytes = 512;
    const std::uint32_t recordings[] = {queue->record(job, 1), queue->record(job, 1)};
    const auto with = bindings();
    for (unsigned round = 0; round < 3; round++)
        for (unsigned i = 0; i < 2; i++) {
            std::memset(memory[0]->data(), static_cast<int>(10 * round + i + 1), 512);
            ASSERT_EQ(run(replay_of(recordings[i], 1, with)).status, 0);
            const auto left =
                round == 0 ? std::byte{0} : static_cast<std::byte>(10 * (round - 1) + i + 1);
            EXPECT_TRUE(std::all_of(memory[1]->data(), memory[1]->data() + 512,
                                    [&](std::byte b) { return b == left; }));
        }
}

TEST_P(RecordingsTest, AReplayHasNoBindingsOfAnEarlierReplay) {
    SKIP_WITHOUT(device);
    const std::uint32_t recording = record(copies, 1);
    const auto with = bindings();
    std::memset(memory[0]->data(), 5, 512);
    EXPECT_EQ(run(replay_of(recording, 1, with)).status, 0);
    std::memset(memory[0]->data(), 6, 512);
    const Completion completion = run(replay_of(recording, 2, std::span(with).first(1)));
    EXPECT_EQ(completion.status, -ENOEXEC);
    EXPECT_EQ(memory[1]->data()[0], std::byte{5});
    EXPECT_EQ(run(replay_of(recording, 3, with)).status, 0);
    EXPECT_EQ(memory[1]->data()[0], std::byte{6});
}

TEST_P(RecordingsTest, OnlyReplaysInFlightKeepADestroyedBuffer) {
    SKIP_WITHOUT(device);
    auto spare = std::make_unique<Program>(*device, std::vector{copy_insn(64), jump_insn(1)});
    spare->fcs = {{0, 1}};
    const std::uint32_t recording = queue->record(spare->job(0), 1);
    spare->fcs = {{1, 1}};
    const std::uint32_t endless = queue->record(spare->job(0), 1);
    spare.reset(); // the recordings keep the program
    auto gone = device->create_buffer(4096);
    auto with = bindings();
    with[1].address = gone->address();
    const Replay in_flight = replay_of(endless, 9, with);
    queue->replay({&in_flight, 1});
    gone.reset();
    EXPECT_TRUE(queue->cancel(9));
    EXPECT_EQ(reap_all(*queue, 1)[0].status, -ECANCELED);
    const Replay replay = replay_of(recording, 1, with);
    EXPECT_THROW(queue->replay({&replay, 1}), Error);
    with = bindings();
    EXPECT_EQ(run(replay_of(recording, 1, with)).status, 0);
}

TEST_P(RecordingsTest, ABadRecordingIsRefused) {
    SKIP_WITHOUT(device);
    const auto refuse = [&](const std::function<void(Job&)>& spoil, unsigned instances, int code,
                            const std::string& text) {
        Job job = recorded(copies);
        spoil(job);
        expect_refused([&] { queue->record(job, instances); }, code, "recording: " + text);
    };
    const auto as_it_is = [](Job&) {};
    refuse(as_it_is, 0, EINVAL, "no instance");
    refuse(as_it_is, 65, E2BIG,
           "65 instances; the limit is 64 instances of a recording: record the job twice");
    refuse([](Job& job) { job.fcs = {}; }, 1, EINVAL, "job 0: no FC");
    refuse([](Job& job) { job.bindings = {}; }, 1, EINVAL, "job 0: no binding");
    const overtake_fc empty{0, 0};
    refuse([&](Job& job) { job.fcs = {&empty, 1}; }, 1, EINVAL, "job 0: fcs[0].insn_count is 0");
    const overtake_binding nowhere{8, 4096, OVERTAKE_REGION_PROGRAM, OVERTAKE_MAP_READ};
    refuse(
        [&](Job& job) {
            job.bindings = {&nowhere, 1};
        },
        1, ENOENT, "job 0: bindings[0]: no buffer holds 4096 bytes at device address 0x8");
    // Fields that a replay sets are ignored.
    Job job = recorded(copies);
    job.priority = 1000;
    job.core = 77;
    job.group_record = 4;
    const auto with = bindings();
    EXPECT_EQ(run(replay_of(queue->record(job, 1), 1, with)).status, 0);
}

TEST_P(RecordingsTest, ABadReplayIsRefusedAndCostsNoInstance) {
    SKIP_WITHOUT(device);
    const std::uint32_t recording = record(copies, 1);
    const std::string number = std::to_string(recording);
    const unsigned cores = device->info().core_count;
    const auto refuse =
        [&](const std::function<void(Replay&, std::vector<overtake_binding>&)>& spoil, int code,
            const std::string& text) {
            auto with = bindings();
            Replay replay = replay_of(recording, 3, with);
            spoil(replay, with);
            replay.bindings = with;
            expect_refused([&] { queue->replay({&replay, 1}); }, code, "job 3: " + text);
        };
    refuse([](Replay& replay, auto&) { replay.recording += 1000; }, ENOENT,
           "its queue has no recording " + std::to_string(recording + 1000));
    refuse([](Replay& replay, auto&) { replay.recording = 0; }, ENOENT,
           "its queue has no recording 0");
    refuse([](Replay& replay, auto&) { replay.priority = 255; }, EPERM,
           "priority 255, but its queue was created for at most 254");
    refuse([](Replay& replay, auto&) { replay.priority = 300; }, EINVAL,
           "priority 300, at most 255");
    refuse([&](Replay& replay, auto&) { replay.core = cores + 1; }, EINVAL,
           "core " + std::to_string(cores + 1) + ", but the device has " + std::to_string(cores));
    refuse([](Replay& replay, auto&) { replay.deadline_ns = -1; }, EINVAL,
           "deadline_ns is negative");
    refuse([](auto&, auto& with) { with[1].region = OVERTAKE_REGION_PROGRAM; }, EINVAL,
           "bindings[1].region is 0, which a binding before it has");
    refuse([](auto&, auto& with) { with[1].region = OVERTAKE_REGION_IO; }, EINVAL,
           "bindings[1].region is 3, which a binding before it has");
    refuse([](auto&, auto& with) { with[0].address = 8; }, ENOENT,
           "bindings[0]: no buffer holds 4096 bytes at device address 0x8");
    refuse([](auto&, auto& with) { with[0].length = 5000; }, ENOENT,
           "bindings[0]: no buffer holds 5000 bytes at device address " +
               [&] {
                   char text[32];
                   std::snprintf(text, sizeof(text), "%#llx",
                                 static_cast<unsigned long long>(memory[0]->address()));
                   return std::string(text);
               }());
    refuse([](auto&, auto& with) { with.assign(16, with[0]); }, E2BIG,
           "16 bindings; the limit is 15 bindings of a job: put tensors into fewer regions");
    refuse(
        [](Replay& replay, auto&) {
            replay.core = 1;
            replay.cores = 1;
        },
        EINVAL, "core 1 and a choice of cores: leave core 0");
    const unsigned part_cores[] = {1, 2};
    refuse([&](Replay& replay, auto&) { replay.part_cores = part_cores; }, EINVAL,
           "2 part_cores, but recording " + number + " has 0 parts");
    auto with = bindings();
    EXPECT_EQ(run(replay_of(recording, 3, with)).status, 0);
}

TEST_P(RecordingsTest, ATagIsUsedOnceAtATime) {
    SKIP_WITHOUT(device);
    const std::uint32_t recording = record(loops, 2);
    const auto with = bindings();
    const Replay replay = replay_of(recording, 5, with);
    queue->replay({&replay, 1});
    Job job = program->job(5);
    EXPECT_THROW(queue->submit({&job, 1}), Error);
    EXPECT_THROW(queue->replay({&replay, 1}), Error);
    EXPECT_EQ(queue->in_flight(), 1u);
    EXPECT_TRUE(queue->cancel(5));
    reap_all(*queue, 1);
    // The refused replay did not keep its instance.
    const std::vector<Replay> both{replay_of(recording, 6, with), replay_of(recording, 7, with)};
    queue->replay(both);
    EXPECT_TRUE(queue->cancel(6));
    EXPECT_TRUE(queue->cancel(7));
    reap_all(*queue, 2);
}

TEST_P(RecordingsTest, AReplayOfAForgottenRecordingGoesOnToItsEnd) {
    SKIP_WITHOUT(device);
    const std::uint32_t recording = record(loops, 1);
    const auto with = bindings();
    const Replay replay = replay_of(recording, 5, with);
    queue->replay({&replay, 1});
    queue->forget(recording);
    EXPECT_THROW(queue->forget(recording), Error);
    EXPECT_TRUE(queue->cancel(5));
    EXPECT_EQ(reap_all(*queue, 1)[0].status, -ECANCELED);
    EXPECT_THROW(queue->replay({&replay, 1}), Error);
    // A queue may be closed with replays in flight and recordings.
    const Replay other = replay_of(record(loops, 3), 6, with);
    queue->replay({&other, 1});
    queue.reset();
}

TEST_P(RecordingsTest, AQueueHas1024Recordings) {
    SKIP_WITHOUT(device);
    std::uint32_t last = 0;
    for (unsigned i = 0; i < OVERTAKE_MAX_RECORDINGS; i++)
        last = record(copies, 1);
    EXPECT_THROW(record(copies, 1), Error);
    queue->forget(last);
    const auto with = bindings();
    EXPECT_EQ(run(replay_of(record(copies, 1), 1, with)).status, 0);
}

TEST_P(RecordingsTest, AFaultAndADeadlineEndAReplayAsAJob) {
    SKIP_WITHOUT(device);
    const auto with = bindings();
    const std::uint32_t bad = record(faults, 1);
    for (unsigned i = 0; i < 2; i++) {
        const Completion completion = run(replay_of(bad, i, with));
        EXPECT_EQ(completion.status, -ENOEXEC);
        EXPECT_EQ(completion.fault, static_cast<unsigned>(OVERTAKE_FAULT_OPCODE));
    }
    Replay late = replay_of(record(loops, 1), 1, with);
    late.deadline_ns = in_ms(20);
    EXPECT_EQ(run(late).status, -ETIME);
}

TEST_P(RecordingsTest, AGroupIsRecorded) {
    SKIP_WITHOUT(device);
    if (device->info().core_count < 2)
        GTEST_SKIP() << "SKIPPED: needs a device of 2 cores";
    const overtake_fc two[] = {{copies, 1}, {waits, 1}};
    const std::vector<overtake_part> parts{{1, 0}, {1, 0}};
    const std::vector<std::uint32_t> stages{0, 1};
    Job job = program->job(0);
    job.fcs = two;
    job.parts = parts;
    job.stages = stages;
    const std::uint32_t recording = queue->record(job, 1);
    const auto with = bindings();
    for (unsigned i = 0; i < 3; i++) {
        const unsigned cores[] = {i == 1 ? 2u : 1u, i == 1 ? 1u : 2u};
        Replay replay = replay_of(recording, i, with);
        replay.part_cores = cores;
        replay.group_record = memory[2]->address();
        std::memset(memory[0]->data(), static_cast<int>(i) + 1, 512);
        const Completion completion = run(replay);
        EXPECT_EQ(completion.status, 0);
        EXPECT_EQ(completion.fcs_done, 2u);
        EXPECT_EQ(completion.core, cores[0]);
        EXPECT_EQ(std::memcmp(memory[0]->data(), memory[1]->data(), 512), 0);
        overtake_group_record head;
        overtake_part_record each[2];
        std::memcpy(&head, memory[2]->data(), sizeof(head));
        std::memcpy(each, memory[2]->data() + sizeof(head), sizeof(each));
        EXPECT_EQ(head.part_count, 2u);
        EXPECT_EQ(each[0].core, cores[0]);
        EXPECT_EQ(each[1].core, cores[1]);
        EXPECT_EQ(each[1].fcs_done, 1u);
    }
    Replay replay = replay_of(recording, 9, with);
    EXPECT_EQ(run(replay).status, 0); // on any core, without a record
    replay.core = 1;
    expect_refused(
        [&] {
            queue->replay({&replay, 1});
        },
        EINVAL,
        "job 9: a job with parts names no core: leave core and cores 0, and set those "
        "of the parts");
    replay.core = core_any;
    const unsigned same[] = {1, 1};
    replay.part_cores = same;
    expect_refused(
        [&] {
            queue->replay({&replay, 1});
        },
        EINVAL, "job 9: parts[1].core is 1, which a part before it has");
}

/// The core of a replay is reported like that of a job.
TEST_P(RecordingsTest, AChoiceOfCoresIsAnswered) {
    SKIP_WITHOUT(device);
    const std::uint32_t recording = record(copies, 1);
    const auto with = bindings();
    for (unsigned core = 1; core <= device->info().core_count; core++) {
        Replay replay = replay_of(recording, core, with);
        unsigned chosen = 0;
        replay.cores = std::uint64_t{1} << (core - 1);
        replay.chosen_core = &chosen;
        EXPECT_EQ(run(replay).core, core);
        EXPECT_EQ(chosen, core);
    }
}

INSTANTIATE_TEST_SUITE_P(Conformance, RecordingsTest,
                         testing::ValuesIn(all_computing_backends_and_modes()), backend_name);

/// Random jobs of all priorities, some cancelled and some that fault, in device time.
class RecordedTimeTest : public testing::TestWithParam<Backend> {
protected:
    struct Kind {
        Program program;
        std::uint32_t scratch_bytes;
    };
    struct Run {
        std::vector<Completion> ended;
        std::vector<FcRecord> fcs;
    };

    static std::size_t count() {
        const char* const asked = std::getenv("OVERTAKE_RECORDED_JOBS");
        return asked ? std::strtoull(asked, nullptr, 10) : 600;
    }

    Run run(bool recorded) {
        Run result;
        EmbeddedOptions options;
        options.cores = 2;
        options.mode = OVERTAKE_MODE_TIMED;
        options.profile = "ideal";
        options.manual_clock = true;
        options.core_limit = 2;
        options.on_fc = [](void* context, const FcRecord& record) {
            static_cast<Run*>(context)->fcs.push_back(record);
        };
        options.on_fc_context = &result;
        const auto device = open_backend(GetParam(), {.manual_clock = true, .embedded = options});
        if (!device)
            return result;
        ManualClock& clock = *device->manual_clock();
        auto queue = device->create_queue({.max_priority = priority_high});
        std::vector<Kind> kinds;
        std::mt19937 random(38);
        overtake_insn bad{};
        bad.opcode = 999;
        for (unsigned i = 0; i < 12; i++) {
            std::vector<overtake_insn> insns;
            for (unsigned k = random() % 6 + 1; k != 0; k--)
                insns.push_back(i % 5 == 4 && k == 1 && is_made_here(GetParam())
                                    ? bad // a driver bans clients with many of these
                                    : delay_insn(random() % 5'000 + 1));
            Program program(*device, insns);
            program.fcs.clear();
            for (std::uint32_t k = 0; k < insns.size(); k++)
                program.fcs.push_back({k, 1});
            kinds.push_back({std::move(program), i % 3 == 0 ? 4096u : 0u});
        }
        std::vector<std::uint32_t> recordings;
        for (const Kind& kind : kinds) {
            Job job = kind.program.job(0);
            job.scratch_bytes = kind.scratch_bytes;
            if (recorded)
                recordings.push_back(queue->record(job, 64));
        }
        const std::uint64_t begin = clock.now_ns();
        std::uint64_t now = begin;
        const auto collect = [&] {
            std::vector<Completion> some(64);
            while (const std::size_t got = queue->reap(some, 0))
                for (std::size_t i = 0; i < got; i++) {
                    Completion& completion = some[i];
                    for (auto* time :
                         {&completion.queued_ns, &completion.start_ns, &completion.end_ns})
                        *time -= *time ? begin : 0;
                    result.ended.push_back(completion);
                }
        };
        for (std::uint64_t tag = 0; tag < count(); tag++) {
            const std::size_t kind = random() % kinds.size();
            const unsigned draw = random() % 4;
            const unsigned priority = draw == 0 ? priority_high : random() % 255;
            const unsigned core = random() % (device->info().core_count + 1);
            if (recorded) {
                Replay replay;
                replay.recording = recordings[kind];
                replay.tag = tag;
                replay.priority = priority;
                replay.core = core;
                queue->replay({&replay, 1});
            } else {
                Job job = kinds[kind].program.job(tag, priority, core);
                job.scratch_bytes = kinds[kind].scratch_bytes;
                queue->submit({&job, 1});
            }
            if (random() % 8 == 0)
                queue->cancel(tag - random() % 4);
            now += random() % 12'000;
            clock.advance_to(now);
            // At most 32 jobs are in flight.
            if (tag % 32 == 31) {
                now += 2'000'000;
                clock.advance_to(now);
                collect();
            }
        }
        clock.advance_to(now + 100'000'000);
        collect();
        // A driver reports ended HIGH jobs before other ended jobs.
        std::ranges::sort(result.ended, {}, &Completion::tag);
        for (FcRecord& record : result.fcs) {
            record.start_ns -= begin;
            record.end_ns -= begin;
        }
        return result;
    }
};

TEST_P(RecordedTimeTest, ReplaysAndJobsEndAlikeAndRunTheSameFcs) {
    const Run jobs = run(false);
    if (IsSkipped())
        return;
    const Run replays = run(true);
    ASSERT_EQ(jobs.ended.size(), count());
    ASSERT_EQ(replays.ended.size(), count());
    std::set<std::int32_t> how;
    for (std::size_t i = 0; i < count(); i++) {
        ASSERT_EQ(std::memcmp(&jobs.ended[i], &replays.ended[i], sizeof(Completion)), 0)
            << "job " << jobs.ended[i].tag << " and replay " << replays.ended[i].tag;
        how.insert(jobs.ended[i].status);
    }
    std::set<std::int32_t> expected{0, -ECANCELED};
    if (is_made_here(GetParam()))
        expected.insert(-ENOEXEC);
    EXPECT_EQ(how, expected);
    ASSERT_EQ(jobs.fcs.size(), replays.fcs.size());
    for (std::size_t i = 0; i < jobs.fcs.size(); i++) {
        EXPECT_EQ(jobs.fcs[i].tag, replays.fcs[i].tag);
        EXPECT_EQ(jobs.fcs[i].index, replays.fcs[i].index);
        EXPECT_EQ(jobs.fcs[i].core, replays.fcs[i].core);
        EXPECT_EQ(jobs.fcs[i].high, replays.fcs[i].high);
        EXPECT_EQ(jobs.fcs[i].start_ns, replays.fcs[i].start_ns);
        EXPECT_EQ(jobs.fcs[i].end_ns, replays.fcs[i].end_ns);
    }
}

INSTANTIATE_TEST_SUITE_P(Conformance, RecordedTimeTest, testing::ValuesIn(all_backends()),
                         backend_name);

} // namespace
} // namespace overtake::test
