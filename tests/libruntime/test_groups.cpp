// SPDX-License-Identifier: MIT
//
// Conformance: jobs with a part for each of several cores, through every way into a device.  Their
// timing is tested in tests/scenarios/test_drive_groups.cpp.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "backends.hpp"
#include "expect_error.hpp"
#include "programs.hpp"

namespace overtake::test {
namespace {

overtake_insn bad_insn() {
    overtake_insn insn{};
    insn.opcode = 0xffff;
    return insn;
}

/// FC 0 copies, FC 1 does nothing for a cycle, FC 2 never ends, FC 3 faults.
enum Kind : std::uint32_t { copies, waits, loops, faults };

class GroupsTest : public testing::TestWithParam<Backend> {
protected:
    void SetUp() override {
        EmbeddedOptions options;
        options.cores = 2;
        device = open_backend(GetParam(), {.manual_clock = false, .embedded = options});
        if (!device)
            return;
        cores = device->info().core_count;
        queue = device->create_queue({});
        memory = device->create_buffer(4096);
        program = std::make_unique<Program>(
            *device, std::vector{copy_insn(64), delay_insn(1), jump_insn(2), bad_insn()});
        program->fcs = {{0, 1}, {1, 1}, {2, 1}, {3, 1}};
        program->bindings.push_back({memory->address(), 512, OVERTAKE_REGION_IO, read_write});
        program->bindings.push_back(
            {memory->address() + 512, 512, OVERTAKE_REGION_IO + 1, read_write});
    }

    /// Returns a group with a part on each of two cores: the first part has an FC in stage 0, the
    /// second has all others, one in each stage from 0 on.
    Job group(std::uint64_t tag, const std::vector<Kind>& kinds) {
        Job job = program->job(tag);
        fcs.clear();
        for (const Kind kind : kinds)
            fcs.push_back(program->fcs[kind]);
        parts = {{1, core_any}, {static_cast<std::uint32_t>(kinds.size()) - 1, core_any}};
        stages.assign(kinds.size(), 0);
        for (std::size_t i = 2; i < stages.size(); i++)
            stages[i] = static_cast<std::uint32_t>(i) - 1;
        job.fcs = fcs;
        job.parts = parts;
        job.stages = stages;
        return job;
    }
    Completion run(const Job& job) {
        queue->submit({&job, 1});
        const std::vector<Completion> ended = reap_all(*queue, 1);
        return ended.empty() ? Completion{} : ended.front();
    }
    /// Expects another job to be right: a copy of its input.
    void expect_a_copy(std::uint64_t tag) {
        std::memset(memory->data(), static_cast<int>(tag), 512);
        std::memset(memory->data() + 512, 0, 512);
        Job job = program->job(tag);
        job.fcs = std::span(program->fcs).first(1);
        EXPECT_EQ(run(job).status, 0);
        EXPECT_EQ(std::memcmp(memory->data(), memory->data() + 512, 512), 0);
    }

