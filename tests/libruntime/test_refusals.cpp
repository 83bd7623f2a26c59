// SPDX-License-Identifier: MIT
//
// Conformance: refusals have the same errno and the same words on every way into a device.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <sstream>

#include <gtest/gtest.h>

#include "backends.hpp"
#include "programs.hpp"

namespace overtake::test {
namespace {

struct Refusal {
    int code = 0; ///< errno, 0 = accepted
    std::string text;
};

std::ostream& operator<<(std::ostream& out, const Refusal& refusal) {
    return out << refusal.code << " (" << refusal.text << ")";
}

/// Removes the path of a kernel device, which comes before the common text.
std::string without_path(const std::string& text) {
    const char* path = std::getenv("OVERTAKE_TEST_DEVICE");
    const std::string prefix = path ? std::string(path) + ": " : "";
    return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

template <class Attempt>
Refusal refusal_of(Attempt&& attempt) {
    try {
        attempt();
        return {};
    } catch (const Error& error) {
        return {error.code(), without_path(error.what())};
    }
}

void expect_refusal(const Refusal& refusal, int code, const std::string& text) {
    EXPECT_EQ(refusal.code, code) << refusal;
    EXPECT_EQ(refusal.text, text) << refusal;
}

class RefusalTest : public testing::TestWithParam<Backend> {
protected:
    void open(bool manual_clock) {
        device = open_backend(GetParam(), {.manual_clock = manual_clock, .embedded = {}});
    }
    static Refusal submit(Queue& queue, const Job& job) {
        return refusal_of([&] { queue.submit({&job, 1}); });
    }
    void expect_accepted(Queue& queue, const Job& job) {
        expect_refusal(submit(queue, job), 0, "");
    }
    Completion run(Queue& queue, const Job& job) {
        expect_accepted(queue, job);
        const std::vector<Completion> ended = reap_all(queue, 1);
        return ended.empty() ? Completion{} : ended.front();
    }
    std::uint64_t fcs_ended() const {
        std::uint64_t count = 0;
        for (const drm_overtake_core_info& core : device->cores())
            count += core.fcs_high + core.fcs_normal;
        return count;
    }

    std::shared_ptr<Device> device;
};

struct RefusalCase {
    const char* description;
    int code;
    const char* text; ///< after "job 2: "; null: the text that no buffer holds bindings[1]
    std::function<void(Program&, Job&)> spoil;
};

std::string no_buffer_text(unsigned index, const overtake_binding& binding) {
    std::ostringstream text;
    text << "bindings[" << index << "]: no buffer holds " << binding.length
         << " bytes at device address 0x" << std::hex << binding.address;
    return text.str();
}

std::vector<overtake_fc> too_many_fcs(OVERTAKE_MAX_FCS + 1, {0, 1});
std::vector<overtake_binding> too_many_bindings(OVERTAKE_MAX_BINDINGS + 1);

constexpr const char* text_of_too_many_fcs =
    "65537 FCs; the limit is 65536 FCs of a job: compile with longer FCs, or split the job";
constexpr const char* text_of_core_65 = "core 65, but the device has 2";

/// Each job has two FCs and two bindings.
const RefusalCase refusal_cases[] = {
    {"no FC", EINVAL, "no FC", [](Program&, Job& job) { job.fcs = {}; }},
    {"too many FCs", E2BIG, text_of_too_many_fcs,
     [](Program&, Job& job) { job.fcs = too_many_fcs; }},
    {"a first FC without instructions", EINVAL, "fcs[0].insn_count is 0",
     [](Program& program, Job&) { program.fcs[0].insn_count = 0; }},
    {"a second FC without instructions", EINVAL, "fcs[1].insn_count is 0",
     [](Program& program, Job&) { program.fcs[1].insn_count = 0; }},
    {"no binding", EINVAL, "no binding", [](Program&, Job& job) { job.bindings = {}; }},
    {"too many bindings", E2BIG,
     "16 bindings; the limit is 15 bindings of a job: put tensors into fewer regions",
     [](Program&, Job& job) { job.bindings = too_many_bindings; }},
    {"a region that does not exist", EINVAL, "bindings[0].region is 16, the last one is 15",
     [](Program& program, Job&) { program.bindings[0].region = OVERTAKE_MAX_REGIONS; }},
    {"a bound scratch region", EINVAL,
     "bindings[1].region is 2, scratch, which the device provides",
     [](Program& program, Job&) { program.bindings[1].region = OVERTAKE_REGION_SCRATCH; }},
    {"a region bound twice", EINVAL, "bindings[1].region is 0, which a binding before it has",
     [](Program& program, Job&) { program.bindings[1].region = OVERTAKE_REGION_PROGRAM; }},
    {"a binding of length 0", EINVAL, "bindings[1].length is 0",
     [](Program& program, Job&) { program.bindings[1].length = 0; }},
    {"a binding without permission", EINVAL,
     "bindings[1].flags are 0x0, neither READ nor READ and WRITE",
     [](Program& program, Job&) { program.bindings[1].flags = 0; }},
    {"a binding that may only be written", EINVAL,
     "bindings[1].flags are 0x2, neither READ nor READ and WRITE",
     [](Program& program, Job&) { program.bindings[1].flags = OVERTAKE_MAP_WRITE; }},
    {"an unknown binding flag", EINVAL,
     "bindings[1].flags are 0x81, neither READ nor READ and WRITE",
     [](Program& program, Job&) { program.bindings[1].flags |= 1u << 7; }},
    {"an address that no buffer has", ENOENT,
     "bindings[1]: no buffer holds 4096 bytes at device address 0x8",
     [](Program& program, Job&) { program.bindings[1].address = 8; }},
    {"a binding longer than its buffer", ENOENT, nullptr,
     [](Program& program, Job&) { program.bindings[1].length = 4097; }},
    {"a binding whose end overflows", ENOENT, nullptr,
     [](Program& program, Job&) { program.bindings[1].length = ~0ull; }},
    {"too much scratch", E2BIG,
     "268435457 bytes of scratch; the limit is 268435456 scratch bytes of a job: split the job",
     [](Program&, Job& job) { job.scratch_bytes = OVERTAKE_MAX_SCRATCH_BYTES + 1; }},
    {"a core that does not exist", EINVAL, text_of_core_65,
     [](Program&, Job& job) { job.core = 65; }},
    {"a priority above 255", EINVAL, "priority 256, at most 255",
     [](Program&, Job& job) { job.priority = 256; }},
    {"a priority that no field holds", EINVAL, "priority 65536, at most 255",
     [](Program&, Job& job) { job.priority = 65536; }},
    {"a priority above the queue's", EPERM,
     "priority 255, but its queue was created for at most 254",
     [](Program&, Job& job) { job.priority = 255; }},
    {"a negative deadline", EINVAL, "deadline_ns is negative",
     [](Program&, Job& job) { job.deadline_ns = -1; }},
    // Two mistakes: every device names the same one.
    {"too many FCs, on a core that does not exist", EINVAL, text_of_core_65,
     [](Program&, Job& job) {
         job.fcs = too_many_fcs;
         job.core = 65;
     }},
    {"a priority above the queue's, and a negative deadline", EINVAL, "deadline_ns is negative",
     [](Program&, Job& job) {
         job.priority = 255;
         job.deadline_ns = -1;
     }},
    {"a priority above the queue's, and an FC without instructions", EPERM,
     "priority 255, but its queue was created for at most 254",
     [](Program& program, Job& job) {
         job.priority = 255;
         program.fcs[0].insn_count = 0;
     }},
    {"an unknown address, bound twice", ENOENT,
     "bindings[0]: no buffer holds 64 bytes at device address 0x8",
     [](Program& program, Job&) {
         program.bindings[0].address = 8;
         program.bindings[0].length = 64;
         program.bindings[1] = program.bindings[0];
     }},
    {"an unknown address of a region that does not exist", EINVAL,
     "bindings[0].region is 99, the last one is 15",
     [](Program& program, Job&) {
         program.bindings[0].address = 8;
         program.bindings[0].region = 99;
     }},
    {"an FC without instructions, and no buffer", EINVAL, "fcs[1].insn_count is 0",
     [](Program& program, Job&) {
         program.fcs[1].insn_count = 0;
         program.bindings[0].address = 8;
     }},
    {"a tag that is in use, of a job that is wrong as well", EINVAL, text_of_core_65,
     [](Program&, Job& job) {
         job.tag = 1;
         job.core = 65;
     }},
    {"a tag that is in use, and no buffer", ENOENT,
     "bindings[0]: no buffer holds 64 bytes at device address 0x8",
     [](Program& program, Job& job) {
         job.tag = 1;
         program.bindings[0].address = 8;
         program.bindings[0].length = 64;
     }},
    {"a tag that is in use", EEXIST, "its queue has a job of that tag",
     [](Program&, Job& job) { job.tag = 1; }},
};

TEST_P(RefusalTest, ABadJobIsRefusedAndNothingChanges) {
    open(false);
    SKIP_WITHOUT(device);
    ASSERT_EQ(device->info().core_count, 2u);
    auto queue = device->create_queue();
    auto memory = device->create_buffer(4096);
    const Program good(*device, {delay_insn(5)});
    for (const RefusalCase& row : refusal_cases) {
        SCOPED_TRACE(row.description);
        expect_accepted(*queue, good.job(1));
        const std::vector<Completion> first = reap_all(*queue, 1);
        expect_accepted(*queue, good.job(1));
        const std::size_t in_flight = queue->in_flight();

        Program bad(*device, {delay_insn(5), delay_insn(5)});
        bad.fcs = {{0, 1}, {1, 1}};
        bad.bind(OVERTAKE_REGION_IO, *memory, OVERTAKE_MAP_READ);
        Job job = bad.job(2);
        row.spoil(bad, job);
        const Refusal refusal = submit(*queue, job);
        EXPECT_EQ(refusal.code, row.code) << refusal;
        EXPECT_EQ(refusal.text, "job " + std::to_string(job.tag) + ": " +
                                    (row.text ? row.text : no_buffer_text(1, bad.bindings[1])));

        EXPECT_EQ(queue->in_flight(), in_flight);
        EXPECT_FALSE(queue->cancel(2)) << "the refused job is in flight";
        EXPECT_EQ(reap_all(*queue, 1).size(), 1u);
        const std::uint64_t fcs = fcs_ended();
        EXPECT_EQ(run(*queue, good.job(2)).status, 0);
        EXPECT_EQ(fcs_ended(), fcs + 1) << "more than the good job ran";
    }
}

TEST_P(RefusalTest, ABadJobStopsItsBatchWhereItStands) {
    open(false);
    SKIP_WITHOUT(device);
    auto queue = device->create_queue();
    const Program good(*device, {delay_insn(5)});
    Job bad = good.job(3);
    bad.core = 65;
    const std::vector<Job> jobs{good.job(1), good.job(2), bad, good.job(4), good.job(5)};
    try {
        queue->submit(jobs);
        ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), EINVAL);
        EXPECT_NE(std::string(error.what()).find("job 3"), std::string::npos) << error.what();
    }
    EXPECT_EQ(queue->in_flight(), 2u);
    std::vector<Completion> ended = reap_all(*queue, 2);
    ASSERT_EQ(ended.size(), 2u);
    std::ranges::sort(ended, {}, &Completion::tag);
    EXPECT_EQ(ended[0].tag, 1u);
    EXPECT_EQ(ended[1].tag, 2u);
    Completion none;
    EXPECT_EQ(queue->reap({&none, 1}, 0), 0u);
    EXPECT_EQ(run(*queue, good.job(6)).status, 0);
}

TEST_P(RefusalTest, ATagRepeatedInABatchStopsIt) {
    open(false);
    SKIP_WITHOUT(device);
    auto queue = device->create_queue();
    const Program good(*device, {delay_insn(5)});
    const std::vector<Job> jobs{good.job(1), good.job(2), good.job(1), good.job(3)};
    try {
        queue->submit(jobs);
        ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), EEXIST);
    }
    EXPECT_EQ(queue->in_flight(), 2u);
    EXPECT_EQ(reap_all(*queue, 2).size(), 2u);
    EXPECT_EQ(run(*queue, good.job(1)).status, 0);
}

