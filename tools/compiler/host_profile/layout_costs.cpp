// SPDX-License-Identifier: MIT
//
// Measures operators of a size that layers of networks have: most in blocks, pools in planes as
// well.
#include "compiler/host_profile/layout_costs.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "cpu/layout.hpp"
#include "cpu/operation.hpp"
#include "cpu/tensor_layout.hpp"
#include "overtake/error.hpp"

namespace overtake::host_profile {
namespace {

using cpu::Layout;
using cpu::Shape;

const Shape usual = {1, 64, 56, 56};
constexpr double least_ns = 1e-4; // instead of a smaller difference of two times

double best_ns(unsigned runs, const std::function<void()>& step) {
    double best = std::numeric_limits<double>::infinity();
    for (unsigned run = 0; run < runs + 2; ++run) { // the first two warm up
        const auto begin = std::chrono::steady_clock::now();
        step();
        const std::chrono::duration<double, std::nano> taken =
            std::chrono::steady_clock::now() - begin;
        if (run >= 2)
            best = std::min(best, taken.count());
    }
    return best;
}

class Measurement {
public:
    explicit Measurement(unsigned runs) : runs_(runs), blocks_(cpu::blocks_of_this_cpu()) {}

    // Returns the time of an operation with all its values in one layout.
    double operation_ns(cpu::Operation operation, Layout layout) const {
        operation.blocks = blocks_;
        const auto prepared = cpu::prepare(operation);
        const auto number = static_cast<cpu::LayoutNumber>(layout);
        std::vector<cpu::NodeForm> forms = prepared->forms();
        const auto form = std::ranges::find_if(forms, [&](const cpu::NodeForm& one) {
            return one.inputs[0] == number &&
                   (one.output == number || operation.type == CpuOpType::reduce);
        });
        if (form == forms.end())
            throw Error(ENOTSUP, std::string("oneDNN has no operators in ") + cpu::name_of(layout) +
                                     " on this CPU; compile without --cpu-costs");
        std::vector<std::vector<float>> values;
        for (std::size_t i = 0; i < operation.inputs.size(); ++i) {
            const auto its = static_cast<Layout>(form->inputs[i]);
            values.emplace_back(cpu::stored_elements(operation.inputs[i], its), 0.25f);
        }
        std::vector<float> out(
            cpu::stored_elements(operation.output, static_cast<Layout>(form->output)));
        const cpu::Inputs inputs(values.begin(), values.end());
        const cpu::Kernel kernel = prepared->kernel(*form);
        return best_ns(runs_, [&] { kernel(inputs, out); });
    }

    double conversion_ns(Layout from, Layout to) const {
        const cpu::Conversion conversion(usual, from, to);
        const std::vector<float> in(cpu::stored_elements(usual, from), 0.25f);
        std::vector<float> out(cpu::stored_elements(usual, to));
        return best_ns(runs_, [&] { conversion.run(in, out); });
    }

    // Returns the average time of a copy to or from the device.
    double device_ns(Layout layout) const {
        Tensor tensor{};
        tensor.shape = usual;
        tensor.channels = usual[1];
        tensor.height = usual[2];
        tensor.width = usual[3];
        tensor.pixel_stride = usual[1];
        tensor.row_stride = usual[1] * usual[3];
        tensor.bytes = std::uint64_t{tensor.row_stride} * usual[2];
        tensor.scale = 0.5f;
        std::vector<std::byte> bytes(tensor.bytes);
        std::vector<float> values(cpu::stored_elements(usual, layout));
        return best_ns(runs_,
                       [&] {
                           if (layout == Layout::planes) {
                               from_device(tensor, bytes, values);
                               to_device(tensor, values, bytes);
                           } else {
                               blocks_from_device(tensor, bytes, layout, values);
                               blocks_to_device(tensor, layout, values, bytes);
                           }
                       }) /
               2;
    }

