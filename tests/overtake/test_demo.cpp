// SPDX-License-Identifier: MIT
//
// overtake demo: pictures, medians, signs of a busy machine, and the page.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "demo_models.hpp"
#include "demo_page.hpp"
#include "demo_results.hpp"
#include "demo_table.hpp"
#include "load/demo/busy.hpp"
#include "load/demo/picture.hpp"
#include "load/demo/predict.hpp"
#include "load/demo/spread.hpp"

using namespace overtake;

namespace {

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t day = 86'400'000 * ms;

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        found++;
    return found;
}

/// Returns the matches of the group of the regular expression `pattern`, in order.
std::vector<std::string> matches(const std::string& text, const std::string& pattern) {
    const std::regex regex(pattern);
    std::vector<std::string> found;
    for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at)
        found.push_back((*at)[1]);
    return found;
}

/// The colours of a network's boxes in a picture.
std::set<std::string> colours_of(const std::string& svg, const std::string& name) {
    const auto found =
        matches(svg, "<title>" + name + " FC [^<]*</title>\\s*<rect [^>]*fill=\"(#[0-9a-f]+)\"");
    return {found.begin(), found.end()};
}

/// Requests of a detector every 10 ms: each is served at once and takes 2 ms.  The first comes a
/// day after boot.
std::vector<load::Request> punctual(std::size_t count) {
    std::vector<load::Request> requests;
    for (std::size_t i = 0; i < count; i++) {
        const std::uint64_t at = day + i * 10 * ms;
        requests.push_back({at, at, at + 2 * ms, 2 * ms, 0, 0});
    }
    return requests;
}

demo::Figures with_p99(std::uint64_t p99_ns) {
    demo::Figures figures{};
    figures.p99_ns = p99_ns;
    return figures;
}

class Networks : public testing::Test {
protected:
    void SetUp() override {
        directory = std::filesystem::path(testing::TempDir()) /
                    testing::UnitTest::GetInstance()->current_test_info()->name();
        std::filesystem::create_directories(directory);
        networks = {directory / "detector.ovm", directory / "large.ovm", directory / "split.ovm"};
        test::compile_to(networks.detector, {2000});
        test::compile_to(networks.large, {13200});
        test::compile_to(networks.large_split, std::vector<std::uint64_t>(14, 943));
    }
    void TearDown() override { std::filesystem::remove_all(directory); }

    /// Predicted rows and, if `runs` is not 0, as many "measured" runs of each.
    command::DemoResults results(unsigned runs) const {
        command::DemoResults out;
        out.setup.networks = networks;
        out.setup.load.requests = 40;
        out.setup.repeat = std::max(runs, 1u);
        out.large_cost_ns = 13'200'000;
        for (const demo::Row& row : demo::rows()) {
            out.rows.push_back({row, demo::predict(row, networks, out.setup.load), {}});
            if (runs == 0)
                continue;
            const demo::Figures& predicted = out.rows.back().predicted.figures;
            command::Measurement measured{
                std::vector<demo::Figures>(runs, predicted),
                {},
                predicted,
                demo::draw({}, punctual(40), demo::middle({}, punctual(40), 10000), {}, "no root")};
            for (unsigned run = 0; run < runs; run++)
                measured.runs[run].p99_ns += run * ms;
            measured.spread = demo::spread(measured.runs);
            out.rows.back().measured = measured;
        }
        if (runs != 0)
            out.kernel = "Linux 6.12";
        return out;
    }

    /// Runs `overtake demo` with these options behind those that name the networks; returns its
    /// output.
    std::string run(const std::vector<std::string>& options) const {
        CLI::App app;
        int status = 1;
        command::add_demo_measuring(app, status);
        std::vector<std::string> arguments = {
            "demo",           "--detector",    networks.detector,    "--large",
            networks.large,   "--large-split", networks.large_split, "--output-dir",
            directory / "out"};
        arguments.insert(arguments.end(), options.begin(), options.end());
        std::ranges::reverse(arguments);
        testing::internal::CaptureStdout();
        app.parse(arguments);
        EXPECT_EQ(status, 0);
        return testing::internal::GetCapturedStdout();
    }

