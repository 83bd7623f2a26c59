// SPDX-License-Identifier: MIT
//
// The longest time for which a kernel thread keeps the vector registers, and with them its CPU: the
// longest call of ovt_simd_run() with OVT_SIMD_SLICE of work, over awkward shapes.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "bench_layers.hpp"

extern "C" {
#include "hw/operators.h"
#include "hw/simd/choose.h"
#include "hw/simd/simd.h"
}

using namespace overtake::bench;

namespace {

struct Shape {
    const char* name;
    std::uint16_t opcode;
    unsigned height, width, in_channels, out_channels, kernel, groups;
};

constexpr Shape shapes[] = {
    {"CONV, 1 channel", OVERTAKE_OP_CONV, 512, 512, 1, 1, 1, 1},
    {"CONV, 3 to 16 channels, 5x5", OVERTAKE_OP_CONV, 256, 256, 3, 16, 5, 1},
    {"CONV, 64 groups of 1 channel, 3x3", OVERTAKE_OP_CONV, 64, 64, 64, 64, 3, 64},
    {"CONV, 32768 to 16 channels", OVERTAKE_OP_CONV, 4, 4, 32768, 16, 1, 1},
    {"CONV, 32768 to 4096 channels, a pixel", OVERTAKE_OP_CONV, 1, 1, 32768, 4096, 1, 1},
    {"CONV, 4096 to 16384 channels, a pixel", OVERTAKE_OP_CONV, 1, 1, 4096, 16384, 1, 1},
    {"CONV, 512 to 512 channels, 3x3", OVERTAKE_OP_CONV, 7, 7, 512, 512, 3, 1},
    {"TRANSPOSED_CONV, 1 channel, 2x2", OVERTAKE_OP_TRANSPOSED_CONV, 512, 512, 1, 1, 2, 1},
    {"TRANSPOSED_CONV, 512 to 256 channels, 2x2", OVERTAKE_OP_TRANSPOSED_CONV, 32, 32, 512, 256, 2,
     1},
    {"DEPTHWISE, 1 channel, 3x3", OVERTAKE_OP_DEPTHWISE, 512, 512, 1, 1, 3, 0},
    {"DEPTHWISE, 63 channels, 3x3", OVERTAKE_OP_DEPTHWISE, 112, 112, 63, 63, 3, 0},
    {"DEPTHWISE, 64 channels, 5x5", OVERTAKE_OP_DEPTHWISE, 112, 112, 64, 64, 5, 0},
    {"DEPTHWISE, 64 channels, 11x11", OVERTAKE_OP_DEPTHWISE, 64, 64, 64, 64, 11, 0},
    {"MATMUL, 32768 products", OVERTAKE_OP_MATMUL, 2, 2, 32768, 20, 0, 0},
    {"MATMUL, 64 products", OVERTAKE_OP_MATMUL, 14, 14, 64, 200, 0, 0},
    {"MATMUL, 6144 products", OVERTAKE_OP_MATMUL, 4, 4, 6144, 200, 0, 0},
    {"MATMUL, 1 product", OVERTAKE_OP_MATMUL, 256, 256, 1, 1, 0, 0},
    {"MAX_POOL of 160 x 160", OVERTAKE_OP_MAX_POOL, 160, 160, 8, 8, 160, 0},
    {"MAX_POOL, 1 channel, 2x2", OVERTAKE_OP_MAX_POOL, 512, 512, 1, 1, 2, 0},
    {"AVERAGE_POOL of 160 x 160", OVERTAKE_OP_AVERAGE_POOL, 160, 160, 8, 8, 160, 0},
    {"AVERAGE_POOL, 1 channel, 2x2", OVERTAKE_OP_AVERAGE_POOL, 512, 512, 1, 1, 2, 0},
    {"ADD, 1 channel", OVERTAKE_OP_ADD, 512, 512, 1, 1, 0, 0},
    {"ADD, 8 channels and 1", OVERTAKE_OP_ADD, 512, 512, 1, 8, 0, 0},
    {"ADD, 64 channels", OVERTAKE_OP_ADD, 64, 64, 64, 64, 0, 0},
    {"TABLE, 1 channel", OVERTAKE_OP_TABLE, 512, 512, 1, 1, 0, 0},
    {"TABLE, 64 channels", OVERTAKE_OP_TABLE, 64, 64, 64, 64, 0, 0},
    {"COPY, 1 channel", OVERTAKE_OP_COPY, 512, 512, 1, 1, 0, 0},
    {"COPY, 64 channels", OVERTAKE_OP_COPY, 512, 512, 64, 64, 0, 0},
    {"RESIZE_BILINEAR, 1 channel", OVERTAKE_OP_RESIZE_BILINEAR, 512, 512, 1, 1, 0, 0},
    {"RESIZE_BILINEAR, 512 channels", OVERTAKE_OP_RESIZE_BILINEAR, 64, 64, 512, 512, 0, 0},
};

class Instruction {
public:
    Instruction(const Shape& shape, ovt_simd_level level)
        : scratch_(std::make_unique<ovt_simd_scratch>()) {
        scratch_->level = level;
        const unsigned reach = shape.kernel > 2 * shape.height / 3 ? shape.kernel : 1;
        insn_.opcode = shape.opcode;
        insn_.groups = shape.groups;
        place(insn_.in[0], 3, shape.height, shape.width,
              shape.opcode == OVERTAKE_OP_ADD ? shape.out_channels : shape.in_channels);
        place(insn_.out, 4, shape.height - reach + 1, shape.width - reach + 1, shape.out_channels);
        if (shape.kernel)
            set_window(shape, reach);
        if (shape.opcode == OVERTAKE_OP_MATMUL)
            place(insn_.in[1], 5, 1, shape.out_channels, shape.in_channels);
        if (shape.opcode == OVERTAKE_OP_ADD) {
            place(insn_.in[1], 5, shape.height, shape.width, shape.in_channels);
            insn_.multiplier[0] = insn_.multiplier[1] = 1u << 23;
            insn_.shift[0] = 24;
        }
        if (shape.opcode == OVERTAKE_OP_RESIZE_BILINEAR)
            insn_.step_y = insn_.step_x = (1u << OVERTAKE_POSITION_BITS) * 3 / 4;
        else if (shape.opcode != OVERTAKE_OP_TABLE && shape.opcode != OVERTAKE_OP_COPY)
            insn_.clamp_max = 127;
        constants(ovt_insn_weights_bytes(&insn_), 1, insn_.weights_region);
        constants(ovt_insn_params_bytes(&insn_), 6, insn_.params_region);
        if (ovt_insn_check(&insn_, regions_, &operands_) || !ovt_simd_covers(&insn_))
            throw std::runtime_error(
                fmt::format("bench_slices: {} has no vector operator", shape.name));
    }

