// SPDX-License-Identifier: MIT
//
// Compiles networks, each for COUNT random plans of several cores (blocks, schemes, speeds, limits
// of FCs), and runs the plans in random orders by the device's operators.  All have to give the
// bits of the one-core program.  Prints statistics of the plans.
//
//     core_bits COUNT SEED FILE.onnx...
#include <cstdio>
#include <cstdlib>
#include <map>

#include "compiler/cores/plan.hpp"
#include "compiler/import/import.hpp"
#include "compiler/ir/error.hpp"
#include "compiler/passes/fold.hpp"
#include "compiler/passes/order_segments.hpp"
#include "compiler/passes/widen_weights.hpp"
#include "compiler/quantise/given_scales.hpp"
#include "core_checks.hpp"

namespace overtake::test {
namespace {

using namespace compiler;
// These are the compiler's types, not the library's.
using compiler::CorePlan;
using compiler::CoreSegment;
using compiler::LayerReport;

struct Counts {
    std::size_t networks = 0, refused = 0, layers = 0, plans = 0, blocks = 0, fused = 0, halos = 0,
                joined = 0;
    std::map<Scheme, std::size_t> schemes;
};

CoreNetwork read_network(const std::string& path, unsigned seed) {
    Graph graph = import_onnx(path);
    Random random(seed);
    std::vector<InputOptions> inputs;
    const Value& first = graph.values[graph.inputs[0]];
    const bool is_picture = first.channels == 3 && first.batch == 1 && first.height % 2 == 0 &&
                            first.width % 2 == 0 && first.height > 1;
    if (is_picture && random() % 4 == 0) {
        InputOptions& input = inputs.emplace_back();
        input.name = first.name;
        input.trained = InputKind::rgb;
        input.given = InputKind::nv12;
    }
    apply_input_options(graph, inputs);
    fold(graph);
    if (graph.comes_quantised) {
        widen_weights(graph);
        spread_given_scales(graph);
    }
    order_segments(graph);
    const Calibration calibration(graph, random_samples(graph, 1, seed), CalibrationMethod::min_max,
                                  [](double) {});
    return layered_network(std::move(graph), calibration.ranges(CalibrationMethod::min_max, 99.99));
}

constexpr std::size_t core_counts[] = {2, 3, 4, 7, 8};

std::vector<std::shared_ptr<const ovt_profile>> random_cores(Random& random, std::size_t count) {
    std::vector<std::shared_ptr<const ovt_profile>> cores;
    for (std::size_t core = 0; core < count; ++core) {
        auto profile = std::make_shared<ovt_profile>(*ovt_profile_find("default"));
        if (random() % 3 == 0)
            profile->clock_khz /= 2;
        cores.push_back(std::move(profile));
    }
    return cores;
}

// In thirty consecutive rounds, each number of cores has each scheme forced once, and once no
// scheme.
CorePlan random_plan(Random& random, CoreNetwork& network, std::size_t round, Counts& counts) {
    constexpr std::optional<Scheme> forced[] = {Scheme::row,      Scheme::column, Scheme::grid,
                                                Scheme::balanced, std::nullopt,   Scheme::channel};
    constexpr std::size_t lengths[] = {1, 2, 4, 8, 1000};
    CoreGroup group{random_cores(random, core_counts[round % 5]), 500, 0};
    BlockChoice choice;
    choice.scheme = forced[round % 6];
    choice.any_boxes = !choice.scheme && random() % 2 == 0;
    choice.equal_speeds = random() % 2 == 0;
    choice.most_layers = lengths[random() % 5];
    std::vector<std::vector<Block>> blocks;
    std::vector<std::vector<std::size_t>> stages;
    for (const SegmentLayers& segment : network.segments) {
        blocks.push_back(random_blocks(random, segment, group.cores.size(), choice));
        for (const Block& block : blocks.back()) {
            ++counts.schemes[block.scheme];
            ++counts.blocks;
            counts.fused += block.layer_count > 1;
        }
        stages.push_back(round % 2 == 0 ? stages_in_order(blocks.back())
                                        : random_stages(random, segment, blocks.back()));
        counts.joined += stages.back() != stages_in_order(blocks.back());
    }
    group.max_time_per_fc_us = random() % 2 == 0 ? 0 : 2 + random() % 30;
    std::optional<CorePlan> plan;
    try {
        plan = generate(network.graph, network.program, network.segments, group, blocks, stages);
    } catch (const CompileError&) { // a piece is longer
        if (group.max_time_per_fc_us == 0)
            throw;
        group.max_time_per_fc_us = 0;
        plan = generate(network.graph, network.program, network.segments, group, blocks, stages);
    }
    for (const LayerReport& layer : plan->layers)
        counts.halos += layer.halo_operations > 0;
    return std::move(*plan);
}

// Returns the plan that the compiler would choose.
CorePlan chosen_plan(Random& random, CoreNetwork& network) {
    CoreOptions options;
    options.cores = random_cores(random, core_counts[random() % 5]);
    options.overlap = random() % 2 == 0;
    return plan_cores(network.graph, network.quantised, network.program, options);
}

std::string check_plans(CoreNetwork& network, std::size_t count, unsigned seed, Counts& counts) {
    Random random(seed);
    std::size_t round = 0;
    try {
        for (; round < count; ++round) {
            const CorePlan plan = random_plan(random, network, round, counts);
            ++counts.plans;
            const std::string wrong = compare_plan(random, network, plan);
            if (!wrong.empty())
                return "plan " + std::to_string(round) + ": " + wrong;
        }
        return compare_plan(random, network, chosen_plan(random, network));
    } catch (const CompileError& error) {
        return "plan " + std::to_string(round) + ": " + error.what();
    }
}

bool check(const std::string& path, std::size_t count, unsigned seed, Counts& counts) {
    CoreNetwork network;
    try {
        network = read_network(path, seed);
    } catch (const CompileError&) {
        ++counts.refused;
        return true;
    }
    ++counts.networks;
    for (const SegmentLayers& segment : network.segments)
        counts.layers += segment.layers.size();
    const std::string wrong = check_plans(network, count, seed, counts);
    if (!wrong.empty())
        std::printf("%s: %s\n", path.c_str(), wrong.c_str());
    return wrong.empty();
}

int run(std::size_t count, unsigned seed, std::span<char*> paths) {
    Counts counts;
    bool right = true;
    for (const char* path : paths)
        right = check(path, count, seed, counts) && right;
    std::printf("%zu networks (%zu refused), %zu layers, %zu plans, %zu blocks, of several layers "
                "%zu, layers with halos %zu, segments with joined stages %zu\n",
                counts.networks, counts.refused, counts.layers, counts.plans, counts.blocks,
                counts.fused, counts.halos, counts.joined);
    const char* names[] = {"single", "row", "column", "grid", "channel", "balanced"};
    for (const auto& [scheme, blocks] : counts.schemes)
        std::printf("%s %zu\n", names[static_cast<std::size_t>(scheme)], blocks);
    return right ? 0 : 1;
}

} // namespace
} // namespace overtake::test

int main(int count, char** arguments) {
    if (count < 4) {
        std::fprintf(stderr, "usage: core_bits COUNT SEED FILE.onnx...\n");
        return 2;
    }
    try {
        return overtake::test::run(static_cast<std::size_t>(std::atoi(arguments[1])),
                                   static_cast<unsigned>(std::atoi(arguments[2])),
                                   std::span(arguments + 3, arguments + count));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "core_bits: %s\n", error.what());
        return 1;
    }
}
