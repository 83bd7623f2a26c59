// SPDX-License-Identifier: MIT
//
// Prints timelines of several processors by the oracle, or random scenarios.
//
//   processors_oracle FILE.json                      its timeline
//   processors_oracle --random SEED [--timeline]     a random scenario, or its timeline
#include <cstdint>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "processors_oracle.hpp"
#include "random_processors.hpp"

int main(int argc, char** argv) {
    namespace test = overtake::test;
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    try {
        if (arguments.size() == 1 && !arguments[0].starts_with("--")) {
            std::ifstream file(arguments[0]);
            std::cout << test::processors_text(
                test::processors_timeline(nlohmann::json::parse(file)));
            return 0;
        }
        const bool timeline = arguments.size() == 3 && arguments[2] == "--timeline";
        if (arguments.size() < 2 || arguments[0] != "--random" ||
            (arguments.size() > 2 && !timeline)) {
            std::cerr << "usage: processors_oracle FILE.json | --random SEED [--timeline]\n";
            return 2;
        }
        const nlohmann::json scenario = test::random_processors_scenario(std::stoull(arguments[1]));
        std::cout << test::processors_text(timeline ? test::processors_timeline(scenario)
                                                    : scenario);
    } catch (const std::exception& error) {
        std::cerr << "processors_oracle: " << error.what() << "\n";
        return 1;
    }
}
