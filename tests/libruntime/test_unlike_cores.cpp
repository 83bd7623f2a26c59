// SPDX-License-Identifier: MIT
//
// Devices whose cores have profiles of their own, and cores that fail or throttle on request.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include "backends.hpp"
#include "embedded/core_faults.hpp"
#include "expect_error.hpp"
#include "programs.hpp"

namespace overtake::test {
namespace {

EmbeddedOptions options_of(std::vector<std::string> profiles, unsigned mode = OVERTAKE_MODE_TIMED) {
    EmbeddedOptions options;
    options.cores = static_cast<unsigned>(profiles.size());
    options.mode = mode;
    options.profiles = std::move(profiles);
    return options;
}

EmbeddedOptions stepped(EmbeddedOptions options) {
    options.manual_clock = true;
    return options;
}

void step(Device& device, std::uint64_t ns) {
    ManualClock& clock = *device.manual_clock();
    clock.advance_to(clock.now_ns() + ns);
}

Completion run(Device& device, Queue& queue, const Job& job) {
    queue.submit({&job, 1});
    if (device.manual_clock())
        step(device, 1'000'000'000);
    return reap_all(queue, 1).at(0);
}

/// Returns the modelled time of one FC of `insn`, by firmware-sim's own function.
std::uint64_t time_of(const char* profile_name, const overtake_insn& insn) {
    const ovt_profile& profile = *ovt_profile_find(profile_name);
    return ovt_cycles_to_ns(&profile,
                            profile.fc_overhead_cycles + ovt_insn_cycles(&profile, &insn));
}

class UnlikeCores : public testing::TestWithParam<Backend> {};

TEST_P(UnlikeCores, EachCoreReportsItsProfile) {
    EmbeddedOptions options = options_of({"default", "ideal", "rk3588-core"});
    options.watchdog_cycles = 0;
    const MadeDevice made(GetParam(), options);
    const auto profiles = made()->core_profiles();
    ASSERT_EQ(profiles.size(), 3u);
    EXPECT_STREQ(profiles[0].name, "default");
    EXPECT_STREQ(profiles[1].name, "ideal");
    EXPECT_STREQ(profiles[2].name, "rk3588-core");
    EXPECT_EQ(profiles[0].insn_overhead_cycles, 200u);
    EXPECT_EQ(profiles[1].insn_overhead_cycles, 0u);
    EXPECT_EQ(profiles[1].fc_overhead_cycles, 0u);
    EXPECT_EQ(profiles[2].macs_per_cycle, 1024u);
    EXPECT_EQ(profiles[2].vector_per_cycle, 64u);
    EXPECT_EQ(profiles[2].bytes_per_cycle, 32u);
    EXPECT_EQ(profiles[2].clock_khz, 1'000'000u);
    EXPECT_EQ(profiles[2].watchdog_cycles, 1'000'000'000u);
    EXPECT_EQ(profiles[2].without, 0u);
    EXPECT_EQ(made()->info().insn_overhead_cycles, 200u) << "of core 1";
}

TEST_P(UnlikeCores, CoresOfOneKindReportOneProfile) {
    EmbeddedOptions options;
    options.cores = 2;
    options.profile = "ethos-u65-512";
    options.watchdog_cycles = 77;
    const MadeDevice made(GetParam(), options);
    const auto profiles = made()->core_profiles();
    ASSERT_EQ(profiles.size(), 2u);
    for (const drm_overtake_core_profile& profile : profiles) {
        EXPECT_STREQ(profile.name, "ethos-u65-512");
        EXPECT_EQ(profile.watchdog_cycles, 77u);
    }
}

TEST_P(UnlikeCores, AJobTakesTheTimeOfItsCoreAndTheBitsAreEqual) {
    constexpr std::uint32_t height = 4000;
    const MadeDevice made(GetParam(),
                          stepped(options_of({"default", "ideal"}, OVERTAKE_MODE_BOTH)));
    Device& device = *made();
    const auto queue = device.create_queue();
    const auto input = device.create_buffer(height * 8);
    for (std::size_t i = 0; i < height * 8; i++)
        input->data()[i] = static_cast<std::byte>(i * 37 % 251);
    const char* const names[] = {"default", "ideal"};
    for (unsigned core = 1; core <= 2; core++) {
        const auto output = device.create_buffer(height * 8);
        Program program(device, {copy_insn(height)});
        program.bind(OVERTAKE_REGION_IO, *input, OVERTAKE_MAP_READ);
        program.bind(OVERTAKE_REGION_IO + 1, *output, OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE);
        const Completion ended = run(device, *queue, program.job(core, 0, core));
        EXPECT_EQ(ended.status, 0);
        EXPECT_EQ(ended.core, core);
        EXPECT_EQ(ended.executed_ns, time_of(names[core - 1], copy_insn(height)));
        EXPECT_TRUE(std::equal(input->data(), input->data() + height * 8, output->data()));
    }
    EXPECT_NE(time_of("default", copy_insn(height)), time_of("ideal", copy_insn(height)));
}

INSTANTIATE_TEST_SUITE_P(Hosts, UnlikeCores,
                         testing::Values(Backend{"embedded"}, Backend{"server"}), backend_name);

TEST(CoreProfiles, WrongProfilesAreRefusedWithPlaceAndRemedy) {
    EmbeddedOptions options = options_of({"default", "ideal"});
    options.cores = 3;
    expect_error(EINVAL, "embedded device: 2 profiles for 3 cores: name one for each core",
                 [&] { open_embedded(options); });
    expect_error(EINVAL,
                 "embedded device: core 2: no profile named 'fast': name one of default, ideal, "
                 "ethos-u65-512, rk3588-core",
                 [] {
                     open_embedded(options_of({"default", "fast"}));
                 });
}

/// Device::core_profiles() is for a class that a program derives from Device, and that implements
/// only info().
TEST(CoreProfiles, ADeviceThatDoesNotKnowHasTheNumbersOfItsInfo) {
    const auto device = open_embedded();
    const auto profiles = device->Device::core_profiles();
    ASSERT_EQ(profiles.size(), device->info().core_count);
    EXPECT_STREQ(profiles[1].name, "");
    EXPECT_EQ(profiles[1].clock_khz, device->info().clock_khz);
    EXPECT_EQ(profiles[1].macs_per_cycle, device->info().macs_per_cycle);
    EXPECT_EQ(profiles[1].watchdog_cycles, device->info().watchdog_cycles);
}

/// A device of two cores whose clock is stepped by hand.
struct Faulty {
    explicit Faulty(unsigned mode = OVERTAKE_MODE_TIMED, bool manual = true)
        : opened(open_faulty([&] {
              EmbeddedOptions options = options_of({"ideal", "ideal"}, mode);
              options.manual_clock = manual;
              return options;
          }())),
          device(*opened.device), faults(*opened.faults), queue(device.create_queue()) {}

    FaultyDevice opened;
    Device& device;
    CoreFaults& faults;
    std::unique_ptr<Queue> queue;
};

TEST(CoreFaults, JobsOfAFailedCoreEndAtOnceLaterOnesIncluded) {
    Faulty faulty;
    const Program program = delays(faulty.device, {100, 100});
    const std::uint64_t begin = faulty.device.manual_clock()->now_ns();
    for (const std::uint64_t tag : {1, 2, 3}) {
        const Job job = program.job(tag, 0, tag == 3 ? 2 : 1);
        faulty.queue->submit({&job, 1});
    }
    step(faulty.device, 50'000);
    faulty.faults.fail(1);
    step(faulty.device, 1'000'000);
    const auto ended = reap_all(*faulty.queue, 3);
    for (const Completion& job : ended) {
        if (job.tag == 3) {
            EXPECT_EQ(job.status, 0);
            continue;
        }
        EXPECT_EQ(job.status, -EIO) << job.tag;
        EXPECT_EQ(job.fault, OVERTAKE_FAULT_RESET) << job.tag;
        EXPECT_EQ(job.end_ns, begin + 50'000) << job.tag;
        EXPECT_EQ(job.executed_ns, job.tag == 1 ? 50'000u : 0u);
    }
    EXPECT_EQ(run(faulty.device, *faulty.queue, program.job(4, 0, 1)).status, -EIO);
    EXPECT_EQ(run(faulty.device, *faulty.queue, program.job(5, 255 - 1, 2)).status, 0);
    faulty.faults.recover(1);
    const Completion again = run(faulty.device, *faulty.queue, program.job(6, 0, 1));
    EXPECT_EQ(again.status, 0);
    EXPECT_EQ(again.executed_ns, 200'000u);
}

TEST(CoreFaults, ACoreFailsInEveryModeOnTheRealClock) {
    for (const unsigned mode :
         {OVERTAKE_MODE_FUNCTIONAL, OVERTAKE_MODE_TIMED, OVERTAKE_MODE_BOTH}) {
        Faulty faulty(mode, false);
        const Program endless(faulty.device, {jump_insn(0)});
        const Program held = delays(faulty.device, {20'000'000}); // it lasts longer than this test
        const Program quick = delays(faulty.device, {1});
        for (const Program* program : {&endless, &held}) {
            if (mode != OVERTAKE_MODE_FUNCTIONAL && program == &endless)
                continue; // its time is known, so the watchdog ends it at once
            const Job job = program->job(1, 0, 1);
            faulty.queue->submit({&job, 1});
            faulty.faults.fail(1);
            EXPECT_EQ(reap_all(*faulty.queue, 1).at(0).status, -EIO) << mode;
            faulty.faults.recover(1);
            EXPECT_EQ(run(faulty.device, *faulty.queue, quick.job(2, 0, 1)).status, 0) << mode;
            if (mode == OVERTAKE_MODE_FUNCTIONAL)
                break; // the other program takes no time there
        }
    }
}

TEST(CoreFaults, AThrottledCoreTakesItsFactorOfTheModelledTime) {
    Faulty faulty;
    const Program program = delays(faulty.device, {100, 100});
    faulty.faults.throttle(2, 300);
    EXPECT_EQ(run(faulty.device, *faulty.queue, program.job(1, 0, 1)).executed_ns, 200'000u);
    EXPECT_EQ(run(faulty.device, *faulty.queue, program.job(2, 0, 2)).executed_ns, 600'000u);
    faulty.faults.throttle(2, 1);
    EXPECT_EQ(run(faulty.device, *faulty.queue, program.job(3, 0, 2)).executed_ns, 2'000u);
    faulty.faults.throttle(2, 100);
    EXPECT_EQ(run(faulty.device, *faulty.queue, program.job(4, 0, 2)).executed_ns, 200'000u);
}

TEST(CoreFaults, ACoreThatTheDeviceDoesNotHaveIsRefused) {
    Faulty faulty;
    expect_error(EINVAL, "no core 3, there are 2", [&] { faulty.faults.fail(3); });
    expect_error(EINVAL, "no core 0", [&] { faulty.faults.recover(0); });
    expect_error(EINVAL, "0 percent", [&] { faulty.faults.throttle(1, 0); });
}

TEST(CoreFaults, ACoreWithoutAnOpcodeFaultsIt) {
    ovt_profile lacking = *ovt_profile_find("ideal");
    lacking.without = 1ull << OVERTAKE_OP_COPY;
    const EmbeddedOptions options = stepped(options_of({"ideal", "ideal"}));
    const FaultyDevice opened = open_faulty(options, {*ovt_profile_find("ideal"), lacking});
    Device& device = *opened.device;
    const auto queue = device.create_queue();
    const auto memory = device.create_buffer(4096);
    Program program(device, {delay_insn(10), copy_insn(4)});
    program.bind(OVERTAKE_REGION_IO, *memory, OVERTAKE_MAP_READ);
    program.bind(OVERTAKE_REGION_IO + 1, *memory, OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE);
    EXPECT_EQ(run(device, *queue, program.job(1, 0, 1)).status, 0);
    const Completion ended = run(device, *queue, program.job(2, 0, 2));
    EXPECT_EQ(ended.status, -ENOEXEC);
    EXPECT_EQ(ended.fault, OVERTAKE_FAULT_UNSUPPORTED);
    EXPECT_EQ(ended.fault_insn, 1u);
    EXPECT_EQ(device.core_profiles()[1].without, 1ull << OVERTAKE_OP_COPY);
}

/// Every job ends, whenever its core fails, throttles and recovers.
TEST(CoreFaults, ThreadsMayFailAndThrottleCoresUnderLoad) {
    Faulty faulty(OVERTAKE_MODE_BOTH, false);
    const Program program = delays(faulty.device, {3, 5, 2});
    std::atomic<bool> over = false;
    std::vector<std::thread> others;
    for (const unsigned core : {1u, 2u}) {
        others.emplace_back([&, core] {
            for (unsigned i = 0; !over; i++) {
                faulty.faults.fail(core);
                faulty.faults.throttle(core, 50 + i % 300);
                faulty.faults.recover(core);
            }
        });
    }
    constexpr std::uint64_t rounds = 300, at_once = 20;
    for (std::uint64_t round = 0; round < rounds; round++) {
        std::vector<Job> jobs;
        for (std::uint64_t i = 0; i < at_once; i++)
            jobs.push_back(program.job(round * at_once + i, i % 3, i % 3));
        faulty.queue->submit(jobs);
        for (const Completion& job : reap_all(*faulty.queue, at_once))
            EXPECT_TRUE(job.status == 0 || job.status == -EIO) << job.status;
    }
    over = true;
    for (std::thread& other : others)
        other.join();
    EXPECT_EQ(run(faulty.device, *faulty.queue, program.job(1, 0, 1)).status, 0);
}

} // namespace
} // namespace overtake::test
