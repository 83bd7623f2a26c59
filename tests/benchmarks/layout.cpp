// SPDX-License-Identifier: MIT
// Which layout should activations have? Runs shapes of ResNet-18 and MobileNetV2 through AVX2
// kernels for each candidate, checks every result against a plain loop, and prints GMAC/s.
// docs/design/layout.md explains the choice that came out of it.
#include "layout_kernels.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace layout;

using Bytes = std::vector<std::int8_t>;
using Words = std::vector<std::int16_t>;

struct Shape {
    const char* name;
    int in_channels, out_channels, out_height, out_width, kernel, stride;
    enum { Convolution, Depthwise, Add } type;
};

const Shape shapes[] = {
    {"ResNet-18 7x7/2    3->64  112x112", 3, 64, 112, 112, 7, 2, Shape::Convolution},
    {"ResNet-18 3x3     64->64    56x56", 64, 64, 56, 56, 3, 1, Shape::Convolution},
    {"ResNet-18 3x3/2   64->128   28x28", 64, 128, 28, 28, 3, 2, Shape::Convolution},
    {"ResNet-18 1x1/2   64->128   28x28", 64, 128, 28, 28, 1, 2, Shape::Convolution},
    {"ResNet-18 3x3    256->256   14x14", 256, 256, 14, 14, 3, 1, Shape::Convolution},
    {"ResNet-18 3x3    512->512     7x7", 512, 512, 7, 7, 3, 1, Shape::Convolution},
    {"MobileNet 1x1     24->144   56x56", 24, 144, 56, 56, 1, 1, Shape::Convolution},
    {"MobileNet 1x1    144->24    56x56", 144, 24, 56, 56, 1, 1, Shape::Convolution},
    {"MobileNet 1x1    160->960     7x7", 160, 960, 7, 7, 1, 1, Shape::Convolution},
    {"MobileNet dw3x3      144    56x56", 144, 144, 56, 56, 3, 1, Shape::Depthwise},
    {"MobileNet dw3x3/2    144    28x28", 144, 144, 28, 28, 3, 2, Shape::Depthwise},
    {"MobileNet dw3x3      960      7x7", 960, 960, 7, 7, 3, 1, Shape::Depthwise},
    {"MobileNet add         24    56x56", 24, 24, 56, 56, 1, 1, Shape::Add},
};

// Reads past the last element of a row or tensor stay inside this.
constexpr std::size_t Slack = 512;

int round_up(int value, int to) {
    return (value + to - 1) / to * to;
}

struct Layout {
    bool planar;
    Walk walk;
    std::size_t size;

    std::size_t at(int c, int y, int x) const {
        const std::ptrdiff_t channel = planar ? c * walk.channel : c / 8 * walk.channel + c % 8;
        return (std::size_t)(channel + y * walk.row + x * walk.pixel);
    }
};

Layout nhwc(int channels, int height, int width) {
    const int pixel = round_up(channels, 8);
    return {false, {(std::ptrdiff_t)width * pixel, pixel, 8}, (std::size_t)height * width * pixel};
}

Layout blocked(int channels, int height, int width) {
    return {false,
            {(std::ptrdiff_t)width * 8, 8, (std::ptrdiff_t)height * width * 8},
            (std::size_t)height * width * round_up(channels, 8)};
}

// Rows of outputs are rounded up to the 8 pixels that a vector writes.
Layout planar(int channels, int height, int width, bool output) {
    const std::ptrdiff_t row = output ? round_up(width, 8) : width;
    return {true, {row, 1, height * row}, (std::size_t)(round_up(channels, 8) * height * row)};
}

// One shape with its data in NCHW order, and the expected results.
struct Problem {
    Task task;
    int in_height, in_width;
    Bytes in, in2, weights, expected;

    Problem(const Shape& shape, std::mt19937& random);
    double macs() const {
        const double outputs = (double)task.out_channels * task.out_height * task.out_width;
        return outputs * task.kernel * task.kernel * (task.depthwise ? 1 : task.in_channels);
    }
};

Bytes random_bytes(std::size_t count, std::mt19937& random) {
    std::uniform_int_distribution<int> any(-128, 127);
    Bytes bytes(count);
    std::generate(bytes.begin(), bytes.end(), [&] { return (std::int8_t)any(random); });
    return bytes;
}

std::int8_t finish(int sum, float scale) {
    return (std::int8_t)std::clamp(std::lrintf((float)sum * scale), -128l, 127l);
}

