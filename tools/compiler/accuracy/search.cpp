// SPDX-License-Identifier: MIT
#include "compiler/accuracy/search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "compiler/accuracy/float_order.hpp"
#include "compiler/accuracy/losses.hpp"
#include "compiler/accuracy/outputs.hpp"
#include "compiler/lower/cost.hpp"
#include "compiler/passes/equalise.hpp"

namespace overtake::compiler {
namespace {

struct Method {
    const char* name;
    CalibrationMethod method;
};
constexpr Method methods[] = {{"min-max", CalibrationMethod::min_max},
                              {"percentile", CalibrationMethod::percentile},
                              {"kl", CalibrationMethod::kl},
                              {"mse", CalibrationMethod::mse}};
// What looking for losses may take: samples, runs of the network, and operations in all.
constexpr std::size_t most_samples = 8;
constexpr std::uint64_t least_runs = 256;
constexpr std::uint64_t most_operations = 1ull << 36;
// Networks with nodes in float that are compiled and compared: until one is found, and in all.
constexpr std::size_t most_trials_to_find = 10, most_float_trials = 30;
// Of the loss by the method for all values, what another one may cost a value to be taken.
constexpr double clearly_less = 0.5;

// A network in integers, compared with float.
struct Trial {
    std::shared_ptr<PreparedNetwork> network;
    std::shared_ptr<const Calibration> calibration;
    Candidate candidate;
    std::vector<NodeSimilarity> outputs;
    std::size_t attempt = 0; // in the report
};

// By value, the ranges of each of `methods`.
using RangesByMethod = std::array<std::vector<Range>, std::size(methods)>;

class AccuracySearch {
public:
    AccuracySearch(const Samples& samples, const CompileOptions& options,
                   const DeviceProfile& device, const Progress& progress)
        : samples_(samples), options_(options), device_(device), progress_(progress) {
        report_.wanted = options.accuracy;
        report_.samples = samples.size();
    }

    AccurateNetwork run(PreparedNetwork network) {
        for (const ValueId output : network.graph.outputs)
            report_.outputs.push_back(network.graph.values[output].name);
        std::optional<Trial> found = find(std::make_shared<PreparedNetwork>(std::move(network)));
        if (found)
            report_.attempts[found->attempt].is_chosen = true;
        if (options_.report)
            options_.report(report_);
        if (!found)
            refuse();
        return {std::move(*found->network), std::move(found->candidate)};
    }

private:
    std::optional<Trial> find(std::shared_ptr<PreparedNetwork> network) {
        Trial best = best_of_methods(std::move(network));
        if (!reaches(best))
            choose_by_tensor(best);
        if (reaches(best))
            return best;
        return with_nodes_in_float(best);
    }

    std::function<void(double)> step(std::string what) const {
        return [this, what = std::move(what)](double done) {
            if (progress_)
                progress_(what, done);
        };
    }

    bool reaches(const Trial& trial) const {
        return std::ranges::all_of(trial.outputs, [&](const NodeSimilarity& output) {
            return std::isnan(output.cosine) ||
                   output.cosine >= static_cast<float>(options_.accuracy);
        });
    }

    // By the output that is farthest from float.
    static bool is_nearer(const Trial& trial, const Trial& other) {
        const auto least = [](const Trial& of) {
            float cosine = 1;
            for (const NodeSimilarity& output : of.outputs)
                if (output.cosine < cosine)
                    cosine = output.cosine;
            return cosine;
        };
        return least(trial) > least(other);
    }

    Trial trial_of(const std::string& what, std::shared_ptr<PreparedNetwork> network,
                   std::shared_ptr<const Calibration> calibration, const std::vector<Range>& ranges,
                   const std::set<std::string>& moved = {}) {
        Trial trial{std::move(network), std::move(calibration), {}, {}, report_.attempts.size()};
        trial.candidate = make_candidate(trial.network->graph, *trial.calibration, ranges,
                                         options_.corrects_bias);
        trial.outputs = compare_outputs(trial.candidate, samples_,
                                        read_states(options_.states, trial.network->graph),
                                        step("trying " + what));
        AccuracyAttempt attempt{what, {}, device_us(trial), cpu_us(trial), moved, ""};
        for (const NodeSimilarity& output : trial.outputs)
            attempt.cosines.push_back(output.cosine);
        report_.attempts.push_back(std::move(attempt));
        return trial;
    }

