// SPDX-License-Identifier: MIT
// AVX2 kernels for the candidate activation layouts. All of them multiply with pmaddwd: two exact
// int16 products a lane. They share the epilogue, so what differs is how operands get into lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace layout {

typedef char v8qi __attribute__((vector_size(8)));
typedef char v16qi __attribute__((vector_size(16)));
typedef short v16hi __attribute__((vector_size(32)));
typedef int v4si __attribute__((vector_size(16)));
typedef int v8si __attribute__((vector_size(32)));
typedef float v8sf __attribute__((vector_size(32)));
typedef long long v2di __attribute__((vector_size(16)));

// A tensor as a kernel walks it; strides in elements.
struct Walk {
    std::ptrdiff_t row;     // to the next row
    std::ptrdiff_t pixel;   // to the next pixel of a row
    std::ptrdiff_t channel; // to the next channel (NCHW) or block of 8 channels
};

// An operator whose input has its padding around it in memory, so no kernel handles edges.
struct Task {
    int in_channels, out_channels, out_height, out_width, kernel, stride;
    bool depthwise;
    int zero_point;
    float scale;
};

inline v16qi load_8_twice(const std::int8_t* from) {
    long long value;
    std::memcpy(&value, from, 8);
    return (v16qi)(v2di){value, value};
}

inline v16qi load_16(const std::int8_t* from) {
    v16qi value;
    std::memcpy(&value, from, 16);
    return value;
}

inline v16hi load_16_words(const std::int16_t* from) {
    v16hi value;
    std::memcpy(&value, from, 32);
    return value;
}

inline v16hi broadcast_pair(const std::int16_t* from) {
    int pair;
    std::memcpy(&pair, from, 4);
    return (v16hi)(v8si{} + pair);
}

inline v16hi widen(v16qi bytes) {
    return __builtin_ia32_pmovsxbw256(bytes);
}

// 8 channels of a pixel in both halves, less the zero point; of an input that was widened to int16
// beforehand the zero point has been taken already.
inline v16hi eight_twice(const std::int8_t* from, v16hi zero_point) {
    return widen(load_8_twice(from)) - zero_point;
}

inline v16hi eight_twice(const std::int16_t* from, v16hi) {
    v2di words;
    std::memcpy(&words, from, 16);
    return (v16hi)__builtin_shufflevector(words, words, 0, 1, 0, 1);
}

// 2 channels of a pixel in all 8 places, likewise.
inline v16hi pair_everywhere(const std::int8_t* from, v16hi zero_point) {
    short pair;
    std::memcpy(&pair, from, 2);
    typedef short v8hi __attribute__((vector_size(16)));
    return widen((v16qi)(v8hi{} + pair)) - zero_point;
}

inline v16hi pair_everywhere(const std::int16_t* from, v16hi) {
    return broadcast_pair(from);
}

inline v8si multiply(v16hi a, v16hi b) {
    return __builtin_ia32_pmaddwd256(a, b);
}

// Two runs of 8 bytes, element by element: a0 b0 a1 b1 ... as int16.
inline v16hi interleave(v16qi a, v16qi b) {
    return widen(
        __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23));
}

// 8 accumulators to 8 bytes. Real kernels requantise in integers; here the cost only has to be the
// same for every layout.
inline void store_8(std::int8_t* to, v8si sums, float scale) {
    v8si rounded = __builtin_ia32_cvtps2dq256(__builtin_convertvector(sums, v8sf) * scale);
    v16hi words = __builtin_ia32_packssdw256(rounded, rounded);
    v4si low = (v4si)__builtin_shufflevector((v8si)words, (v8si)words, 0, 1, 4, 5);
    v16qi bytes = __builtin_ia32_packsswb128((__attribute__((vector_size(16))) short)low,
                                             (__attribute__((vector_size(16))) short)low);
    std::memcpy(to, &bytes, 8);
}

