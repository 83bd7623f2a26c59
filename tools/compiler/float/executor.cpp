// SPDX-License-Identifier: MIT
#include "compiler/float/executor.hpp"

#include <algorithm>
#include <set>

#include "compiler/float/onednn.hpp"
#include "compiler/float/operators.hpp"
#include "compiler/ir/error.hpp"
#include "cpu/convolution.hpp"
#include "overtake/error.hpp"

namespace overtake::compiler {
namespace {

std::vector<std::uint32_t> image(const Value& value) {
    return {1, value.channels, value.height, value.width};
}

cpu::Layout layout_of(const Value& value) {
    return value.order == Order::rows ? cpu::Layout::channels_last : cpu::Layout::planes;
}

cpu::ConvolutionShape shape_of(const op::Convolution& convolution, const Value& in,
                               const Value& out) {
    const Window& window = convolution.window;
    cpu::ConvolutionShape shape;
    shape.is_transposed = convolution.kind == op::Convolution::Kind::transposed;
    shape.groups =
        convolution.kind == op::Convolution::Kind::depthwise ? out.channels : convolution.groups;
    shape.source = image(in);
    shape.target = image(out);
    shape.kernel = {window.kernel_height, window.kernel_width};
    shape.strides = {window.stride_height, window.stride_width};
    shape.dilations = {window.dilation_height, window.dilation_width};
    shape.pads = {window.pad_top, window.pad_left};
    shape.source_layout = layout_of(in);
    shape.target_layout = layout_of(out);
    return shape;
}

// Returns the weights in the order (target channels, source channels in a group, kernel), also for
// a transposed convolution.
std::vector<float> weights_of(const op::Convolution& convolution,
                              const cpu::ConvolutionShape& shape) {
    if (!shape.is_transposed)
        return convolution.weights;
    const std::size_t taps = cpu::elements(shape.kernel);
    const std::size_t targets = shape.target[1] / shape.groups,
                      sources = shape.source[1] / shape.groups;
    std::vector<float> weights(convolution.weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const std::size_t tap = i % taps, source = i / taps % sources;
        const std::size_t target = i / taps / sources % targets;
        const std::size_t group = i / taps / sources / targets;
        weights[((group * sources + source) * targets + target) * taps + tap] =
            convolution.weights[i];
    }
    return weights;
}

// Copies one image between planes and channels last.
void copy_image(std::span<const float> from, std::span<float> to, std::size_t channels,
                bool to_planes) {
    const std::size_t area = from.size() / channels;
    for (std::size_t channel = 0; channel < channels; ++channel)
        for (std::size_t at = 0; at < area; ++at) {
            const std::size_t plane = channel * area + at, row = at * channels + channel;
            to[to_planes ? plane : row] = from[to_planes ? row : plane];
        }
}

// Makes an operator of the CPU, in planes.
cpu::Kernel kernel_of(const cpu::ConvolutionShape& shape) {
    std::vector<std::int64_t> integers = {shape.is_transposed,
                                          static_cast<std::int64_t>(shape.groups)};
    for (const auto* numbers : {&shape.strides, &shape.dilations, &shape.pads})
        integers.insert(integers.end(), numbers->begin(), numbers->end());
    cpu::Shape weights = {shape.few()[1],
                          static_cast<std::uint32_t>(shape.many()[1] / shape.groups)};
    weights.insert(weights.end(), shape.kernel.begin(), shape.kernel.end());
    return cpu::make_kernel({CpuOpType::convolution,
                             std::move(integers),
                             {},
                             {shape.source, weights, {shape.target[1]}},
                             shape.target});
}

} // namespace

// Computes by a primitive or, if oneDNN has none, by an operator of the CPU.
struct FloatExecutor::Convolution {
    cpu::ConvolutionShape shape;
    std::vector<float> weights, bias;
    std::unique_ptr<cpu::OneDnnConvolution> primitive;
    cpu::Kernel kernel;
    std::vector<float> source, target; // in planes, for the kernel

