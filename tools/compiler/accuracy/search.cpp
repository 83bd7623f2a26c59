// SPDX-License-Identifier: MIT
#include "compiler/accuracy/search.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "compiler/accuracy/float_order.hpp"
#include "compiler/accuracy/losses.hpp"
#include "compiler/accuracy/ranges.hpp"
#include "compiler/accuracy/sources.hpp"
#include "compiler/accuracy/trials.hpp"
#include "compiler/inputs/decisions.hpp"
#include "compiler/passes/equalise.hpp"
#include "compiler/passes/origins.hpp"
#include "compiler/quantise/unreached.hpp"

namespace overtake::compiler {
namespace {

// Trials of one remedy by fewest_steps(): at most so many until one reaches the accuracy, and so
// many in all.
constexpr std::size_t most_trials_to_find = 10, most_remedy_trials = 30;

// Times with a smaller ratio count as about the same, since they are modelled and estimated.
constexpr double about_as_long = 1.1;

bool is_nearer(const Trial& trial, const Trial& other) {
    return trial.reaches != other.reaches ? trial.reaches
                                          : trial.least_nearness() > other.least_nearness();
}

// Returns the outputs that the options ask for in 8 bits and that the device makes in this graph.
std::set<ValueId> outputs_in_8_bits(const Graph& graph, const CompileOptions& options) {
    const std::vector<bool> on_device = device_values(graph);
    std::set<ValueId> outputs;
    for (const ValueId id : graph.outputs)
        if (on_device[id] && graph.values[id].element_type == ElementType::float32 &&
            wants_int8(options, graph.values[id]))
            outputs.insert(id);
    return outputs;
}

class AccuracySearch {
public:
    AccuracySearch(const Graph& graph, const Samples& samples, const CompileOptions& options,
                   const DeviceProfile& device, const Progress& progress)
        : samples_(samples), options_(options), trials_(graph, samples, options, device, progress) {
    }

    AccurateNetwork run(PreparedNetwork network) {
        read_decisions(options_.decisions, network.graph); // throws if they are wrong
        for (const ValueId output : network.graph.outputs)
            trials_.report.outputs.push_back(network.graph.values[output].name);
        try {
            find(std::make_shared<PreparedNetwork>(std::move(network)));
        } catch (...) {
            report(); // the attempts may show the reason
            throw;
        }
        if (found_)
            trials_.report.attempts[found_->attempt].is_chosen = true;
        report();
        if (!found_)
            refuse();
        warn_of_outputs();
        return {std::move(*found_->network), std::move(found_->candidate)};
    }

private:
    void report() const {
        if (options_.report && !trials_.report.attempts.empty())
            options_.report(trials_.report);
    }

    void find(std::shared_ptr<PreparedNetwork> network) {
        std::optional<Trial> best = in_integers(network);
        if (best && best->reaches)
            found_ = std::move(best);
        else if (std::ranges::any_of(network->graph.nodes, &Node::on_bpu))
            with_remedies(std::move(network), std::move(best));
    }

    // Returns the trial in integers that comes nearest to float: with one method for all values, or
    // with methods by value.
    std::optional<Trial> in_integers(const std::shared_ptr<PreparedNetwork>& network) {
        const Graph& graph = network->graph;
        const Calibration calibration(graph, samples_, CalibrationMethod::best,
                                      trials_.step("calibrating"));
        warn_of_unreached(options_.model, graph, calibration, options_.warn);
        std::optional<Trial> best;
        const auto attempt = [&](const std::string& what, const MethodChoice& choice) {
            std::optional<Trial> trial = trials_.attempt(
                what, [&](const Samples&) { return trial_of(network, calibration, choice); });
            if (!trial || (best && !is_nearer(*trial, *best)))
                return;
            best = std::move(trial);
            choice_ = choice;
        };
        // All methods give the same network if no value is rounded.
        const bool is_rounded = std::ranges::any_of(graph.nodes, &Node::on_bpu);
        for (std::size_t number = 0; number < (is_rounded ? range_methods.size() : 1); ++number)
            attempt(range_methods[number].name, {number, {}});
        if (!best)
            usual_ = choose_quantisations(
                graph, ranges_by(choice_, graph, calibration, options_.percentile));
        if (!best || best->reaches)
            return best;
        const MethodChoice mixed =
            choose_by_value(choice_.usual, graph, calibration, options_.percentile, samples_,
                            trials_.step("looking at each tensor"));
        if (!mixed.of_value.empty())
            attempt("ranges by tensor", mixed);
        return best;
    }

    Trial trial_of(const std::shared_ptr<PreparedNetwork>& network, const Calibration& calibration,
                   const MethodChoice& choice) const {
        Trial trial;
        trial.network = network;
        trial.candidate =
            make_candidate(network->graph, calibration,
                           ranges_by(choice, network->graph, calibration, options_.percentile),
                           options_.corrects_bias);
        return trial;
    }