// Four vectors with 4 partial sums of outputs (0, 1), (2, 3), (4, 5), (6, 7) to 8 sums.
inline v8si reduce(const v8si* partial) {
    v8si a = __builtin_ia32_phaddd256(partial[0], partial[1]); // 0 0 2 2 | 1 1 3 3
    v8si b = __builtin_ia32_phaddd256(partial[2], partial[3]); // 4 4 6 6 | 5 5 7 7
    v8si c = __builtin_ia32_phaddd256(a, b);                   // 0 2 4 6 | 1 3 5 7
    return __builtin_shufflevector(c, c, 0, 4, 1, 5, 2, 6, 3, 7);
}

// Weights [o/8][ky][kx][i/8][8 o][8 i]; both NHWC padded to 8 and NC/8HWc8, by strides.
template <int Pixels, typename Value>
inline void tile8_pixels(const Task& task, const Value* in, Walk walk, const std::int8_t* weights,
                         std::int8_t* out, std::ptrdiff_t out_pixel) {
    const int blocks = (task.in_channels + 7) / 8;
    const v16hi zero_point = v16hi{} + (short)task.zero_point;
    v8si sums[Pixels][4] = {};

    for (int ky = 0; ky < task.kernel; ky++) {
        for (int kx = 0; kx < task.kernel; kx++) {
            const Value* from = in + ky * walk.row + kx * walk.pixel;
            for (int block = 0; block < blocks; block++, from += walk.channel, weights += 64) {
                v16hi values[Pixels];
                for (int p = 0; p < Pixels; p++)
                    values[p] = eight_twice(from + p * task.stride * walk.pixel, zero_point);
#pragma GCC unroll 4
                for (int n = 0; n < 4; n++) {
                    const v16hi factors = widen(load_16(weights + 16 * n));
#pragma GCC unroll 3
                    for (int p = 0; p < Pixels; p++)
                        sums[p][n] += multiply(values[p], factors);
                }
            }
        }
    }
    for (int p = 0; p < Pixels; p++)
        store_8(out + p * out_pixel, reduce(sums[p]), task.scale);
}

template <typename Value>
inline void convolve_tile8(const Task& task, const Value* in, Walk in_walk,
                           const std::int8_t* weights, std::int8_t* out, Walk out_walk) {
    const std::ptrdiff_t block_weights =
        64 * ((task.in_channels + 7) / 8) * task.kernel * task.kernel;

    for (int o = 0; o < (task.out_channels + 7) / 8; o++, weights += block_weights) {
        for (int y = 0; y < task.out_height; y++) {
            const Value* row = in + y * task.stride * in_walk.row;
            std::int8_t* to = out + y * out_walk.row + o * out_walk.channel;
            const std::ptrdiff_t step = task.stride * in_walk.pixel;
            int x = 0;
            for (; x + 3 <= task.out_width; x += 3)
                tile8_pixels<3>(task, row + x * step, in_walk, weights, to + x * out_walk.pixel,
                                out_walk.pixel);
            for (; x < task.out_width; x++)
                tile8_pixels<1>(task, row + x * step, in_walk, weights, to + x * out_walk.pixel,
                                out_walk.pixel);
        }
    }
}

// Weights [o/8][ky][kx][i/2][8 o][2 i]: every lane is an output, so nothing is left to reduce.
template <int Pixels, int Blocks, typename Value>
inline void pair_pixels(const Task& task, const Value* in, Walk walk, const std::int8_t* weights,
                        std::ptrdiff_t block_weights, std::int8_t* out, Walk out_walk) {
    const int pairs = (task.in_channels + 1) / 2;
    const v16hi zero_point = v16hi{} + (short)task.zero_point;
    v8si sums[Pixels][Blocks] = {};

    for (int ky = 0; ky < task.kernel; ky++) {
        for (int kx = 0; kx < task.kernel; kx++) {
            const Value* from = in + ky * walk.row + kx * walk.pixel;
            for (int pair = 0; pair < pairs; pair++, from += 2, weights += 16) {
                v16hi factors[Blocks];
#pragma GCC unroll 2
                for (int b = 0; b < Blocks; b++)
                    factors[b] = widen(load_16(weights + b * block_weights));
#pragma GCC unroll 6
                for (int p = 0; p < Pixels; p++) {
                    const v16hi value =
                        pair_everywhere(from + p * task.stride * walk.pixel, zero_point);
#pragma GCC unroll 2
                    for (int b = 0; b < Blocks; b++)
                        sums[p][b] += multiply(value, factors[b]);
                }
            }
        }
    }
    for (int p = 0; p < Pixels; p++)
        for (int b = 0; b < Blocks; b++)
            store_8(out + p * out_walk.pixel + b * out_walk.channel, sums[p][b], task.scale);
}

