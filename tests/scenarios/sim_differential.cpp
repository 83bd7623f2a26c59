// SPDX-License-Identifier: MIT
//
// Compares the timelines of `overtake sim`: those of random scenarios of both kinds with the
// reference, and those of worked examples with the expected timelines.  Prints a line for each
// scenario in which they differ; a random one is made small and kept in a file.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "oracle.hpp"
#include "random_scenario.hpp"
#include "shrink_scenario.hpp"
#include "simulator/simulate.hpp"
#include "task_oracle.hpp"
#include "timeline_difference.hpp"

namespace overtake::test {
namespace {

using nlohmann::json;

struct Options {
    std::uint64_t first = 1;
    std::uint64_t count = 1000;
    std::string kind = "all";
    std::string directory = ".";
    std::string program;
    std::string examples;
    bool print = false;
    bool all_fair = false;
    std::uint64_t most_differences = 10;
};

TaskTimeline expected_timeline(const json& scenario) {
    if (scenario.at("kind") == "task")
        return task_oracle_timeline(task_scenario_from(scenario));
    return {.device = oracle_timeline(scenario_from(scenario)), .cpu = {}, .tasks = {}};
}

/// Throws a JSON error if a key is missing or of a wrong type.
TaskTimeline timeline_of_kind(const json& from, bool task_level) {
    if (from.at("version") != 1)
        throw std::runtime_error("a timeline that is not of version 1");
    if (task_level)
        return task_timeline_from(from);
    if (from.contains("cpu") || from.contains("tasks"))
        throw std::runtime_error("a timeline of the FC level with what only tasks have");
    return {.device = timeline_from(from), .cpu = {}, .tasks = {}};
}

std::string simulate_here(const json& scenario) {
    std::ostringstream out;
    simulator::simulate(scenario, ".", out);
    return out.str();
}

std::string simulate_there(const std::string& program, const std::string& directory,
                           const json& scenario) {
    const std::string base = directory + "/sim-differential";
    const std::string timeline_path = base + ".timeline.json";
    std::ofstream(base + ".json") << scenario;
    std::filesystem::remove(timeline_path);
    const std::string command =
        "'" + program + "' sim '" + base + ".json' -o '" + timeline_path + "'";
    const int status = std::system(command.c_str());
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        throw std::runtime_error("it fails");
    std::ostringstream out;
    out << std::ifstream(timeline_path).rdbuf();
    return out.str();
}

std::optional<std::string> difference_from(const TaskTimeline& expected, const Options& options,
                                           const json& scenario) {
    try {
        const std::string answer =
            options.program.empty() ? simulate_here(scenario)
                                    : simulate_there(options.program, options.directory, scenario);
        const bool task_level = scenario.at("kind") == "task";
        return first_difference(timeline_of_kind(json::parse(answer), task_level), expected);
    } catch (const std::exception& error) {
        return std::string("no timeline: ") + error.what();
    }
}

std::optional<std::string> difference_in(const Options& options, const json& scenario) {
    return difference_from(expected_timeline(scenario), options, scenario);
}

void report(const Options& options, std::uint64_t seed, const json& scenario) {
    const auto differs = [&](const json& smaller) {
        return difference_in(options, smaller).has_value();
    };
    const json small = shrink_scenario(scenario, differs);
    const std::string path = options.directory + "/differs-" + small.at("kind").get<std::string>() +
                             "-" + std::to_string(seed) + ".json";
    std::ofstream(path) << small.dump(1) << "\n";
    std::cout << "seed " << seed << ": " << path << ": "
              << difference_in(options, small).value_or("no difference the second time") << "\n";
}

/// Whether there are examples and none differs.
bool run_examples(const Options& options) {
    const std::string ending = ".expected.json";
    std::uint64_t examples = 0;
    bool same = true;
    for (const auto& entry : std::filesystem::directory_iterator(options.examples)) {
        const std::string path = entry.path().string();
        if (!path.ends_with(ending))
            continue;
        const json scenario = read_json(path.substr(0, path.size() - ending.size()) + ".json");
        const bool task_level = scenario.at("kind") == "task";
        const TaskTimeline expected = timeline_of_kind(read_json(path), task_level);
        examples++;
        if (const auto difference = difference_from(expected, options, scenario)) {
            std::cout << path << ": " << *difference << "\n";
            same = false;
        }
    }
    std::cout << examples << " examples\n";
    return same && examples != 0;
}

/// Whether no random scenario differs.
bool run_seeds(const Options& options) {
    std::uint64_t differences = 0;
    std::uint64_t scenarios = 0;
    for (std::uint64_t seed = options.first; seed < options.first + options.count; seed++) {
        for (const std::string kind : {"fc", "task", "service"}) {
            if (options.kind != "all" && options.kind != kind)
                continue;
            json scenario = kind == "fc"     ? random_fc_scenario(seed, options.all_fair)
                            : kind == "task" ? random_task_scenario(seed, options.all_fair)
                                             : random_service_scenario(seed);
            put_random_limits(scenario, seed);
            scenarios++;
            if (options.print)
                std::cout << scenario << "\n";
            if (!difference_in(options, scenario))
                continue;
            report(options, seed, scenario);
            if (++differences == options.most_differences)
                return false;
        }
    }
    std::cout << scenarios << " scenarios, " << differences << " differences\n";
    return differences == 0;
}

} // namespace
} // namespace overtake::test

int main(int argc, char** argv) {
    overtake::test::Options options;
    CLI::App app("Random scenarios: overtake sim against the reference of the scheduling contract");
    app.add_option("--first", options.first, "First seed; 1");
    app.add_option("--count", options.count, "How many seeds; 1000");
    app.add_option("--kind", options.kind, "fc, task, service or all")
        ->check(CLI::IsMember({"fc", "task", "service", "all"}));
    app.add_option("--directory", options.directory, "Where scenarios that differ go");
    app.add_option("--program", options.program,
                   "The overtake command; without it the simulator's library is called");
    app.add_option("--examples", options.examples,
                   "Instead of seeds: every NAME.json with its NAME.expected.json in a directory");
    app.add_flag("--fair", options.all_fair, "Only scenarios of fair devices; some otherwise");
    app.add_flag("--print", options.print, "Print every scenario");
    app.add_option("--most-differences", options.most_differences, "Stop after so many; 10");
    CLI11_PARSE(app, argc, argv);
    const bool same = options.examples.empty() ? overtake::test::run_seeds(options)
                                               : overtake::test::run_examples(options);
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
}