    double device_us(const Trial& trial) const {
        std::uint64_t cycles = 0;
        for (const Step& each : trial.candidate.program.steps)
            cycles += cost(each.insn, device_.numbers);
        return static_cast<double>(cycles) * 1000 / device_.numbers.clock_khz;
    }

    double cpu_us(const Trial& trial) const {
        const Graph& graph = trial.candidate.graph;
        double us = 0;
        for (const Node& node : graph.nodes)
            if (!node.on_bpu()) {
                const std::uint64_t macs = multiply_accumulates(graph, node);
                us += device_.cpu.microseconds(macs, operations_of(graph, node) - macs);
            }
        return us;
    }

    RangesByMethod ranges_of(const Calibration& calibration) const {
        RangesByMethod ranges;
        for (std::size_t number = 0; number < std::size(methods); ++number)
            ranges[number] = calibration.ranges(methods[number].method, options_.percentile);
        return ranges;
    }

    Trial best_of_methods(std::shared_ptr<PreparedNetwork> network) {
        const auto calibration = std::make_shared<const Calibration>(
            network->graph, samples_, CalibrationMethod::best, step("calibrating"));
        const RangesByMethod ranges = ranges_of(*calibration);
        std::optional<Trial> best;
        for (std::size_t number = 0; number < std::size(methods); ++number) {
            Trial trial = trial_of(methods[number].name, network, calibration, ranges[number]);
            if (!best || is_nearer(trial, *best)) {
                best = std::move(trial);
                method_ = number;
            }
        }
        return std::move(*best);
    }

    // Samples spread over all of them, as many as so many roundings leave time for.
    Samples some_samples(const Graph& graph, std::size_t roundings) const {
        const std::uint64_t runs = std::max(least_runs, most_operations / operations_of(graph));
        const auto count = static_cast<std::size_t>(
            std::clamp<std::uint64_t>(runs / std::max<std::size_t>(roundings, 1), 1,
                                      std::min(most_samples, samples_.size())));
        Samples some;
        for (std::size_t number = 0; number < count; ++number)
            some.push_back(samples_[number * samples_.size() / count]);
        return some;
    }

    // Values whose quantisation is their own, and chosen.
    static std::vector<ValueId> chosen_values(const Graph& graph) {
        std::vector<bool> moved(graph.values.size());
        for (const Node& node : graph.nodes)
            moved[node.output] = keeps_quantisation(node) && !gathers_quantisation(node);
        const std::vector<bool> on_device = device_values(graph);
        std::vector<ValueId> values;
        for (ValueId id = 0; id < graph.values.size(); ++id)
            if (on_device[id] && !moved[id] && !graph.values[id].given &&
                !graph.values[id].is_constant())
                values.push_back(id);
        return values;
    }

    // Those with the greatest errors of their own, if time does not suffice for all.
    std::vector<Rounding> worth_a_look(const Graph& graph, std::vector<Rounding> roundings) const {
        const auto most =
            static_cast<std::size_t>(std::max(least_runs, most_operations / operations_of(graph)));
        if (roundings.size() <= most)
            return roundings;
        const std::vector<double> errors =
            rounding_errors(graph, std::span(samples_).first(1), roundings);
        std::vector<std::size_t> order(roundings.size());
        for (std::size_t index = 0; index < order.size(); ++index)
            order[index] = index;
        std::ranges::stable_sort(
            order, [&](std::size_t a, std::size_t b) { return errors[a] > errors[b]; });
        order.resize(most);
        std::ranges::sort(order);
        std::vector<Rounding> kept;
        for (const std::size_t index : order)
            kept.push_back(roundings[index]);
        return kept;
    }