template <int Blocks, typename Value>
inline void pair_rows(const Task& task, const Value* in, Walk in_walk, const std::int8_t* weights,
                      std::ptrdiff_t block_weights, std::int8_t* out, Walk out_walk) {
    const std::ptrdiff_t step = task.stride * in_walk.pixel;

    for (int y = 0; y < task.out_height; y++) {
        const Value* row = in + y * task.stride * in_walk.row;
        std::int8_t* to = out + y * out_walk.row;
        int x = 0;
        for (; x + 5 <= task.out_width; x += 5)
            pair_pixels<5, Blocks>(task, row + x * step, in_walk, weights, block_weights,
                                   to + x * out_walk.pixel, out_walk);
        for (; x < task.out_width; x++)
            pair_pixels<1, Blocks>(task, row + x * step, in_walk, weights, block_weights,
                                   to + x * out_walk.pixel, out_walk);
    }
}

inline void widen_all(const std::int8_t* in, std::size_t count, int zero_point, std::int16_t* to) {
    for (std::size_t i = 0; i < count; i++)
        to[i] = (std::int16_t)(in[i] - zero_point);
}

template <typename Value>
inline void convolve_pair(const Task& task, const Value* in, Walk in_walk,
                          const std::int8_t* weights, std::int8_t* out, Walk out_walk) {
    const std::ptrdiff_t block_weights =
        16 * ((task.in_channels + 1) / 2) * task.kernel * task.kernel;
    const int blocks = (task.out_channels + 7) / 8;
    int o = 0;

    for (; o + 2 <= blocks; o += 2)
        pair_rows<2>(task, in, in_walk, weights + o * block_weights, block_weights,
                     out + o * out_walk.channel, out_walk);
    if (o < blocks)
        pair_rows<1>(task, in, in_walk, weights + o * block_weights, block_weights,
                     out + o * out_walk.channel, out_walk);
}

// 8 pixels of one channel's row, @Stride apart.
template <int Stride>
inline v16qi load_pixels(const std::int8_t* from) {
    if (Stride == 1)
        return load_8_twice(from);
    const v16qi bytes = load_16(from);
    return __builtin_shufflevector(bytes, bytes, 0, 2, 4, 6, 8, 10, 12, 14, 0, 2, 4, 6, 8, 10, 12,
                                   14);
}

// NCHW, lanes are 8 pixels of a row; weights [o/8][ky][kx][i/2][8 o][2 i], widened beforehand.
template <int Stride>
inline void planar_pixels(const Task& task, const std::int8_t* in, Walk walk,
                          const std::int16_t* weights, std::int8_t* out, Walk out_walk) {
    const int pairs = (task.in_channels + 1) / 2;
    const v16hi zero_point = v16hi{} + (short)task.zero_point;
    v8si sums[8] = {};

    for (int ky = 0; ky < task.kernel; ky++) {
        for (int kx = 0; kx < task.kernel; kx++) {
            const std::int8_t* from = in + ky * walk.row + kx;
            for (int pair = 0; pair < pairs; pair++, from += 2 * walk.channel, weights += 16) {
                const v16hi values = interleave(load_pixels<Stride>(from),
                                                load_pixels<Stride>(from + walk.channel)) -
                                     zero_point;
#pragma GCC unroll 8
                for (int o = 0; o < 8; o++)
                    sums[o] += multiply(values, broadcast_pair(weights + 2 * o));
            }
        }
    }
    for (int o = 0; o < 8; o++)
        store_8(out + o * out_walk.channel, sums[o], task.scale);
}