    // The steps of a remedy, each with nodes of the file, in the order in which it takes them.  The
    // first trial is with `first` steps.
    struct RemedyPlan {
        Remedy remedy;
        std::vector<std::set<std::string>> steps;
        std::size_t first = 1;
    };

    // Tries 16 bits on the device, then float on the CPU.  Keeps the trial in float if it takes
    // less time than that in 16 bits, or if it takes about as long and comes nearer to float.
    void with_remedies(std::shared_ptr<PreparedNetwork> network, std::optional<Trial> best) {
        const Graph& graph = network->graph;
        std::vector<ErrorSource> sources;
        const std::vector<Quantisation> quantisations =
            best ? best->candidate.quantised.values : usual_;
        if (!quantisations.empty())
            sources =
                error_sources(graph, quantisations, best ? &best->candidate : nullptr, samples_,
                              [&](std::string what) { return trials_.step(std::move(what)); });
        best.reset(); // it takes as much memory as one more trial
        for (const ValueId id : outputs_in_8_bits(graph, options_))
            int8_outputs_.insert(graph.values[id].name);
        on_cpu_before_ = nodes_on_cpu(*network);
        in_16_bits_before_ = values_in_16_bits(*network);
        const RemedyPlan plans[] = {plan_for(Remedy::bits_16, *network, sources),
                                    plan_for(Remedy::float_on_cpu, *network, sources)};
        network.reset();
        for (const RemedyPlan& plan : plans) {
            plan_ = &plan;
            is_reached_ = {{{}, false}};
            // If all nodes in 16 bits do not reach the accuracy, fewer do not.  But if a network
            // with all of them is refused, one with fewer may compile.
            if (plan.remedy == Remedy::bits_16 && !is_reached_with(all_names(plan)) &&
                trials_.report.attempts.back().refusal.empty())
                continue;
            fewest_steps(plan.first);
            if (found_)
                other_ = {us_of(*found_), found_->least_nearness()};
        }
    }

    // Returns the modelled time on the device and the estimated time on the CPU, added.
    double us_of(const Trial& trial) const {
        const AccuracyAttempt& attempt = trials_.report.attempts[trial.attempt];
        return attempt.device_us + attempt.cpu_us;
    }

    static std::set<std::string> all_names(const RemedyPlan& plan) {
        std::set<std::string> names;
        for (const std::set<std::string>& step : plan.steps)
            names.insert(step.begin(), step.end());
        return names;
    }

    RemedyPlan plan_for(Remedy remedy, const PreparedNetwork& network,
                        std::vector<ErrorSource> sources) const {
        const Graph& graph = network.graph;
        // If the difference has a random direction, the cosine is 1 - square / 2.
        const double wanted = std::max(2 * (1 - options_.accuracy), 1e-9);
        const std::vector<bool> stays = staying_nodes(network, remedy);
        std::erase_if(sources, [&](const ErrorSource& source) {
            return std::ranges::any_of(source.nodes, [&](std::size_t node) { return stays[node]; });
        });
        std::vector<double> work;
        for (const Node& node : graph.nodes)
            work.push_back(static_cast<double>(operations_of(graph, node)));
        std::vector<FloatStep> steps =
            sources.empty() ? std::vector<FloatStep>() : float_order(sources, work, wanted);
        FloatStep rest;
        for (std::size_t index = 0; index < graph.nodes.size(); ++index)
            if (graph.nodes[index].on_bpu() && !stays[index])
                rest.nodes.push_back(index);
        rest.outputs.assign(graph.outputs.size(), 0);
        steps.push_back(std::move(rest));
        const auto enough = std::ranges::find_if(steps, [&](const FloatStep& each) {
            return std::ranges::all_of(each.outputs, [&](double e) { return e <= wanted; });
        });
        RemedyPlan plan{remedy, {}, static_cast<std::size_t>(enough - steps.begin()) + 1};
        for (const FloatStep& step : steps) {
            plan.steps.emplace_back();
            for (const std::size_t node : step.nodes)
                for (const std::string& name : network.origins[node])
                    plan.steps.back().insert(
                        remedy == Remedy::float_on_cpu ? recurrence_of(graph, name) : name);
        }
        return plan;
    }