    Convolution(const op::Convolution& convolution, const Value& in, const Value& out)
        : shape(shape_of(convolution, in, out)), weights(weights_of(convolution, shape)),
          bias(convolution.bias), primitive(cpu::OneDnnConvolution::make(shape, weights, bias)) {
        if (primitive) {
            weights = {}; // the primitive has its own
            return;
        }
        kernel = kernel_of(shape);
        source.resize(cpu::elements(shape.source));
        target.resize(cpu::elements(shape.target));
    }

    // Computes one image after the other: oneDNN may add in another order for several at once.
    void run(std::span<const float> in, std::span<float> out, std::uint32_t images) {
        const std::size_t in_size = in.size() / images, out_size = out.size() / images;
        for (std::size_t image = 0; image < images; ++image)
            run_image(in.subspan(image * in_size, in_size),
                      out.subspan(image * out_size, out_size));
    }

    void run_image(std::span<const float> in, std::span<float> out) {
        if (primitive) {
            primitive->run(in, {}, {}, out);
            return;
        }
        const bool in_moves = shape.source_layout == cpu::Layout::channels_last,
                   out_moves = shape.target_layout == cpu::Layout::channels_last;
        if (in_moves)
            copy_image(in, source, shape.source[1], true);
        kernel({in_moves ? std::span<const float>(source) : in, weights, bias},
               out_moves ? std::span<float>(target) : out);
        if (out_moves)
            copy_image(target, out, shape.target[1], false);
    }
};

namespace {

// Returns, by node, the values of nodes that it is the last to read, outputs of the graph excepted.
// If no node reads its own output, that is among them.
std::vector<std::vector<ValueId>> last_reads(const Graph& graph) {
    constexpr std::size_t never = static_cast<std::size_t>(-1);
    std::vector<std::size_t> last(graph.values.size(), never);
    for (std::size_t index = 0; index < graph.nodes.size(); ++index) {
        last[graph.nodes[index].output] = index;
        for (const ValueId input : graph.nodes[index].inputs)
            last[input] = index;
    }
    for (const auto* kept : {&graph.inputs, &graph.outputs})
        for (const ValueId id : *kept)
            last[id] = never;
    std::vector<std::vector<ValueId>> result(graph.nodes.size());
    for (ValueId id = 0; id < graph.values.size(); ++id)
        if (last[id] != never && !graph.values[id].is_constant())
            result[last[id]].push_back(id);
    return result;
}

} // namespace

FloatExecutor::FloatExecutor(const Graph& graph) : graph_(graph) {
    if (std::ranges::any_of(graph.nodes, &Node::on_bpu)) // its results decide on scales
        limit_onednn();
    values_.resize(graph.values.size());
    for (ValueId value : graph.inputs)
        values_[value].resize(graph.values[value].elements());
    for (ValueId value = 0; value < graph.values.size(); ++value)
        if (graph.values[value].is_constant())
            values_[value] = graph.values[value].constant;
    for (const Node& node : graph.nodes) {
        kernels_.push_back(node.on_bpu() ? cpu::Kernel{} : cpu_kernel(graph, node));
        const Value& out = graph.values[node.output];
        const auto* convolution = node.as<op::Convolution>();
        try {
            convolutions_.push_back(
                convolution
                    ? std::make_unique<Convolution>(*convolution, graph.values[node.inputs[0]], out)
                    : nullptr);
        } catch (const Error& error) {
            throw CompileError(describe(node), error.what());
        }
    }
}

FloatExecutor::~FloatExecutor() = default;

// Takes the smallest free buffer that is large enough, unless it is twice as large.
std::vector<float> FloatExecutor::take_buffer(std::size_t elements) {
    auto best = free_.end();
    for (auto buffer = free_.begin(); buffer != free_.end(); ++buffer)
        if (buffer->size() >= elements && buffer->size() / 2 <= elements &&
            (best == free_.end() || buffer->size() < best->size()))
            best = buffer;
    if (best == free_.end())
        return std::vector<float>(elements);
    std::vector<float> buffer = std::move(*best);
    *best = std::move(free_.back());
    free_.pop_back();
    buffer.resize(elements);
    return buffer;
}

void FloatExecutor::give_back(ValueId id) {
    // More free buffers, each of another size, would take the memory that this function saves.
    constexpr std::size_t most = 4;
    if (free_.size() == most)
        free_.erase(free_.begin());
    free_.push_back(std::move(values_[id]));
    values_[id] = {};
}

cpu::Inputs FloatExecutor::inputs_of(const Node& node) const {
    cpu::Inputs inputs;
    for (ValueId input : node.inputs)
        inputs.emplace_back(values_[input]);
    return inputs;
}

void FloatExecutor::run_node(std::size_t index) {
    const Node& node = graph_.nodes[index];
    std::vector<float>& out = values_[node.output];
    out.resize(graph_.values[node.output].elements());
    if (convolutions_[index]) {
        convolutions_[index]->run(values_[node.inputs[0]], out, images_of(graph_, node));
    } else if (kernels_[index]) {
        kernels_[index](inputs_of(node), out);
    } else {
        std::vector<FloatTensor> inputs;
        for (ValueId input : node.inputs)
            inputs.push_back({graph_.values[input], values_[input]});
        run_float(node, images_of(graph_, node), inputs, graph_.values[node.output], out);
    }
    if (node.is_clamped())
        for (float& element : out)
            element = std::clamp(element, node.clamp_low, node.clamp_high);
}

void FloatExecutor::put_back() {
    for (const ValueId id : others_)
        std::swap(values_[id], kept_[id]);
    others_.clear();
}

// Runs only the nodes that depend on the value: in a network of many nodes these may be few.
const FloatValues& FloatExecutor::run_with(ValueId id, std::vector<float> value) {
    put_back();
    kept_.resize(values_.size());
    if (readers_.empty())
        readers_ = readers_of(graph_);
    std::set<std::size_t> left; // nodes, in their order
    const auto keep = [&](ValueId of) {
        std::swap(values_[of], kept_[of]);
        others_.push_back(of);
    };
    keep(id);
    values_[id] = std::move(value);
    left.insert(readers_[id].begin(), readers_[id].end());
    while (!left.empty()) {
        const std::size_t index = *left.begin();
        left.erase(left.begin());
        const ValueId output = graph_.nodes[index].output;
        keep(output);
        run_node(index);
        if (values_[output] != kept_[output])
            left.insert(readers_[output].begin(), readers_[output].end());
    }
    return values_;
}

const FloatValues& FloatExecutor::run(const FloatValues& inputs) {
    put_back();
    set_inputs({inputs.begin(), inputs.end()});
    for (std::size_t index = 0; index < graph_.nodes.size(); ++index)
        run_node(index); // its errors name the node
    return values_;
}

void FloatExecutor::set_inputs(const std::vector<std::span<const float>>& inputs) {
    for (std::size_t index = 0; index < graph_.inputs.size(); ++index)
        values_[graph_.inputs[index]].assign(inputs[index].begin(), inputs[index].end());
}

const FloatValues&
FloatExecutor::run_in_little_memory(const std::vector<std::span<const float>>& inputs,
                                    const Look& look) {
    put_back();
    if (last_reads_.empty())
        last_reads_ = last_reads(graph_);
    set_inputs(inputs);
    const auto look_at = [&](ValueId id) {
        if (look)
            look(id, values_[id]);
    };
    for (ValueId id = 0; id < graph_.values.size(); ++id)
        if (graph_.values[id].is_constant())
            look_at(id);
    std::ranges::for_each(graph_.inputs, look_at);
    for (std::size_t index = 0; index < graph_.nodes.size(); ++index) {
        const ValueId output = graph_.nodes[index].output;
        if (values_[output].empty())
            values_[output] = take_buffer(graph_.values[output].elements());
        run_node(index);
        look_at(output);
        for (const ValueId id : last_reads_[index])
            give_back(id);
    }
    return values_;
}

} // namespace overtake::compiler