TEST_P(RefusalTest, AQueueIsRefusedForWhatItAsks) {
    open(false);
    SKIP_WITHOUT(device);
    const auto refusal = [&](const QueueOptions& options) {
        return refusal_of([&] { device->create_queue(options); });
    };
    expect_refusal(refusal({.max_priority = 254, .core_limit = 1}), EINVAL,
                   "queue: only one with max_priority 255 may ask for a core limit");
    expect_refusal(refusal({.max_priority = 256, .core_limit = 0}), EINVAL,
                   "queue: max_priority 256, at most 255");
    expect_refusal(refusal({.max_priority = 256, .core_limit = 1}), EINVAL,
                   "queue: max_priority 256, at most 255");
}

TEST_P(RefusalTest, ABufferIsRefusedForItsSize) {
    open(false);
    SKIP_WITHOUT(device);
    const auto refusal = [&](std::size_t bytes) {
        return refusal_of([&] { device->create_buffer(bytes); });
    };
    expect_refusal(refusal(0), EINVAL, "buffer: 0 bytes");
    expect_refusal(
        refusal(OVERTAKE_MAX_BUFFER_BYTES + 1), E2BIG,
        "buffer: 1073741825 bytes; the limit is 1073741824 bytes of a buffer: use several "
        "buffers");
    expect_refusal(refusal(~std::size_t{0}), E2BIG,
                   "buffer: 18446744073709551615 bytes; the limit is 1073741824 bytes of a buffer: "
                   "use several buffers");
}