    Layout blocks() const { return blocks_; }

private:
    const unsigned runs_;
    const Layout blocks_;
};

cpu::Operation unary(const Shape& shape) {
    return {CpuOpType::unary, {static_cast<std::int64_t>(cpu::Unary::relu)}, {}, {shape}, shape};
}

cpu::Operation pool(std::int64_t kernel) {
    return {CpuOpType::pool,
            {0, kernel, kernel, 1, 1, 1, 1, 0, 0, kernel - 1, kernel - 1},
            {},
            {usual},
            usual};
}

double positive(double ns) {
    return std::max(ns, least_ns);
}

// Returns the time of one float, from the time of `count` arrays of `shape` and a step.
double each(double ns, double step, const Shape& shape, double count = 1) {
    return positive((ns - step) / (count * static_cast<double>(cpu::elements(shape))));
}

struct PoolCosts {
    double whole, tap;
};

PoolCosts pool_costs(const Measurement& measurement, double step, Layout layout) {
    const double two = each(measurement.operation_ns(pool(2), layout), step, usual);
    const double four = each(measurement.operation_ns(pool(4), layout), step, usual);
    const double tap = positive((four - two) / 12); // 16 taps and 4
    return {positive(two - 4 * tap), tap};
}

double convolution_macs(const Measurement& measurement, double step) {
    const Shape weights = {64, 64, 3, 3};
    const cpu::Operation convolution{
        CpuOpType::convolution, {0, 1, 1, 1, 1, 1, 1, 1}, {}, {usual, weights}, usual};
    const double macs = static_cast<double>(cpu::elements(usual)) * 64 * 9;
    return positive(macs /
                    positive(measurement.operation_ns(convolution, measurement.blocks()) - step));
}

} // namespace

cpu::LayoutCosts measure_layout_costs(unsigned runs, const std::function<void(double)>& progress) {
    const Measurement measurement(runs);
    const Layout blocks = measurement.blocks();
    cpu::LayoutCosts costs;
    costs.step = positive(measurement.operation_ns(unary({1, 8, 1, 1}), Layout::planes));
    costs.conversion = each(measurement.conversion_ns(Layout::planes, blocks) +
                                measurement.conversion_ns(blocks, Layout::planes),
                            2 * costs.step, usual, 2);
    progress(0.2);
    const double alone = measurement.operation_ns(unary(usual), blocks);
    costs.element = each(alone, costs.step, usual);
    cpu::Operation followed = unary(usual);
    followed.following.push_back({cpu::Unary::relu, {}});
    costs.following = each(measurement.operation_ns(followed, blocks), alone, usual);
    const Shape joined = {1, 128, 56, 56};
    costs.copied =
        each(measurement.operation_ns({CpuOpType::concat, {1}, {}, {usual, usual}, joined}, blocks),
             costs.step, joined);
    progress(0.4);
    const Shape wider = {1, 64, 58, 58};
    costs.padded = each(
        measurement.operation_ns({CpuOpType::pad, {0, 0, 0, 1, 1}, {0}, {usual}, wider}, blocks),
        costs.step, wider);
    std::vector<std::int64_t> positions = {2, 1};
    for (std::int64_t i = 0; i < 112; ++i)
        positions.push_back(i / 2);
    const Shape higher = {1, 64, 112, 56};
    costs.interpolated = each(
        measurement.operation_ns(
            {CpuOpType::interpolate, positions, std::vector<float>(112, 1.0f), {usual}, higher},
            blocks),
        costs.step, higher);
    progress(0.6);
    costs.reduced = each(measurement.operation_ns(
                             {CpuOpType::reduce, {1, 2, 3}, {}, {usual}, {1, 64, 1, 1}}, blocks),
                         costs.step, usual);
    const PoolCosts in_planes = pool_costs(measurement, costs.step, Layout::planes);
    const PoolCosts in_blocks = pool_costs(measurement, costs.step, blocks);
    costs.pool_in_planes = in_planes.whole;
    costs.tap_in_planes = in_planes.tap;
    costs.pool_in_blocks = in_blocks.whole;
    costs.tap_in_blocks = in_blocks.tap;
    progress(0.8);
    costs.device_to_planes = each(measurement.device_ns(Layout::planes), costs.step, usual);
    costs.device_to_blocks = each(measurement.device_ns(blocks), costs.step, usual);
    costs.macs = convolution_macs(measurement, costs.step);
    progress(1);
    return costs;
}

} // namespace overtake::host_profile
