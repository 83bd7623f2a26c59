// SPDX-License-Identifier: MIT
//
// The speed of hw/simd on the layers of ResNet-18 and MobileNetV2 with the instructions of newer
// CPUs, beside the peak of the CPU and beside two libraries, on one thread:
//
//	bench_vnni [--repetitions N] [--only LAYER] [--no-limit]
//
// The peak is a loop of vpdpbusd of 512 bits over registers.  oneDNN is limited to AVX512-VNNI;
// --no-limit lets it use all that the CPU has and prints only that (bench_vnni calls itself so for
// one of its columns).  XNNPACK chooses by itself.  --only leaves out the layers whose names do not
// contain LAYER.
#include <algorithm>
#include <array>
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

/// GMAC per second of each candidate.
enum Column { avx2, avx_vnni, avx512_vnni, xnnpack, onednn, columns };
using Rates = std::array<double, columns>;

Rates measure_layer(const Layer& layer, int repetitions, double& peak) {
    Instruction by_avx2(layer, Weights::any), by_vnni(layer, Weights::any, OVT_SIMD_AVX_VNNI),
        by_vnni512(layer, Weights::any, OVT_SIMD_AVX512_VNNI);
    const Peers peers(layer);
    const bool has_vnni = ovt_simd_has(OVT_SIMD_AVX_VNNI);

    verify(by_avx2);
    if (has_vnni)
        verify(by_vnni);
    verify(by_vnni512);
    const std::vector<double> ns =
        measure({[&] { by_avx2.run_simd(); }, has_vnni ? Job([&] { by_vnni.run_simd(); }) : Job(),
                 [&] { by_vnni512.run_simd(); }, [&] { peers.run_xnnpack(); },
                 [&] { peers.run_onednn(); }, [&] { peak_loop_vnni(peak_rounds); }},
                repetitions);
    Rates rates;
    for (std::size_t i = 0; i < columns; i++)
        rates[i] = rate(layer, ns[i]);
    peak = static_cast<double>(peak_loop_vnni(peak_rounds)) / ns[columns];
    return rates;
}

std::vector<double> ask_without_limit(const std::string& program, int repetitions) {
    std::vector<double> rates(layers.size());
    FILE* pipe =
        popen(fmt::format("'{}' --no-limit --repetitions {}", program, repetitions).c_str(), "r");
    if (!pipe)
        return rates;
    for (double& value : rates)
        if (std::fscanf(pipe, "%lf", &value) != 1)
            break;
    pclose(pipe);
    return rates;
}

/// Prints a rate a line, for the parent's column.
int run_without_limit(int repetitions) {
    start_peers(PeerLimit::none);
    for (const Layer& layer : layers) {
        const Peers peers(layer);
        fmt::print("{}\n", rate(layer, measure({[&] { peers.run_onednn(); }}, repetitions)[0]));
    }
    return 0;
}

struct Means {
    std::array<Mean, columns> rates;
    Mean of_peak, of_onednn, of_xnnpack;

    void add(const Rates& row, double peak) {
        for (std::size_t i = 0; i < columns; i++)
            if (row[i] > 0)
                rates[i].add(row[i]);
        of_peak.add(row[avx512_vnni] / peak);
        of_onednn.add(row[avx512_vnni] / row[onednn]);
        of_xnnpack.add(row[avx512_vnni] / row[xnnpack]);
    }
    void print(std::string_view what) const {
        fmt::print("| geometric mean, {} | {:.1f} | {:.1f} | {:.1f} | {:.0f} % | {:.1f} | {:.1f} | "
                   "|\n",
                   what, rates[avx2].value(), rates[avx_vnni].value(), rates[avx512_vnni].value(),
                   100 * of_peak.value(), rates[xnnpack].value(), rates[onednn].value());
    }
};

/// Milliseconds of all convolutions of a network, each as often as the network has it.
struct Network {
    std::string name;
    double mmacs = 0, overtake_ms = 0, onednn_ms = 0;

