// SPDX-License-Identifier: MIT
#include "load/demo/predict.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "load/demo/picture.hpp"
#include "overtake/model_contents.hpp"
#include "simulator/bundled.hpp"
#include "simulator/models.hpp"
#include "simulator/simulator.hpp"

namespace overtake::demo {
namespace {

/// Requests as a client would have recorded them. Load 0 is the detector's, load 1 the large
/// network's. Among listed requests, the detector's come first.
class Requests : public simulator::Observer {
public:
    explicit Requests(std::uint64_t ns_per_tick, std::size_t listed_of_detector = 0)
        : ns_per_tick_(ns_per_tick), listed_(listed_of_detector) {}

    void ended(simulator::LiveTask& task, std::uint64_t time) override {
        const std::size_t load = task.load != simulator::LiveTask::not_a_load ? task.load
                                 : task.number < listed_                      ? 0
                                                                              : 1;
        of_load.at(load).push_back({.queued_ns = task.arrival * ns_per_tick_,
                                    .start_ns = task.job.start_ns * ns_per_tick_,
                                    .end_ns = time * ns_per_tick_,
                                    .executed_ns = task.job.executed_ns * ns_per_tick_,
                                    .preemptions = static_cast<std::uint32_t>(task.preemptions),
                                    .status = 0});
    }

    std::array<std::vector<load::Request>, 2> of_load;

private:
    std::uint64_t ns_per_tick_;
    std::size_t listed_;
};

/// Records what generated loads do in a window.
class WindowRecorder : public simulator::Observer {
public:
    explicit WindowRecorder(const Window& window) : window_(window) {}

    void fc_started(simulator::LiveTask& task, unsigned core, bool high, std::uint32_t index,
                    std::uint64_t time, std::uint64_t end) override {
        const std::uint64_t start_ns = time * ns_per_us;
        const std::uint64_t end_ns = end * ns_per_us;
        if (end_ns > window_.from_ns && start_ns < window_.to_ns)
            timeline.fcs.push_back({.task = task.load == 0 ? detector_name : large_name,
                                    .tag = task.serial,
                                    .index = index,
                                    .core = core,
                                    .high = high,
                                    .start_ns = start_ns,
                                    .end_ns = end_ns});
    }
    void preempted(simulator::LiveTask& task, unsigned core, std::uint64_t time) override {
        const std::uint64_t time_ns = time * ns_per_us;
        if (time_ns >= window_.from_ns && time_ns < window_.to_ns)
            timeline.preemptions.push_back({.core = core, .time_ns = time_ns, .tag = task.serial});
    }

    timeline::Timeline timeline;

private:
    Window window_;
};

/// Returns requests by load, in the order of their arrivals.
std::array<std::vector<load::Request>, 2> simulate(const nlohmann::json& document,
                                                   Requests requests, simulator::Observer& other) {
    const simulator::Scenario scenario = simulator::parse_scenario(document, ".");
    const std::array<simulator::Observer*, 2> observers = {&requests, &other};
    simulator::Simulator(scenario, scenario.seed, observers).run();
    for (auto& list : requests.of_load)
        std::ranges::sort(list, {}, &load::Request::queued_ns);
    return std::move(requests.of_load);
}

nlohmann::json scenario_of(const Row& row) {
    std::string stem = row.name;
    std::ranges::replace(stem, ' ', '-');
    return simulator::read_json(simulator::find_scenario("demo-" + stem));
}

/// Returns the modelled time of each FC of a model that is one BPU segment.
std::vector<std::uint64_t> fcs_ns(const std::filesystem::path& path) {
    const auto model = Model::load(path.string());
    std::vector<std::uint64_t> times;
    for (const Segment& segment : ModelContents::of(*model).segments)
        if (segment.on_bpu())
            std::ranges::copy(simulator::modelled_ns(*model, segment), std::back_inserter(times));
    return times;
}

nlohmann::json document_of(const Row& row, const Networks& networks, const Load& load) {
    nlohmann::json document = scenario_of(row);
    const auto file = [](const std::filesystem::path& path) {
        return nlohmann::json{{"file", std::filesystem::absolute(path).string()}};
    };
    document["models"]["detector"] = file(networks.detector);
    if (row.large)
        document["models"]["large"] = file(row.split ? networks.large_split : networks.large);
    nlohmann::json& loads = document["loads"];
    loads[0]["count"] = load.requests;
    nlohmann::json& arrivals = loads[0]["arrivals"];
    arrivals["period"] = load.period_us;
    // Requests keep their order, so jitter cannot be more than the period.
    arrivals["jitter"] = std::min(arrivals.value("jitter", 0u), load.period_us);
    if (row.large) {
        loads[1]["arrivals"]["depth"] = large_in_flight;
        loads[1]["until"] = static_cast<std::uint64_t>(load.requests) * load.period_us;
    }
    return document;
}

} // namespace

Prediction predict(const Row& row, const Networks& networks, const Load& load) {
    const std::uint64_t middle_us = std::uint64_t{load.requests} / 2 * load.period_us;
    const Window window = picture_window(middle_us * ns_per_us, load.period_us);
    WindowRecorder recorder(window);
    const auto [detector, large] =
        simulate(document_of(row, networks, load), Requests(ns_per_us), recorder);
    recorder.timeline.title = fmt::format("{}, as predicted", row.name);
    return {.figures =
                summarise(detector, large, predicted_cost_ns(networks.large), load.period_us),
            .picture = draw(std::move(recorder.timeline), detector, window, window, "")};
}

Figures replay(const Row& row, const Networks& networks, unsigned period_us,
               std::span<const load::Request> detector, std::span<const load::Request> large) {
    // A tick is a nanosecond here: over 20 s, rounding errors would add up.
    nlohmann::json document = scenario_of(row);
    document["models"]["detector"] = {{"fcs", fcs_ns(networks.detector)}};
    if (row.large)
        document["models"]["large"] = {
            {"fcs", fcs_ns(row.split ? networks.large_split : networks.large)}};
    const nlohmann::json loads = document["loads"];
    document.erase("loads");
    std::uint64_t first_ns = ~std::uint64_t{0};
    for (const auto& requests : {detector, large})
        for (const load::Request& request : requests)
            first_ns = std::min(first_ns, request.queued_ns);
    auto& jobs = document["jobs"] = nlohmann::json::array();
    const auto add = [&](const load::Request& request, const nlohmann::json& like) {
        jobs.push_back({{"id", std::to_string(jobs.size())},
                        {"at", request.queued_ns - first_ns},
                        {"model", like.at("model")},
                        {"core", like.at("core")},
                        {"priority", like.value("priority", 0)}});
    };
    for (const load::Request& request : detector)
        add(request, loads.at(0));
    for (const load::Request& request : large)
        add(request, loads.at(1));
    simulator::Observer none;
    const auto [first, second] = simulate(document, Requests(1, detector.size()), none);
    return summarise(first, second, predicted_cost_ns(networks.large), period_us);
}

std::uint64_t predicted_cost_ns(const std::filesystem::path& model) {
    const std::vector<std::uint64_t> fcs = fcs_ns(model);
    return std::accumulate(fcs.begin(), fcs.end(), std::uint64_t{0});
}

} // namespace overtake::demo