    std::string file(const std::string& name) const {
        std::ifstream in(directory / "out" / name);
        std::stringstream text;
        text << in.rdbuf();
        return text.str();
    }

    std::filesystem::path directory;
    demo::Networks networks;
};

} // namespace

TEST(DemoPicture, IsOfTheMiddleOfWhatWasRecorded) {
    const auto requests = punctual(100);
    timeline::Timeline timeline;
    timeline.fcs = {{"detector", 1, 0, 1, false, day + 600 * ms, day + 602 * ms},
                    {"detector", 2, 0, 1, false, day + 798 * ms, day + 800 * ms}};
    const demo::Window window = demo::middle(timeline, requests, 10000);
    EXPECT_EQ(window.to_ns - window.from_ns, 60 * ms);
    // The window begins half a period before a request; the exact middle would be 670 .. 730.
    EXPECT_EQ(window.from_ns, day + 665 * ms);
    // If nothing is recorded, the window is the middle of the run.
    EXPECT_EQ(demo::middle({}, requests, 10000).from_ns, day + 495 * ms);
}

TEST(DemoPicture, StartsAtZeroAndMarksWhatWasNotRecorded) {
    const auto requests = punctual(100);
    const demo::Window window = demo::picture_window(requests[50].queued_ns, 10000);
    timeline::Timeline timeline;
    timeline.fcs = {{"detector", 1, 0, 1, true, day + 500 * ms, day + 502 * ms}};
    const auto picture = [&](std::uint64_t known_from, std::uint64_t known_to) {
        return demo::draw(timeline, requests, window, demo::Window{known_from, known_to}, "why");
    };
    const std::string whole = picture(day, day + 1000 * ms);
    EXPECT_EQ(count(whole, "class=\"unrecorded\""), 0u);
    EXPECT_NE(whole.find("class=\"tick\">0</text>"), std::string::npos);
    EXPECT_NE(whole.find("<title>detector FC 0 on core 1, HIGH: 2 ms from 5 ms</title>"),
              std::string::npos);
    EXPECT_EQ(count(whole, "<g class=\"request\">"), 6u);
    // The picture shows 495 .. 555.
    EXPECT_EQ(count(picture(day + 500 * ms, day + 550 * ms), "class=\"unrecorded\""), 2u);
    EXPECT_EQ(count(picture(day + 100 * ms, day + 550 * ms), "class=\"unrecorded\""), 1u);
    EXPECT_EQ(count(picture(day + 600 * ms, day + 650 * ms), "class=\"unrecorded\""), 1u);
    const std::string nothing = demo::draw({}, requests, window, {}, "why");
    EXPECT_EQ(count(nothing, "class=\"unrecorded\""), 1u);
    EXPECT_NE(nothing.find("not recorded: why"), std::string::npos);
}

TEST(DemoSpread, IsTheMedianAndTheRangeOfEachFigure) {
    std::vector<demo::Figures> runs = {with_p99(30), with_p99(10), with_p99(20), with_p99(40)};
    runs[0].large_per_second = 1;
    runs[1].large_per_second = 7;
    const demo::Spread spread = demo::spread(runs);
    EXPECT_EQ(spread.least.p99_ns, 10u);
    EXPECT_EQ(spread.median.p99_ns, 20u); // the lower of the two in the middle
    EXPECT_EQ(spread.most.p99_ns, 40u);
    EXPECT_EQ(spread.typical, 2u);
    EXPECT_EQ(spread.median.large_per_second, 0);
    EXPECT_EQ(spread.most.large_per_second, 7);
}

TEST(DemoBusy, NamesEachSignOnce) {
    demo::Figures quiet{};
    quiet.late_ns = 4'900'000;
    EXPECT_TRUE(demo::busy_signs({1.9, 2}, {{"both", quiet}}, 10000).empty());
    EXPECT_EQ(demo::busy_signs({3.14, 2}, {{"both", quiet}}, 10000),
              std::vector<std::string>{"its load average was 3.1 on 2 CPUs before anything ran"});
    demo::Figures late{};
    late.late_ns = 7'100'000;
    demo::Figures dry{};
    dry.large_ran_dry = 12;
    EXPECT_EQ(
        demo::busy_signs({0, 2}, {{"alone", late}, {"split only", late}, {"both", dry}}, 10000),
        (std::vector<std::string>{"one detector request in 100 came more than 7.1 ms late "
                                  "(\"alone\", \"split only\")",
                                  "the large network's queue ran empty 12 times in \"both\""}));
}

