// SPDX-License-Identifier: MIT
#include "float_executor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <oneapi/dnnl/dnnl.hpp>

namespace overtake::compiler {
namespace {

using Tag = dnnl::memory::format_tag;
constexpr auto f32 = dnnl::memory::data_type::f32;

dnnl::engine& engine() {
    static dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
    return cpu;
}

dnnl::memory::dims image(const Value& value) {
    return {1, value.channels, value.height, value.width};
}

// The part of a window that lies inside the tensor.
struct PoolRange {
    std::int64_t first;
    std::int64_t last; // one past
};

PoolRange window_range(std::uint32_t output, std::uint32_t stride, std::uint32_t pad,
                       std::uint32_t kernel, std::uint32_t size) {
    const std::int64_t first = std::int64_t{output} * stride - pad;
    return {std::max<std::int64_t>(first, 0), std::min<std::int64_t>(first + kernel, size)};
}

void run_pool(const Node& node, const Value& in, const Value& out, const std::vector<float>& source,
              std::vector<float>& target) {
    const Window& window = node.window;
    std::size_t index = 0;
    for (std::uint32_t channel = 0; channel < out.channels; ++channel)
        for (std::uint32_t y = 0; y < out.height; ++y)
            for (std::uint32_t x = 0; x < out.width; ++x) {
                const PoolRange rows = window_range(y, window.stride_height, window.pad_top,
                                                    window.kernel_height, in.height);
                const PoolRange columns = window_range(x, window.stride_width, window.pad_left,
                                                       window.kernel_width, in.width);
                float maximum = -std::numeric_limits<float>::infinity();
                double sum = 0;
                for (std::int64_t row = rows.first; row < rows.last; ++row)
                    for (std::int64_t column = columns.first; column < columns.last; ++column) {
                        const float element =
                            source[(std::size_t{channel} * in.height + row) * in.width + column];
                        maximum = std::max(maximum, element);
                        sum += element;
                    }
                const std::int64_t inside =
                    (rows.last - rows.first) * (columns.last - columns.first);
                const std::int64_t count =
                    node.count_include_pad
                        ? std::int64_t{window.kernel_height} * window.kernel_width
                        : inside;
                target[index++] = node.op == Operator::max_pool
                                      ? maximum
                                      : static_cast<float>(sum / static_cast<double>(count));
            }
}

} // namespace

// (outer, axis, inner) of the ONNX shape.
void softmax(const Node& node, const Value& value, const std::vector<float>& source,
             std::vector<float>& target) {
    std::size_t inner = 1;
    for (std::size_t axis = static_cast<std::size_t>(node.axis) + 1; axis < value.shape.size();
         ++axis)
        inner *= static_cast<std::size_t>(value.shape[axis]);
    const auto length = static_cast<std::size_t>(value.shape[static_cast<std::size_t>(node.axis)]);
    for (std::size_t start = 0; start < source.size(); start += length * inner)
        for (std::size_t offset = 0; offset < inner; ++offset) {
            const float* in = source.data() + start + offset;
            float* out = target.data() + start + offset;
            float maximum = in[0];
            for (std::size_t i = 1; i < length; ++i)
                maximum = std::max(maximum, in[i * inner]);
            float sum = 0;
            for (std::size_t i = 0; i < length; ++i)
                sum += out[i * inner] = std::exp(in[i * inner] - maximum);
            for (std::size_t i = 0; i < length; ++i)
                out[i * inner] /= sum;
        }
}

// One prepared oneDNN primitive with its weights in the order it likes.
struct FloatExecutor::Convolution {
    dnnl::convolution_forward primitive;
    dnnl::memory source, target, weights, bias;
    dnnl::memory::desc user_source, user_target;