    // Whether each node must stay as it is.  The remedy float leaves nodes that the options want on
    // the device.  Both remedies leave nodes whose output the program gets in 8 bits.
    std::vector<bool> staying_nodes(const PreparedNetwork& network, Remedy remedy) const {
        const Graph& graph = network.graph;
        const std::set<ValueId> outputs = outputs_in_8_bits(graph, options_);
        std::set<std::string> names;
        if (remedy == Remedy::float_on_cpu) {
            names = options_.import.stay_on_bpu;
            names.insert(options_.import.run_on_bpu.begin(), options_.import.run_on_bpu.end());
        }
        std::vector<bool> stays;
        for (std::size_t index = 0; index < graph.nodes.size(); ++index)
            stays.push_back(outputs.contains(graph.nodes[index].output) ||
                            std::ranges::any_of(network.origins[index], [&](const auto& name) {
                                return names.contains(name) ||
                                       names.contains(recurrence_of(graph, name));
                            }));
        return stays;
    }

    // Finds a few of the steps with which a trial reaches the accuracy.  First finds a number of
    // steps that suffices, then, one by one, the steps without which the others do not suffice.
    void fewest_steps(std::size_t first) {
        std::size_t enough = first, too_few = 0, count_of_trials = 0;
        std::vector<std::size_t> needed;
        const auto reached_by = [&](std::size_t count) {
            ++count_of_trials;
            std::set<std::string> asked;
            for (std::size_t number = 0; number < count; ++number)
                asked.insert(plan_->steps[number].begin(), plan_->steps[number].end());
            for (const std::size_t number : needed)
                asked.insert(plan_->steps[number].begin(), plan_->steps[number].end());
            return is_reached_with(asked);
        };
        while (!reached_by(enough)) {
            const std::size_t all = plan_->steps.size();
            if (enough == all || is_too_dear_)
                return;
            too_few = enough;
            enough = count_of_trials + 1 < most_trials_to_find ? std::min(2 * enough, all) : all;
        }
        const auto has_time = [&] { return count_of_trials < most_remedy_trials; };
        while (has_time()) {
            while (too_few + 1 < enough && has_time()) {
                const std::size_t count = std::midpoint(too_few, enough);
                (reached_by(count) ? enough : too_few) = count;
            }
            needed.push_back(--enough); // without it the others do not suffice
            if (enough == 0 || (has_time() && reached_by(0)))
                return;
            too_few = 0;
        }
        trials_.report.is_cut_short = true;
    }

    // Whether a trial with these nodes of the file in 16 bits or in float, as far as they can be,
    // reaches the accuracy and is better than that of another remedy.
    bool is_reached_with(const std::set<std::string>& asked) {
        const bool is_float = plan_->remedy == Remedy::float_on_cpu;
        std::set<std::string> changed;
        std::optional<Trial> trial = trials_.attempt(
            remedied(asked.size(), plan_->remedy),
            [&](const Samples& samples) -> std::optional<Trial> {
                auto network = std::make_shared<PreparedNetwork>(prepared_with(asked));
                changed = is_float ? without(nodes_on_cpu(*network), on_cpu_before_)
                                   : without(values_in_16_bits(*network), in_16_bits_before_);
                if (is_reached_.contains(changed))
                    return std::nullopt;
                check_outputs(network->graph);
                if (options_.equalises_channels)
                    equalise(network->graph, samples, trials_.step("equalising channels"));
                const Calibration calibration(network->graph, samples, CalibrationMethod::best,
                                              trials_.step("calibrating"));
                Trial made = trial_of(network, calibration, choice_);
                (is_float ? made.moved : made.in_16_bits) = is_float ? changed : asked;
                return made;
            });
        is_too_dear_ = trial && us_of(*trial) > about_as_long * other_.us;
        const bool reaches =
            trial && trial->reaches && !is_too_dear_ &&
            (us_of(*trial) < other_.us || trial->least_nearness() > other_.nearness);
        const bool is_reached = is_reached_.try_emplace(changed, reaches).first->second;
        if (reaches)
            found_ = std::move(trial);
        return is_reached;
    }

    PreparedNetwork prepared_with(const std::set<std::string>& asked) const {
        CompileOptions options = options_;
        for (const std::string& name : asked)
            if (plan_->remedy == Remedy::float_on_cpu)
                options.import.keep_on_cpu.emplace(name, "its results need more than 8 bits");
            else
                options.nodes_in_16_bits.insert(name);
        options.warn = nullptr; // the first import has warned
        options.import.warn = nullptr;
        return prepare_network(options);
    }

    // Returns the nodes of the file that the CPU computes.
    static std::set<std::string> nodes_on_cpu(const PreparedNetwork& network) {
        std::set<std::string> names;
        for (std::size_t index = 0; index < network.origins.size(); ++index)
            if (!network.graph.nodes[index].on_bpu())
                names.insert(network.origins[index].begin(), network.origins[index].end());
        return names;
    }

    // Returns the tensors that have 16 bits.
    static std::set<std::string> values_in_16_bits(const PreparedNetwork& network) {
        std::set<std::string> names;
        for (const Value& value : network.graph.values)
            if (value.is_int16)
                names.insert(value.name);
        return names;
    }

