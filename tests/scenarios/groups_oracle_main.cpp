// SPDX-License-Identifier: MIT
//
// Prints the timeline of a scenario by the oracle of groups: groups_oracle FILE.json; or prints a
// random scenario: groups_oracle --draw fc|task SEED.
#include <cstdlib>
#include <iostream>
#include <string>

#include <nlohmann/json.hpp>

#include "groups_oracle.hpp"
#include "random_groups.hpp"
#include "scenario.hpp"

int main(int argc, char** argv) {
    using namespace overtake::test;
    const std::string first = argc > 1 ? argv[1] : "";
    if (argc == 4 && first == "--draw") {
        std::cout << random_groups(std::stoull(argv[3]), std::string(argv[2]) == "task").dump()
                  << "\n";
        return EXIT_SUCCESS;
    }
    if (argc != 2) {
        std::cerr << "groups_oracle FILE.json | --draw fc|task SEED\n";
        return 2;
    }
    std::cout << groups_timeline(read_json(first)).dump() << "\n";
}
