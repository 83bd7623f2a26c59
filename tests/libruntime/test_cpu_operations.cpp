// SPDX-License-Identifier: MIT
//
// Operators of the CPU as a hostile model file may ask for them.  Each way to leave an array is
// refused before it runs, and an accepted operator takes time only in proportion to its arrays.
#include <cmath>
#include <limits>
#include <string_view>

#include <gtest/gtest.h>

#include "cpu/operation.hpp"
#include "cpu_run.hpp"
#include "overtake/device.hpp"

namespace overtake::cpu {
namespace {

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

struct Row {
    const char* reason; ///< empty: sound
    Operation operation;
};

using Type = CpuOpType;

const Row rows[] = {
    {"no such function", {Type::unary, {-1}, {}, {{4}}, {4}}},
    {"no such function", {Type::unary, {static_cast<std::int64_t>(Unary::count)}, {}, {{4}}, {4}}},
    {"one input and one number", {Type::unary, {}, {}, {{4}}, {4}}},
    {"differ in shape", {Type::unary, {0}, {}, {{4}}, {5}}},
    {"no such function", {Type::binary, {most}, {}, {{4}, {4}}, {4}}},
    {"do not fit", {Type::binary, {0}, {}, {{4}, {3}}, {4}}},
    {"do not fit", {Type::binary, {0}, {}, {{4}, {4}}, {2, 4}}},
    {"do not fit", {Type::select, {}, {}, {{4}, {3}, {2}}, {4}}},
    {"three inputs", {Type::select, {}, {}, {{4}, {4}}, {4}}},
    {"differ in shape", {Type::dequantize, {}, {}, {{4}}, {5}}},
    {"", {Type::view, {3, -1}, {}, {{4}}, {4}}},
    {"begins outside", {Type::view, {4, -1}, {}, {{4}}, {4}}},
    {"begins outside", {Type::view, {least, 1}, {}, {{4}}, {4}}},
    {"leaves its input", {Type::view, {0, 1}, {}, {{4}}, {5}}},
    {"leaves its input", {Type::view, {2, -1}, {}, {{4}}, {4}}},
    {"leaves its input", {Type::view, {0, 1, 1}, {}, {{4}}, {4, 2}}},
    {"steps out", {Type::view, {0, most}, {}, {{4}}, {2}}},
    {"steps out", {Type::view, {0, least}, {}, {{4}}, {2}}},
    {"a step for each axis", {Type::view, {0}, {}, {{4}}, {4}}},
    {"axis lies outside", {Type::gather, {2}, {}, {{4, 5}, {3}}, {3, 5}}},
    {"axis lies outside", {Type::gather, {least}, {}, {{4, 5}, {3}}, {3, 5}}},
    {"axis lies outside", {Type::gather, {}, {}, {{4, 5}, {3}}, {3, 5}}},
    {"do not fit", {Type::gather, {0}, {}, {{4, 5}, {3}}, {4, 5}}},
    {"do not fit", {Type::gather_elements, {1}, {}, {{4, 5}, {5, 2}}, {5, 2}}},
    {"do not fit", {Type::gather_elements, {0}, {}, {{4, 5}, {2}}, {2}}},
    {"do not fit", {Type::gather_elements, {0}, {}, {{4, 5}, {4, 2}}, {4, 3}}},
    {"do not fit", {Type::concat, {0}, {}, {{4, 5}, {4, 4}}, {8, 5}}},
    {"do not fit", {Type::concat, {0}, {}, {{4, 5}, {4, 5}}, {9, 5}}},
    {"axis lies outside", {Type::concat, {2}, {}, {{4, 5}}, {4, 5}}},
    {"out of range", {Type::pad, {0, least}, {}, {{4}}, {6}}},
    {"out of range", {Type::pad, {0, most}, {}, {{4}}, {6}}},
    {"no such mode", {Type::pad, {4, 1}, {}, {{4}}, {6}}},
    {"reflects more", {Type::pad, {2, 4}, {}, {{4}}, {8}}},
    {"reflects more", {Type::pad, {2, 0}, {}, {{4}}, {8}}},
    {"a number for each axis", {Type::pad, {0}, {}, {{4}}, {6}}},
    {"", {Type::interpolate, {0, 1, 3, 0}, {1, 1}, {{4}}, {2}}},
    {"a position leaves", {Type::interpolate, {0, 1, 4, 0}, {1, 1}, {{4}}, {2}}},
    {"a position leaves", {Type::interpolate, {0, 1, -1, 0}, {1, 1}, {{4}}, {2}}},
    {"positions and weights", {Type::interpolate, {0, 1, 0, 0}, {1}, {{4}}, {2}}},
    {"positions and weights", {Type::interpolate, {0, 1, 0}, {1, 1}, {{4}}, {2}}},
    {"positions and weights", {Type::interpolate, {0, 1}, {}, {{4}}, {2}}},
    {"positions and weights", {Type::interpolate, {0, 0, 0, 0}, {1, 1}, {{4}}, {2}}},
    {"positions and weights", {Type::interpolate, {0, most, 0, 0}, {1, 1}, {{4}}, {2}}},
    {"do not fit", {Type::interpolate, {0, 1, 0, 0}, {1, 1}, {{4, 2}}, {2, 3}}},
    {"axis lies outside", {Type::softmax, {1}, {}, {{4}}, {4}}},
    {"axis lies outside", {Type::log_softmax, {-1}, {}, {{4}}, {4}}},
    {"differ in shape", {Type::log_softmax, {0}, {}, {{4}}, {2, 2}}},
    {"axis lies outside", {Type::normalize, {2}, {0}, {{4, 5}}, {4, 5}}},
    {"scale or bias", {Type::normalize, {1}, {0}, {{4, 5}, {4}}, {4, 5}}},
    {"an axis and epsilon", {Type::normalize, {1}, {}, {{4, 5}}, {4, 5}}},
    {"no such function", {Type::reduce, {most}, {}, {{4}}, {1}}},
    {"axes lie outside", {Type::reduce, {0, 1}, {}, {{4}}, {1}}},
    {"axes lie outside", {Type::reduce, {0, 0, 0}, {}, {{4}}, {1}}},
    {"do not fit", {Type::reduce, {0, 0}, {}, {{4, 5}}, {4}}},
    {"needs one axis", {Type::reduce, {10, 0, 1}, {}, {{4, 5}}, {1}}},
    {"axis lies outside", {Type::top_k, {1, 1, 0}, {}, {{4}}, {2}}},
    {"do not fit", {Type::top_k, {0, 1, 0}, {}, {{4}}, {5}}},
    {"do not fit", {Type::top_k, {1, 1, 0}, {}, {{4, 5}}, {3, 5}}},
    {"do not fit", {Type::non_max_suppression, {0, 1}, {0, 0}, {{1, 6, 4}, {1, 2, 7}}, {8, 3}}},
    {"do not fit", {Type::non_max_suppression, {0, 1}, {0, 0}, {{1, 6, 5}, {1, 2, 6}}, {8, 3}}},
    {"rows of three", {Type::non_max_suppression, {0, 1}, {0, 0}, {{1, 6, 4}, {1, 2, 6}}, {8, 2}}},
    {"two reals", {Type::non_max_suppression, {0, 1}, {0}, {{1, 6, 4}, {1, 2, 6}}, {8, 3}}},
    {"do not fit", {Type::matrix_product, {}, {}, {{3, 4}, {5, 2}}, {3, 2}}},
    {"do not fit", {Type::matrix_product, {}, {}, {{2, 3, 4}, {3, 4, 2}}, {3, 3, 2}}},
    {"do not fit", {Type::matrix_product, {}, {}, {{2, 3, 4}, {4, 2}}, {3, 2}}},
    {"needs matrices", {Type::matrix_product, {}, {}, {{4}, {4, 2}}, {1, 2}}},
    {"", {Type::convolution, {0, 2, 1, 1, 0}, {}, {{1, 4, 5}, {6, 2, 3}}, {1, 6, 3}}},
    {"channels", {Type::convolution, {0, 3, 1, 1, 0}, {}, {{1, 4, 5}, {6, 2, 3}}, {1, 6, 3}}},
    {"channels", {Type::convolution, {0, most, 1, 1, 0}, {}, {{1, 4, 5}, {6, 2, 3}}, {1, 6, 3}}},
    {"channels", {Type::convolution, {0, 2, 1, 1, 0}, {}, {{1, 4, 5}, {6, 2, 3}, {5}}, {1, 6, 3}}},
    {"channels", {Type::convolution, {1, 2, 1, 1, 0}, {}, {{1, 4, 5}, {6, 2, 3}}, {1, 4, 7}}},
    {"no such", {Type::convolution, {0, 0, 1, 1, 0}, {}, {{1, 4, 5}, {6, 2, 3}}, {1, 6, 3}}},
    {"out of range", {Type::convolution, {0, 2, 0, 1, 0}, {}, {{1, 4, 5}, {6, 2, 3}}, {1, 6, 3}}},
    {"out of range",
     {Type::convolution, {0, 2, 1, 1, least}, {}, {{1, 4, 5}, {6, 2, 3}}, {1, 6, 3}}},
    {"do not fit", {Type::convolution, {0, 2, 1, 1}, {}, {{1, 4, 5}, {6, 2, 3}}, {1, 6, 3}}},
    {"", {Type::pool, {0, 2, 1, 1, 0, 0}, {}, {{1, 4, 5}}, {1, 4, 4}}},
    {"no such pool", {Type::pool, {6, 2, 1, 1, 0, 0}, {}, {{1, 4, 5}}, {1, 4, 4}}},
    {"out of range", {Type::pool, {0, most, 1, 1, 0, 0}, {}, {{1, 4, 5}}, {1, 4, 4}}},
    {"out of range", {Type::pool, {0, 2, 1, 1, -1, 0}, {}, {{1, 4, 5}}, {1, 4, 4}}},
    {"do not fit", {Type::pool, {0, 2, 1, 1, 0}, {}, {{1, 4, 5}}, {1, 4, 4}}},
    {"do not fit", {Type::pool, {0, 2, 1, 1, 0, 0}, {}, {{1, 4, 5}}, {1, 3, 4}}},
    {"do not fit", {Type::pool, std::vector<std::int64_t>(36, 1), {}, {Shape(9, 1)}, Shape(9, 1)}},
    // The numbers of inputs, integers and axes that each operator needs.
    {"one input and one number", {Type::unary, {0}, {}, {{4}, {4}}, {4}}},
    {"two inputs and one number", {Type::binary, {0}, {}, {{4}}, {4}}},
    {"two inputs and one number", {Type::binary, {0, 0}, {}, {{4}, {4}}, {4}}},
    {"no such function", {Type::binary, {-1}, {}, {{4}, {4}}, {4}}},
    {"no such function",
     {Type::binary, {static_cast<std::int64_t>(Binary::count)}, {}, {{4}, {4}}, {4}}},
    {"needs one input", {Type::dequantize, {}, {}, {{4}, {4}}, {4}}},
    {"a step for each axis", {Type::view, {0, 1}, {}, {{4}, {4}}, {4}}},
    {"two inputs", {Type::gather, {0}, {}, {{4}}, {4}}},
    {"axis lies outside", {Type::gather, {-1}, {}, {{4, 5}, {4}}, {4, 4}}},
    {"two inputs", {Type::gather_elements, {0}, {}, {{4}}, {4}}},
    {"axis lies outside", {Type::gather_elements, {1}, {}, {{4}, {4}}, {4}}},
    {"three inputs", {Type::scatter_elements, {0, 0}, {}, {{4}, {2}}, {4}}},
    {"three inputs", {Type::scatter_elements, {0}, {}, {{4}, {2}, {2}}, {4}}},
    {"axis lies outside", {Type::scatter_elements, {1, 0}, {}, {{4}, {2}, {2}}, {4}}},
    {"no such way", {Type::scatter_elements, {0, 5}, {}, {{4}, {2}, {2}}, {4}}},
    {"no such way", {Type::scatter_elements, {0, -1}, {}, {{4}, {2}, {2}}, {4}}},
    {"do not fit", {Type::scatter_elements, {0, 0}, {}, {{4}, {2}, {3}}, {4}}},
    {"do not fit", {Type::scatter_elements, {0, 0}, {}, {{4}, {2}, {2}}, {5}}},
    {"do not fit", {Type::scatter_elements, {0, 0}, {}, {{4}, {2, 1}, {2, 1}}, {4}}},
    {"", {Type::scatter_elements, {0, 0}, {}, {{4, 5}, {9, 5}, {9, 5}}, {4, 5}}},
    {"do not fit", {Type::scatter_elements, {0, 0}, {}, {{4, 5}, {4, 6}, {4, 6}}, {4, 5}}},
    {"one input and three", {Type::cumulative_sum, {0, 0}, {}, {{4}}, {4}}},
    {"one input and three", {Type::cumulative_sum, {0, 0, 0}, {}, {{4}, {4}}, {4}}},
    {"axis lies outside", {Type::cumulative_sum, {1, 0, 0}, {}, {{4}}, {4}}},
    {"axis lies outside", {Type::cumulative_sum, {-1, 0, 0}, {}, {{4}}, {4}}},
    {"differ in shape", {Type::cumulative_sum, {0, 0, 0}, {}, {{4}}, {5}}},
    {"two inputs and three", {Type::grid_sample, {0, 0}, {}, {{1, 2, 3, 4}, {1, 5, 6, 2}}, {1}}},
    {"two inputs and three", {Type::grid_sample, {0, 0, 0}, {}, {{1, 2, 3, 4}}, {1, 2, 5, 6}}},
    {"", {Type::grid_sample, {2, 2, 1}, {}, {{1, 2, 3, 4}, {1, 5, 6, 2}}, {1, 2, 5, 6}}},
    {"no such mode",
     {Type::grid_sample, {3, 0, 0}, {}, {{1, 2, 3, 4}, {1, 5, 6, 2}}, {1, 2, 5, 6}}},
    {"no such mode",
     {Type::grid_sample, {0, 3, 0}, {}, {{1, 2, 3, 4}, {1, 5, 6, 2}}, {1, 2, 5, 6}}},
    {"do not fit", {Type::grid_sample, {0, 0, 0}, {}, {{1, 2, 3, 4}, {1, 5, 6, 3}}, {1, 2, 5, 6}}},
    {"do not fit", {Type::grid_sample, {0, 0, 0}, {}, {{1, 2, 3, 4}, {2, 5, 6, 2}}, {1, 2, 5, 6}}},
    {"do not fit", {Type::grid_sample, {0, 0, 0}, {}, {{1, 2, 3, 4}, {1, 5, 6, 2}}, {1, 2, 6, 5}}},
    {"do not fit", {Type::grid_sample, {0, 0, 0}, {}, {{2, 3, 4}, {1, 5, 6, 2}}, {1, 2, 5, 6}}},
    {"", {Type::roi_align, {1, 1, 0}, {0.5f}, {{2, 3, 4, 5}, {6, 4}, {6}}, {6, 3, 7, 7}}},
    {"", {Type::roi_align, {0, 0, 256}, {1}, {{2, 3, 4, 5}, {6, 4}, {6}}, {6, 3, 1, 1}}},
    {"out of range",
     {Type::roi_align, {0, 0, 257}, {1}, {{2, 3, 4, 5}, {6, 4}, {6}}, {6, 3, 1, 1}}},
    {"out of range", {Type::roi_align, {0, 0, -1}, {1}, {{2, 3, 4, 5}, {6, 4}, {6}}, {6, 3, 1, 1}}},
    {"no such mode", {Type::roi_align, {2, 0, 0}, {1}, {{2, 3, 4, 5}, {6, 4}, {6}}, {6, 3, 1, 1}}},
    {"no such mode", {Type::roi_align, {0, 2, 0}, {1}, {{2, 3, 4, 5}, {6, 4}, {6}}, {6, 3, 1, 1}}},
    {"three integers", {Type::roi_align, {0, 0}, {1}, {{2, 3, 4, 5}, {6, 4}, {6}}, {6, 3, 1, 1}}},
    {"one real", {Type::roi_align, {0, 0, 0}, {}, {{2, 3, 4, 5}, {6, 4}, {6}}, {6, 3, 1, 1}}},
    {"three inputs", {Type::roi_align, {0, 0, 0}, {1}, {{2, 3, 4, 5}, {6, 4}}, {6, 3, 1, 1}}},
    {"do not fit", {Type::roi_align, {0, 0, 0}, {1}, {{2, 3, 4, 5}, {6, 5}, {6}}, {6, 3, 1, 1}}},
    {"do not fit", {Type::roi_align, {0, 0, 0}, {1}, {{2, 3, 4, 5}, {6, 4}, {5}}, {6, 3, 1, 1}}},
    {"do not fit", {Type::roi_align, {0, 0, 0}, {1}, {{2, 3, 4, 5}, {6, 4}, {6}}, {5, 3, 1, 1}}},
    {"do not fit", {Type::roi_align, {0, 0, 0}, {1}, {{2, 3, 4, 5}, {6, 4}, {6}}, {6, 2, 1, 1}}},
    {"do not fit", {Type::roi_align, {0, 0, 0}, {1}, {{3, 4, 5}, {6, 4}, {6}}, {6, 3, 1, 1}}},
    {"needs inputs", {Type::concat, {0}, {}, {}, {4}}},
    {"do not fit", {Type::concat, {0}, {}, {{4, 5}, {4}}, {8, 5}}},
    {"a number for each axis", {Type::pad, {0, 0}, {}, {{4}, {4}}, {4}}},
    {"a number for each axis", {Type::pad, {0, 0, 0}, {}, {{4}}, {4, 1}}},
    {"no such mode", {Type::pad, {-1, 1}, {}, {{4}}, {6}}},
    {"needs one input", {Type::interpolate, {0, 1, 3, 0}, {1, 1}, {{4}, {4}}, {2}}},
    {"needs one input", {Type::interpolate, {0}, {}, {{4}}, {2}}},
    {"needs one input", {Type::interpolate, {0, 1, 3, 0}, {1, 1}, {{4, 1}}, {2}}},
    {"one input and an axis", {Type::softmax, {0}, {}, {{4}, {4}}, {4}}},
    {"one input and an axis", {Type::softmax, {0, 0}, {}, {{4}}, {4}}},
    {"one to three inputs", {Type::normalize, {0}, {0}, {}, {4}}},
    {"one to three inputs", {Type::normalize, {0}, {0}, {{4}, {4}, {4}, {4}}, {4}}},
    {"one to three inputs", {Type::normalize, {0, 0}, {0}, {{4}}, {4}}},
    {"differ in shape", {Type::normalize, {0}, {0}, {{4}}, {2, 2}}},
    {"axis lies outside", {Type::normalize, {-1}, {0}, {{4}}, {4}}},
    {"scale or bias", {Type::normalize, {1}, {0}, {{4, 5}, {5}, {4}}, {4, 5}}},
    {"needs one input", {Type::reduce, {0, 0}, {}, {{4}, {4}}, {1}}},
    {"needs one input", {Type::reduce, {}, {}, {{4}}, {1}}},
    {"no such function", {Type::reduce, {-1}, {}, {{4}}, {4}}},
    {"no such function",
     {Type::reduce, {static_cast<std::int64_t>(Reduction::count)}, {}, {{4}}, {4}}},
    {"axes lie outside", {Type::reduce, {0, -1}, {}, {{4}}, {1}}},
    {"axes lie outside", {Type::reduce, {0, 1, 0}, {}, {{4, 5}}, {1}}},
    {"needs one axis", {Type::reduce, {10}, {}, {{4}}, {4}}},
    {"three numbers", {Type::top_k, {0, 1}, {}, {{4}}, {2}}},
    {"three numbers", {Type::top_k, {0, 1, 0}, {}, {{4}, {4}}, {2}}},
    {"three numbers", {Type::top_k, {0, 1, 0}, {}, {{4}}, {2, 1}}},
    {"axis lies outside", {Type::top_k, {-1, 1, 0}, {}, {{4}}, {2}}},
    {"two reals", {Type::non_max_suppression, {0}, {0, 0}, {{1, 6, 4}, {1, 2, 6}}, {8, 3}}},
    {"two reals", {Type::non_max_suppression, {0, 1}, {0, 0}, {{1, 6, 4}}, {8, 3}}},
    {"do not fit", {Type::non_max_suppression, {0, 1}, {0, 0}, {{6, 4}, {1, 2, 6}}, {8, 3}}},
    {"do not fit", {Type::non_max_suppression, {0, 1}, {0, 0}, {{1, 6, 4}, {1, 6}}, {8, 3}}},
    {"do not fit", {Type::non_max_suppression, {0, 1}, {0, 0}, {{2, 6, 4}, {1, 2, 6}}, {8, 3}}},
    {"rows of three",
     {Type::non_max_suppression, {0, 1}, {0, 0}, {{1, 6, 4}, {1, 2, 6}}, {8, 3, 1}}},
    {"two inputs", {Type::matrix_product, {}, {}, {{3, 4}}, {3, 2}}},
    {"needs matrices", {Type::matrix_product, {}, {}, {{1, 4}, {4}}, {1, 1}}},
    {"needs matrices", {Type::matrix_product, {}, {}, {{1, 4}, {4, 2}}, {2}}},
    {"do not fit", {Type::matrix_product, {}, {}, {{3, 4}, {4, 2}}, {4, 2}}},
    {"do not fit", {Type::matrix_product, {}, {}, {{3, 4}, {4, 2}}, {3, 3}}},
    {"two or three inputs", {Type::convolution, {0, 2, 1, 1, 0}, {}, {{1, 4, 5}}, {1, 6, 3}}},
    {"two or three inputs",
     {Type::convolution, {0, 2, 1, 1, 0}, {}, {{1, 4, 5}, {6, 2, 3}, {6}, {6}}, {1, 6, 3}}},
    {"do not fit", {Type::convolution, {0, 2}, {}, {{1, 4}, {6, 2}}, {1, 6}}},
    {"do not fit", {Type::convolution, {0, 2, 1, 1, 0}, {}, {{1, 4, 5}, {6, 2}}, {1, 6, 3}}},
    {"do not fit", {Type::convolution, {0, 2, 1, 1, 0}, {}, {{1, 4, 5}, {6, 2, 3}}, {1, 6}}},
    {"one input", {Type::pool, {0, 2, 1, 1, 0, 0}, {}, {{1, 4, 5}, {1}}, {1, 4, 4}}},
    {"do not fit", {Type::pool, {0}, {}, {{1, 4}}, {1, 4}}},
    {"do not fit", {Type::pool, {0, 2, 1, 1, 0, 0}, {}, {{1, 4, 5}}, {1, 4}}},
    {"do not fit", {Type::pool, {0, 2, 1, 1, 0, 0}, {}, {{1, 4, 5}}, {2, 4, 4}}},
    {"no such pool", {Type::pool, {-1, 2, 1, 1, 0, 0}, {}, {{1, 4, 5}}, {1, 4, 4}}},
    // An operation that just fits, and one that just does not.
    {"", {Type::view, {0, 1ll << 31}, {}, {{4}}, {1}}},
    {"", {Type::view, {0, -(1ll << 31)}, {}, {{4}}, {1}}},
    {"steps out", {Type::view, {0, (1ll << 31) + 1}, {}, {{4}}, {1}}},
    {"steps out", {Type::view, {0, -(1ll << 31) - 1}, {}, {{4}}, {1}}},
    {"", {Type::gather_elements, {0}, {}, {{4, 5}, {9, 5}}, {9, 5}}},
    {"do not fit", {Type::gather_elements, {0}, {}, {{4, 5}, {4, 6}}, {4, 6}}},
    {"", {Type::pad, {0, 1ll << 32}, {}, {{4}}, {6}}},
    {"", {Type::pad, {0, -(1ll << 32)}, {}, {{4}}, {6}}},
    {"out of range", {Type::pad, {0, (1ll << 32) + 1}, {}, {{4}}, {6}}},
    {"out of range", {Type::pad, {0, -(1ll << 32) - 1}, {}, {{4}}, {6}}},
    {"", {Type::pad, {2, 3}, {}, {{4}}, {10}}},
    {"reflects more", {Type::pad, {2, 3}, {}, {{4}}, {11}}},
    {"", {Type::interpolate, std::vector<std::int64_t>{0, 1, 3}, {1}, {{4}}, {1}}},
    {"do not fit", {Type::top_k, {0, 1, 0}, {}, {{4, 5}}, {4, 4}}},
    {"", {Type::top_k, {0, 1, 0}, {}, {{4, 5}}, {4, 5}}},
    {"channels", {Type::convolution, {0, 2, 1, 1, 0}, {}, {{1, 4, 5}, {6, 2, 3}}, {2, 6, 3}}},
    {"channels", {Type::convolution, {0, 2, 1, 1, 0}, {}, {{1, 4, 5}, {5, 2, 3}}, {1, 5, 3}}},
    {"channels", {Type::convolution, {0, 2, 1, 1, 0}, {}, {{1, 5, 5}, {6, 2, 3}}, {1, 6, 3}}},
    {"channels", {Type::convolution, {0, 2, 1, 1, 0}, {}, {{1, 4, 5}, {6, 4, 3}}, {1, 6, 3}}},
    {"channels", {Type::convolution, {0, 2, 1, 1, 0}, {}, {{1, 4, 5}, {4, 2, 3}}, {1, 6, 3}}},
    {"", {Type::convolution, {1, 2, 1, 1, 0}, {}, {{1, 4, 5}, {4, 3, 3}, {6}}, {1, 6, 7}}},
    {"no such", {Type::convolution, {2, 2, 1, 1, 0}, {}, {{1, 4, 5}, {6, 2, 3}}, {1, 6, 3}}},
    {"no such", {Type::convolution, {-1, 2, 1, 1, 0}, {}, {{1, 4, 5}, {6, 2, 3}}, {1, 6, 3}}},
    {"out of range", {Type::convolution, {0, 2, 1, 0, 0}, {}, {{1, 4, 5}, {6, 2, 3}}, {1, 6, 3}}},
    {"",
     {Type::convolution,
      {0, 2, 1 << 20, 1 << 20, -(1 << 20)},
      {},
      {{1, 4, 5}, {6, 2, 3}},
      {1, 6, 3}}},
    {"out of range",
     {Type::convolution, {0, 2, 1, 1, -(1 << 20) - 1}, {}, {{1, 4, 5}, {6, 2, 3}}, {1, 6, 3}}},
    {"out of range",
     {Type::convolution, {0, 2, 1, 1, (1 << 20) + 1}, {}, {{1, 4, 5}, {6, 2, 3}}, {1, 6, 3}}},
    {"",
     {Type::pool, {3, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20}, {}, {{1, 4, 5}}, {1, 4, 4}}},
    {"out of range", {Type::pool, {0, 2, 1, 1, 0, (1 << 20) + 1}, {}, {{1, 4, 5}}, {1, 4, 4}}},
    {"", {Type::pool, {4, 1, 1, 1, 0, 0}, {}, {{1, 1, 1 << 24}}, {1, 1, 1 << 24}}},
    {"beyond 2^24", {Type::pool, {5, 1, 1, 1, 0, 0}, {}, {{1, 2, 1 << 24}}, {1, 2, 1 << 24}}},
    {"out of range", {Type::pool, {0, 2, 1, 0, 0, 0}, {}, {{1, 4, 5}}, {1, 4, 4}}},
    {"out of range", {Type::pool, {0, 0, 1, 1, 0, 0}, {}, {{1, 4, 5}}, {1, 4, 4}}},
    {"", {Type::pool, std::vector<std::int64_t>(31, 1), {}, {Shape(8, 1)}, Shape(8, 1)}},
    {"no operator", {static_cast<Type>(99), {}, {}, {{4}}, {4}}},
};

TEST(CpuOperations, AreRefusedForAReasonOrSound) {
    for (const Row& row : rows) {
        const std::string reason = check(row.operation);
        const std::string_view wanted = row.reason;
        EXPECT_TRUE(wanted.empty() ? reason.empty() : reason.find(wanted) != std::string::npos)
            << "row " << &row - rows << ": wanted '" << wanted << "', got '" << reason << "'";
    }
}

TEST(CpuOperations, MixAtMost65536PositionsIntoOne) {
    for (const std::int64_t taps : {65536, 65537}) {
        Operation operation{
            Type::interpolate, {0, taps}, std::vector<float>(taps, 1.0f), {{1}}, {1}};
        operation.integers.resize(2 + taps);
        EXPECT_EQ(check(operation).empty(), taps == 65536);
    }
}

TEST(CpuOperations, HaveNames) {
    EXPECT_STREQ(name_of(Type::softmax), "Softmax");
    EXPECT_STREQ(name_of(Type::pool), "Pool");
    EXPECT_EQ(name_of(static_cast<Type>(99)), nullptr);
}

// There are 2^120 taps, and all except that of the one element are in the padding.
TEST(CpuOperations, PoolWalksOverItsInputOnly) {
    constexpr std::int64_t far = 1 << 20;
    std::vector<std::int64_t> integers{2};
    for (const std::int64_t part : {far, far, std::int64_t{1}, far - 1, far})
        integers.insert(integers.end(), 6, part);
    const Operation pool{Type::pool, integers, {}, {Shape(8, 1)}, Shape(8, 1)};
    const float mean = run(pool, {{8.0f}}).at(0);
    EXPECT_FLOAT_EQ(mean, static_cast<float>(8.0 / std::pow(2.0, 120)));
    Operation greatest = pool;
    greatest.integers[0] = 0;
    EXPECT_EQ(run(greatest, {{8.0f}}).at(0), 8.0f);
}

TEST(CpuOperations, PoolCountsPaddingButNotWhatIsBehindIt) {
    // Windows of 3 in steps of 3 from -1 on: the first two elements, the next three, one and its
    // padding.
    const Shape shape{1, 1, 6};
    const std::vector<float> in{3, 6, 9, 12, 15, 18};
    EXPECT_EQ(run({Type::pool, {1, 3, 3, 1, 1, 1}, {}, {shape}, {1, 1, 3}}, {in}),
              (std::vector<float>{4.5f, 12, 18}));
    EXPECT_EQ(run({Type::pool, {2, 3, 3, 1, 1, 1}, {}, {shape}, {1, 1, 3}}, {in}),
              (std::vector<float>{3, 12, 9}));
    // Taps two apart.
    EXPECT_EQ(run({Type::pool, {1, 3, 1, 2, 2, 2}, {}, {shape}, {1, 1, 6}}, {in}),
              (std::vector<float>{6, 9, 9, 12, 12, 15}));
}

// Two pictures of 2 x 3: places count by rows, then by columns, and some windows have only padding.
TEST(CpuOperations, PoolFindsTheFirstOfTheGreatest) {
    const Shape in{2, 1, 2, 3}, out{2, 1, 1, 2};
    const std::vector<float> pixels{9, 9, 9, 1, 7, 7, 0, 0, 0, -1, NAN, -2};
    std::vector<std::int64_t> integers{4, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0};
    EXPECT_EQ(run({Type::pool, integers, {}, {in}, out}, {pixels}),
              (std::vector<float>{0, 1, 6, 7}));
    integers[0] = 5;
    EXPECT_EQ(run({Type::pool, integers, {}, {in}, out}, {pixels}),
              (std::vector<float>{0, 2, 6, 8}));
    integers = {4, 1, 2, 2, 1, 1, 1, 2, 0, 0, 0}; // rows -2 and 0
    EXPECT_EQ(run({Type::pool, integers, {}, {in}, {2, 1, 2, 2}}, {pixels}),
              (std::vector<float>{-1, -1, 0, 1, 5, 5, 6, 7}));
}

TEST(CpuOperations, InvalidRegionsEndTheRun) {
    const Operation align{
        Type::roi_align, {0, 1, 0}, {1}, {{2, 1, 2, 2}, {1, 4}, {1}}, {1, 1, 1, 1}};
    const std::vector<float> pixels{1, 2, 3, 4, 5, 6, 7, 8};
    EXPECT_EQ(run(align, {pixels, {0, 0, 2, 2}, {0}}), std::vector<float>{2.5f});
    EXPECT_EQ(run(align, {pixels, {0, 0, 2, 2}, {-1}}), std::vector<float>{6.5f});
    EXPECT_EQ(run(align, {pixels, {2, 2, 0, 0}, {0}}), std::vector<float>{0});
    EXPECT_EQ(run(align, {pixels, {-5000, 0, -1000, 2}, {0}}), std::vector<float>{0});
    for (const float number : {2.0f, -3.0f, 1e30f, std::nanf(""), INFINITY, -INFINITY})
        EXPECT_THROW(run(align, {pixels, {0, 0, 2, 2}, {number}}), Error) << number;
    for (const float number : {5000.0f, 1e30f, std::nanf(""), INFINITY})
        EXPECT_THROW(run(align, {pixels, {0, 0, 2, number}, {0}}), Error) << number;
}

// Each output has 16 million samples; of all outputs of a region, one has one sample in the
// picture.
TEST(CpuOperations, RegionsWalkOverTheirPictureOnly) {
    constexpr std::int64_t size = 200, regions = 50;
    constexpr float far = 4096.0f * size;
    const Operation align{Type::roi_align,
                          {0, 0, 0},
                          {1},
                          {{1, 1, 1, 1}, {regions, 4}, {regions}},
                          {regions, 1, size, size}};
    std::vector<float> corners;
    for (std::int64_t region = 0; region < regions; region++)
        corners.insert(corners.end(), {0, 0, far, far});
    const std::vector<float> out =
        run(align, {{1.0f}, corners, std::vector<float>(static_cast<std::size_t>(regions))});
    for (std::size_t index = 0; index < out.size(); index++)
        ASSERT_EQ(out[index], index % (size * size) == 0 ? 1 / (4096.0f * 4096.0f) : 0.0f) << index;
}

// With a given number of samples, a region may run to the left and up.
TEST(CpuOperations, RegionsMayRunBackwards) {
    const Operation align{
        Type::roi_align, {0, 1, 2}, {1}, {{1, 1, 1, 4}, {1, 4}, {1}}, {1, 1, 1, 2}};
    // Samples at 6.25, 3.75, 1.25 and -1.25; the picture ends behind 4 and before -1.
    EXPECT_EQ(run(align, {{1, 2, 3, 4}, {8, 0.5f, -2, 0.5f}, {0}}),
              (std::vector<float>{2, 1.125f}));
}

TEST(CpuOperations, IndicesThatLeaveTheirTensorEndTheRun) {
    const Operation gather{Type::gather, {0}, {}, {{4}, {1}}, {1}};
    EXPECT_EQ(run(gather, {{1, 2, 3, 4}, {-1}}), std::vector<float>{4});
    for (const float index : {4.0f, -5.0f, 1e30f, -1e30f, std::nanf(""), INFINITY, -INFINITY})
        EXPECT_THROW(run(gather, {{1, 2, 3, 4}, {index}}), Error) << index;
}

} // namespace
} // namespace overtake::cpu