    std::vector<Loss> losses(const Graph& graph, const std::vector<Rounding>& roundings,
                             const char* what) const {
        return losses_of(graph, some_samples(graph, roundings.size()), roundings, step(what));
    }

    // Zeros are at 1: beyond a few of that nothing is left to lose.
    static double sum_of(const Loss& loss) {
        double sum = 0;
        for (const double error : loss.outputs)
            sum += std::min(error, 4.0);
        return sum;
    }

    // For each value the method whose range costs the outputs least, where that is clearly less:
    // what values lose together is not the sum of what each loses.
    void choose_by_tensor(Trial& best) {
        const Graph& graph = best.network->graph;
        const RangesByMethod ranges = ranges_of(*best.calibration);
        std::array<std::vector<Quantisation>, std::size(methods)> quantisations;
        for (std::size_t number = 0; number < std::size(methods); ++number)
            quantisations[number] = choose_quantisations(graph, ranges[number]);
        std::vector<Rounding> roundings;
        for (const ValueId id : chosen_values(graph))
            for (std::size_t number = 0; number < std::size(methods); ++number)
                if (std::none_of(
                        quantisations.begin(), quantisations.begin() + number,
                        [&](const auto& other) { return other[id] == quantisations[number][id]; }))
                    roundings.push_back({id, quantisations[number][id]});
        roundings = worth_a_look(graph, std::move(roundings));
        const std::vector<Loss> costs = losses(graph, roundings, "looking at each tensor");
        const std::vector<Quantisation>& usual = quantisations[method_];
        std::map<ValueId, double> least;
        for (std::size_t index = 0; index < roundings.size(); ++index)
            if (roundings[index].to == usual[roundings[index].value])
                least[roundings[index].value] = clearly_less * sum_of(costs[index]);
        std::vector<Range> mixed = ranges[method_];
        for (std::size_t index = 0; index < roundings.size(); ++index) {
            const auto& [id, to] = roundings[index];
            const double sum = sum_of(costs[index]);
            const auto known = least.find(id);
            if (to == usual[id] || known == least.end() || known->second <= sum)
                continue;
            known->second = sum;
            const auto number = static_cast<std::size_t>(
                std::ranges::find_if(quantisations,
                                     [&](const auto& other) { return other[id] == to; }) -
                quantisations.begin());
            method_of_[graph.values[id].name] = number;
            mixed[id] = ranges[number][id];
        }
        if (method_of_.empty())
            return;
        Trial trial = trial_of("ranges by tensor", best.network, best.calibration, mixed);
        if (is_nearer(trial, best))
            best = std::move(trial);
        else
            method_of_.clear();
    }

    std::vector<Range> chosen_ranges(const Graph& graph, const Calibration& calibration) const {
        const RangesByMethod ranges = ranges_of(calibration);
        std::vector<Range> result = ranges[method_];
        for (ValueId id = 0; id < graph.values.size(); ++id) {
            const auto found = method_of_.find(graph.values[id].name);
            if (found != method_of_.end())
                result[id] = ranges[found->second][id];
        }
        return result;
    }

    // Rounding a value ends where all nodes around it compute in float.
    std::vector<ErrorSource> sources_of(const Trial& trial) const {
        const Graph& graph = trial.network->graph;
        std::vector<Rounding> roundings;
        for (const ValueId id : chosen_values(graph))
            roundings.push_back({id, trial.candidate.quantised.values[id]});
        roundings = worth_a_look(graph, std::move(roundings));
        const std::vector<Loss> costs = losses(graph, roundings, "looking for what loses most");
        std::vector<ErrorSource> sources;
        std::map<ValueId, const Loss*> loss_of;
        for (std::size_t index = 0; index < roundings.size(); ++index) {
            const ValueId id = roundings[index].value;
            loss_of[id] = &costs[index];
            sources.push_back({nodes_around(graph, id), costs[index].outputs});
        }
        add_nodes(trial, loss_of, sources);
        std::erase_if(sources, [](const ErrorSource& source) {
            return source.nodes.empty() ||
                   std::ranges::all_of(source.outputs, [](double error) { return error == 0; });
        });
        return sources;
    }

