// SPDX-License-Identifier: MIT
#include "cpu/softmax.hpp"

#include <cerrno>
#include <string>

#include <oneapi/dnnl/dnnl.hpp>

#include "overtake/device.hpp"

namespace overtake {

namespace {

dnnl::memory::desc dense(const std::vector<std::uint32_t>& shape) {
    const dnnl::memory::dims dims(shape.begin(), shape.end());
    dnnl::memory::dims strides(dims.size(), 1);
    for (std::size_t i = dims.size() - 1; i > 0; i--)
        strides[i - 1] = strides[i] * dims[i];
    return {dims, dnnl::memory::data_type::f32, strides};
}

dnnl::softmax_forward make_softmax(const dnnl::engine& engine, const dnnl::memory::desc& layout,
                                   int axis) {
#if DNNL_VERSION_MAJOR >= 3
    return dnnl::softmax_forward({engine, dnnl::prop_kind::forward_inference,
                                  dnnl::algorithm::softmax_accurate, layout, layout, axis});
#else
    return dnnl::softmax_forward(
        {dnnl::softmax_forward::desc(dnnl::prop_kind::forward_inference, layout, axis), engine});
#endif
}

} // namespace

struct Softmax::State {
    State(const std::vector<std::uint32_t>& shape, int axis)
        : engine(dnnl::engine::kind::cpu, 0), stream(engine), layout(dense(shape)),
          softmax(make_softmax(engine, layout, axis)) {}

    dnnl::engine engine;
    dnnl::stream stream;
    dnnl::memory::desc layout;
    dnnl::softmax_forward softmax;
};

Softmax::Softmax(const std::vector<std::uint32_t>& shape, int axis) {
    try {
        state_ = std::make_unique<State>(shape, axis);
    } catch (const dnnl::error& error) {
        throw Error(ENOMEM, std::string("softmax: oneDNN: ") + error.what());
    }
}

Softmax::~Softmax() = default;
Softmax::Softmax(Softmax&&) noexcept = default;

void Softmax::run(std::span<const float> in, std::span<float> out) {
    // oneDNN does not write to its sources, though it takes them as void *.
    dnnl::memory source(state_->layout, state_->engine, const_cast<float*>(in.data()));
    dnnl::memory destination(state_->layout, state_->engine, out.data());
    state_->softmax.execute(state_->stream, {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, destination}});
    state_->stream.wait();
}

} // namespace overtake
