// SPDX-License-Identifier: MIT
//
// overtake sim: a scenario under virtual time.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "overtake/device.hpp"
#include "simulator/recorder.hpp"
#include "simulator/simulate.hpp"

namespace overtake::command {
namespace {

struct Options {
    std::string scenario;
    std::string output;
    bool summary = false;
};

int run_sim(const Options& options) {
    const nlohmann::json document = simulator::read_json(options.scenario);
    const std::filesystem::path path(options.scenario);
    if (options.summary) {
        const simulator::Scenario scenario = simulator::parse_scenario(document, path.parent_path());
        fmt::print("{}", simulator::to_text(simulator::simulate(scenario, scenario.seed)));
        return 0;
    }
    if (options.output.empty()) {
        simulator::simulate(document, path.parent_path(), std::cout);
        return 0;
    }
    std::ofstream out(options.output);
    simulator::simulate(document, path.parent_path(), out);
    return 0;
}

} // namespace

void add_sim(CLI::App& app, int& status) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("sim", "What would happen: a scenario under virtual time");
    command->add_option("SCENARIO", options->scenario, "Scenario (JSON)")->required();
    command->add_option("-o,--output", options->output, "Where the timeline goes (JSON)");
    command->add_flag("--summary", options->summary, "Print latencies and where the time went");
    command->callback([options, &status] { status = run_sim(*options); });
}

} // namespace overtake::command
