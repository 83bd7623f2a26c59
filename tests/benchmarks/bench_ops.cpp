// SPDX-License-Identifier: MIT
//
// The speed of hw/simd on the layers of ResNet-18 and MobileNetV2, beside the peak of the CPU and
// beside two libraries, on one thread:
//
//	bench_ops [--repetitions N] [--only LAYER] [--wide-peers]
//
// The peak is a loop of vpmaddwd and vpaddd over registers: no exact 8-bit product of AVX2 is
// faster.  The libraries are limited to AVX2 as well; --wide-peers lets them use all that the CPU
// has and prints only them (bench_ops calls itself so for one of its columns).  --only leaves out
// the layers whose names do not contain LAYER.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "bench_instruction.hpp"
#include "bench_peers.hpp"

using namespace overtake::bench;

namespace {

constexpr int peak_rounds = 20000;

/// Prints "xnnpack onednn" a line, for the parent's column.
int run_wide_peers(int repetitions) {
    start_peers(PeerLimit::none);
    for (const Layer& layer : layers) {
        const Peers peers(layer);
        const std::vector<double> ns =
            measure({[&] { peers.run_xnnpack(); }, [&] { peers.run_onednn(); }}, repetitions);
        fmt::print("{} {}\n", rate(layer, ns[0]), rate(layer, ns[1]));
    }
    return 0;
}

struct Rates {
    double ours, ours_normal, ours_narrow, scalar, xnnpack, onednn, peak;
    double best_peer() const { return std::max(xnnpack, onednn); }
};

std::vector<std::pair<double, double>> ask_wide_peers(const std::string& program, int repetitions) {
    std::vector<std::pair<double, double>> rates(layers.size());
    const std::string command =
        fmt::format("'{}' --wide-peers --repetitions {}", program, repetitions);
    FILE* pipe = popen(command.c_str(), "r");

    if (!pipe)
        return rates;
    for (auto& [xnnpack, onednn] : rates) {
        if (std::fscanf(pipe, "%lf %lf", &xnnpack, &onednn) != 2)
            break;
    }
    pclose(pipe);
    return rates;
}

Rates measure_layer(const Layer& layer, int repetitions) {
    Instruction any(layer, Weights::any), normal(layer, Weights::normal),
        narrow(layer, Weights::narrow);
    const Peers peers(layer);

    verify(any);
    verify(normal);
    verify(narrow);
    const std::vector<double> ns =
        measure({[&] { any.run_simd(); }, [&] { normal.run_simd(); }, [&] { narrow.run_simd(); },
                 [&] { peers.run_xnnpack(); }, [&] { peers.run_onednn(); },
                 [&] { peak_loop(peak_rounds); }},
                repetitions);
    const std::vector<double> scalar = measure({[&] { any.run_scalar(); }}, 3);
    return {.ours = rate(layer, ns[0]),
            .ours_normal = rate(layer, ns[1]),
            .ours_narrow = rate(layer, ns[2]),
            .scalar = rate(layer, scalar[0]),
            .xnnpack = rate(layer, ns[3]),
            .onednn = rate(layer, ns[4]),
            .peak = static_cast<double>(peak_loop(peak_rounds)) / ns[5]};
}

/// Geometric means of a kind of layers.
struct Means {
    Mean ours, normal, narrow, of_peak, xnnpack, onednn, peer;
    void add(const Rates& rates) {
        ours.add(rates.ours);
        normal.add(rates.ours_normal);
        narrow.add(rates.ours_narrow);
        of_peak.add(rates.ours / rates.peak);
        xnnpack.add(rates.xnnpack);
        onednn.add(rates.onednn);
        peer.add(rates.best_peer());
    }
    void print(std::string_view what) const {
        fmt::print("| {} | {:.1f} | {:.0f} % | {:.1f} | {:.1f} | | {:.1f} | {:.1f} | | |\n", what,
                   ours.value(), 100 * of_peak.value(), normal.value(), narrow.value(),
                   xnnpack.value(), onednn.value());
    }
};

void print_row(const Layer& layer, const Rates& rates, const std::pair<double, double>& wide) {
    fmt::print("| {} {} | {:.1f} | {:.0f} % | {:.1f} | {:.1f} | {:.2f} | {:.1f} | {:.1f} | {:.1f} "
               "| {:.1f} "
               "|\n",
               layer.network, layer.name(), rates.ours, 100 * rates.ours / rates.peak,
               rates.ours_normal, rates.ours_narrow, rates.scalar, rates.xnnpack, rates.onednn,
               wide.first, wide.second);
    std::fflush(stdout);
}

/// Compares only kernels with equal results: with weights of 8 bits, oneDNN's sums may saturate.
bool judge(const Means& means) {
    const double peer = means.peer.value(), xnnpack = means.xnnpack.value();
    const double narrow = means.narrow.value() / peer;
    const double exact = means.ours.value() / xnnpack;
    const bool peak_holds = means.of_peak.value() >= 0.6;
    const auto holds = [](bool value) { return value ? "holds" : "does NOT hold"; };

    fmt::print("1x1 and 3x3, geometric means:\n");
    fmt::print(
        "- weights of 8 bits, any: {:.0f} % of the peak; {:.0f} % of XNNPACK, which is exact "
        "too; {:.0f} % of oneDNN, which is not\n",
        100 * means.of_peak.value(), 100 * exact, 100 * means.ours.value() / means.onednn.value());
    fmt::print("- weights of 8 bits, normal: {:.0f} % of XNNPACK, {:.0f} % of oneDNN\n",
               100 * means.normal.value() / xnnpack,
               100 * means.normal.value() / means.onednn.value());
    fmt::print("- weights of 7 bits, all exact: {:.0f} % of the faster of both\n", 100 * narrow);
    fmt::print(
        "goal: at least 60 % of the peak: {}; at least 90 % of the faster peer that is exact: "
        "{} for weights of 8 bits, {} for weights of 7 bits\n",
        holds(peak_holds), holds(exact >= 0.9), holds(narrow >= 0.9));
    return peak_holds && exact >= 0.9 && narrow >= 0.9;
}

int run(const std::string& program, int repetitions, const std::string& only) {
    Means pointwise, three, both, depthwise;
    double peak_sum = 0;
    int measured = 0;

    start_peers(PeerLimit::avx2);
    const auto wide = ask_wide_peers(program, only.empty() ? repetitions : 1);
    fmt::print(
        "| layer | 8 bits, any | of the peak | 8 bits, normal | 7 bits | scalar | XNNPACK qs8 | "
        "oneDNN u8s8 | XNNPACK, no limit | oneDNN, no limit |\n"
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    for (std::size_t i = 0; i < layers.size(); i++) {
        const Layer& layer = layers[i];
        if (layer.name().find(only) == std::string::npos)
            continue;
        const Rates rates = measure_layer(layer, repetitions);
        print_row(layer, rates, wide[i]);
        peak_sum += rates.peak;
        measured++;
        if (layer.signed_inputs) {
            continue; // beside the others, to be seen
        } else if (layer.depthwise) {
            depthwise.add(rates);
        } else if (layer.kernel == 1 || layer.kernel == 3) {
            (layer.kernel == 1 ? pointwise : three).add(rates);
            both.add(rates);
        }
    }
    pointwise.print("geometric mean, 1x1");
    three.print("geometric mean, 3x3");
    depthwise.print("geometric mean, depthwise");
    both.print("geometric mean, 1x1 and 3x3");
    fmt::print("\npeak: {:.1f} GMAC/s (vpmaddwd and vpaddd over registers, mean over the run)\n",
               peak_sum / measured);
    return judge(both) ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    int repetitions = 15;
    bool wide = false;
    std::string only;

    for (int i = 1; i < argc; i++) {
        const std::string_view argument = argv[i];
        if (argument == "--wide-peers") {
            wide = true;
        } else if (argument == "--repetitions" && i + 1 < argc) {
            repetitions = std::max(1, std::atoi(argv[++i]));
        } else if (argument == "--only" && i + 1 < argc) {
            only = argv[++i];
        } else {
            fmt::print(stderr,
                       "usage: bench_ops [--repetitions N] [--only LAYER] [--wide-peers]\n");
            return 2;
        }
    }
    if (!ovt_simd_supported()) {
        fmt::print(stderr, "bench_ops: this CPU has no AVX2\n");
        return 77;
    }
    try {
        return wide ? run_wide_peers(repetitions) : run(argv[0], repetitions, only);
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 2;
    }
}
