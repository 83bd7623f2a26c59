// SPDX-License-Identifier: MIT
#include "bench_peers.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <unordered_map>

#include <cpuinfo.h>
#include <omp.h>
#include <oneapi/dnnl/dnnl.hpp>
#include <xnnpack.h>

namespace overtake::bench {

namespace {

void check(xnn_status status) {
    if (status != xnn_status_success)
        throw std::runtime_error("XNNPACK refuses");
}

} // namespace

void start_peers(PeerLimit limit) {
    omp_set_num_threads(1); // oneDNN's
    cpuinfo_initialize();
    if (limit == PeerLimit::avx512_vnni &&
        dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core_vnni) != dnnl::status::success)
        throw std::runtime_error("oneDNN does not take a limit");
    if (limit == PeerLimit::avx2) {
        // XNNPACK chooses its kernels by these when it is initialised.
        cpuinfo_isa.avx512f = cpuinfo_isa.avx512cd = cpuinfo_isa.avx512dq = false;
        cpuinfo_isa.avx512bw = cpuinfo_isa.avx512vl = cpuinfo_isa.avx512vnni = false;
        cpuinfo_isa.avx512vbmi = false;
        if (dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2) != dnnl::status::success)
            throw std::runtime_error("oneDNN does not take a limit");
    }
    check(xnn_initialize(nullptr));
}

struct Peers::State {
    Buffer<std::int8_t> input, output, weights;
    Buffer<std::int32_t> bias;
    xnn_operator_t xnnpack = nullptr;

    dnnl::engine engine{dnnl::engine::kind::cpu, 0};
    mutable dnnl::stream stream{engine};
    dnnl::convolution_forward onednn;
    std::unordered_map<int, dnnl::memory> arguments;

    ~State() { xnn_delete_operator(xnnpack); }

    void make_xnnpack(const Layer& layer) {
        const unsigned groups = layer.depthwise ? layer.in_channels : 1;
        check(xnn_create_convolution2d_nhwc_qs8(
            layer.pad, layer.pad, layer.pad, layer.pad, layer.kernel, layer.kernel, layer.stride,
            layer.stride, 1, 1, groups, layer.in_channels / groups, layer.out_channels / groups,
            layer.in_channels, layer.out_channels, layer.zero_point(), 0.02f, 0.003f,
            weights.data(), bias.data(), 3, 0.1f, -128, 127, 0, &xnnpack));
        check(xnn_setup_convolution2d_nhwc_qs8(xnnpack, 1, layer.in_height, layer.in_width,
                                               input.data(), output.data(), nullptr));
    }

    void make_onednn(const Layer& layer) {
        using dt = dnnl::memory::data_type;
        using tag = dnnl::memory::format_tag;
        const dnnl::memory::dim groups = layer.depthwise ? layer.in_channels : 1;
        const dnnl::memory::dim in = layer.in_channels, out = layer.out_channels, k = layer.kernel;
        const dnnl::memory::dims weights_dims = layer.depthwise
                                                    ? dnnl::memory::dims{groups, 1, 1, k, k}
                                                    : dnnl::memory::dims{out, in, k, k};
        const dnnl::memory::desc source({1, in, layer.in_height, layer.in_width}, dt::u8,
                                        tag::nhwc);
        const dnnl::memory::desc weights_any(weights_dims, dt::s8, tag::any);
        const dnnl::memory::desc bias_desc({out}, dt::s32, tag::x);
        const dnnl::memory::desc target({1, out, layer.out_height(), layer.out_width()}, dt::s8,
                                        tag::nhwc);
        const dnnl::memory::dim stride = layer.stride, pad = layer.pad;
        const dnnl::memory::dims strides = {stride, stride}, pads = {pad, pad};
        constexpr auto inference = dnnl::prop_kind::forward_inference;
        constexpr auto direct = dnnl::algorithm::convolution_direct;
        const std::vector<float> scales(layer.out_channels, 0.0006f);
        dnnl::primitive_attr attributes;
#if DNNL_VERSION_MAJOR >= 3
        attributes.set_scales_mask(DNNL_ARG_WEIGHTS, layer.depthwise ? 3 : 1);
        const dnnl::convolution_forward::primitive_desc primitive(engine, inference, direct, source,
                                                                  weights_any, bias_desc, target,
                                                                  strides, pads, pads, attributes);
#else
        attributes.set_output_scales(2, scales);
        const dnnl::convolution_forward::primitive_desc primitive(
            dnnl::convolution_forward::desc(inference, direct, source, weights_any, bias_desc,
                                            target, strides, pads, pads),
            attributes, engine);
#endif

        onednn = dnnl::convolution_forward(primitive);
        dnnl::memory packed(primitive.weights_desc(), engine);
        dnnl::memory plain({weights_dims, dt::s8, layer.depthwise ? tag::goihw : tag::oihw}, engine,
                           weights.data());
        dnnl::reorder(plain, packed).execute(stream, plain, packed);
        arguments = {{DNNL_ARG_SRC, dnnl::memory(primitive.src_desc(), engine, input.data())},
                     {DNNL_ARG_WEIGHTS, packed},
                     {DNNL_ARG_BIAS, dnnl::memory(bias_desc, engine, bias.data())},
                     {DNNL_ARG_DST, dnnl::memory(primitive.dst_desc(), engine, output.data())}};
#if DNNL_VERSION_MAJOR >= 3
        dnnl::memory factors({{out}, dnnl::memory::data_type::f32, tag::x}, engine);
        std::ranges::copy(scales, static_cast<float*>(factors.get_data_handle()));
        arguments.emplace(DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, factors);
#endif
    }
};

Peers::Peers(const Layer& layer) : state_(std::make_unique<State>()) {
    const std::size_t weights = std::size_t{layer.out_channels} * layer.kernel * layer.kernel *
                                (layer.depthwise ? 1 : layer.in_channels);
    std::mt19937 random(2);

    // XNNPACK may read a little beyond its input.
    state_->input.resize(std::size_t{layer.in_height} * layer.in_width * layer.in_channels +
                         XNN_EXTRA_BYTES);
    state_->output.resize(std::size_t{layer.out_height()} * layer.out_width() * layer.out_channels);
    state_->weights.resize(weights);
    state_->bias.resize(layer.out_channels);
    for (std::int8_t& value : state_->input)
        value = static_cast<std::int8_t>(random());
    for (std::int8_t& value : state_->weights)
        value = static_cast<std::int8_t>(random());
    state_->make_xnnpack(layer);
    state_->make_onednn(layer);
}

Peers::~Peers() = default;

void Peers::run_xnnpack() const {
    check(xnn_run_operator(state_->xnnpack, nullptr));
}

void Peers::run_onednn() const {
    state_->onednn.execute(state_->stream, state_->arguments);
    state_->stream.wait();
}

} // namespace overtake::bench