    Convolution(const Node& node, const Value& in, const Value& out) {
        const std::int64_t groups = node.op == Operator::depthwise ? out.channels : node.groups;
        const Window& window = node.window;
        // The last window may end before the tensor does, but padding is never negative.
        const std::int64_t bottom =
            std::max<std::int64_t>((std::int64_t{out.height} - 1) * window.stride_height +
                                       window.kernel_height - in.height - window.pad_top,
                                   0);
        const std::int64_t right =
            std::max<std::int64_t>((std::int64_t{out.width} - 1) * window.stride_width +
                                       window.kernel_width - in.width - window.pad_left,
                                   0);
        const dnnl::memory::dims kernel = {groups, out.channels / groups, in.channels / groups,
                                           window.kernel_height, window.kernel_width};
        const dnnl::convolution_forward::desc description(
            dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
            {image(in), f32, Tag::any}, {kernel, f32, Tag::any}, {{out.channels}, f32, Tag::x},
            {image(out), f32, Tag::any}, {window.stride_height, window.stride_width},
            {window.pad_top, window.pad_left}, {bottom, right});
        const dnnl::convolution_forward::primitive_desc chosen(description, engine());
        primitive = dnnl::convolution_forward(chosen);
        source = dnnl::memory(chosen.src_desc(), engine());
        target = dnnl::memory(chosen.dst_desc(), engine());
        user_source = {image(in), f32, Tag::nchw};
        user_target = {image(out), f32, Tag::nchw};
        weights = dnnl::memory(chosen.weights_desc(), engine());
        dnnl::stream stream(engine());
        dnnl::memory given({kernel, f32, Tag::goihw}, engine(),
                           const_cast<float*>(node.weights.data()));
        dnnl::reorder(given, weights).execute(stream, given, weights);
        bias = dnnl::memory({{out.channels}, f32, Tag::x}, engine());
        std::ranges::copy(node.bias, static_cast<float*>(bias.get_data_handle()));
        stream.wait();
    }

    void run(const std::vector<float>& in, std::vector<float>& out) {
        dnnl::stream stream(engine());
        dnnl::memory given(user_source, engine(), const_cast<float*>(in.data()));
        dnnl::memory wanted(user_target, engine(), out.data());
        dnnl::reorder(given, source).execute(stream, given, source);
        primitive.execute(stream, {{DNNL_ARG_SRC, source},
                                   {DNNL_ARG_WEIGHTS, weights},
                                   {DNNL_ARG_BIAS, bias},
                                   {DNNL_ARG_DST, target}});
        dnnl::reorder(target, wanted).execute(stream, target, wanted);
        stream.wait();
    }
};

FloatExecutor::FloatExecutor(const Graph& graph) : graph_(graph) {
    values_.resize(graph.values.size());
    for (ValueId value : graph.inputs)
        values_[value].resize(graph.values[value].elements());
    for (const Node& node : graph.nodes) {
        const Value& out = graph.values[node.output];
        values_[node.output].resize(out.elements());
        const bool is_convolution =
            node.op == Operator::convolution || node.op == Operator::depthwise;
        convolutions_.push_back(
            is_convolution ? std::make_unique<Convolution>(node, graph.values[node.inputs[0]], out)
                           : nullptr);
    }
}

FloatExecutor::~FloatExecutor() = default;

void FloatExecutor::run_node(std::size_t index) {
    const Node& node = graph_.nodes[index];
    const std::vector<float>& in = values_[node.inputs[0]];
    std::vector<float>& out = values_[node.output];
    const Value& in_value = graph_.values[node.inputs[0]];
    const Value& out_value = graph_.values[node.output];
    switch (node.op) {
    case Operator::convolution:
    case Operator::depthwise:
        convolutions_[index]->run(in, out);
        break;
    case Operator::add:
        std::ranges::transform(in, values_[node.inputs[1]], out.begin(), std::plus<float>());
        break;
    case Operator::max_pool:
    case Operator::average_pool:
        run_pool(node, in_value, out_value, in, out);
        break;
    case Operator::activation:
        if (node.function)
            std::ranges::transform(in, out.begin(), node.function);
        else
            out = in;
        break;
    case Operator::copy:
        out = in;
        break;
    case Operator::softmax:
        softmax(node, out_value, in, out);
        break;
    }
    if (node.is_clamped())
        for (float& element : out)
            element = std::clamp(element, node.clamp_low, node.clamp_high);
}

const FloatValues& FloatExecutor::run(const FloatValues& inputs) {
    for (std::size_t index = 0; index < graph_.inputs.size(); ++index)
        values_[graph_.inputs[index]] = inputs[index];
    for (std::size_t index = 0; index < graph_.nodes.size(); ++index)
        run_node(index);
    return values_;
}

} // namespace overtake::compiler
