// SPDX-License-Identifier: MIT
//
// The waits of HIGH work beside groups, on a device whose time runs by itself.  The FCs that HIGH
// work meets are counted, and times are printed beside the bounds of docs/reference/scenarios.md,
// "Groups".  The host's delay in reporting an end is printed separately.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "backends.hpp"
#include "programs.hpp"

namespace overtake::test {
namespace {

using Random = std::mt19937_64;

constexpr unsigned core_count = 4;
constexpr std::uint64_t high_tags = 1'000'000; // HIGH work has tags from here on

std::uint64_t pick(Random& random, std::uint64_t first, std::uint64_t last) {
    return std::uniform_int_distribution<std::uint64_t>(first, last)(random);
}

/// FCs in the order in which they ended.
struct Records {
    std::mutex mutex;
    std::vector<FcRecord> all;

    static void add(void* context, const FcRecord& record) {
        auto& records = *static_cast<Records*>(context);
        const std::lock_guard lock(records.mutex);
        records.all.push_back(record);
    }
};

/// FC i takes (i + 1) * 5 us, up to 100 us.
struct Delays {
    explicit Delays(Device& device) : program(device, insns()) {
        program.fcs.clear();
        for (std::uint32_t index = 0; index < 20; index++)
            program.fcs.push_back({index, 1});
    }
    static std::vector<overtake_insn> insns() {
        std::vector<overtake_insn> all;
        for (std::uint64_t index = 0; index < 20; index++)
            all.push_back(delay_insn((index + 1) * 5000));
        return all;
    }
    Program program;
};

/// A group with a part on each of the cores 1..width, with one to three FCs in each stage.  With
/// width 1, a job on one core.
struct Work {
    Work(Random& random, const Program& program, std::uint64_t tag, unsigned width,
         std::uint32_t longest)
        : job(program.job(tag)) {
        const auto stage_count = static_cast<std::uint32_t>(pick(random, 1, 6));
        for (unsigned core = 1; core <= width; core++) {
            std::uint32_t count = 0;
            for (std::uint32_t stage = 0; stage < stage_count; stage++)
                for (std::uint64_t left = pick(random, 1, 3); left > 0; left--, count++) {
                    fcs.push_back(program.fcs[pick(random, 0, longest - 1)]);
                    stages.push_back(stage);
                }
            parts.push_back({count, core});
        }
        job.fcs = fcs;
        if (width == 1)
            return;
        job.parts = parts;
        job.stages = stages;
    }
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

    std::vector<overtake_part> parts;
    std::vector<std::uint32_t> stages;
    std::vector<overtake_fc> fcs;
    Job job;
};

/// NORMAL work without a gap: there are always jobs in flight until this object is destroyed.
class Load {
public:
    Load(Device& device, const Program& program, bool only_groups)
        : queue_(device.create_queue({})), program_(program), only_groups_(only_groups),
          thread_([this] { run(); }) {}
    ~Load() {
        ends_ = true;
        thread_.join();
    }
    void wait_until_it_runs() const { runs_.wait(false); }

private:
    void run() {
        Random random(3);
        for (std::uint64_t tag = 0; !ends_; tag++) {
            const bool is_group = only_groups_ || tag % 2 == 0;
            Work work(random, program_, tag, is_group ? core_count : 1, 20);
            if (!is_group)
                work.job.core = static_cast<unsigned>(pick(random, 1, core_count));
            queue_->submit({&work.job, 1});
            Completion ended{};
            if (queue_->in_flight() > 16)
                queue_->reap({&ended, 1}, patience());
            if (tag == 16) {
                runs_ = true;
                runs_.notify_all();
            }
        }
    }

