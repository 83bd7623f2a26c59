// SPDX-License-Identifier: MIT
//
// The speed-ups of plans for several cores by the cycle model, and the time of the search for them.
//
//     bench_core_plans NETWORK.onnx ...
//
// A deep one: models/generate.py resnet101 resnet101.onnx
//
// Prints for each network, with cores of profile `default`: the speed-up over one core on 2 to 8
// cores; how much faster the plan is than the best plan of one scheme alone, than the best one
// whose cores meet behind each layer, and than the one whose blocks are as long as they can be, for
// syncs of 0, 500 and 5000 cycles; and what two cores of speed 1 and one of 1/2 give.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <exception>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "compiler/cores/generate.hpp"
#include "compiler/cores/growth.hpp"
#include "compiler/cores/layered_network.hpp"
#include "compiler/cores/plan.hpp"
#include "compiler/cores/stages.hpp"
#include "compiler/import/import.hpp"
#include "compiler/passes/fold.hpp"
#include "compiler/passes/order_segments.hpp"

namespace {

using namespace overtake::compiler;

constexpr Scheme cutting[] = {Scheme::row, Scheme::column, Scheme::grid, Scheme::channel,
                              Scheme::balanced};
constexpr std::size_t most_cores = 8;

using Cores = std::vector<std::shared_ptr<const ovt_profile>>;
using Segments = std::vector<SegmentLayers>;

std::shared_ptr<const ovt_profile> core_of(double speed) {
    auto profile = std::make_shared<ovt_profile>(*ovt_profile_find("default"));
    profile->clock_khz = static_cast<std::uint32_t>(profile->clock_khz * speed);
    return profile;
}

Segments layers_of_network(const char* path) {
    Graph graph = import_onnx(path);
    std::vector<InputOptions> inputs;
    apply_input_options(graph, inputs);
    fold(graph);
    order_segments(graph);
    const Calibration calibration(graph, random_samples(graph, 1, 1), CalibrationMethod::min_max,
                                  [](double) {});
    return layered_network(std::move(graph), calibration.ranges(CalibrationMethod::min_max, 99.99))
        .segments;
}

std::uint64_t ns_of(const Segments& segments, const SearchOptions& options) {
    std::uint64_t ns = 0;
    for (const SegmentLayers& segment : segments) {
        FoundBlocks found = search(segment, options);
        if (options.overlap)
            join_stages(segment, options, found);
        ns += found.ns;
    }
    return ns;
}

std::uint64_t best_fixed_ns(const Segments& segments, SearchOptions options) {
    std::uint64_t best = std::numeric_limits<std::uint64_t>::max();
    for (const Scheme scheme : cutting) {
        options.schemes = {scheme};
        options.overlap = false;
        best = std::min(best, ns_of(segments, options));
    }
    return best;
}

// Returns the time of a plan that is made from the end on, with the fastest scheme for each block.
std::uint64_t fused_ns(const Segments& segments, const SearchOptions& options) {
    std::uint64_t ns = 0;
    for (const SegmentLayers& segment : segments)
        for (std::size_t end = segment.layers.size(); end > 0;) {
            const std::size_t last = end - 1;
            const overtake_insn& insn = segment.layers[last].step.insn;
            std::uint64_t best = std::numeric_limits<std::uint64_t>::max();
            for (const Scheme scheme :
                 {Scheme::single, Scheme::row, Scheme::column, Scheme::grid, Scheme::channel}) {
                const auto shares = layer_shares(options, insn, scheme);
                if (!shares)
                    continue;
                const ModelPrices prices(options.cores, options.sync_cycles);
                Growth growth(segment, last, *shares, &prices);
                while (growth.take_in())
                    ;
                end = growth.first();
                best = std::min(best, stage_ns(options, growth.cycles(),
                                               end == 0 ? no_stage_before : several_cores));
            }
            ns += best;
        }
    return ns;
}

// Returns the CPU time of this thread: on a machine without other work, the time that has passed.
double cpu_ms() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

double ratio(std::uint64_t a, std::uint64_t b) {
    return static_cast<double>(a) / static_cast<double>(b);
}

void compare(const char* path) {
    const Segments segments = layers_of_network(path);
    std::size_t layers = 0;
    for (const SegmentLayers& segment : segments)
        layers += segment.layers.size();
    const Cores cores(most_cores, core_of(1));

    double fastest = std::numeric_limits<double>::infinity();
    FoundPlan found;
    for (int round = 0; round < 5; ++round) {
        const double start = cpu_ms();
        found = find_plan(segments, {cores, {}, cores[0]->sync_cycles});
        fastest = std::min(fastest, cpu_ms() - start);
    }
    fmt::print("{}: {} layers, {} us on one core; search for 1 to {} cores {:.1f} ms of CPU time\n",
               path, layers, found.by_cores[0] / 1000, most_cores, fastest);
    fmt::print("  cores                 ");
    for (std::size_t count = 2; count <= most_cores; ++count)
        fmt::print("{:6}", count);
    fmt::print("\n  speed-up, sync 500    ");
    for (std::size_t count = 2; count <= most_cores; ++count)
        fmt::print("{:6.2f}", ratio(found.by_cores[0], found.by_cores[count - 1]));
    fmt::print("\n");
    for (const std::uint64_t sync : {0, 500, 5000}) {
        std::string lines[4];
        double product = 1;
        for (std::size_t count = 2; count <= most_cores; ++count) {
            const Cores some(cores.begin(), cores.begin() + static_cast<std::ptrdiff_t>(count));
            const SearchOptions options{some, {}, sync};
            SearchOptions layerwise = options;
            layerwise.overlap = false;
            const std::uint64_t ns = ns_of(segments, options);
            const double fixed = ratio(best_fixed_ns(segments, options), ns);
            product *= fixed;
            lines[0] += fmt::format("{:6.2f}", ratio(found.by_cores[0], ns));
            lines[1] += fmt::format("{:6.2f}", fixed);
            lines[2] += fmt::format("{:6.2f}", ratio(ns_of(segments, layerwise), ns));
            lines[3] += fmt::format("{:6.2f}", ratio(fused_ns(segments, options), ns));
        }
        fmt::print("  sync {:4}: speed-up    {}\n", sync, lines[0]);
        fmt::print("    over best fixed     {}  geometric mean {:.3f}\n", lines[1],
                   std::pow(product, 1.0 / (most_cores - 1)));
        fmt::print("    over layerwise      {}\n    over fused          {}\n", lines[2], lines[3]);
    }
    const auto full = core_of(1), half = core_of(0.5);
    const Cores unlike{full, full, half};
    const SearchOptions options{unlike, {}, full->sync_cycles};
    SearchOptions unbalanced = options;
    unbalanced.schemes = {Scheme::row, Scheme::column, Scheme::grid, Scheme::channel};
    fmt::print("  speeds 1, 1, 1/2: {:.3f} of 2.5, without balancing {:.3f}\n",
               ratio(found.by_cores[0], ns_of(segments, options)) / 2.5,
               ratio(found.by_cores[0], ns_of(segments, unbalanced)) / 2.5);
}

} // namespace

int main(int count, char** arguments) {
    if (count < 2) {
        std::fprintf(stderr, "usage: bench_core_plans NETWORK.onnx ...\n");
        return 2;
    }
    try {
        for (int index = 1; index < count; ++index)
            compare(arguments[index]);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench_core_plans: %s\n", error.what());
        return 1;
    }
    return 0;
}