TEST_P(RefusalTest, AReapIsRefusedForANegativeDeadline) {
    open(false);
    SKIP_WITHOUT(device);
    auto queue = device->create_queue();
    Completion none{};
    const auto refusal = [&](std::int64_t deadline_ns) {
        return refusal_of([&] { queue->reap({&none, 1}, deadline_ns); });
    };
    expect_refusal(refusal(-1), EINVAL, "reap: negative deadline");
    expect_refusal(refusal(0), 0, "");
}

// Full limits.  The clock stands still, so that nothing makes room.

TEST_P(RefusalTest, AFullQueueIsRefusedForATagInUseOrForItsRoom) {
    open(true);
    SKIP_WITHOUT(device);
    auto queue = device->create_queue();
    const Program good(*device, {delay_insn(5)});
    for (std::uint64_t tag = 0; tag < OVERTAKE_MAX_JOBS; tag++)
        expect_accepted(*queue, good.job(tag));
    expect_refusal(submit(*queue, good.job(7)), EEXIST, "job 7: its queue has a job of that tag");
    expect_refusal(
        submit(*queue, good.job(5000)), ENOSPC,
        "job 5000: no room; the limit is 1024 jobs of a queue (1024 in use): reap before "
        "submitting more");
    Job bad = good.job(5000);
    bad.core = 65;
    expect_refusal(submit(*queue, bad), EINVAL, "job 5000: core 65, but the device has 2");

    device->manual_clock()->advance_to(device->manual_clock()->now_ns() + 1'000'000);
    EXPECT_EQ(reap_all(*queue, OVERTAKE_MAX_JOBS).size(), OVERTAKE_MAX_JOBS);
    expect_accepted(*queue, good.job(5000));
}