    static constexpr std::uint32_t read_write = OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE;
    std::shared_ptr<Device> device;
    unsigned cores = 0;
    std::unique_ptr<Queue> queue;
    std::unique_ptr<Buffer> memory;
    std::unique_ptr<Program> program;
    std::vector<overtake_fc> fcs;
    std::vector<overtake_part> parts;
    std::vector<std::uint32_t> stages;
};

TEST_P(GroupsTest, ABadGroupIsRefusedAndNothingChanges) {
    SKIP_WITHOUT(device);
    using Spoil = std::function<void(Job&)>;
    struct Case {
        int code;
        const char* text; ///< after "job 2: "
        Spoil spoil;
    };
    const Case cases[] = {
        {EINVAL,
         "a job with parts names no core: leave core and cores 0, and set those of the parts",
         [](Job& job) { job.core = 1; }},
        {EINVAL, "3 parts, but the device has 2 cores",
         [&](Job&) {
             parts.push_back({1, 0});
         }},
        {EINVAL, "2 stages for 3 FCs: each FC has one", [&](Job&) { stages.pop_back(); }},
        {E2BIG, "4097 stages; the limit is 4096 stages of a group: merge stages, or split the job",
         [&](Job&) { stages[2] = OVERTAKE_MAX_STAGES; }},
        {EINVAL, "group_record 0x4 is no multiple of 8", [](Job& job) { job.group_record = 4; }},
        {EINVAL, "parts[1].fc_count is 0", [&](Job&) { parts[1].fc_count = 0; }},
        {EINVAL, "its parts do not have 3 FCs together, as the job has",
         [&](Job&) { parts[0].fc_count = 2; }},
        {EINVAL, "parts[1].core is 3, but the device has 2", [&](Job&) { parts[1].core = 3; }},
        {EINVAL, "parts[1].core is 2: either all parts name a core, or none",
         [&](Job&) { parts[1].core = 2; }},
        {EINVAL, "parts[1].core is 1, which a part before it has",
         [&](Job&) { parts[0].core = parts[1].core = 1; }},
        {EINVAL, "stages[2] is 0, less than that of the FC before it in its part",
         [&](Job&) {
             stages = {0, 1, 0};
         }},
        {EINVAL, "no FC is in stage 1", [&](Job&) { stages[2] = 2; }},
        {ENOENT, "group_record: no buffer holds 96 bytes at device address 0x8",
         [](Job& job) { job.group_record = 8; }},
        {EINVAL, "stages or group_record, but no parts: a job without parts has neither",
         [&](Job&) { parts.clear(); }},
        {EINVAL, "stages or group_record, but no parts: a job without parts has neither",
         [&](Job& job) {
             parts.clear();
             stages.clear();
             job.group_record = memory->address();
         }},
    };
    if (cores != 2)
        GTEST_SKIP() << "SKIPPED: needs a device of 2 cores";
    for (const Case& wrong : cases) {
        Job job = group(2, {copies, waits, waits});
        wrong.spoil(job);
        job.parts = parts;
        job.stages = stages;
        try {
            queue->submit({&job, 1});
            ADD_FAILURE() << "accepted: " << wrong.text;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), wrong.code) << error.what();
            const std::string text = error.what();
            EXPECT_TRUE(text.ends_with(std::string("job 2: ") + wrong.text)) << text;
        }
        EXPECT_EQ(queue->in_flight(), 0u);
    }
    EXPECT_EQ(run(group(2, {copies, waits, waits})).status, 0);
}

TEST_P(GroupsTest, AGroupComputesAndReportsItsParts) {
    SKIP_WITHOUT(device);
    Job job = group(7, {copies, waits, waits, waits});
    const auto record = device->create_buffer(4096);
    job.group_record = record->address() + 8;
    std::memset(memory->data(), 77, 512);
    const Completion completion = run(job);
    EXPECT_EQ(completion.status, 0);
    EXPECT_EQ(completion.fcs_done, 4u);
    EXPECT_EQ(std::memcmp(memory->data(), memory->data() + 512, 512), 0);
    overtake_group_record head;
    overtake_part_record each[2];
    std::memcpy(&head, record->data() + 8, sizeof(head));
    std::memcpy(each, record->data() + 8 + sizeof(head), sizeof(each));
    EXPECT_EQ(head.part_count, 2u);
    EXPECT_EQ(head.part_bytes, sizeof(overtake_part_record));
    EXPECT_EQ(each[0].core, completion.core);
    EXPECT_NE(each[0].core, each[1].core);
    EXPECT_EQ(each[0].fcs_done, 1u);
    EXPECT_EQ(each[1].fcs_done, 3u);
    EXPECT_EQ(each[0].executed_ns + each[1].executed_ns, completion.executed_ns);
    EXPECT_EQ(std::min(each[0].start_ns, each[1].start_ns), completion.start_ns);
    EXPECT_EQ(std::max(each[0].end_ns, each[1].end_ns), completion.end_ns);
    EXPECT_LE(head.alone_ns, completion.end_ns - completion.start_ns);
}

TEST_P(GroupsTest, AFaultOfOnePartEndsTheGroupOnceAndNoOtherJob) {
    SKIP_WITHOUT(device);
    for (const std::vector<Kind>& kinds :
         {std::vector{faults, waits, waits}, std::vector{waits, faults, waits},
          std::vector{waits, waits, faults}, std::vector{faults, faults, waits}}) {
        const Completion completion = run(group(3, kinds));
        EXPECT_EQ(completion.status, -ENOEXEC);
        EXPECT_EQ(completion.fault, static_cast<unsigned>(OVERTAKE_FAULT_OPCODE));
        EXPECT_EQ(queue->in_flight(), 0u);
        expect_a_copy(4);
    }
}