    std::unique_ptr<Queue> queue_;
    const Program& program_;
    const bool only_groups_;
    std::atomic<bool> ends_ = false, runs_ = false;
    std::thread thread_;
};

struct Ended {
    Completion completion;
    unsigned core = 0; ///< the core of a job; 0: a group
    std::uint64_t alone_ns = 0;
    std::int64_t late_ns = 0; ///< the host's delay in reporting the end
};

/// Runs HIGH work, one job at a time, at random moments.
std::vector<Ended> run_high(Device& device, const Program& program, unsigned width,
                            std::size_t count) {
    Random random(5);
    const auto queue = device.create_queue({.max_priority = 255});
    const auto record = device.create_buffer(4096);
    std::vector<Ended> all;
    for (std::uint64_t index = 0; index < count; index++) {
        std::this_thread::sleep_for(std::chrono::microseconds(pick(random, 0, 1500)));
        Work work(random, program, high_tags + index, width, 4);
        work.job.priority = 255;
        Ended ended;
        if (width == 1)
            work.job.core = ended.core = static_cast<unsigned>(pick(random, 1, core_count));
        else
            work.job.group_record = record->address();
        queue->submit({&work.job, 1});
        const auto reaped = reap_all(*queue, 1);
        if (reaped.empty())
            break;
        ended.completion = reaped.front();
        ended.late_ns = in_ms(0) - static_cast<std::int64_t>(ended.completion.end_ns);
        overtake_group_record head;
        std::memcpy(&head, record->data(), sizeof(head));
        ended.alone_ns = width == 1 ? ended.completion.executed_ns : head.alone_ns;
        all.push_back(ended);
    }
    return all;
}

/// The observations on one core.
struct Seen {
    std::uint64_t longest_ns = 0; ///< longest NORMAL FC
    std::uint64_t most_fcs = 0;   ///< NORMAL FCs that HIGH work met
    std::uint64_t wait_ns = 0;    ///< longest time from an arrival to the first FC
};

std::array<Seen, core_count> seen_of(const std::vector<FcRecord>& records,
                                     const std::vector<Ended>& ended) {
    std::array<Seen, core_count> seen;
    std::array<std::vector<const FcRecord*>, core_count> normal; // FCs in order of their ends
    std::array<std::map<std::uint64_t, std::array<std::uint64_t, 2>>, core_count> starts;
    for (const FcRecord& record : records) {
        Seen& of = seen[record.core - 1];
        if (record.tag < high_tags) {
            normal[record.core - 1].push_back(&record);
            of.longest_ns = std::max(of.longest_ns, record.end_ns - record.start_ns);
            continue;
        }
        auto& [first, last] = starts[record.core - 1]
                                  .try_emplace(record.tag, std::array{record.start_ns, 0ul})
                                  .first->second;
        last = record.start_ns;
    }
    for (const Ended& high : ended)
        for (unsigned core = 0; core < core_count; core++) {
            const auto found = starts[core].find(high.completion.tag);
            if (found == starts[core].end())
                continue;
            const std::uint64_t arrival = high.completion.queued_ns;
            auto fc = std::ranges::upper_bound(normal[core], arrival, {}, &FcRecord::end_ns);
            std::uint64_t count = 0;
            for (; fc != normal[core].end() && (*fc)->start_ns < found->second[1]; ++fc)
                count++;
            seen[core].most_fcs = std::max(seen[core].most_fcs, count);
            seen[core].wait_ns = std::max(seen[core].wait_ns, found->second[0] - arrival);
        }
    return seen;
}

struct Waits {
    std::vector<Ended> ended;
    std::array<Seen, core_count> seen;
};

Waits run_beside_load(unsigned limit, bool only_groups, unsigned width, std::size_t count) {
    Records records;
    EmbeddedOptions options;
    options.cores = core_count;
    options.mode = OVERTAKE_MODE_TIMED;
    options.core_limit = limit;
    options.on_fc = Records::add;
    options.on_fc_context = &records;
    const auto device = open_embedded(options);
    const Delays delays(*device);
    Waits run;
    {
        const Load load(*device, delays.program, only_groups);
        load.wait_until_it_runs();
        run.ended = run_high(*device, delays.program, width, count);
    }
    const std::lock_guard lock(records.mutex);
    run.seen = seen_of(records.all, run.ended);
    return run;
}

double in_us(std::uint64_t ns) {
    return static_cast<double>(ns) / 1000;
}

void print_lateness(const std::vector<Ended>& all) {
    std::vector<std::int64_t> late;
    for (const Ended& ended : all)
        late.push_back(ended.late_ns);
    std::ranges::sort(late);
    std::printf("  the host knew of an end %.0f us later (median), %.0f us at most\n",
                in_us(static_cast<std::uint64_t>(std::max<std::int64_t>(late[late.size() / 2], 0))),
                in_us(static_cast<std::uint64_t>(std::max<std::int64_t>(late.back(), 0))));
}

} // namespace

/// A detector on one core beside networks that keep all four cores busy without a gap.
TEST(GroupWaits, ADetectorBesideAGroupMeetsNoMoreFcsThanTheLimit) {
    for (const unsigned limit : {1u, 2u, 4u}) {
        const Waits run = run_beside_load(limit, true, 1, 300);
        ASSERT_EQ(run.ended.size(), 300u);
        std::printf("core limit %u, 300 detectors beside groups on 4 cores\n", limit);
        std::uint64_t most = 0;
        for (unsigned core = 0; core < core_count; core++) {
            const Seen& seen = run.seen[core];
            EXPECT_LE(seen.most_fcs, limit) << "on core " << core + 1;
            most = std::max(most, seen.most_fcs);
            std::printf("  core %u: longest wait %.1f us of %.1f us (%u x the longest FC), met %u "
                        "FCs at most\n",
                        core + 1, in_us(seen.wait_ns), in_us(limit * seen.longest_ns), limit,
                        static_cast<unsigned>(seen.most_fcs));
        }
        EXPECT_GT(most, 0u) << "the cores were idle";
        print_lateness(run.ended);
    }
}

TEST(GroupWaits, AHighGroupBesideNormalLoadMeetsNoMoreFcsThanTheLimit) {
    for (const unsigned limit : {1u, 2u}) {
        const Waits run = run_beside_load(limit, false, core_count, 300);
        ASSERT_EQ(run.ended.size(), 300u);
        std::uint64_t bound = 0, most = 0, longest = 0;
        for (const Seen& seen : run.seen) {
            EXPECT_LE(seen.most_fcs, limit);
            bound = std::max<std::uint64_t>(bound, limit * seen.longest_ns);
            most = std::max(most, seen.most_fcs);
        }
        EXPECT_GT(most, 0u) << "the cores were idle";
        for (const Ended& ended : run.ended) {
            const Completion& of = ended.completion;
            EXPECT_EQ(of.status, 0);
            longest = std::max<std::uint64_t>(longest, of.end_ns - of.queued_ns - ended.alone_ns);
        }
        std::printf("core limit %u, 300 HIGH groups beside groups and jobs on 4 cores\n"
                    "  longest from arrival to end beyond their time alone %.1f us of %.1f us "
                    "(greatest core limit x longest FC)\n",
                    limit, in_us(longest), in_us(bound));
        print_lateness(run.ended);
    }
}

} // namespace overtake::test
