// SPDX-License-Identifier: MIT
//
// GridSample: pictures read at positions that another tensor names.
#include <algorithm>
#include <array>
#include <cmath>

#include "cpu/table.hpp"

namespace overtake::cpu {

namespace {

// integers: GridMode, GridPadding, and whether -1 and 1 are the middles of the outermost pixels (1)
// or their outer edges (0).  Inputs: pictures (batch, channels, height, width), positions (batch,
// rows, columns, 2), x first.
std::string check_grid_sample(const Operation& operation) {
    if (operation.inputs.size() != 2 || operation.integers.size() != 3)
        return "needs two inputs and three numbers";
    const Shape &from = operation.inputs[0], &grid = operation.inputs[1];
    if (from.size() != 4 || grid.size() != 4 || grid[3] != 2 || grid[0] != from[0] ||
        operation.output != Shape{from[0], from[1], grid[1], grid[2]})
        return "shapes do not fit each other";
    const auto is_one_of = [](std::int64_t number, auto count) {
        return number >= 0 && number < static_cast<std::int64_t>(count);
    };
    return is_one_of(operation.integers[0], GridMode::count) &&
                   is_one_of(operation.integers[1], GridPadding::count)
               ? ""
               : "no such mode";
}

// Beyond any picture, and an integer in float32.
constexpr float far = 1 << 24;

struct Axis {
    std::int64_t size;
    bool is_aligned;
    GridPadding padding;

    // Returns the position in pixels; 0 is the middle of the first pixel.
    float position(float given) const {
        const auto count = static_cast<float>(size);
        const float pixels =
            is_aligned ? (given + 1) / 2 * (count - 1) : ((given + 1) * count - 1) / 2;
        return pixels >= -far && pixels <= far ? pixels : -far; // -far also for NaN
    }

    float reflected(float at) const {
        const float low = is_aligned ? 0.0f : -0.5f;
        const float span = static_cast<float>(size) - (is_aligned ? 1.0f : 0.0f);
        if (span <= 0)
            return 0;
        const float distance = std::abs(at - low);
        const float turns = std::floor(distance / span), rest = distance - turns * span;
        return std::fmod(turns, 2.0f) == 0 ? low + rest : low + span - rest;
    }

    float padded(float at) const {
        const auto last = static_cast<float>(size - 1);
        if (padding == GridPadding::reflection)
            at = reflected(at);
        return padding == GridPadding::zeros ? at : std::clamp(at, 0.0f, last);
    }

    // Returns the number of a pixel; -1: it is outside and counts as 0.
    std::int64_t pixel(float at) const {
        const auto number = static_cast<std::int64_t>(padded(at));
        return number >= 0 && number < size ? number : -1;
    }
};

// Up to four pixels of an axis, and their weights.
struct Taps {
    int count;
    std::array<std::int64_t, 4> pixels;
    std::array<float, 4> weights;
};

Taps taps_of(const Axis& axis, GridMode mode, float given) {
    const float whole = axis.position(given);
    if (mode == GridMode::nearest)
        return {1, {axis.pixel(std::nearbyint(axis.padded(whole)))}, {1}};
    if (mode == GridMode::bilinear) {
        const float at = axis.padded(whole), first = std::floor(at), share = at - first;
        return {2, {axis.pixel(first), axis.pixel(first + 1)}, {1 - share, share}};
    }
    constexpr float a = -0.75f;
    const float first = std::floor(whole), t = whole - first;
    const auto near = [](float x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
    const auto wide = [](float x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
    return {
        4,
        {axis.pixel(first - 1), axis.pixel(first), axis.pixel(first + 1), axis.pixel(first + 2)},
        {wide(t + 1), near(t), near(1 - t), wide(2 - t)}};
}

float sample(const float* picture, std::size_t width, const Taps& rows, const Taps& columns) {
    float sum = 0;
    for (int i = 0; i < rows.count; i++) {
        if (rows.pixels[i] < 0 || rows.weights[i] == 0)
            continue;
        const float* row = picture + static_cast<std::size_t>(rows.pixels[i]) * width;
        float along = 0;
        for (int j = 0; j < columns.count; j++)
            if (columns.pixels[j] >= 0 && columns.weights[j] != 0)
                along += columns.weights[j] * row[columns.pixels[j]];
        sum += rows.weights[i] * along;
    }
    return sum;
}

Kernel make_grid_sample(const Operation& operation) {
    const Shape &from = operation.inputs[0], &to = operation.output;
    const auto mode = static_cast<GridMode>(operation.integers[0]);
    const auto padding = static_cast<GridPadding>(operation.integers[1]);
    const bool is_aligned = operation.integers[2] != 0;
    const Axis rows{from[2], is_aligned, padding}, columns{from[3], is_aligned, padding};
    return [rows, columns, mode, batches = from[0], channels = from[1],
            positions = std::size_t{to[2]} * to[3], pixels = std::size_t{from[2]} * from[3],
            width = std::size_t{from[3]}](const Inputs& in, std::span<float> out) {
        for (std::size_t batch = 0; batch < batches; batch++)
            for (std::size_t position = 0; position < positions; position++) {
                const float* at = in[1].data() + 2 * (batch * positions + position);
                const Taps x = taps_of(columns, mode, at[0]), y = taps_of(rows, mode, at[1]);
                for (std::size_t channel = 0; channel < channels; channel++) {
                    const std::size_t plane = batch * channels + channel;
                    out[plane * positions + position] =
                        sample(in[0].data() + plane * pixels, width, y, x);
                }
            }
    };
}

constexpr Entry grid_table[] = {
    {CpuOpType::grid_sample, "GridSample", check_grid_sample, make_grid_sample},
};

} // namespace

std::span<const Entry> grid_operators() {
    return grid_table;
}

} // namespace overtake::cpu
