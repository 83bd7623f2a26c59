// SPDX-License-Identifier: MIT
#include "simulator/simulate.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "overtake/device.hpp"
#include "simulator/processors/recorder.hpp"
#include "simulator/processors/summary.hpp"
#include "simulator/recorder.hpp"

namespace overtake::simulator {

void simulate(const nlohmann::json& document, const std::filesystem::path& directory,
              std::ostream& out) {
    if (processors::has_processors(document)) {
        processors::simulate(processors::parse_processor_scenario(document, directory), out);
        return;
    }
    const Scenario scenario = parse_scenario(document, directory);
    Recorder recorder(scenario);
    const std::array<Observer*, 1> observers = {&recorder};
    Simulator(scenario, scenario.seed, observers).run();
    recorder.write(out);
}

void processors::simulate(const ProcessorScenario& scenario, std::ostream& out) {
    ProcessorRecorder recorder(scenario);
    const std::array<Observer*, 1> observers = {&recorder};
    ProcessorSimulator(scenario, scenario.seed, observers).run();
    recorder.write(out);
}

namespace {

/// Finds the first arrival and the last end.
class Extent : public Observer {
public:
    void arrived(LiveTask&, std::uint64_t time) override { note(time); }
    void dropped(const Load&, std::uint64_t time) override { note(time); }
    void ended(LiveTask&, std::uint64_t time) override { last_ = time; }

    std::uint64_t first() const { return first_; }
    std::uint64_t last() const { return std::max(first_, last_); }

private:
    void note(std::uint64_t time) { first_ = std::min(first_, time); }

    std::uint64_t first_ = ~std::uint64_t{0};
    std::uint64_t last_ = 0;
};

} // namespace

std::uint64_t ticks(std::uint64_t us, std::uint64_t tick_ns) {
    const std::uint64_t of_us = 1000 / tick_ns;
    return us > ~std::uint64_t{0} / of_us ? ~std::uint64_t{0} : us * of_us;
}

namespace {

/// Returns the window that remains of a run from `first` to `last`.
Window window_in(std::uint64_t first, std::uint64_t last, std::uint64_t tick_ns, const Trim& trim) {
    const std::uint64_t whole = last - first;
    const std::uint64_t warm_up = ticks(trim.warm_up, tick_ns);
    const std::uint64_t drain = ticks(trim.drain, tick_ns);
    if (warm_up >= whole || drain >= whole - warm_up)
        throw Error(EINVAL, fmt::format("--warm-up and --drain leave nothing of a run of {}",
                                        format_time(in_us(whole, tick_ns))));
    Window window = {.from = first + warm_up};
    if (drain != 0)
        window.to = last - drain;
    return window;
}

} // namespace

Window window_of(const Scenario& scenario, std::uint64_t seed, const Trim& trim) {
    if (trim.warm_up == 0 && trim.drain == 0)
        return {};
    Extent extent;
    const std::array<Observer*, 1> observers = {&extent};
    Simulator(scenario, seed, observers).run();
    return window_in(extent.first(), extent.last(), scenario.tick_ns, trim);
}

Window processors::window_of(const ProcessorScenario& scenario, std::uint64_t seed,
                             const Trim& trim) {
    if (trim.warm_up == 0 && trim.drain == 0)
        return {};
    Tally tally(scenario);
    const std::array<Observer*, 1> observers = {&tally};
    ProcessorSimulator(scenario, seed, observers).run();
    return window_in(tally.from(), tally.to(), scenario.tick_ns, trim);
}

Summary processors::simulate(const ProcessorScenario& scenario, std::uint64_t seed,
                             const Trim& trim) {
    Tally tally(scenario, window_of(scenario, seed, trim));
    const std::array<Observer*, 1> observers = {&tally};
    ProcessorSimulator(scenario, seed, observers).run();
    return tally.summary();
}

Summary simulate(const Scenario& scenario, std::uint64_t seed, const Trim& trim) {
    Accounts accounts(scenario, window_of(scenario, seed, trim));
    const std::array<Observer*, 1> observers = {&accounts};
    Simulator(scenario, seed, observers).run();
    return summarise(scenario, accounts);
}

} // namespace overtake::simulator