int plain_sum(const Problem& problem, const Shape& shape, int o, int y, int x) {
    const Task& task = problem.task;
    auto input = [&](const Bytes& from, int c, int iy, int ix) {
        return from[((std::size_t)c * problem.in_height + iy) * problem.in_width + ix] -
               task.zero_point;
    };
    if (shape.type == Shape::Add)
        return 3 * input(problem.in, o, y, x) + 5 * input(problem.in2, o, y, x);
    const int inputs = task.depthwise ? 1 : task.in_channels;
    const std::int8_t* weight =
        &problem.weights[(std::size_t)o * inputs * task.kernel * task.kernel];
    int sum = 0;
    for (int i = 0; i < inputs; i++)
        for (int ky = 0; ky < task.kernel; ky++)
            for (int kx = 0; kx < task.kernel; kx++)
                sum += *weight++ * input(problem.in, task.depthwise ? o : i, y * task.stride + ky,
                                         x * task.stride + kx);
    return sum;
}

Problem::Problem(const Shape& shape, std::mt19937& random) {
    const int inputs = shape.type == Shape::Convolution ? shape.in_channels : 1;
    const double terms =
        shape.type == Shape::Add ? 0.006 : (double)inputs * shape.kernel * shape.kernel;
    task = {shape.in_channels,
            shape.out_channels,
            shape.out_height,
            shape.out_width,
            shape.kernel,
            shape.stride,
            shape.type == Shape::Depthwise,
            3,
            (float)(1 / (128 * std::sqrt(terms)))};
    in_height = (shape.out_height - 1) * shape.stride + shape.kernel;
    in_width = (shape.out_width - 1) * shape.stride + shape.kernel;
    in = random_bytes((std::size_t)shape.in_channels * in_height * in_width, random);
    in2 = random_bytes(in.size(), random);
    weights = random_bytes((std::size_t)shape.out_channels * inputs * shape.kernel * shape.kernel,
                           random);
    for (int o = 0; o < shape.out_channels; o++)
        for (int y = 0; y < shape.out_height; y++)
            for (int x = 0; x < shape.out_width; x++)
                expected.push_back(finish(plain_sum(*this, shape, o, y, x), task.scale));
}

Bytes arrange(const Bytes& nchw, int channels, int height, int width, const Layout& layout) {
    Bytes arranged(layout.size + Slack);
    for (int c = 0; c < channels; c++)
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++)
                arranged[layout.at(c, y, x)] = nchw[((std::size_t)c * height + y) * width + x];
    return arranged;
}

// Weights of a convolution with tiles of 8 outputs x @inner inputs:
// [o/8][ky][kx][i/inner][8][inner].
Bytes tile_weights(const Problem& problem, int inner) {
    const Task& task = problem.task;
    const std::size_t taps = (std::size_t)task.kernel * task.kernel;
    const std::size_t blocks = (task.in_channels + inner - 1) / inner;
    Bytes tiled(round_up(task.out_channels, 8) / 8 * taps * blocks * 8 * inner);
    std::size_t from = 0;
    for (std::size_t o = 0; o < (std::size_t)task.out_channels; o++)
        for (std::size_t i = 0; i < (std::size_t)task.in_channels; i++)
            for (std::size_t tap = 0; tap < taps; tap++)
                tiled[(((o / 8 * taps + tap) * blocks + i / inner) * 8 + o % 8) * inner +
                      i % inner] = problem.weights[from++];
    return tiled;
}

// [c/lanes][5 pairs][lanes][2 taps]; lanes = 1 for the planar layout.
Words pair_taps(const Problem& problem, int lanes) {
    Words paired(round_up(problem.task.out_channels, lanes) * 10);
    for (int c = 0; c < problem.task.out_channels; c++)
        for (int tap = 0; tap < 9; tap++)
            paired[((c / lanes * 5 + tap / 2) * lanes + c % lanes) * 2 + tap % 2] =
                problem.weights[c * 9 + tap];
    return paired;
}

// One layout's way of computing a problem.
struct Candidate {
    Layout in_layout, out_layout;
    std::function<void(const Bytes& in, const Bytes& in2, Bytes& out)> run;
};

std::function<void(const Bytes&, const Bytes&, Bytes&)> add_runner(const Task& task,
                                                                   std::size_t size) {
    return [=](const Bytes& a, const Bytes& b, Bytes& out) {
        add_all(a.data(), b.data(), size, task, out.data());
    };
}

enum class Kernel { Tile8, Pair };