template <int Stride>
inline void convolve_planar(const Task& task, const std::int8_t* in, Walk in_walk,
                            const std::int16_t* weights, std::int8_t* out, Walk out_walk) {
    const std::ptrdiff_t block_weights =
        16 * ((task.in_channels + 1) / 2) * task.kernel * task.kernel;

    for (int o = 0; o < (task.out_channels + 7) / 8; o++, weights += block_weights)
        for (int y = 0; y < task.out_height; y++)
            for (int x = 0; x < task.out_width; x += 8)
                planar_pixels<Stride>(
                    task, in + y * Stride * in_walk.row + x * Stride, in_walk, weights,
                    out + 8 * o * out_walk.channel + y * out_walk.row + x, out_walk);
}

// Depthwise, 3 x 3: taps in pairs, 8 channels a vector. Weights [c/8][5 pairs][8 c][2 taps], int16.
inline void depthwise_blocked(const Task& task, const std::int8_t* in, Walk walk,
                              const std::int16_t* weights, std::int8_t* out, Walk out_walk) {
    const v16hi zero_point = v16hi{} + (short)task.zero_point;
    std::ptrdiff_t tap[10];

    for (int t = 0; t < 10; t++)
        tap[t] = t < 9 ? t / 3 * walk.row + t % 3 * walk.pixel : tap[8];
    for (int c = 0; c < (task.out_channels + 7) / 8; c++, weights += 80) {
        for (int y = 0; y < task.out_height; y++) {
            const std::int8_t* from = in + c * walk.channel + y * task.stride * walk.row;
            std::int8_t* to = out + c * out_walk.channel + y * out_walk.row;
            for (int x = 0; x < task.out_width; x++, from += task.stride * walk.pixel) {
                v8si sums = {};
#pragma GCC unroll 5
                for (int pair = 0; pair < 5; pair++)
                    sums += multiply(interleave(load_8_twice(from + tap[2 * pair]),
                                                load_8_twice(from + tap[2 * pair + 1])) -
                                         zero_point,
                                     load_16_words(weights + 16 * pair));
                store_8(to + x * out_walk.pixel, sums, task.scale);
            }
        }
    }
}

// The same with 8 pixels a vector. Weights [c][5 pairs][2 taps].
template <int Stride>
inline void depthwise_planar(const Task& task, const std::int8_t* in, Walk walk,
                             const std::int16_t* weights, std::int8_t* out, Walk out_walk) {
    const v16hi zero_point = v16hi{} + (short)task.zero_point;
    std::ptrdiff_t tap[10];

    for (int t = 0; t < 10; t++)
        tap[t] = t < 9 ? t / 3 * walk.row + t % 3 : tap[8];
    for (int c = 0; c < task.out_channels; c++, weights += 10) {
        v16hi factors[5];
        for (int pair = 0; pair < 5; pair++)
            factors[pair] = broadcast_pair(weights + 2 * pair);
        for (int y = 0; y < task.out_height; y++) {
            const std::int8_t* from = in + c * walk.channel + y * Stride * walk.row;
            std::int8_t* to = out + c * out_walk.channel + y * out_walk.row;
            for (int x = 0; x < task.out_width; x += 8) {
                v8si sums = {};
#pragma GCC unroll 5
                for (int pair = 0; pair < 5; pair++)
                    sums += multiply(
                        interleave(load_pixels<Stride>(from + x * Stride + tap[2 * pair]),
                                   load_pixels<Stride>(from + x * Stride + tap[2 * pair + 1])) -
                            zero_point,
                        factors[pair]);
                store_8(to + x, sums, task.scale);
            }
        }
    }
}

// a * 3 + b * 5, scaled: elementwise, so only the padding of a layout matters.
inline void add_all(const std::int8_t* a, const std::int8_t* b, std::size_t count, const Task& task,
                    std::int8_t* out) {
    const v16hi zero_point = v16hi{} + (short)task.zero_point;
    const v16hi scales = (v16hi)(v8si{} + (5 << 16 | 3));

    for (std::size_t i = 0; i < count; i += 8)
        store_8(out + i,
                multiply(interleave(load_8_twice(a + i), load_8_twice(b + i)) - zero_point, scales),
                task.scale);
}

} // namespace layout
