// SPDX-License-Identifier: MIT
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include "demo_models.hpp"
#include "load/demo/predict.hpp"
#include "load/load.hpp"
#include "load/records.hpp"
#include "observe/timeline/timeline.hpp"
#include "observe/trace/fc_trace.hpp"
#include "processor_options.hpp"

using namespace overtake;

namespace {

std::string temporary(const std::string& name) {
    return (std::filesystem::path(testing::TempDir()) / name).string();
}

void write(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
}

} // namespace

TEST(ProcessorOptions, SetWhatTheEngineTakes) {
    CLI::App app;
    command::ProcessorArguments arguments;
    command::add_processor_options(app, arguments);
    const auto parsed = [&](const std::string& line) {
        app.clear();
        app.parse(line);
        EngineOptions options;
        command::set_processors(options, arguments, open_embedded({}), {});
        return options;
    };
    EXPECT_EQ(parsed("--processors npu,cpu").run_timeout_ns, EngineOptions{}.run_timeout_ns);
    EXPECT_EQ(parsed("--processors npu,cpu --run-timeout 250ms").run_timeout_ns, 250'000'000u);
    EXPECT_EQ(parsed("--processors npu,cpu --run-timeout 0").run_timeout_ns, 0u);
    EXPECT_EQ(parsed("--processors npu --slo 5 --drop late").drop, Drop::late);
}

TEST(Records, ComeBackAsTheyWere) {
    std::string path = temporary("records.csv");
    std::vector<load::Request> written = {{1, 2, 3, 4, 5, 0, 1, 4},
                                          {18446744073709551615u, 0, 7, 0, 0, -110, 8, 9}};
    std::ofstream file(path);
    load::write_records(file, written);
    file.close();
    auto read = load::read_records(path);
    ASSERT_EQ(read.size(), 2u);
    EXPECT_EQ(read[1].queued_ns, 18446744073709551615u);
    EXPECT_EQ(read[1].status, -110);
    EXPECT_EQ(read[1].due_ns, 8u);
    EXPECT_EQ(read[1].done_ns, 9u);
    EXPECT_EQ(read[0].preemptions, 5u);
}

TEST(Records, RefuseOtherFilesNamingTheLine) {
    std::string path = temporary("other.csv");
    write(path, "queued_ns,start_ns,end_ns,executed_ns,preemptions,status,due_ns,done_ns\n"
                "1,2,3,4,5,0,6,7\n1,2,x\n");
    try {
        load::read_records(path);
        FAIL();
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("other.csv:3:"), std::string::npos)
            << error.what();
    }
    write(path, "hello\n");
    EXPECT_THROW(load::read_records(path), Error);
    EXPECT_THROW(load::read_records(temporary("missing.csv")), Error);
}

TEST(Demo, CountsPartsOfRequestsAndTheTimeThatIsLeft) {
    // The window is 0..100 ms, of which the detector takes 20 ms.  The large network has four
    // requests: one ends when the window begins, two of 20 ms end in the window, and one of 20 ms
    // ends behind it.
    constexpr std::uint64_t ms = 1'000'000;
    std::vector<load::Request> detector;
    for (std::uint64_t at = 0; at < 100; at += 10)
        detector.push_back({at * ms + 1, at * ms + 1, (at + 2) * ms + 1, 2 * ms, 0, 0});
    detector.back().end_ns = 100 * ms + 1;
    std::vector<load::Request> large = {{0, 0, 1, 1, 0, 0},
                                        {1, 1, 40 * ms + 1, 20 * ms, 3, 0},
                                        {1, 40 * ms + 1, 80 * ms + 1, 20 * ms, 2, 0},
                                        {1, 80 * ms + 1, 110 * ms + 1, 20 * ms, 0, 0}};
    auto figures = demo::summarise(detector, large, 20 * ms, 10000);
    EXPECT_EQ(figures.requests, 10u);
    EXPECT_EQ(figures.p50_ns, 2 * ms);
    EXPECT_EQ(figures.max_ns, 10 * ms);
    EXPECT_EQ(figures.preemptions, 5u);
    EXPECT_EQ(figures.large_ran_dry, 0u);
    large[2].queued_ns = 40 * ms + 2;
    EXPECT_EQ(demo::summarise(detector, large, 20 * ms, 10000).large_ran_dry, 1u);
    EXPECT_NEAR(figures.large_per_second, 25, 0.01);
    EXPECT_NEAR(figures.fair_per_second, 40, 0.01);
}