template <typename Value>
void convolve(Kernel kernel, const Task& task, const Value* in, Walk in_walk, const Bytes& weights,
              Bytes& out, Walk out_walk) {
    (kernel == Kernel::Tile8 ? convolve_tile8<Value> : convolve_pair<Value>)(task, in, in_walk,
                                                                             weights.data(),
                                                                             out.data(), out_walk);
}

// A convolution over bytes, or over words: then widening them is part of the time, as a layer's
// input comes as bytes.
Candidate convolution_candidate(const Problem& problem, Layout in, Layout out, Kernel kernel,
                                bool widened) {
    const Task task = problem.task;
    const Bytes weights = tile_weights(problem, kernel == Kernel::Tile8 ? 8 : 2);
    if (!widened)
        return {in, out, [=](const Bytes& a, const Bytes&, Bytes& to) {
                    convolve(kernel, task, a.data(), in.walk, weights, to, out.walk);
                }};
    return {in, out,
            [=, words = Words(in.size + Slack)](const Bytes& a, const Bytes&, Bytes& to) mutable {
                widen_all(a.data(), in.size, task.zero_point, words.data());
                convolve(kernel, task, words.data(), in.walk, weights, to, out.walk);
            }};
}

Candidate channel_candidate(const Problem& problem, const Shape& shape, Layout in, Layout out,
                            Kernel kernel, bool widened) {
    const Task task = problem.task;
    if (shape.type == Shape::Convolution)
        return convolution_candidate(problem, in, out, kernel, widened);
    if (shape.type == Shape::Add)
        return {in, out, add_runner(task, in.size)};
    return {in, out, [=, weights = pair_taps(problem, 8)](const Bytes& a, const Bytes&, Bytes& to) {
                depthwise_blocked(task, a.data(), in.walk, weights.data(), to.data(), out.walk);
            }};
}

Candidate planar_candidate(const Problem& problem, const Shape& shape, Layout in, Layout out) {
    const Task task = problem.task;
    if (shape.type == Shape::Add)
        return {in, in,
                add_runner(task, (std::size_t)task.in_channels * task.out_height * task.out_width)};
    if (task.depthwise)
        return {in, out,
                [=, weights = pair_taps(problem, 1)](const Bytes& a, const Bytes&, Bytes& to) {
                    (task.stride == 1 ? depthwise_planar<1>
                                      : depthwise_planar<2>)(task, a.data(), in.walk,
                                                             weights.data(), to.data(), out.walk);
                }};
    const Bytes narrow = tile_weights(problem, 2);
    return {in, out,
            [=, weights = Words(narrow.begin(), narrow.end())](const Bytes& a, const Bytes&,
                                                               Bytes& to) {
                (task.stride == 1 ? convolve_planar<1>
                                  : convolve_planar<2>)(task, a.data(), in.walk, weights.data(),
                                                        to.data(), out.walk);
            }};
}

std::vector<Candidate> candidates(const Problem& problem, const Shape& shape) {
    const int c = shape.in_channels, h = problem.in_height, w = problem.in_width;
    const int oc = shape.out_channels, oh = shape.out_height, ow = shape.out_width;
    const Layout in = nhwc(c, h, w), out = nhwc(oc, oh, ow);
    return {channel_candidate(problem, shape, in, out, Kernel::Tile8, false),
            channel_candidate(problem, shape, in, out, Kernel::Tile8, true),
            channel_candidate(problem, shape, in, out, Kernel::Pair, false),
            channel_candidate(problem, shape, in, out, Kernel::Pair, true),
            channel_candidate(problem, shape, blocked(c, h, w), blocked(oc, oh, ow), Kernel::Tile8,
                              false),
            planar_candidate(problem, shape, planar(c, h, w, false), planar(oc, oh, ow, true))};
}

constexpr int CandidateCount = 6;