    // Returns the names that are not in `before`: nodes or tensors that a remedy was asked to
    // change, and neighbours that changed with them.
    static std::set<std::string> without(const std::set<std::string>& names,
                                         const std::set<std::string>& before) {
        std::set<std::string> result;
        std::ranges::set_difference(names, before, std::inserter(result, result.end()));
        return result;
    }

    // Throws CompileError if an output of int8 would be float32: the neighbours of nodes that move
    // may move, too.
    void check_outputs(const Graph& graph) const {
        const std::set<ValueId> in_8_bits = outputs_in_8_bits(graph, options_);
        for (const ValueId id : graph.outputs)
            if (int8_outputs_.contains(graph.values[id].name) && !in_8_bits.contains(id))
                throw CompileError(options_.model, "output '" + graph.values[id].name +
                                                       "' would be float32, and is to be int8");
    }

    // Warns of the outputs of the found network whose cosine has no meaning, or little.
    void warn_of_outputs() const {
        const Graph& graph = found_->network->graph;
        for (std::size_t number = 0; options_.warn && number < graph.outputs.size(); ++number) {
            const Value& output = graph.values[graph.outputs[number]];
            const std::string place = options_.model + ": output '" + output.name + "' ";
            if (std::isnan(found_->outputs[number].cosine))
                options_.warn(place + "has no finite number in float over the samples, so "
                                      "--accuracy says nothing of it");
            else if (output.elements() * samples_.size() == 1)
                options_.warn(place + "is one number over all samples, and a cosine sees no more "
                                      "than its sign; calibrate with more samples");
        }
    }

    [[noreturn]] void refuse() const {
        const AccuracyReport& report = trials_.report;
        const AccuracyAttempt* nearest = nullptr;
        std::size_t output = 0;
        float most = 0;
        for (const AccuracyAttempt& attempt : report.attempts) {
            const std::size_t worst = attempt.farthest();
            if (attempt.outputs.empty() || (nearest && !(attempt.outputs[worst].least() > most)))
                continue;
            nearest = &attempt;
            output = worst;
            most = attempt.outputs[worst].least();
        }
        if (!nearest)
            throw CompileError(fmt::format("--accuracy {}", options_.accuracy),
                               report.attempts.empty()
                                   ? "is not reached, and no node can move to the CPU"
                                   : "is not reached, as no attempt compiles: " +
                                         report.attempts[0].refusal);
        throw CompileError(fmt::format("--accuracy {}", options_.accuracy),
                           fmt::format("is not reached: output '{}' {} with {}, the nearest "
                                       "of {} attempts; ask for less, or look for the tensor with "
                                       "the greatest error of its own: compile without "
                                       "--accuracy, and see overtake info",
                                       report.outputs[output], described(nearest->outputs[output]),
                                       nearest->what, report.attempts.size()));
    }

    // Returns "has a cosine of 0.98", and the number that makes the output less near than that.
    static std::string described(const OutputNearness& output) {
        std::string text = fmt::format("has a cosine of {:.6f}", output.cosine);
        if (output.same_decisions == output.least())
            text += fmt::format(", and {:.2f} % of its decisions are those of float,",
                                percent_of(output.same_decisions));
        else if (output.expected_decisions == output.least())
            text += fmt::format(", and of other samples {:.2f} % of its decisions would be those "
                                "of float,",
                                percent_of(output.expected_decisions));
        else if (output.logits == output.least())
            text +=
                fmt::format(", and as logits it gives probabilities and choices that are near by "
                            "{:.6f},",
                            output.logits);
        else if (output.least() < output.cosine)
            text += fmt::format(", and its rarer sign one of {:.6f},", output.rarer_sign);
        return text;
    }

    const Samples& samples_;
    const CompileOptions& options_;
    Trials trials_;
    MethodChoice choice_;              // of the best trial in integers
    const RemedyPlan* plan_ = nullptr; // the plan in trial
    std::vector<Quantisation> usual_;  // by value, where no network in integers compiles
    std::set<std::string> int8_outputs_, on_cpu_before_, in_16_bits_before_;
    std::map<std::set<std::string>, bool> is_reached_; // by what the remedy changes
    std::optional<Trial> found_;                       // reaches the accuracy
    // The time of the trial that another remedy has found, and its nearness to float.
    struct {
        double us = std::numeric_limits<double>::infinity();
        float nearness = -1;
    } other_;
    bool is_too_dear_ = false; // whether the latest trial is
};

} // namespace

AccurateNetwork search_accuracy(PreparedNetwork network, const Samples& samples,
                                const CompileOptions& options, const DeviceProfile& device,
                                const Progress& progress) {
    AccuracySearch search(network.graph, samples, options, device, progress);
    return search.run(std::move(network));
}

} // namespace overtake::compiler