TEST(DemoFigures, LatenessIsBesideTheMostPunctualRequest) {
    auto requests = punctual(200);
    EXPECT_EQ(demo::summarise(requests, {}, ms, 10000).late_ns, 0u);
    // The first request was late as well, so that the others seem early.
    requests[0].queued_ns += 3 * ms;
    EXPECT_EQ(demo::summarise(requests, {}, ms, 10000).late_ns, 0u);
    for (std::size_t i = 50; i < 53; i++)
        requests[i].queued_ns += 4 * ms;
    EXPECT_EQ(demo::summarise(requests, {}, ms, 10000).late_ns, 4 * ms);
}

TEST_F(Networks, HaveTheSameColourInAllPictures) {
    std::set<std::string> detector, large;
    for (const command::RowResult& row : results(0).rows) {
        const std::string& svg = row.predicted.picture;
        const auto of_detector = colours_of(svg, demo::detector_name);
        const auto of_large = colours_of(svg, demo::large_name);
        EXPECT_FALSE(of_detector.empty()) << row.row.name;
        EXPECT_EQ(of_large.empty(), !row.row.large) << row.row.name;
        detector.insert(of_detector.begin(), of_detector.end());
        large.insert(of_large.begin(), of_large.end());
    }
    EXPECT_EQ(detector.size(), 1u);
    EXPECT_EQ(large.size(), 1u);
    EXPECT_NE(detector, large);
}

TEST_F(Networks, PredictionWritesThePageAndSaysWhatIsMissing) {
    const std::string out = run({"--predict", "--requests", "40"});
    EXPECT_EQ(count(out, "index.html"), 1u);
    const std::string page = file("index.html");
    EXPECT_EQ(count(page, "<svg "), 5u);
    EXPECT_EQ(count(page, "not yet measured"), 5u);
    EXPECT_NE(page.find("Not measured yet."), std::string::npos);
    const auto json = nlohmann::json::parse(file("results.json"));
    EXPECT_TRUE(json["kernel"].is_null());
    ASSERT_EQ(json["set_ups"].size(), 5u);
    for (const auto& row : json["set_ups"]) {
        EXPECT_TRUE(row["measured"].is_null());
        EXPECT_EQ(row["predicted"]["requests"], 40);
        EXPECT_NE(file(row["predicted_picture"]).find("<svg "), std::string::npos);
    }
    // With priority 255 and short FCs, a request waits for at most one FC, 943 us, and takes 2 ms.
    EXPECT_LE(json["set_ups"][4]["predicted"]["max_us"], 2944);
    EXPECT_GT(json["set_ups"][1]["predicted"]["p50_us"], 20000);
}

TEST_F(Networks, JsonIsAllThatIsPrinted) {
    const auto printed = nlohmann::json::parse(run({"--predict", "--requests", "40", "--json"}));
    EXPECT_EQ(printed, nlohmann::json::parse(file("results.json")));
}

TEST_F(Networks, PredictionIsNotRepeated) {
    EXPECT_THROW(run({"--predict", "--repeat", "3"}), CLI::ParseError);
    testing::internal::GetCapturedStdout();
}

