// SPDX-License-Identifier: MIT
#include "simulator/simulate.hpp"

#include <array>

#include <nlohmann/json.hpp>

#include "simulator/recorder.hpp"

namespace overtake::simulator {

void simulate(const nlohmann::json& document, const std::filesystem::path& directory,
              std::ostream& out) {
    const Scenario scenario = parse_scenario(document, directory);
    Recorder recorder(scenario);
    const std::array<Observer*, 1> observers = {&recorder};
    Engine(scenario, scenario.seed, observers).run();
    recorder.write(out);
}

Summary simulate(const Scenario& scenario, std::uint64_t seed) {
    Accounts accounts(scenario);
    const std::array<Observer*, 1> observers = {&accounts};
    Engine(scenario, seed, observers).run();
    return summarise(scenario, accounts);
}

} // namespace overtake::simulator