    void add(const Layer& layer, const Rates& row) {
        const double products = layer.macs() * layer.count;
        mmacs += products / 1e6;
        overtake_ms += products / row[avx512_vnni] / 1e6;
        onednn_ms += products / row[onednn] / 1e6;
    }
};

void print_judgement(std::string_view what, double value, double goal) {
    fmt::print("- {}: {:.2f} (goal {:.1f}: {})\n", what, value, goal,
               value >= goal ? "holds" : "does NOT hold");
}

int run(const std::string& program, int repetitions, const std::string& only) {
    Means pointwise, three, both, depthwise;
    std::vector<Network> networks;

    start_peers(PeerLimit::avx512_vnni);
    const std::vector<double> no_limit = ask_without_limit(program, only.empty() ? repetitions : 1);
    fmt::print("| layer | AVX2 | AVX-VNNI | AVX512-VNNI | of the peak | XNNPACK qs8 | oneDNN u8s8, "
               "AVX512-VNNI | oneDNN, no limit |\n|---|--:|--:|--:|--:|--:|--:|--:|\n");
    for (std::size_t i = 0; i < layers.size(); i++) {
        const Layer& layer = layers[i];
        if (layer.name().find(only) == std::string::npos)
            continue;
        double peak = 0;
        const Rates rates = measure_layer(layer, repetitions, peak);
        fmt::print("| {} {} | {:.1f} | {:.1f} | {:.1f} | {:.0f} % | {:.1f} | {:.1f} | {:.1f} |\n",
                   layer.network, layer.name(), rates[avx2], rates[avx_vnni], rates[avx512_vnni],
                   100 * rates[avx512_vnni] / peak, rates[xnnpack], rates[onednn], no_limit[i]);
        std::fflush(stdout);
        if (layer.signed_inputs)
            continue; // beside the others, to be seen
        if (networks.empty() || networks.back().name != layer.network)
            networks.push_back({layer.network});
        networks.back().add(layer, rates);
        if (layer.depthwise) {
            depthwise.add(rates, peak);
        } else if (layer.kernel == 1 || layer.kernel == 3) {
            (layer.kernel == 1 ? pointwise : three).add(rates, peak);
            both.add(rates, peak);
        }
    }
    pointwise.print("1x1");
    three.print("3x3");
    depthwise.print("depthwise");
    both.print("1x1 and 3x3");
    fmt::print("\nAVX512-VNNI, geometric means of ratios:\n");
    print_judgement("1x1 and 3x3 over oneDNN limited to AVX512-VNNI", both.of_onednn.value(), 0.8);
    print_judgement("1x1 and 3x3 over XNNPACK", both.of_xnnpack.value(), 1.0);
    print_judgement("depthwise over XNNPACK", depthwise.of_xnnpack.value(), 1.0);
    fmt::print("\nAll convolutions of a network, one after the other:\n");
    for (const Network& network : networks)
        fmt::print("- {}, {:.1f} MMAC: AVX512-VNNI {:.2f} ms, oneDNN limited to AVX512-VNNI {:.2f} "
                   "ms\n",
                   network.name, network.mmacs, network.overtake_ms, network.onednn_ms);
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    int repetitions = 15;
    bool without_limit = false;
    std::string only;

    for (int i = 1; i < argc; i++) {
        const std::string_view argument = argv[i];
        if (argument == "--no-limit") {
            without_limit = true;
        } else if (argument == "--repetitions" && i + 1 < argc) {
            repetitions = std::max(1, std::atoi(argv[++i]));
        } else if (argument == "--only" && i + 1 < argc) {
            only = argv[++i];
        } else {
            fmt::print(stderr, "usage: bench_vnni [--repetitions N] [--only LAYER] [--no-limit]\n");
            return 2;
        }
    }
    if (!ovt_simd_has(OVT_SIMD_AVX512_VNNI)) {
        fmt::print(stderr, "bench_vnni: this CPU has no AVX512-VNNI\n");
        return 77;
    }
    try {
        return without_limit ? run_without_limit(repetitions) : run(argv[0], repetitions, only);
    } catch (const std::exception& error) {
        fmt::print(stderr, "bench_vnni: {}\n", error.what());
        return 2;
    }
}