    // Nodes of the device that make or read the value, or what is moved from it.
    static std::vector<std::size_t> nodes_around(const Graph& graph, ValueId id) {
        std::set<ValueId> same = {id};
        std::vector<std::size_t> nodes;
        for (std::size_t index = 0; index < graph.nodes.size(); ++index) {
            const Node& node = graph.nodes[index];
            const bool reads = std::ranges::any_of(
                node.inputs, [&](ValueId input) { return same.contains(input); });
            if (reads && keeps_quantisation(node) && !gathers_quantisation(node))
                same.insert(node.output);
            if (node.on_bpu() && (reads || same.contains(node.output)))
                nodes.push_back(index);
        }
        return nodes;
    }

    // What a node adds beside the rounding of its inputs and its output: weights, tables.  Its own
    // error reaches the outputs as that of rounding its output does.
    void add_nodes(const Trial& trial, const std::map<ValueId, const Loss*>& loss_of,
                   std::vector<ErrorSource>& sources) const {
        const Graph& graph = trial.network->graph;
        const Candidate& candidate = trial.candidate;
        const std::vector<NodeSimilarity> own = compare_with_float(
            candidate.graph, candidate.quantised, candidate.program,
            some_samples(graph, graph.nodes.size()), Alone::yes, {}, step("looking at each node"));
        std::map<ValueId, float> own_errors;
        for (std::size_t index = 0; index < candidate.graph.nodes.size(); ++index)
            own_errors[candidate.graph.nodes[index].output] = own[index].own_error;
        for (std::size_t index = 0; index < graph.nodes.size(); ++index) {
            const Node& node = graph.nodes[index];
            const auto loss = loss_of.find(node.output);
            const double error = own_errors[node.output];
            if (!node.on_bpu() || loss == loss_of.end() || !(loss->second->value > 0) ||
                std::isnan(error))
                continue;
            const double beyond = std::max(error * error / loss->second->value - 1, 0.0);
            std::vector<double> outputs = loss->second->outputs;
            for (double& output : outputs)
                output *= beyond;
            sources.push_back({{index}, std::move(outputs)});
        }
    }

    std::optional<Trial> with_nodes_in_float(const Trial& best) {
        const Graph& graph = best.network->graph;
        std::vector<double> work;
        for (const Node& node : graph.nodes)
            work.push_back(static_cast<double>(operations_of(graph, node)));
        // Of a difference of random direction: cosine = 1 - square / 2.
        const double wanted = std::max(2 * (1 - options_.accuracy), 1e-9);
        std::vector<FloatStep> steps = float_order(sources_of(best), work, wanted);
        FloatStep rest;
        for (std::size_t index = 0; index < graph.nodes.size(); ++index)
            if (graph.nodes[index].on_bpu())
                rest.nodes.push_back(index);
        rest.outputs.assign(graph.outputs.size(), 0);
        steps.push_back(std::move(rest));
        const auto enough = std::ranges::find_if(steps, [&](const FloatStep& each) {
            return std::ranges::all_of(each.outputs, [&](double e) { return e <= wanted; });
        });
        return fewest_steps(*best.network, steps,
                            static_cast<std::size_t>(enough - steps.begin()) + 1);
    }