TEST_P(RefusalTest, AClientHas8192JobsInAllItsQueues) {
    open(true);
    SKIP_WITHOUT(device);
    constexpr std::uint64_t queues = OVERTAKE_MAX_CLIENT_JOBS / OVERTAKE_MAX_JOBS;
    const Program good(*device, {delay_insn(5)});
    std::vector<Job> jobs;
    for (std::uint64_t tag = 0; tag < OVERTAKE_MAX_JOBS; tag++)
        jobs.push_back(good.job(tag));
    std::vector<std::unique_ptr<Queue>> full;
    for (std::uint64_t i = 0; i < queues; i++) {
        full.push_back(device->create_queue());
        full.back()->submit(jobs);
    }
    auto queue = device->create_queue();
    expect_refusal(submit(*queue, good.job(1)), ENOSPC,
                   "job 1: no room; the limit is 8192 jobs of a client (8192 in use): reap before "
                   "submitting more");
    // A queue that is closed takes its jobs with it.
    full.pop_back();
    for (std::uint64_t tag = 0; tag < OVERTAKE_MAX_JOBS; tag++)
        expect_accepted(*queue, good.job(tag));
    auto other = device->create_queue();
    EXPECT_EQ(submit(*other, good.job(1)).code, ENOSPC);
}

TEST_P(RefusalTest, AClientHas64Queues) {
    open(false);
    SKIP_WITHOUT(device);
    std::vector<std::unique_ptr<Queue>> queues;
    for (unsigned i = 0; i < OVERTAKE_MAX_CONTEXTS; i++)
        queues.push_back(device->create_queue());
    expect_refusal(
        refusal_of([&] { device->create_queue(); }), ENOSPC,
        "create queue: the limit is 64 queues (64 in use): close one, or open the device "
        "again");
    queues.pop_back();
    expect_refusal(refusal_of([&] { queues.push_back(device->create_queue()); }), 0, "");
    EXPECT_EQ(refusal_of([&] { device->create_queue(); }).code, ENOSPC);
}

INSTANTIATE_TEST_SUITE_P(Conformance, RefusalTest, testing::ValuesIn(all_backends()), backend_name);

} // namespace
} // namespace overtake::test
