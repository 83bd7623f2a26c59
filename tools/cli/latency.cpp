// SPDX-License-Identifier: MIT
//
// overtake latency: how long the jobs on a device waited and ran.
#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "json_text.hpp"
#include "late_jobs.hpp"
#include "observe/blame/requests.hpp"
#include "observe/report/picture.hpp"
#include "observe/watch/kernel_source.hpp"
#include "observe/watch/latency.hpp"
#include "observe/watch/watching.hpp"
#include "option_checks.hpp"
#include "units.hpp"

namespace overtake::command {
namespace {

using Json = nlohmann::ordered_json;
using watch::Grouping;

constexpr std::array<double, 4> shown_percents{50, 90, 99, 99.9};
constexpr std::size_t longest_bar = 40;
constexpr std::size_t usual_blame = 5;

struct LatencyOptions {
    std::string device = "auto";
    std::string by = "priority+model";
    double seconds = 0;
    std::size_t blame = 0;              ///< how many of each owner; 0: none
    std::vector<std::string> libraries; ///< libraries whose engines' tasks are reported, too
    bool json = false;
};

Grouping grouping_of(const std::string& name) {
    static const std::map<std::string, Grouping> groupings{
        {"priority+model", Grouping::priority_and_model},
        {"priority", Grouping::priority},
        {"model", Grouping::model},
        {"process", Grouping::process}};
    return groupings.at(name);
}

std::string time_text(double ns) {
    return report::duration(ns / 1000);
}

Json to_json(const watch::Spread& spread) {
    Json json{{"count", spread.count()}, {"mean_ns", spread.mean()}};
    for (const double percent : shown_percents)
        json[fmt::format("p{}_ns", percent)] = spread.percentile(percent);
    json["max_ns"] = spread.greatest();
    Json powers = Json::array();
    for (const auto& [power, count] : spread.by_power())
        powers.push_back(
            {{"from_ns", power == 0 ? 0 : std::uint64_t{1} << power}, {"count", count}});
    json["histogram"] = powers;
    return json;
}

Json to_json(const watch::Latency& latency, Grouping grouping) {
    Json groups = Json::array();
    for (const auto& [key, group] : latency.groups())
        groups.push_back({{"group", watch::group_name(grouping, key)},
                          {"jobs", group.total.count()},
                          {"failed", group.failed},
                          {"preemptions", group.preemptions},
                          {"wait", to_json(group.wait)},
                          {"run", to_json(group.run)},
                          {"total", to_json(group.total)}});
    return groups;
}

void print_histogram(const watch::Spread& spread) {
    const auto powers = spread.by_power();
    if (powers.empty())
        return;
    std::uint64_t most = 0;
    for (const auto& [power, count] : powers)
        most = std::max(most, count);
    for (unsigned power = powers.begin()->first; power <= powers.rbegin()->first; power++) {
        const auto found = powers.find(power);
        const std::uint64_t count = found == powers.end() ? 0 : found->second;
        const auto from = static_cast<double>(std::uint64_t{1} << power);
        fmt::print("  {:>9} .. {:>9} {:>9}  {}\n", power == 0 ? "0" : time_text(from),
                   time_text(2 * from), count,
                   std::string((count * longest_bar + most - 1) / most, '#'));
    }
}

void print_group(const std::string& name, const watch::Latency::Group& group) {
    fmt::print("{}: {} job{}, preempted {} times{}\n", name, group.total.count(),
               group.total.count() == 1 ? "" : "s", group.preemptions,
               group.failed == 0 ? "" : fmt::format(", {} failed", group.failed));
    if (group.total.count() == 0)
        return;
    fmt::print("  {:6}", "");
    for (const double percent : shown_percents)
        fmt::print(" {:>10}", fmt::format("p{}", percent));
    fmt::print(" {:>10} {:>10}\n", "max", "mean");
    const std::array<std::pair<const char*, const watch::Spread*>, 3> rows{
        {{"wait", &group.wait}, {"run", &group.run}, {"total", &group.total}}};
    for (const auto& [what, spread] : rows) {
        fmt::print("  {:6}", what);
        for (const double percent : shown_percents)
            fmt::print(" {:>10}", time_text(static_cast<double>(spread->percentile(percent))));
        fmt::print(" {:>10} {:>10}\n", time_text(static_cast<double>(spread->greatest())),
                   time_text(spread->mean()));
    }
    fmt::print("  total\n");
    print_histogram(group.total);
}

void print_slowest(const LateJobs& late, const blame::Requests& requests) {
    const std::vector<std::string> on_processors = requests.lines();
    if (!on_processors.empty())
        fmt::print("the slowest requests on several processors, in milliseconds:\n");
    for (const std::string& line : on_processors)
        fmt::print("  {}\n", line);
    const auto lines = late.lines();
    if (!lines.empty())
        fmt::print("the slowest:\n");
    for (const std::string& line : lines)
        fmt::print("  {}\n", line);
    if (!lines.empty() && !late.tasks_recorded())
        fmt::print("  (no queue of tasks was seen: what waited in a process before it came to the "
                   "device is not in this)\n");
}

void print_nothing_seen(bool is_of_engines, const watch::Latency& latency,
                        const blame::Requests& requests) {
    if (is_of_engines && requests.lines().empty())
        fmt::print("no request on several processors ended while it was watched\n");
    else if (!is_of_engines && latency.groups().empty())
        fmt::print("no job was queued and ended while it was watched\n");
}

void print_gaps(std::uint64_t lost, std::uint64_t dropped) {
    if (lost != 0)
        fmt::print(stderr, "overtake: latency: {} events were lost: some jobs are not counted\n",
                   lost);
    if (dropped != 0)
        fmt::print(stderr,
                   "overtake: latency: {} jobs, tasks and groups were dropped, the oldest "
                   "first, since memory for them is bounded\n",
                   dropped);
}

int latency(LatencyOptions options) {
    const bool is_of_engines = options.device == "engines"; // engines have no jobs, but requests
    if (is_of_engines && options.blame == 0)
        options.blame = usual_blame;
    const Grouping grouping = grouping_of(options.by);
    watch::raise_descriptor_limit();
    watch::stop_on_signals();
    const watch::Watched watched = watch::watch_device(
        options.device, {.wanted = options.blame != 0, .libraries = options.libraries});
    if (const std::string left_out = watch::engines_left_out(*watched.events); !left_out.empty())
        fmt::print(stderr, "overtake: latency: {}\n", left_out);
    watch::Jobs jobs;
    watch::Latency latency(grouping);
    LateJobs late(options.blame);
    blame::Requests requests(options.blame, watch::owner_name);
    watch::EndedNowAndThen ended;
    const auto follow_requests = [&] {
        for (const watch::ProcessorEvent& event : watch::take_processor_events(*watched.events))
            requests.add(event);
        requests.forget(ended.look([&] { return requests.processes(); }));
    };
    std::uint64_t lost_of_engines = 0;
    const auto look_for_lost = [&] {
        if (lost_of_engines != watch::lost_of_engines(*watched.events))
            requests.lost();
        lost_of_engines = watch::lost_of_engines(*watched.events);
        if (options.blame != 0)
            late.lost(watched.events->lost(), watch::lost_of_engines(*watched.events));
    };
    const auto see = [&](const Event& event) {
        const watch::Job* job = jobs.follow(event);
        if (job && event.type == EventType::job_done)
            latency.add(*job);
        if (options.blame != 0)
            late.add(event);
        return true;
    };
    watch::Expiry expiry(
        watched,
        [&] {
            std::vector<std::uint32_t> pids = jobs.processes();
            std::ranges::copy(late.processes(), std::back_inserter(pids));
            return pids;
        },
        [&](const std::set<std::uint32_t>& pids) {
            jobs.forget(pids);
            late.forget(pids);
        });
    watch::watch(*watched.events, options.seconds, see, [&] {
        follow_requests();
        look_for_lost();
        expiry.rest();
    });
    follow_requests();
    look_for_lost();
    late.finish();
    const std::uint64_t lost = watched.events->lost();
    const std::uint64_t dropped = jobs.dropped() + latency.dropped() + late.dropped() +
                                  requests.dropped() + watch::dropped_of_engines(*watched.events);
    if (options.json) {
        Json all{{"version", 1},
                 {"lost", lost},
                 {"dropped", dropped},
                 {"groups", to_json(latency, grouping)}};
        if (options.blame != 0)
            all["slowest"] = late.to_json();
        if (const Json slowest = requests.to_json(); !slowest.empty())
            all["requests"] = slowest;
        fmt::print("{}\n", text_of(all));
        return 0;
    }
    print_nothing_seen(is_of_engines, latency, requests);
    for (const auto& [key, group] : latency.groups())
        print_group(watch::group_name(grouping, key), group);
    if (options.blame != 0)
        print_slowest(late, requests);
    print_gaps(lost, dropped);
    return 0;
}

} // namespace

void add_latency(CLI::App& app, int& status) {
    auto options = std::make_shared<LatencyOptions>();
    auto* command =
        app.add_subcommand("latency", "Show how long the jobs on a device wait and run");
    command
        ->add_option("--device", options->device,
                     "Device: auto, kernel, server, server:SOCKET, /dev/accel/accelN, or "
                     "engines: those with several processors alone")
        ->capture_default_str();
    command
        ->add_option("--duration", options->seconds,
                     "Seconds, or with a unit (5min); without it, until it is interrupted")
        ->transform(duration(TimeUnit::second, 0.001, 1e7));
    command
        ->add_option("--by", options->by,
                     "How jobs are grouped: priority+model, priority, model or process")
        ->check(one_of({"priority+model", "priority", "model", "process"}))
        ->capture_default_str();
    command
        ->add_option("--blame", options->blame,
                     "Say why the N slowest jobs and tasks of each model took so long; default: 5")
        ->expected(0, 1)
        ->default_str(std::to_string(usual_blame))
        ->check(whole_number(1, 100000));
    command
        ->add_option("--library", options->libraries,
                     "With --blame: read the engines of this libovertake.so, too; may be repeated")
        ->check(not_empty())
        ->needs("--blame");
    command->add_flag("--json", options->json, "Print JSON");
    command->callback([options, &status] { status = latency(*options); });
}

} // namespace overtake::command
