// SPDX-License-Identifier: MIT
//
// A convolution as an instruction of the device, and the time that jobs take in turns.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include "bench_layers.hpp"

extern "C" {
#include "hw/operators.h"
#include "hw/simd/choose.h"
#include "hw/simd/simd.h"
}

namespace overtake::bench {

/// Of 8 bits, all equally frequent; normally distributed, the largest of each output 127, as
/// quantisation leaves them; or of 7 bits, which AVX2 can multiply as bytes without saturating.
enum class Weights { any, normal, narrow };

// The device's kernels: an instruction and its memory.
class Instruction {
public:
    Instruction(const Layer& layer, Weights weights, ovt_simd_level level = OVT_SIMD_AVX2)
        : input_(std::size_t{layer.in_height} * layer.in_width * padded(layer.in_channels)),
          output_(std::size_t{layer.out_height()} * layer.out_width() * padded(layer.out_channels)),
          scratch_(std::make_unique<ovt_simd_scratch>()) {
        scratch_->level = level;
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
            throw std::runtime_error("an instruction is not valid");
        if (!ovt_simd_covers(&insn_))
            throw std::runtime_error("a layer has no vector operator");
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

    /// Returns the index of the weight of input @p channel of a tap of an output.
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

/// Median nanoseconds of a call of each job; the jobs take turns, so that other work on the machine
/// disturbs all of them. An empty job takes no time.
inline std::vector<double> measure(const std::vector<Job>& jobs, int repetitions) {
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

inline double rate(const Layer& layer, double ns) {
    return ns > 0 ? layer.macs() / ns : 0;
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

/// Runs it once each way.  @throw std::runtime_error if the bytes differ
inline void verify(Instruction& instruction) {
    instruction.run_scalar();
    const Buffer<std::int8_t> expected = instruction.output();
    instruction.run_simd();
    if (instruction.output() != expected)
        throw std::runtime_error("vector and scalar operators differ");
}

} // namespace overtake::bench