TEST_F(Networks, ThePageHoldsFiveRowsAndPicturesAndNeedsNoOtherFile) {
    command::DemoResults all = results(3);
    all.busy = {"its <load> was 9"};
    const std::string page = command::demo_page(all);
    EXPECT_EQ(count(page, "<svg "), 10u);
    EXPECT_EQ(count(page, "not yet"), 0u);
    for (const demo::Row& row : demo::rows()) {
        const std::string name = command::stem(row);
        EXPECT_EQ(count(page, "<h3 id=\"" + name + "\">" + row.name + "</h3>"), 1u);
        EXPECT_EQ(count(page, "<tr><td class=\"name\">" + row.name + "</td>"), 2u);
        EXPECT_EQ(count(page, "href=\"timeline-" + name + ".svg\""), 1u);
        EXPECT_EQ(count(page, "href=\"clients/" + name + "-detector-run3.csv\""), 1u);
        EXPECT_EQ(count(page, "overtake sim demo-" + name + " "), 1u);
    }
    EXPECT_NE(page.find("its &lt;load&gt; was 9"), std::string::npos);
    EXPECT_NE(page.find("Linux 6.12; medians of 3 runs"), std::string::npos);
    EXPECT_NE(page.find("not recorded: no root"), std::string::npos);
    // Each id occurs once, and the page loads nothing from elsewhere.
    const auto ids = matches(page, " id=\"([^\"]*)\"");
    EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), ids.size());
    for (const std::string& used : matches(page, "url\\(([^)]*)\\)"))
        EXPECT_EQ(count(page, " id=\"" + used.substr(1) + "\""), 1u) << used;
    for (const char* outside : {"<script", "<link", "<img", "@import", "src=", "href=\"http"})
        EXPECT_EQ(count(page, outside), 0u) << outside;
    EXPECT_EQ(count(page, "http"), count(page, "xmlns=\"http://www.w3.org/2000/svg\""));
}

TEST_F(Networks, ALateHostStretchesThePeriodAndThePageNamesTheScale) {
    command::DemoResults all = results(1);
    EXPECT_EQ(command::demo_page(all).find("Time scale"), std::string::npos);
    all.setup.time_scale = 4;
    const auto command = command::detector_command(all.setup, demo::rows()[0], 1);
    const auto period = std::ranges::find(command, "--period-us");
    ASSERT_NE(period, command.end());
    EXPECT_EQ(*(period + 1), "40000");
    EXPECT_NE(command::demo_page(all).find("Time scale 4."), std::string::npos);
    EXPECT_EQ(command::to_json(all)["time_scale"], 4);
}

TEST_F(Networks, ADisturbedRowStandsBelowTheTable) {
    command::DemoResults all = results(1);
    command::RowResult& both = all.rows.back();
    EXPECT_FALSE(command::is_disturbed(both));
    const auto printed = [&] {
        testing::internal::CaptureStdout();
        command::print_disturbed(all);
        return testing::internal::GetCapturedStdout();
    };
    EXPECT_EQ(printed(), "");
    const std::uint64_t predicted = both.predicted.figures.p99_ns;
    both.measured->spread.median.p99_ns = predicted + predicted / 11;
    EXPECT_FALSE(command::is_disturbed(both));
    both.measured->spread.median.p99_ns = predicted + predicted / 9;
    EXPECT_TRUE(command::is_disturbed(both));
    EXPECT_EQ(count(printed(), "Not in the table"), 1u);
    EXPECT_EQ(count(printed(), "both  "), 1u);
    EXPECT_EQ(count(printed(), "alone"), 0u);
}

TEST_F(Networks, TheTableHasFourColumns) {
    const command::DemoResults all = results(1);
    testing::internal::CaptureStdout();
    command::print_measured_head();
    for (const command::RowResult& row : all.rows)
        command::print_measured(row);
    std::stringstream lines(testing::internal::GetCapturedStdout());
    std::size_t rows = 0;
    for (std::string line; std::getline(lines, line);) {
        if (line.empty())
            continue;
        EXPECT_EQ(count(line, " | ") + count(line, "-+-"), 3u) << line;
        EXPECT_LE(line.size(), 80u) << line;
        rows++;
    }
    EXPECT_EQ(rows, 3 + all.rows.size());
}

TEST_F(Networks, JsonHasEveryRunAndTheirMedian) {
    const auto json = command::to_json(results(3));
    EXPECT_EQ(json["runs"], 3);
    EXPECT_EQ(json["kernel"], "Linux 6.12");
    for (const auto& row : json["set_ups"]) {
        const auto& measured = row["measured"];
        ASSERT_EQ(measured["runs"].size(), 3u);
        EXPECT_EQ(measured["p99_us"], measured["runs"][1]["p99_us"]);
        EXPECT_EQ(measured["least"]["p99_us"], measured["runs"][0]["p99_us"]);
        EXPECT_EQ(measured["most"]["p99_us"], measured["runs"][2]["p99_us"]);
    }
}
