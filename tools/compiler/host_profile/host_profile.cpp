// SPDX-License-Identifier: MIT
#include "compiler/host_profile/host_profile.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "compiler/file/write.hpp"
#include "compiler/host_profile/fit.hpp"
#include "compiler/host_profile/measure.hpp"
#include "compiler/host_profile/network.hpp"
#include "compiler/lower/lower.hpp"
#include "compiler/quantise/quantise.hpp"
#include "overtake/device.hpp"

namespace overtake::host_profile {
namespace {

using namespace compiler;

constexpr std::size_t tiny_count = 64;

// A network's program and model.  The network is never calibrated, since only its shapes matter.
struct Compiled {
    Program program;
    std::shared_ptr<const Model> model;
};

Compiled compiled(const Graph& graph, bool one_fc_per_instruction) {
    std::vector<Range> ranges(graph.values.size(), Range{-4.0f, 4.0f});
    for (const Node& node : graph.nodes)
        if (node.clamp_low == 0)
            ranges[node.output].low = 0;
    const QuantisedGraph quantised = quantise(graph, choose_quantisations(graph, ranges));
    Compiled result{lower(graph, quantised), nullptr};
    Program& program = result.program;
    check_steps(graph, program);
    const auto steps = static_cast<std::uint32_t>(program.steps.size());
    if (one_fc_per_instruction)
        for (std::uint32_t step = 0; step < steps; ++step)
            program.fcs.push_back({step, 1, 1});
    else
        program.fcs.push_back({0, steps, 1});
    program.segments.at(0).fc_count = program.fcs.size();
    ModelFacts facts{ovt_profile_find("ideal"), 0, std::vector<NodeSimilarity>(graph.nodes.size())};
    const std::vector<std::uint8_t> bytes = serialise(graph, quantised, program, facts);
    result.model = Model::from_bytes(std::as_bytes(std::span(bytes)), graph.name);
    return result;
}

// Returns the features of an instruction.  Each is the cycle model's result for costs of which only
// that one is not zero.
Features features_of(const overtake_insn& insn) {
    constexpr u32 one = 1u << OVT_COST_BITS;
    constexpr u32 ovt_insn_cost::*fields[] = {
        &ovt_insn_cost::fixed_cycles, &ovt_insn_cost::per_operation, &ovt_insn_cost::per_output,
        &ovt_insn_cost::per_input_byte, &ovt_insn_cost::per_constant_byte};
    Features features{};
    for (std::size_t index = 0; index < feature_count; ++index) {
        std::array<ovt_insn_cost, OVERTAKE_OP_COUNT> costs{};
        costs[insn.opcode].fixed_cycles = 1; // keeps the entry from counting as not measured
        costs[insn.opcode].*fields[index] = index == 0 ? 1 : one;
        ovt_profile profile = *ovt_profile_find("ideal");
        profile.costs = costs.data();
        features[index] =
            static_cast<double>(ovt_insn_cycles(&profile, &insn) - (index == 0 ? 0 : 1));
    }
    return features;
}

u32 whole(double ns) {
    return static_cast<u32>(std::max(1.0, std::round(ns)));
}

u32 rate(double ns) {
    return static_cast<u32>(std::min<double>(std::round(ns * (1u << OVT_COST_BITS)), OVT_COST_MAX));
}

std::map<unsigned, std::vector<Observation>>
measure_instructions(unsigned runs, double boundary_ns,
                     const std::function<void(double)>& progress) {
    const Compiled layers = compiled(layers_of_every_kind(), true);
    const FcTimes times = measure(layers.model, runs, progress);
    std::map<unsigned, std::vector<Observation>> by_opcode;
    for (std::size_t index = 0; index < times.fcs_ns.size(); ++index) {
        const overtake_insn& insn = layers.program.steps[index].insn;
        by_opcode[insn.opcode].push_back(
            {features_of(insn), std::max(1.0, times.fcs_ns[index] - boundary_ns)});
    }
    return by_opcode;
}

// Returns the average rate of CONV, or else of all other measured opcodes, for opcodes that were
// not measured.
u32 average_rate(const std::map<unsigned, std::vector<Observation>>& by_opcode, bool multiplies) {
    double operations = 0, ns = 0;
    for (const auto& [opcode, observations] : by_opcode)
        if ((opcode == OVERTAKE_OP_CONV) == multiplies)
            for (const Observation& observation : observations) {
                operations += observation.features[1];
                ns += observation.ns;
            }
    return whole(operations / std::max(ns, 1.0));
}

} // namespace

FcBoundary measure_boundary(unsigned runs) {
    const Graph graph = tiny_instructions(tiny_count);
    const FcTimes each = measure(compiled(graph, true).model, runs);
    const FcTimes together = measure(compiled(graph, false).model, runs);
    const double insn_ns = together.fcs_ns[0] / tiny_count;
    return {std::max(0.0, percentile(each.fcs_ns, 50) - insn_ns),
            (each.total_ns - together.total_ns) / (tiny_count - 1)};
}

Errors compare(const std::vector<double>& modelled_ns, const std::vector<double>& measured_ns) {
    std::vector<double> errors;
    for (std::size_t index = 0; index < modelled_ns.size(); ++index)
        errors.push_back(std::fabs(modelled_ns[index] / measured_ns[index] - 1));
    return {percentile(errors, 50), percentile(errors, 95), errors.size()};
}

HostProfile measure_host(const std::string& name, unsigned runs,
                         const std::function<void(double)>& progress) {
    const FcBoundary boundary = measure_boundary(runs * 4);
    const auto by_opcode = measure_instructions(runs, boundary.inside_ns, progress);

    auto profile = std::make_shared<DeviceProfile>();
    profile->name = name;
    profile->source = fmt::format("measured by overtake calibrate, the fastest of {} runs", runs);
    std::vector<double> modelled, measured;
    double least_fixed = 1e9;
    for (const auto& [opcode, observations] : by_opcode) {
        const Features cost = fit(observations);
        profile->costs[opcode] = {whole(cost[0]), rate(cost[1]), rate(cost[2]), rate(cost[3]),
                                  rate(cost[4])};
        least_fixed = std::min(least_fixed, cost[0]);
        for (const Observation& observation : observations) {
            modelled.push_back(estimate(observation.features, cost));
            measured.push_back(observation.ns);
        }
    }
    profile->numbers = {.name = profile->name.c_str(),
                        .clock_khz = 1'000'000,
                        .macs_per_cycle = average_rate(by_opcode, true),
                        .vector_per_cycle = average_rate(by_opcode, false),
                        .bytes_per_cycle = average_rate(by_opcode, false),
                        .insn_overhead_cycles = whole(least_fixed),
                        .fc_overhead_cycles =
                            whole(std::max(boundary.inside_ns, boundary.total_ns)),
                        .sync_cycles = ovt_profile_find("default")->sync_cycles,
                        .costs = profile->costs.data(),
                        .without = 0};
    return {profile, compare(modelled, measured)};
}

} // namespace overtake::host_profile