double seconds_of(const std::function<void()>& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The fastest of the rounds: other load on the machine only ever adds.
void keep_best(double& best, const std::function<void()>& work, int repeats) {
    const double each = seconds_of([&] {
                            for (int i = 0; i < repeats; i++)
                                work();
                        }) /
                        repeats;
    best = std::min(best, each);
}

bool equals_expected(const Problem& problem, const Layout& layout, const Bytes& out) {
    const Task& task = problem.task;
    std::size_t next = 0;
    for (int o = 0; o < task.out_channels; o++)
        for (int y = 0; y < task.out_height; y++)
            for (int x = 0; x < task.out_width; x++)
                if (out[layout.at(o, y, x)] != problem.expected[next++])
                    return false;
    return true;
}

bool measure(const Shape& shape, int rounds, std::mt19937& random, double* logs) {
    const Problem problem(shape, random);
    std::vector<Candidate> all = candidates(problem, shape);
    std::vector<Bytes> in, in2, out;
    for (const Candidate& candidate : all) {
        in.push_back(arrange(problem.in, shape.in_channels, problem.in_height, problem.in_width,
                             candidate.in_layout));
        in2.push_back(arrange(problem.in2, shape.in_channels, problem.in_height, problem.in_width,
                              candidate.in_layout));
        out.emplace_back(candidate.out_layout.size + Slack);
    }
    const int repeats = std::max(1, (int)(2e7 / problem.macs()));
    std::vector<double> best(all.size(), 1e9);
    for (int round = 0; round < rounds; round++)
        for (std::size_t n = 0; n < all.size(); n++)
            keep_best(
                best[n], [&] { all[n].run(in[n], in2[n], out[n]); }, repeats);
    std::printf("%s", shape.name);
    for (std::size_t n = 0; n < all.size(); n++) {
        if (!equals_expected(problem, all[n].out_layout, out[n])) {
            std::fprintf(stderr, "\n%s: candidate %zu computes something else\n", shape.name, n);
            return false;
        }
        std::printf(" %8.1f", problem.macs() / best[n] / 1e9);
        if (shape.type == Shape::Convolution)
            logs[n] += std::log(best[0] / best[n]);
    }
    std::printf("\n");
    return true;
}

// A user's planar image to NHWC padded to 8, and NHWC back to planar.
void measure_conversion(const char* name, int channels, int height, int width, int rounds) {
    const Layout inner = nhwc(channels, height, width);
    const std::size_t plane = (std::size_t)height * width;
    Bytes user(channels * plane), device(inner.size);
    double in = 1e9, out = 1e9;
    for (int round = 0; round < rounds; round++) {
        keep_best(
            in,
            [&] {
                for (std::size_t pixel = 0; pixel < plane; pixel++)
                    for (int c = 0; c < channels; c++)
                        device[pixel * inner.walk.pixel + c] = user[c * plane + pixel];
            },
            10);
        keep_best(
            out,
            [&] {
                for (int c = 0; c < channels; c++)
                    for (std::size_t pixel = 0; pixel < plane; pixel++)
                        user[c * plane + pixel] = device[pixel * inner.walk.pixel + c];
            },
            10);
    }
    std::printf("%-34s %8.1f %8.1f\n", name, in * 1e6, out * 1e6);
}

void print_header(const char* name, std::initializer_list<const char*> columns) {
    std::printf("%-34s", name);
    for (const char* column : columns)
        std::printf(" %8s", column);
    std::printf("\n");
}

} // namespace

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 15;
    if (argc > 2 || rounds < 1) {
        std::fprintf(stderr, "usage: layout_benchmark [ROUNDS]\n");
        return 2;
    }
    if (!__builtin_cpu_supports("avx2")) {
        std::fprintf(stderr, "layout_benchmark: this processor has no AVX2\n");
        return 1;
    }
    std::mt19937 random(1);
    double logs[CandidateCount] = {};
    std::printf("GMAC/s, one thread, fastest of %d rounds\n", rounds);
    print_header("activations", {"NHWC8", "NHWC8", "NHWC8", "NHWC8", "NC/8HWc8", "NCHW"});
    print_header("tiles of weights", {"8o8i", "8o8i", "8o2i", "8o2i", "8o8i", "8o2i"});
    print_header("widened to int16 beforehand", {"-", "input", "-", "input", "-", "weights"});
    for (const Shape& shape : shapes)
        if (!measure(shape, rounds, random, logs))
            return 1;
    const auto convolutions =
        std::count_if(std::begin(shapes), std::end(shapes),
                      [](const Shape& shape) { return shape.type == Shape::Convolution; });
    std::printf("%-34s", "convolutions, first column = 1");
    for (double log : logs)
        std::printf(" %8.2f", std::exp(log / convolutions));
    std::printf("\n\n%-34s %8s %8s\n", "microseconds to convert", "to NHWC8", "to NCHW");
    measure_conversion("3 x 224 x 224", 3, 224, 224, rounds);
    measure_conversion("64 x 56 x 56", 64, 56, 56, rounds);
    measure_conversion("512 x 7 x 7", 512, 7, 7, rounds);
    return 0;
}
