// SPDX-License-Identifier: MIT
//
// The results from events: percentiles, filters, which process waits behind which, and the
// tracepoints' layout.
#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <sys/prctl.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "events.hpp"
#include "load/statistics.hpp"
#include "observe/watch/activity.hpp"
#include "observe/watch/filter.hpp"
#include "observe/watch/jobs.hpp"
#include "observe/watch/latency.hpp"
#include "observe/watch/line.hpp"
#include "observe/watch/spread.hpp"
#include "observe/watch/tracepoint_format.hpp"
#include "observe/watch/watching.hpp"
#include "ordinary_user.hpp"
#include "overtake/error.hpp"
#include "top_counters.hpp"
#include "top_view.hpp"

namespace overtake::test {
namespace {

namespace fs = std::filesystem;

Event fc_done(std::uint64_t time_ms, std::uint32_t pid, std::uint64_t tag, std::uint64_t took_ms,
              bool high) {
    Event made = event(EventType::fc_done, time_ms, pid, tag);
    made.duration_ns = took_ms * ms;
    made.high = high;
    return made;
}

TEST(Watching, AServerThatMayNotBeReachedIsAnErrorThatNamesTheDirectory) {
    if (fs::exists("/dev/accel/accel0"))
        return; // then auto is that device
    std::string directory = "/tmp/overtake_watch_XXXXXX";
    ASSERT_NE(mkdtemp(directory.data()), nullptr);
    const std::string closed = directory + "/closed", socket = closed + "/socket";
    fs::create_directory(closed);
    fs::permissions(directory, fs::perms(0755));
    fs::permissions(closed, fs::perms::none);
    ASSERT_EQ(setenv("OVERTAKE_SERVER", socket.c_str(), 1), 0);
    for (const std::string& name :
         {std::string("auto"), std::string("server"), "server:" + socket}) {
        const std::string said = said_to_an_ordinary_user([&] { watch::watch_device(name); });
        EXPECT_TRUE(said.starts_with(std::to_string(EACCES))) << name << ": " << said;
        EXPECT_NE(said.find("may not enter the directory " + closed + ":"), std::string::npos)
            << name << ": " << said;
        EXPECT_EQ(said.find("embedded"), std::string::npos) << said; // none can watch it
    }
    unsetenv("OVERTAKE_SERVER");
    fs::permissions(closed, fs::perms(0755));
    fs::remove_all(directory);
}

TEST(Spread, PercentilesAreThoseOfTheValuesAndAStepMore) {
    std::vector<std::uint64_t> values;
    watch::Spread spread;
    std::uint64_t state = 1;
    for (int i = 0; i < 20'000; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        values.push_back(state >> (24 + state % 39));
        spread.add(values.back());
    }
    std::ranges::sort(values);
    EXPECT_EQ(spread.count(), values.size());
    EXPECT_EQ(spread.greatest(), values.back());
    for (const double percent : {0.1, 10.0, 50.0, 90.0, 99.0, 99.9, 100.0}) {
        const std::uint64_t exact = load::percentile(values, percent);
        EXPECT_GE(spread.percentile(percent), exact) << percent;
        EXPECT_LE(spread.percentile(percent), exact + exact / 128) << percent;
    }
    std::map<unsigned, std::uint64_t> powers;
    for (const std::uint64_t value : values)
        powers[value == 0 ? 0 : static_cast<unsigned>(std::bit_width(value)) - 1]++;
    EXPECT_EQ(spread.by_power(), powers);
}

TEST(Spread, OfNothingIsNothingAndTheGreatestNumberFits) {
    watch::Spread spread;
    EXPECT_EQ(spread.percentile(50), 0u);
    spread.add(UINT64_MAX);
    spread.add(0);
    EXPECT_EQ(spread.percentile(50), 0u);
    EXPECT_EQ(spread.percentile(100), UINT64_MAX);
    EXPECT_EQ(spread.by_power(), (std::map<unsigned, std::uint64_t>{{0, 1}, {63, 1}}));
}

TEST(Jobs, AreKnownFromTheirQueueToTheirEnd) {
    watch::Jobs jobs;
    EXPECT_EQ(jobs.follow(event(EventType::fc_start, 1, 5, 7)), nullptr);
    jobs.follow(queued(2, 5, 7, 255, "detector"));
    jobs.follow(event(EventType::fc_start, 4, 5, 7));
    jobs.follow(event(EventType::fc_start, 6, 5, 7));
    EXPECT_EQ(jobs.follow(event(EventType::fc_start, 6, 6, 7)), nullptr) << "another client's";
    const watch::Job* job = jobs.follow(event(EventType::job_done, 9, 5, 7));
    ASSERT_NE(job, nullptr);
    EXPECT_EQ(job->queued_ns, 2 * ms);
    EXPECT_EQ(job->start_ns, 4 * ms);
    EXPECT_EQ(job->end_ns, 9 * ms);
    EXPECT_EQ(job->priority, 255u);
    EXPECT_EQ(watch::model_name(job->model), "detector");
    for (const char* name : {"a", "größe", "模型", "a word"})
        EXPECT_EQ(watch::model_name(model_id(name)), name);
    EXPECT_EQ(watch::model_name(model_id("größere模型")), "größer"); // cut at eight bytes
    EXPECT_EQ(watch::model_name(model_id("abcdefgé")), "abcdefg");
    EXPECT_EQ(watch::model_name(0), "");
    // No name controls a terminal.
    for (const char* name : {"\x1b[2J", "a\x9b", "a\xc2\x9b", "\x7f", "\xc3", "a\xe0z", "\n"})
        EXPECT_EQ(watch::model_name(model_id(name)).substr(0, 2), "0x") << model_id(name);
    // No name shows a line in another order or hides a part of it.
    for (const char* name : {"a\u202eb", "\u2066a", "a\u200f", "\u061c", "\u2028", "\ufeff"})
        EXPECT_EQ(watch::model_name(model_id(name)).substr(0, 2), "0x") << name;
    // No name holds invalid UTF-8: an overlong form, half of a pair, or a code behind the last one.
    for (const char* name : {"\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
                             "\xf4\x90\x80\x80", "\xf5"})
        EXPECT_EQ(watch::model_name(model_id(name)).substr(0, 2), "0x") << model_id(name);
    for (const char* name :
         {"\xe0\xa0\x80", "\xed\x9f\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
        EXPECT_EQ(watch::model_name(model_id(name)), name);
    EXPECT_EQ(jobs.follow(event(EventType::job_done, 10, 5, 7)), nullptr);
    EXPECT_EQ(jobs.living(), 0u);
    std::array<char, 16> before{};
    prctl(PR_GET_NAME, before.data());
    prctl(PR_SET_NAME, "\x1b[2Jü\x9b");
    EXPECT_EQ(watch::owner_name(0, static_cast<std::uint32_t>(getpid())),
              "?[2Jü? (pid " + std::to_string(getpid()) + ")");
    prctl(PR_SET_NAME, "a\u202eb\u2069\u200ec\u061c");
    EXPECT_EQ(watch::owner_name(0, static_cast<std::uint32_t>(getpid())),
              "a?b??c? (pid " + std::to_string(getpid()) + ")");
    prctl(PR_SET_NAME, before.data());
}

TEST(Latency, IsSplitWhereTheFirstFcStarts) {
    watch::Jobs jobs;
    watch::Latency latency(watch::Grouping::priority_and_model);
    for (std::uint64_t tag = 1; tag <= 2; tag++) {
        jobs.follow(queued(2, 5, tag, 255, "detector"));
        jobs.follow(event(EventType::fc_start, 5, 5, tag));
        Event done = event(EventType::job_done, 12, 5, tag);
        done.preemptions = 3;
        done.status = tag == 2 ? -ECANCELED : 0;
        latency.add(*jobs.follow(done));
    }
    ASSERT_EQ(latency.groups().size(), 1u);
    const auto& [key, group] = *latency.groups().begin();
    EXPECT_EQ(watch::group_name(watch::Grouping::priority_and_model, key),
              "priority 255, detector");
    EXPECT_EQ(group.wait.greatest(), 3 * ms);
    EXPECT_EQ(group.run.greatest(), 7 * ms);
    EXPECT_EQ(group.total.greatest(), 10 * ms);
    EXPECT_EQ(group.total.count(), 1u);
    EXPECT_EQ(group.failed, 1u);
    EXPECT_EQ(group.preemptions, 3u);
}

TEST(Filter, LooksAtWhatTheJobIsThatTheEventNames) {
    watch::Jobs jobs;
    jobs.follow(queued(2, 5, 7, 200, "detector-v2"));
    Event start = event(EventType::fc_start, 3, 5, 7);
    start.core = 2;
    const watch::Job* job = jobs.follow(start);
    const auto takes = [&](const watch::Filter& filter) { return filter.takes(start, job); };
    EXPECT_TRUE(takes({}));
    EXPECT_TRUE(takes({.pids = {4, 5},
                       .cores = {2},
                       .priorities = {200},
                       .models = {"detector"},
                       .types = {"fc_start"}}));
    EXPECT_FALSE(takes({.pids = {4}}));
    EXPECT_FALSE(takes({.cores = {1}}));
    EXPECT_FALSE(takes({.priorities = {0}}));
    EXPECT_FALSE(takes({.models = {"large"}}));
    EXPECT_FALSE(takes({.types = {"fc_done"}}));
    EXPECT_FALSE(watch::Filter{.models = {"large"}}.takes(start, nullptr));
    Event preempted = event(EventType::fc_preempt, 4, 5, 7);
    preempted.by_pid = 9;
    EXPECT_TRUE(watch::Filter{.pids = {9}}.takes(preempted, nullptr));
}

TEST(Activity, SaysWhoHoldsACoreAndWhoWaitsBehindWhom) {
    watch::Activity activity(1000 * ms, 2);
    activity.add(queued(1000, 5, 1, 10, "large"));
    activity.add(queued(1000, 5, 2, 10, "large"));
    activity.add(event(EventType::fc_start, 1000, 5, 1));
    activity.add(queued(1010, 6, 1, 255, "detector"));
    activity.add(fc_done(1040, 5, 1, 40, false));
    Event preempted = event(EventType::fc_preempt, 1040, 5, 1);
    preempted.by_pid = 6;
    activity.add(preempted);
    Event start = event(EventType::fc_start, 1040, 6, 1);
    start.high = true;
    activity.add(start);
    const watch::Snapshot first = activity.take(1060 * ms);
    ASSERT_EQ(first.cores.size(), 2u);
    EXPECT_NEAR(first.cores[0].normal, 40.0 / 60, 1e-9);
    EXPECT_NEAR(first.cores[0].high, 20.0 / 60, 1e-9) << "of the one that runs, what has passed";
    EXPECT_EQ(first.cores[0].preemptions, 1u);
    ASSERT_TRUE(first.cores[0].holder);
    EXPECT_EQ(first.cores[0].holder->pid, 6u);
    EXPECT_EQ(first.cores[1].high + first.cores[1].normal, 0);
    ASSERT_EQ(first.processes.size(), 2u);
    const watch::ProcessActivity& large = first.processes[0];
    EXPECT_EQ(large.waiting, 1u);
    EXPECT_EQ(large.begun, 1u);
    EXPECT_EQ(large.waits_ns, 60 * ms);
    EXPECT_EQ(large.overtaken, 1u);
    ASSERT_TRUE(large.behind);
    EXPECT_EQ(large.behind->pid, 6u);
    EXPECT_EQ(first.processes[1].overtakes, 1u);
    EXPECT_EQ(first.processes[1].waits_ns, 0u);

    activity.add(fc_done(1080, 6, 1, 40, true));
    activity.add(event(EventType::job_done, 1080, 6, 1));
    const watch::Snapshot second = activity.take(1160 * ms);
    EXPECT_NEAR(second.cores[0].high, 20.0 / 100, 1e-9) << "each part once";
    EXPECT_EQ(second.cores[0].normal, 0);
    EXPECT_EQ(second.processes[1].ended, 1u);
    EXPECT_EQ(second.processes[1].p99_ns, 70 * ms);
    EXPECT_EQ(second.processes[0].overtaken, 0u);
    EXPECT_FALSE(second.cores[0].holder);
    // Processes that no event has named for some time disappear, unless they have jobs.
    const watch::Snapshot last = activity.take(10'000 * ms);
    ASSERT_EQ(last.processes.size(), 1u);
    EXPECT_EQ(last.processes[0].pid, 5u);
}

TEST(Top, FitsAnyTerminalAndSortsAndFilters) {
    watch::Snapshot snapshot;
    snapshot.interval_ns = 1000 * ms;
    snapshot.cores.push_back({.core = 1, .high = 0.5, .normal = 0.5});
    snapshot.processes.push_back({.pid = 5, .model = model_id("large"), .normal = 0.5});
    snapshot.processes.push_back(
        {.pid = 6, .model = model_id("detector"), .high = 0.6, .p99_ns = 1234});
    command::TopView view;
    for (const std::size_t width : {1u, 10u, 79u})
        for (const std::size_t height : {1u, 3u, 24u}) {
            const auto lines = command::top_lines(snapshot, view, "head", width, height);
            EXPECT_LE(lines.size(), height);
            for (const std::string& line : lines)
                EXPECT_LE(line.size() - static_cast<std::size_t>(std::ranges::count(line, '\xc2')),
                          width);
        }
    const auto pid_of_first = [&] {
        return command::to_json(snapshot, view).at("processes").at(0).at("pid").get<unsigned>();
    };
    EXPECT_EQ(pid_of_first(), 6u);
    view.order = command::TopOrder::pid;
    EXPECT_EQ(pid_of_first(), 5u);
    view.words = "detec";
    EXPECT_EQ(pid_of_first(), 6u);
    view.words.clear();
    view.high_only = true;
    EXPECT_EQ(command::to_json(snapshot, view).at("processes").size(), 1u);
}

TEST(Top, SaysTheProfilesOfUnlikeCores) {
    watch::Snapshot snapshot;
    snapshot.interval_ns = 1000 * ms;
    snapshot.cores = {{.core = 1}, {.core = 2}};
    command::TopView view;
    const auto lines = [&] { return command::top_lines(snapshot, view, "head", 0, 0); };
    const std::string before = lines()[1];
    EXPECT_TRUE(before.starts_with("core 1  [")) << before;
    EXPECT_FALSE(command::to_json(snapshot, view).at("cores").at(0).contains("profile"));
    view.profiles = {"default", "rk3588-core"};
    EXPECT_TRUE(lines()[1].starts_with("core 1  default     [")) << lines()[1];
    EXPECT_TRUE(lines()[2].starts_with("core 2  rk3588-core [")) << lines()[2];
    EXPECT_EQ(command::to_json(snapshot, view).at("cores").at(1).at("profile"), "rk3588-core");
    snapshot.cores.push_back({.core = 3}); // a core that only an event names
    EXPECT_TRUE(lines()[3].starts_with("core 3              [")) << lines()[3];
}

TEST(Lines, SayWhatIsOfTheirType) {
    Event preempted = event(EventType::fc_preempt, 3, 5, 7);
    preempted.fc_index = 2;
    preempted.by_tag = 8;
    preempted.by_pid = 9;
    EXPECT_NE(
        watch::to_line(preempted, nullptr, ms)
            .find("0.002000000    1 -      fc_preempt            5 -         job 7 FC 2 waits "
                  "for job 8 of pid 9"),
        std::string::npos)
        << watch::to_line(preempted, nullptr, ms);
    const auto json = watch::to_json(preempted);
    EXPECT_EQ(json.at("by_pid"), 9u);
    EXPECT_EQ(json.at("event"), "fc_preempt");
    EXPECT_FALSE(json.contains("duration_ns"));
    EXPECT_FALSE(json.contains("part"));
}

TEST(Lines, SayWhichPartOfAGroup) {
    Event of = event(EventType::fc_start, 3, 5, 7);
    of.fc_index = 2;
    of.part = 1;
    for (const EventType type : {EventType::fc_start, EventType::fc_preempt, EventType::fc_resume,
                                 EventType::fc_done, EventType::fc_timeout}) {
        of.type = type;
        EXPECT_NE(watch::to_line(of, nullptr, 0).find("job 7 part 1 FC 2"), std::string::npos)
            << watch::to_line(of, nullptr, 0);
        EXPECT_EQ(watch::to_json(of).at("part"), 1u);
        EXPECT_EQ(watch::to_json_line(of), watch::to_json(of).dump());
    }
}

TEST(Line, OfJsonIsTheSameAsText) {
    for (std::size_t type = 0; type < event_type_count; type++) {
        Event of = event(static_cast<EventType>(type), 3, 5, 7);
        of.model = model_id("a\"\\\n");
        of.custom_id = -9;
        of.status = -5;
        of.high = type % 2 == 0;
        EXPECT_EQ(watch::to_json_line(of), watch::to_json(of).dump());
    }
}

/// A sysfs and a procfs, built by hand, with one device of the driver.
class Counters : public testing::Test {
protected:
    void SetUp() override {
        fs::remove_all(root_);
        fs::create_directories(device_);
        fs::create_directories(root_ / "sys/bus/drivers/overtake");
        fs::create_directories(root_ / "sys/class/accel/accel3");
        fs::create_directory_symlink(root_ / "sys/bus/drivers/overtake", device_ / "driver");
        fs::create_directory_symlink(device_, root_ / "sys/class/accel/accel3/device");
        open("7", "/dev/accel/accel3");
        open("8", "/dev/accel/accel4");
    }
    void TearDown() override { fs::remove_all(root_); }

    void open(const std::string& pid, const std::string& node) {
        fs::create_directories(root_ / "proc" / pid / "fd");
        fs::create_directories(root_ / "proc" / pid / "fdinfo");
        fs::create_symlink(node, root_ / "proc" / pid / "fd/4");
    }
    void core(unsigned number, unsigned busy_ms, unsigned preemptions) {
        const fs::path directory = device_ / ("core" + std::to_string(number));
        fs::create_directories(directory);
        std::ofstream(directory / "busy_ns") << busy_ms * ms << "\n";
        std::ofstream(directory / "preemptions") << preemptions << "\n";
    }
    void info(const std::string& pid, unsigned high_ms, unsigned normal_ms) {
        std::ofstream(root_ / "proc" / pid / "fdinfo/4")
            << "drm-driver:\tovertake\ndrm-client-id:\t" << pid << "\ndrm-engine-core1-high:\t"
            << high_ms * ms << " ns\ndrm-engine-core1-normal:\t" << normal_ms * ms
            << " ns\ndrm-engine-core2-high:\t0 ns\n";
    }

    const fs::path root_ =
        fs::path(testing::TempDir()) / ("top-counters-" + std::to_string(getpid()));
    const fs::path device_ = root_ / "sys/devices/platform/overtake.0";
};

TEST_F(Counters, SharesAreThoseOfTheInterval) {
    core(1, 5000, 70);
    core(2, 900, 0);
    info("7", 1000, 4000);
    info("8", 0, 500);
    command::TopCounters counters("accel3", root_ / "sys", root_ / "proc");
    counters.take(1000 * ms);
    core(1, 5080, 73);
    info("7", 1020, 4060);
    info("8", 0, 600);
    const watch::Snapshot snapshot = counters.take(1100 * ms);
    EXPECT_FALSE(snapshot.has_jobs);
    EXPECT_EQ(snapshot.interval_ns, 100 * ms);
    ASSERT_EQ(snapshot.cores.size(), 2u);
    EXPECT_NEAR(snapshot.cores[0].high, 0.2, 1e-9);
    EXPECT_NEAR(snapshot.cores[0].normal, 0.6, 1e-9);
    EXPECT_EQ(snapshot.cores[0].preemptions, 3u);
    EXPECT_EQ(snapshot.cores[1].normal, 0);
    ASSERT_EQ(snapshot.processes.size(), 1u) << "another device's process";
    EXPECT_EQ(snapshot.processes[0].pid, 7u);
    EXPECT_NEAR(snapshot.processes[0].high, 0.2, 1e-9);
    EXPECT_NEAR(snapshot.processes[0].normal, 0.6, 1e-9);

    const auto lines = command::top_lines(snapshot, {}, "head", 0, 0);
    EXPECT_NE(lines[1].find("80%  HIGH  20%  NORMAL  60%"), std::string::npos) << lines[1];
    EXPECT_EQ(lines[1].find("idle"), std::string::npos) << "that is not known";
    EXPECT_NE(lines.back().find("80%   20%    60%     -     -"), std::string::npos) << lines.back();
    EXPECT_TRUE(command::to_json(snapshot, {}).at("processes").at(0).at("waiting").is_null());
}

/// The HIGH time of a file that is closed does not become NORMAL time.
TEST_F(Counters, ClosingAFileMovesNothing) {
    core(1, 5000, 0);
    info("7", 4000, 1000);
    command::TopCounters counters("accel3", root_ / "sys", root_ / "proc");
    counters.take(1000 * ms);
    fs::remove_all(root_ / "proc/7");
    core(1, 5010, 0);
    const watch::Snapshot snapshot = counters.take(1100 * ms);
    EXPECT_NEAR(snapshot.cores.at(0).normal, 0.1, 1e-9);
    EXPECT_EQ(snapshot.cores.at(0).high, 0);
}

TEST_F(Counters, WhatGoesAwayIsNotThere) {
    core(1, 5000, 70);
    info("7", 1000, 4000);
    command::TopCounters counters("accel3", root_ / "sys", root_ / "proc");
    EXPECT_EQ(counters.take(1000 * ms).processes.size(), 1u);
    fs::remove_all(root_ / "proc/7");
    core(1, 10, 0); // the driver was loaded anew
    const watch::Snapshot snapshot = counters.take(2000 * ms);
    EXPECT_TRUE(snapshot.processes.empty());
    EXPECT_EQ(snapshot.cores.at(0).normal, 0);
    EXPECT_EQ(snapshot.cores.at(0).preemptions, 0u);
    fs::remove_all(root_ / "sys/class");
    EXPECT_TRUE(counters.take(3000 * ms).cores.empty());
    EXPECT_THROW(command::TopCounters("accel3", root_ / "sys", root_ / "proc"), Error);
}

TEST(TracepointFormat, IsWhatTracefsSays) {
    std::istringstream text("name: fc_done\nID: 1\nformat:\n"
                            "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                            "\tfield:u32 core;\toffset:12;\tsize:4;\tsigned:0;\n"
                            "\tfield:u32 ring;\toffset:8;\tsize:4;\tsigned:0;\n"
                            "\tfield:u64 time_ns;\toffset:16;\tsize:8;\tsigned:0;\n"
                            "\tfield:u32 error;\toffset:24;\tsize:4;\tsigned:0;\n"
                            "\nprint fmt: \"core=%u\", REC->core\n");
    const watch::TracepointFormat format(text, 28);
    std::array<std::byte, 28> record{};
    const std::uint32_t core = 3, error = ETIME;
    const std::uint64_t time_ns = 123456789012;
    std::memcpy(record.data() + 12, &core, sizeof(core));
    std::memcpy(record.data() + 16, &time_ns, sizeof(time_ns));
    std::memcpy(record.data() + 24, &error, sizeof(error));
    const Event made = watch::event_of(EventType::task_end, format, record);
    EXPECT_EQ(made.type, EventType::task_end);
    EXPECT_EQ(made.core, 3u);
    EXPECT_EQ(made.time_ns, time_ns);
    EXPECT_EQ(made.status, -ETIME);
    EXPECT_TRUE(made.high) << "ring 0";
    EXPECT_EQ(made.tag, 0u) << "a field that the driver does not have";
    std::istringstream longer("\tfield:u64 tag;\toffset:24;\tsize:8;\tsigned:0;\n");
    EXPECT_THROW(watch::TracepointFormat(longer, 28), Error);
}

} // namespace
} // namespace overtake::test