TEST(Demo, CountsOnlyTheOverlapThatWasExecution) {
    // In a window of 2.9 ms, an FC of the large network ends after 0.9 ms, and then the detector's
    // FC runs.  So the large network gets all the time that is left.
    constexpr std::uint64_t us = 1000;
    const std::vector<load::Request> detector = {
        {10'000 * us, 10'900 * us, 12'900 * us, 2'000 * us, 0, 0}};
    const std::vector<load::Request> large = {{0, 0, 15'200 * us, 13'200 * us, 1, 0}};
    const auto figures = demo::summarise(detector, large, 13'200 * us, 10000);
    EXPECT_NEAR(figures.large_per_second, figures.fair_per_second, 1e-9);
    EXPECT_NEAR(figures.large_per_second, 0.9 / 13.2 / 0.0029, 1e-9);
}

TEST(Demo, PredictsPeriodsShorterThanTheScenariosJitter) {
    const std::string model = temporary("demo.ovm");
    test::compile_to(model, {100, 200});
    const demo::Networks networks = {model, model, model};
    for (const unsigned period_us : {100u, 499u, 500u, 10000u})
        for (const demo::Row& row : demo::rows()) {
            const demo::Load load = {.requests = 20, .period_us = period_us};
            EXPECT_EQ(demo::predict(row, networks, load).figures.requests, 20u)
                << row.name << ", " << period_us << " us";
        }
}

// Two detector requests come behind a large one, as a host that is late would send them.
TEST(Demo, ReplaysTheArrivalsOfAMeasurement) {
    const std::string detector = temporary("replay-detector.ovm");
    const std::string large = temporary("replay-large.ovm");
    test::compile_to(detector, {100});
    test::compile_to(large, {300, 300});
    const demo::Networks networks = {detector, large, large};
    constexpr std::uint64_t us = 1000;
    const std::vector<load::Request> detector_requests = {{7050 * us, 0, 0, 0, 0, 0},
                                                          {7120 * us, 0, 0, 0, 0, 0}};
    const std::vector<load::Request> large_requests = {{7000 * us, 0, 0, 0, 0, 0}};
    const auto latencies = [&](const demo::Row& row) {
        const demo::Figures figures =
            demo::replay(row, networks, 10000, detector_requests, large_requests);
        return std::pair{figures.p50_ns / us, figures.max_ns / us};
    };
    const auto& rows = demo::rows();
    // Without priority, both wait for the 600 us of the large request; with priority, for its first
    // FC.
    EXPECT_EQ(latencies(rows.at(1)), (std::pair<std::uint64_t, std::uint64_t>(650, 680)));
    EXPECT_EQ(latencies(rows.at(2)), (std::pair<std::uint64_t, std::uint64_t>(350, 380)));
}

TEST(FcTrace, ReadsWhatTracefsPrints) {
    std::istringstream text(
        "# tracer: nop\n"
        " kthread-7 [000] ..... 12.5: fc_start: device=0 core=1 ring=1 client=3 context=1 tag=9 "
        "fc_index=0 time_ns=1000 pid=41\n"
        " kthread-7 [000] ..... 12.5: fc_preempt: device=0 core=1 ring=1 client=3 context=1 tag=9 "
        "fc_index=1 time_ns=3000 pid=41\n"
        " kthread-7 [000] ..... 12.6: fc_done: device=0 core=1 ring=0 client=4 context=1 tag=1 "
        "fc_index=0 time_ns=4000 duration_ns=1000 fault=0 pid=42\n"
        " kthread-7 [001] ..... 12.5: fc_done: device=0 core=1 ring=1 client=3 context=1 tag=9 "
        "fc_index=0 time_ns=3000 duration_ns=2000 fault=0 pid=41\n");
    auto timeline = trace::parse(text, {{41, "large"}});
    ASSERT_EQ(timeline.fcs.size(), 2u);
    EXPECT_EQ(timeline.fcs[0].task, "large");
    EXPECT_EQ(timeline.fcs[0].start_ns, 1000u);
    EXPECT_FALSE(timeline.fcs[0].high);
    EXPECT_EQ(timeline.fcs[1].task, "pid 42");
    EXPECT_TRUE(timeline.fcs[1].high);
    ASSERT_EQ(timeline.preemptions.size(), 1u);
    EXPECT_EQ(timeline.preemptions[0].time_ns, 3000u);
    std::istringstream bad(" k-7 [000] ..... 1.5: fc_done: device=0 core=1\n");
    EXPECT_THROW(trace::parse(bad, {}), Error);
}
