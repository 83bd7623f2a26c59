// SPDX-License-Identifier: MIT
//
// How fast hw/simd computes the layers of ResNet-18 and MobileNetV2, beside what the CPU can do at
// most and beside two libraries, on one thread:
//
//	bench_ops [--repetitions N] [--only LAYER] [--wide-peers]
//
// The peak is a loop of vpmaddwd and vpaddd over registers: no exact 8-bit product of AVX2 is
// faster.  The libraries are limited to AVX2 as well; --wide-peers lets them use all that the CPU
// has and prints only them (bench_ops calls itself so for one of its columns).  --only leaves out
// the layers whose names do not contain LAYER.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "bench_layers.hpp"
#include "bench_peers.hpp"

extern "C" {
#include <ovt_simd_port.h>

#include "hw/operators.h"
#include "hw/simd/simd.h"
}

using namespace overtake::bench;

namespace {

/// Of 8 bits, all equally frequent; normally distributed, the largest of each output 127, as
/// quantisation leaves them; or of 7 bits, which AVX2 can multiply as bytes without saturating.
enum class Weights { any, normal, narrow };

// Our own kernels: an instruction and the memory it needs.
class Instruction {
public:
    Instruction(const Layer& layer, Weights weights)
        : input_(std::size_t{layer.in_height} * layer.in_width * padded(layer.in_channels)),
          output_(std::size_t{layer.out_height()} * layer.out_width() * padded(layer.out_channels)),
          scratch_(std::make_unique<ovt_simd_scratch>()) {
        insn_.opcode = layer.depthwise ? OVERTAKE_OP_DEPTHWISE : OVERTAKE_OP_CONV;
        insn_.groups = layer.depthwise ? 0 : 1;
        shape(insn_.out, 3, layer.out_height(), layer.out_width(), layer.out_channels, 3);
        shape(insn_.in[0], 4, layer.in_height, layer.in_width, layer.in_channels,
              layer.zero_point());
        insn_.kernel_height = insn_.kernel_width = static_cast<std::uint16_t>(layer.kernel);
        insn_.stride_height = insn_.stride_width = static_cast<std::uint16_t>(layer.stride);
        insn_.pad_top = insn_.pad_left = static_cast<std::uint16_t>(layer.pad);
        insn_.clamp_min = -128;
        insn_.clamp_max = 127;
        insn_.weights_region = 1;
        insn_.params_region = 5;
        weights_.resize(ovt_insn_weights_bytes(&insn_));
        params_.resize(ovt_insn_params_bytes(&insn_) / 4);
        fill(layer, weights);
        bind(1, weights_.data(), weights_.size(), OVT_REGION_READ);
        bind(3, output_.data(), output_.size(), OVT_REGION_READ | OVT_REGION_WRITE);
        bind(4, input_.data(), input_.size(), OVT_REGION_READ);
        bind(5, params_.data(), 4 * params_.size(), OVT_REGION_READ);
        if (ovt_insn_check(&insn_, regions_, &operands_) != OVERTAKE_FAULT_NONE)
            throw std::runtime_error("bench_ops: an instruction is not valid");
        if (!ovt_simd_covers(&insn_))
            throw std::runtime_error("bench_ops: a layer has no vector operator");
    }

    void run_simd() {
        ovt_simd_section section;
        ovt_cursor cursor{};
        bool finished = false;

        while (!finished) {
            std::int64_t work = OVT_SIMD_SLICE;
            ovt_simd_begin(&section);
            finished = ovt_simd_run(&insn_, &operands_, scratch_.get(), &cursor, &work);
            ovt_simd_end(&section);
        }
    }

    void run_scalar() {
        ovt_cursor cursor{};
        std::int64_t work = INT64_MAX;
        ovt_operator_run(&insn_, &operands_, &cursor, &work);
    }

    const Buffer<std::int8_t>& output() const { return output_; }

private:
    static unsigned padded(unsigned channels) { return (channels + 7) / 8 * 8; }

    static void shape(overtake_operand& operand, unsigned region, unsigned height, unsigned width,
                      unsigned channels, int zero_point) {
        operand.region = region;
        operand.zero_point = zero_point;
        operand.height = height;
        operand.width = width;
        operand.channels = channels;
        operand.pixel_stride = padded(channels);
        operand.row_stride = width * padded(channels);
    }

    void bind(unsigned region, void* base, std::size_t length, unsigned flags) {
        regions_[region] = {static_cast<u8*>(base), length, flags, 0};
    }