TEST_P(GroupsTest, ACancelledGroupEndsOnceWithAllItsParts) {
    SKIP_WITHOUT(device);
    const Job job = group(3, {loops, loops, waits});
    queue->submit({&job, 1});
    EXPECT_TRUE(queue->cancel(3));
    const auto ended = reap_all(*queue, 1);
    ASSERT_EQ(ended.size(), 1u);
    EXPECT_EQ(ended.front().status, -ECANCELED);
    expect_a_copy(4);
}

TEST_P(GroupsTest, AClosedQueueEndsItsGroups) {
    SKIP_WITHOUT(device);
    auto other = device->create_queue({});
    for (std::uint64_t tag = 0; tag < 8; tag++) {
        const Job job = group(tag, {loops, waits, loops});
        other->submit({&job, 1});
    }
    other.reset();
    expect_a_copy(4);
}

/// Random groups, some of which have FCs that fault and some of which are cancelled.  Each ends
/// once, and a group that ends well has done everything.  There are 100 rounds, or as many as
/// OVERTAKE_TEST_ROUNDS says.
TEST_P(GroupsTest, RandomGroupsEndOnce) {
    SKIP_WITHOUT(device);
    std::uint64_t rounds = 100;
    if (const char* wanted = std::getenv("OVERTAKE_TEST_ROUNDS"))
        rounds = std::strtoull(wanted, nullptr, 10);
    std::mt19937_64 random(7);
    for (std::uint64_t round = 0; round < rounds; round++) {
        queue = device->create_queue({}); // too many faults end a queue of the driver
        std::set<std::uint64_t> tags;
        std::vector<std::size_t> sizes;
        for (std::uint64_t tag = 0; tag < 5; tag++) {
            std::vector<Kind> kinds(2 + random() % 6, waits);
            if (random() % 4 == 0)
                kinds[random() % kinds.size()] = random() % 3 == 0 ? loops : faults;
            sizes.push_back(kinds.size());
            const Job job = group(tag, kinds);
            queue->submit({&job, 1});
            tags.insert(tag);
            const bool never_ends = std::ranges::find(kinds, loops) != kinds.end();
            if (never_ends || random() % 3 == 0)
                queue->cancel(tag);
        }
        for (const Completion& completion : reap_all(*queue, 5)) {
            EXPECT_EQ(tags.erase(completion.tag), 1u);
            if (completion.status == 0)
                EXPECT_EQ(completion.fcs_done, sizes[completion.tag]);
            else
                EXPECT_TRUE(completion.status == -ENOEXEC || completion.status == -ECANCELED)
                    << completion.status;
        }
        EXPECT_TRUE(tags.empty());
        EXPECT_EQ(queue->in_flight(), 0u);
    }
    expect_a_copy(4);
}

/// The jobs before the refused one are in flight, as with any other refused job.
TEST_P(GroupsTest, StagesWithoutPartsAreRefusedInTheMiddleOfABatchToo) {
    SKIP_WITHOUT(device);
    Job jobs[3];
    for (std::uint64_t tag = 0; tag < 3; tag++) {
        jobs[tag] = program->job(tag);
        jobs[tag].fcs = std::span(program->fcs).first(1);
    }
    const std::uint32_t zero = 0;
    jobs[1].stages = {&zero, 1};
    expect_error(EINVAL, "job 1: stages or group_record, but no parts",
                 [&] { queue->submit(jobs); });
    ASSERT_EQ(queue->in_flight(), 1u);
    const auto ended = reap_all(*queue, 1);
    ASSERT_EQ(ended.size(), 1u);
    EXPECT_EQ(ended.front().tag, 0u);
    expect_a_copy(1);
}

INSTANTIATE_TEST_SUITE_P(All, GroupsTest, testing::ValuesIn(all_backends()), backend_name);

} // namespace
} // namespace overtake::test