    // A few of the steps, whose trial reaches the accuracy: a first count of them that does, then
    // one by one those without which fewer would not.
    std::optional<Trial> fewest_steps(const PreparedNetwork& network,
                                      const std::vector<FloatStep>& steps, std::size_t first) {
        std::size_t enough = first, too_few = 0, trials = 0;
        std::optional<Trial> found;
        std::vector<std::size_t> needed;
        const auto reached_by = [&](std::size_t count) {
            ++trials;
            std::optional<Trial> trial = trial_in_float(network, steps, count, needed);
            if (!trial || !reaches(*trial))
                return false;
            found = std::move(trial);
            return true;
        };
        while (!reached_by(enough)) {
            if (enough == steps.size())
                return std::nullopt;
            too_few = enough;
            enough = trials + 1 < most_trials_to_find ? std::min(2 * enough, steps.size())
                                                      : steps.size();
        }
        while (trials < most_float_trials) {
            while (too_few + 1 < enough && trials < most_float_trials) {
                const std::size_t count = std::midpoint(too_few, enough);
                (reached_by(count) ? enough : too_few) = count;
            }
            needed.push_back(--enough); // without it the others do not suffice
            if (enough == 0 || trials == most_float_trials || reached_by(0))
                break;
            too_few = 0;
        }
        return found;
    }

    // With the nodes of the first `count` steps on the CPU, and of those needed; none if the
    // network cannot be had so.
    std::optional<Trial> trial_in_float(const PreparedNetwork& network,
                                        const std::vector<FloatStep>& steps, std::size_t count,
                                        std::vector<std::size_t> numbers) {
        for (std::size_t number = 0; number < count; ++number)
            numbers.push_back(number);
        std::set<std::string> moved;
        for (const std::size_t number : numbers)
            for (const std::size_t node : steps[number].nodes)
                moved.insert(network.origins[node].begin(), network.origins[node].end());
        const std::string what =
            fmt::format("{} node{} in float", moved.size(), moved.size() == 1 ? "" : "s");
        CompileOptions options = options_;
        options.import.keep_on_cpu.insert(moved.begin(), moved.end());
        options.warn = nullptr; // the first import has warned
        options.import.warn = nullptr;
        try {
            auto changed = std::make_shared<PreparedNetwork>(prepare_network(options));
            if (options.equalises_channels)
                equalise(changed->graph, samples_, step("equalising channels"));
            const auto calibration = std::make_shared<const Calibration>(
                changed->graph, samples_, CalibrationMethod::best, step("calibrating"));
            const std::vector<Range> ranges = chosen_ranges(changed->graph, *calibration);
            return trial_of(what, std::move(changed), calibration, ranges, moved);
        } catch (const CompileError& error) {
            report_.attempts.push_back({what, {}, 0, 0, moved, error.what()});
            return std::nullopt;
        }
    }

    [[noreturn]] void refuse() const {
        const AccuracyAttempt* nearest = nullptr;
        std::size_t output = 0;
        float most = 0;
        for (const AccuracyAttempt& attempt : report_.attempts) {
            std::size_t worst = 0;
            for (std::size_t number = 0; number < attempt.cosines.size(); ++number)
                if (attempt.cosines[number] < attempt.cosines[worst] ||
                    std::isnan(attempt.cosines[worst]))
                    worst = number;
            if (attempt.cosines.empty() || (nearest && !(attempt.cosines[worst] > most)))
                continue;
            nearest = &attempt;
            output = worst;
            most = attempt.cosines[worst];
        }
        throw CompileError(
            fmt::format("--accuracy {}", options_.accuracy),
            fmt::format("is not reached: output '{}' has a cosine of {:.6f} with {}, the nearest "
                        "of {} attempts; ask for less, or look for the tensor with "
                        "overtake compare --layers",
                        report_.outputs[output], most, nearest->what, report_.attempts.size()));
    }

    const Samples& samples_;
    const CompileOptions& options_;
    const DeviceProfile& device_;
    const Progress& progress_;
    AccuracyReport report_;
    std::size_t method_ = 0;                       // index into `methods`
    std::map<std::string, std::size_t> method_of_; // the same, of values by name
};

} // namespace

AccurateNetwork search_accuracy(PreparedNetwork network, const Samples& samples,
                                const CompileOptions& options, const DeviceProfile& device,
                                const Progress& progress) {
    return AccuracySearch(samples, options, device, progress).run(std::move(network));
}

} // namespace overtake::compiler