    /// Nanoseconds of the longest call.
    double longest() {
        ovt_simd_section section;
        ovt_cursor cursor{};
        bool finished = false;
        double most = 0;

        ovt_simd_begin(&section);
        while (!finished) {
            std::int64_t work = OVT_SIMD_SLICE;
            const double start = now_ns();
            finished = ovt_simd_run(&insn_, &operands_, scratch_.get(), &cursor, &work);
            most = std::max(most, now_ns() - start);
        }
        ovt_simd_end(&section);
        return most;
    }

private:
    void set_window(const Shape& shape, unsigned reach) {
        insn_.kernel_height = insn_.kernel_width = static_cast<std::uint16_t>(shape.kernel);
        insn_.stride_height = insn_.stride_width =
            shape.opcode == OVERTAKE_OP_TRANSPOSED_CONV ? 2 : 1;
        if (reach == 1)
            insn_.pad_top = insn_.pad_left = static_cast<std::uint16_t>(shape.kernel / 2);
    }

    void bind(unsigned region, std::size_t bytes) {
        std::vector<std::uint8_t>& memory = memory_[region];
        memory.resize(bytes);
        for (std::uint8_t& byte : memory)
            byte = static_cast<std::uint8_t>(random_());
        regions_[region] = {memory.data(), bytes, OVT_REGION_READ | OVT_REGION_WRITE, 0};
    }

    void place(overtake_operand& operand, unsigned region, unsigned height, unsigned width,
               unsigned channels) {
        operand.region = region;
        operand.height = height;
        operand.width = width;
        operand.channels = channels;
        operand.pixel_stride = (channels + 7) / 8 * 8;
        operand.row_stride = width * operand.pixel_stride;
        bind(region, std::size_t{height} * operand.row_stride);
    }

    void constants(std::uint64_t bytes, unsigned region, std::uint32_t& field) {
        if (!bytes)
            return;
        field = region;
        bind(region, bytes);
    }

    std::mt19937 random_{1};
    overtake_insn insn_{};
    ovt_operands operands_{};
    ovt_region regions_[OVERTAKE_MAX_REGIONS]{};
    std::vector<std::uint8_t> memory_[OVERTAKE_MAX_REGIONS];
    std::unique_ptr<ovt_simd_scratch> scratch_;
};

double median_of_longest(const Shape& shape, ovt_simd_level level) {
    Instruction instruction(shape, level);
    std::vector<double> longest;
    for (int repetition = 0; repetition < 15; repetition++)
        longest.push_back(instruction.longest());
    std::sort(longest.begin(), longest.end());
    return longest[longest.size() / 2];
}

int run() {
    std::vector<ovt_simd_level> levels;
    double worst = 0;

    for (int number = 0; number < OVT_SIMD_LEVELS; number++)
        if (ovt_simd_has(static_cast<ovt_simd_level>(number)))
            levels.push_back(static_cast<ovt_simd_level>(number));
    fmt::print("| longest section, us |");
    for (const ovt_simd_level level : levels)
        fmt::print(" {} |", ovt_simd_level_name(level));
    fmt::print("\n|---|");
    for (std::size_t i = 0; i < levels.size(); i++)
        fmt::print("--:|");
    for (const Shape& shape : shapes) {
        fmt::print("\n| {} |", shape.name);
        for (const ovt_simd_level level : levels) {
            const double median = median_of_longest(shape, level);
            fmt::print(" {:.0f} |", median / 1000);
            worst = std::max(worst, median);
        }
    }
    fmt::print("\n");
    fmt::print("\nlongest section: {:.0f} us of CPU time (median of 15 runs of the worst shape)\n",
               worst / 1000);
    return worst < 200e3 ? 0 : 1;
}

} // namespace

int main() {
    if (!ovt_simd_supported()) {
        fmt::print(stderr, "bench_slices: this CPU has no AVX2\n");
        return 77;
    }
    try {
        return run();
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 2;
    }
}