    /// Where input @p channel of a tap of an output has its weight.
    static std::size_t weight_at(const Layer& layer, unsigned out, unsigned tap, unsigned channel) {
        const std::size_t taps = layer.kernel * layer.kernel;
        if (layer.depthwise)
            return std::size_t{tap} * padded(layer.out_channels) + out;
        const std::size_t pairs = (layer.in_channels + 1) / 2;
        return ((out / 8 * taps + tap) * pairs + channel / 2) * 16 + out % 8 * 2 + channel % 2;
    }

    void fill_normal(const Layer& layer, std::mt19937& random) {
        const unsigned channels = layer.depthwise ? 1 : layer.in_channels;
        std::vector<double> values(std::size_t{layer.kernel} * layer.kernel * channels);
        std::normal_distribution<double> normal;
        for (unsigned out = 0; out < layer.out_channels; out++) {
            double most = 0;
            for (double& value : values) {
                value = normal(random);
                most = std::max(most, std::abs(value));
            }
            for (unsigned i = 0; i < values.size(); i++)
                weights_[weight_at(layer, out, i / channels, i % channels)] =
                    static_cast<std::int8_t>(std::lround(values[i] * 127 / most));
        }
    }

    void fill(const Layer& layer, Weights weights) {
        std::mt19937 random(1);
        for (std::int8_t& value : input_)
            value = static_cast<std::int8_t>(random());
        if (weights == Weights::normal)
            fill_normal(layer, random);
        for (std::int8_t& value : weights_) {
            if (weights != Weights::normal)
                value = static_cast<std::int8_t>(static_cast<std::int8_t>(random()) >>
                                                 (weights == Weights::narrow ? 1 : 0));
        }
        const std::size_t channels = padded(layer.out_channels);
        for (std::size_t channel = 0; channel < channels; channel++) {
            params_[channel] = random() % 2000;
            params_[channels + channel] = (1u << 23) + random() % (1u << 22);
            params_[2 * channels + channel] = 36;
        }
    }

    overtake_insn insn_{};
    ovt_operands operands_{};
    ovt_region regions_[OVERTAKE_MAX_REGIONS]{};
    Buffer<std::int8_t> input_, output_, weights_;
    Buffer<std::uint32_t> params_;
    std::unique_ptr<ovt_simd_scratch> scratch_;
};

using Job = std::function<void()>;

constexpr int peak_rounds = 20000;

/// Median nanoseconds of a call of each job; they take turns, so that what disturbs one disturbs
/// all. An empty job takes no time.
std::vector<double> measure(const std::vector<Job>& jobs, int repetitions) {
    std::vector<std::vector<double>> times(jobs.size());
    std::vector<int> calls(jobs.size());

    for (std::size_t i = 0; i < jobs.size(); i++) {
        if (!jobs[i])
            continue;
        jobs[i]();
        const double start = now_ns();
        jobs[i]();
        calls[i] = std::clamp(static_cast<int>(2e6 / (now_ns() - start)), 1, 1000);
    }
    for (int repetition = 0; repetition < repetitions; repetition++) {
        for (std::size_t i = 0; i < jobs.size(); i++) {
            if (!jobs[i])
                continue;
            const double start = now_ns();
            for (int call = 0; call < calls[i]; call++)
                jobs[i]();
            times[i].push_back((now_ns() - start) / calls[i]);
        }
    }
    std::vector<double> medians;
    for (std::vector<double>& of_job : times) {
        if (of_job.empty()) {
            medians.push_back(0);
            continue;
        }
        std::nth_element(of_job.begin(), of_job.begin() + of_job.size() / 2, of_job.end());
        medians.push_back(of_job[of_job.size() / 2]);
    }
    return medians;
}

double rate(const Layer& layer, double ns) {
    return ns > 0 ? layer.macs() / ns : 0;
}

/// Prints "xnnpack onednn" a line, for the parent's column.
int run_wide_peers(int repetitions) {
    start_peers(false);
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

struct Mean {
    double logarithm = 0;
    int count = 0;
    void add(double value) {
        logarithm += std::log(value);
        count++;
    }
    double value() const { return count ? std::exp(logarithm / count) : 0; }
};

/// Runs it once each way and compares.
void verify(Instruction& instruction) {
    instruction.run_scalar();
    const Buffer<std::int8_t> expected = instruction.output();
    instruction.run_simd();
    if (instruction.output() != expected)
        throw std::runtime_error("bench_ops: AVX2 and scalar differ");
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

/// Compares those who compute the same: with weights of 8 bits oneDNN's sums may saturate.
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

    start_peers(true);
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
