// SPDX-License-Identifier: MIT
#include "compiler/accuracy/trials.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <utility>

#include "compiler/accuracy/losses.hpp"
#include "compiler/accuracy/outputs.hpp"
#include "compiler/lower/cost.hpp"

namespace overtake::compiler {
namespace {

// The first comparison of a trial takes as many samples as fit in so many operations, and at least
// so many samples.
constexpr std::uint64_t most_operations_of_a_trial = 1ull << 34;
constexpr std::size_t least_compared = 16;

} // namespace

float Trial::least_nearness() const {
    float least = 1;
    for (const OutputNearness& output : outputs)
        least = output.least() < least ? output.least() : least;
    return least;
}

std::string remedied(std::size_t nodes, Remedy remedy) {
    return std::to_string(nodes) + (nodes == 1 ? " node in " : " nodes in ") +
           (remedy == Remedy::bits_16 ? "16 bits" : "float");
}

Trials::Trials(const Graph& graph, const Samples& samples, const CompileOptions& options,
               const DeviceProfile& device, const Progress& progress)
    : samples_(samples), options_(options), device_(device), progress_(progress) {
    report.wanted = options.accuracy;
    report.samples = samples.size();
    const std::size_t count =
        std::max<std::size_t>(least_compared, most_operations_of_a_trial / effort_of(graph));
    if (options.states.empty() && count < samples.size())
        some_ = spread(samples, count);
}

std::function<void(double)> Trials::step(std::string what) const {
    return [this, what = std::move(what)](double done) {
        if (progress_)
            progress_(what, done);
    };
}

// Whether the output reaches the accuracy.  An output whose numbers are all NaN has nothing to be
// near to, and counts as near.
bool Trials::is_near(const OutputNearness& output) const {
    return !(output.least() < static_cast<float>(options_.accuracy));
}

double Trials::device_us(const Trial& trial) const {
    std::uint64_t cycles = 0;
    for (const Step& each : trial.candidate.program.steps)
        cycles += cost(each.insn, device_.numbers);
    return static_cast<double>(cycles) * 1000 / device_.numbers.clock_khz;
}

double Trials::cpu_us(const Trial& trial) const {
    const Graph& graph = trial.candidate.graph;
    double us = 0;
    for (const Node& node : graph.nodes)
        if (!node.on_bpu()) {
            const std::uint64_t macs = multiply_accumulates(graph, node);
            us += device_.cpu.microseconds(macs, operations_of(graph, node) - macs);
        }
    return us;
}

std::optional<Trial> Trials::compared(const Make& make, const Samples& samples,
                                      AccuracyAttempt& entry) const {
    std::optional<Trial> trial = make(samples);
    if (!trial)
        return trial;
    if (!trial->moved.empty())
        entry.what = remedied(trial->moved.size(), Remedy::float_on_cpu);
    else if (!trial->in_16_bits.empty())
        entry.what = remedied(trial->in_16_bits.size(), Remedy::bits_16);
    const Graph& graph = trial->network->graph;
    OutputUses uses = {read_states(options_.states, graph),
                       read_decisions(options_.decisions, graph), 1 - options_.accuracy};
    uses.logits = possible_logits(graph, uses.decisions);
    trial->outputs.clear();
    for (const NodeSimilarity& output :
         compare_outputs(trial->candidate, samples, uses, step("trying " + entry.what)))
        trial->outputs.push_back({output.cosine, output.rarer_sign, output.same_decisions,
                                  output.expected_decisions, output.logits});
    constexpr float none = std::numeric_limits<float>::quiet_NaN();
    const auto is_near_of = [&](const OutputNearness& output) { return is_near(output); };
    const auto is_near_by_numbers = [&](const OutputNearness& output) {
        return is_near(OutputNearness{output.cosine, output.rarer_sign, none, none, none});
    };
    trial->reaches = std::ranges::all_of(trial->outputs, is_near_of);
    trial->is_near_by_numbers = std::ranges::all_of(trial->outputs, is_near_by_numbers);
    entry.samples = samples.size();
    return trial;
}

std::optional<Trial> Trials::attempt(const std::string& what, const Make& make) {
    AccuracyAttempt entry;
    entry.what = what;
    std::optional<Trial> trial;
    try {
        trial = compared(make, some_ ? *some_ : samples_, entry);
        if (!trial)
            return trial;
        if (trial->is_near_by_numbers && some_) {
            trial.reset(); // two trials take twice the memory
            trial = compared(make, samples_, entry);
        }
        entry.device_us = device_us(*trial);
        entry.cpu_us = cpu_us(*trial);
        entry.moved = trial->moved;
        entry.in_16_bits = trial->in_16_bits;
        entry.outputs = trial->outputs;
        trial->attempt = report.attempts.size();
    } catch (const Error& error) {
        trial.reset();
        entry.refusal = error.what();
    } catch (const std::bad_alloc&) {
        trial.reset();
        entry.refusal = "there is not enough memory for it";
    }
    report.attempts.push_back(std::move(entry));
    return trial;
}

} // namespace overtake::compiler
