// SPDX-License-Identifier: MIT
#include "compiler/float/executor.hpp"

#include <algorithm>

#include <dlfcn.h>

#include "compiler/float/onednn.hpp"
#include "compiler/float/operators.hpp"
#include "compiler/ir/error.hpp"

namespace overtake::compiler {
namespace {

using Tag = dnnl::memory::format_tag;
constexpr auto f32 = dnnl::memory::data_type::f32;

dnnl::engine& engine() {
    static dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
    return cpu;
}

// Convolutions are a small part of what a compilation does.  Threads of oneDNN that wait for the
// next one spin, and on a busy machine that takes several times as long as all the rest.  oneDNN
// brings OpenMP along, whichever it was built with.
void use_one_thread() {
    using SetThreads = void (*)(int);
    if (const auto set = reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads")))
        set(1);
}

dnnl::memory::dims image(const Value& value) {
    return {1, value.channels, value.height, value.width};
}

Tag tag_of(const Value& value) {
    return value.order == Order::rows ? Tag::nhwc : Tag::nchw;
}

} // namespace

// One prepared oneDNN primitive with its weights in the order it likes.
struct FloatExecutor::Convolution {
    dnnl::primitive primitive;
    dnnl::reorder to_source, from_target;
    dnnl::memory source, target, weights, bias;
    dnnl::memory::desc user_source, user_target;

    // Padding at the bottom and on the right; oneDNN's formula, which never has it negative.
    static dnnl::memory::dims padding_behind(const op::Convolution& convolution, const Value& in,
                                             const Value& out) {
        const Window& window = convolution.window;
        const bool is_transposed = convolution.kind == op::Convolution::Kind::transposed;
        const Value &few = is_transposed ? in : out, &many = is_transposed ? out : in;
        const std::int64_t bottom = (std::int64_t{few.height} - 1) * window.stride_height +
                                    window.extent_height() - many.height - window.pad_top;
        const std::int64_t right = (std::int64_t{few.width} - 1) * window.stride_width +
                                   window.extent_width() - many.width - window.pad_left;
        if (is_transposed)
            return {bottom, right};
        return {std::max<std::int64_t>(bottom, 0), std::max<std::int64_t>(right, 0)};
    }

    template <typename Forward>
    void prepare(const op::Convolution& convolution, const Value& in, const Value& out,
                 dnnl::algorithm algorithm) {
        const bool is_depthwise = convolution.kind == op::Convolution::Kind::depthwise;
        const std::int64_t groups = is_depthwise ? out.channels : convolution.groups;
        const Window& window = convolution.window;
        const dnnl::memory::dims kernel = {groups, out.channels / groups, in.channels / groups,
                                           window.kernel_height, window.kernel_width};
        const auto chosen = describe_convolution<Forward>(
            engine(), algorithm, {image(in), f32, Tag::any}, {kernel, f32, Tag::any},
            {{out.channels}, f32, Tag::x}, {image(out), f32, Tag::any},
            {window.stride_height, window.stride_width},
            {window.dilation_height - 1, window.dilation_width - 1},
            {window.pad_top, window.pad_left}, padding_behind(convolution, in, out));
        primitive = Forward(chosen);
        source = dnnl::memory(chosen.src_desc(), engine());
        target = dnnl::memory(chosen.dst_desc(), engine());
        weights = dnnl::memory(chosen.weights_desc(), engine());
        dnnl::stream stream(engine());
        dnnl::memory given({kernel, f32, Tag::goihw}, engine(),
                           const_cast<float*>(convolution.weights.data()));
        dnnl::reorder(given, weights).execute(stream, given, weights);
        stream.wait();
    }

    Convolution(const op::Convolution& convolution, const Value& in, const Value& out) {
        if (convolution.kind == op::Convolution::Kind::transposed)
            prepare<dnnl::deconvolution_forward>(convolution, in, out,
                                                 dnnl::algorithm::deconvolution_direct);
        else
            prepare<dnnl::convolution_forward>(convolution, in, out,
                                               dnnl::algorithm::convolution_direct);
        user_source = {image(in), f32, tag_of(in)};
        user_target = {image(out), f32, tag_of(out)};
        bias = dnnl::memory({{out.channels}, f32, Tag::x}, engine());
        std::ranges::copy(convolution.bias, static_cast<float*>(bias.get_data_handle()));
        to_source = dnnl::reorder(
            dnnl::reorder::primitive_desc(engine(), user_source, engine(), source.get_desc()));
        from_target = dnnl::reorder(
            dnnl::reorder::primitive_desc(engine(), target.get_desc(), engine(), user_target));
    }

    // Image by image: oneDNN may add in another order for several at once.
    void run(const std::vector<float>& in, std::vector<float>& out, std::uint32_t images) {
        for (std::size_t image = 0; image < images; ++image)
            run_image(in.data() + image * (in.size() / images),
                      out.data() + image * (out.size() / images));
    }

    void run_image(const float* in, float* out) {
        dnnl::stream stream(engine());
        dnnl::memory given(user_source, engine(), const_cast<float*>(in));
        dnnl::memory wanted(user_target, engine(), out);
        to_source.execute(stream, given, source);
        primitive.execute(stream, {{DNNL_ARG_SRC, source},
                                   {DNNL_ARG_WEIGHTS, weights},
                                   {DNNL_ARG_BIAS, bias},
                                   {DNNL_ARG_DST, target}});
        from_target.execute(stream, target, wanted);
        stream.wait();
    }
};

FloatExecutor::FloatExecutor(const Graph& graph) : graph_(graph) {
    limit_onednn();
    use_one_thread();
    values_.resize(graph.values.size());
    for (ValueId value : graph.inputs)
        values_[value].resize(graph.values[value].elements());
    for (ValueId value = 0; value < graph.values.size(); ++value)
        if (graph.values[value].is_constant())
            values_[value] = graph.values[value].constant;
    for (const Node& node : graph.nodes) {
        kernels_.push_back(node.on_bpu() ? cpu::Kernel{} : cpu_kernel(graph, node));
        const Value& out = graph.values[node.output];
        values_[node.output].resize(out.elements());
        const auto* convolution = node.as<op::Convolution>();
        try {
            convolutions_.push_back(
                convolution
                    ? std::make_unique<Convolution>(*convolution, graph.values[node.inputs[0]], out)
                    : nullptr);
        } catch (const dnnl::error& error) {
            throw CompileError(describe(node), std::string("oneDNN: ") + error.what());
        }
    }
}

FloatExecutor::~FloatExecutor() = default;

cpu::Inputs FloatExecutor::inputs_of(const Node& node) const {
    cpu::Inputs inputs;
    for (ValueId input : node.inputs)
        inputs.emplace_back(values_[input]);
    return inputs;
}

void FloatExecutor::run_node(std::size_t index) {
    const Node& node = graph_.nodes[index];
    std::vector<float>& out = values_[node.output];
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

const FloatValues& FloatExecutor::run(const FloatValues& inputs) {
    return run_on(std::vector<std::span<const float>>(inputs.begin(), inputs.end()));
}

const FloatValues& FloatExecutor::run_on(const std::vector<std::span<const float>>& inputs) {
    for (std::size_t index = 0; index < graph_.inputs.size(); ++index)
        values_[graph_.inputs[index]].assign(inputs[index].begin(), inputs[index].end());
    for (std::size_t index = 0; index < graph_.nodes.size(); ++index)
        run_node(index); // what it throws names the node
    return values_;
}

} // namespace overtake::compiler
