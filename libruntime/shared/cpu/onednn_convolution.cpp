// SPDX-License-Identifier: MIT
//
// A transposed convolution is oneDNN's gradient by data of the convolution that it transposes.
#include <algorithm>
#include <cerrno>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cpu/convolution.hpp"
#include "cpu/onednn.hpp"
#include "overtake/error.hpp"

namespace overtake::cpu {

namespace {

using Dims = dnnl::memory::dims;
using Description = dnnl::memory::desc;
constexpr auto f32 = dnnl::memory::data_type::f32;
constexpr auto any = dnnl::memory::format_tag::any;
constexpr std::size_t primitive_axes = 3, primitive_taps = 4096;
constexpr std::int64_t most_extent = 1 << 16;

Dims dims_of(const Shape& shape) {
    return {shape.begin(), shape.end()};
}

Description planes(const Dims& dims) {
    Dims strides(dims.size(), 1);
    for (std::size_t i = dims.size() - 1; i-- > 0;)
        strides[i] = strides[i + 1] * dims[i + 1];
    return {dims, f32, strides};
}

Description image(const Shape& shape, bool has_channels_last) {
    const Dims dims = dims_of(shape);
    if (!has_channels_last)
        return planes(dims);
    Dims strides(dims.size(), 1);
    strides.back() = dims[1];
    for (std::size_t i = dims.size() - 1; i-- > 2;)
        strides[i] = strides[i + 1] * dims[i + 1];
    strides[0] = strides[2] * dims[2];
    return {dims, f32, strides};
}

Dims dims_of_weights(const ConvolutionShape& shape) {
    const std::int64_t few = shape.few()[1], many = shape.many()[1];
    const auto groups = static_cast<std::int64_t>(shape.groups);
    Dims dims{few, many / groups};
    if (groups > 1)
        dims = {groups, few / groups, many / groups};
    dims.insert(dims.end(), shape.kernel.begin(), shape.kernel.end());
    return dims;
}

// Padding behind each axis with which oneDNN counts as many windows; nothing if there is none, if
// windows may lie in padding alone, or if they are longer than generated code can address.
std::optional<Dims> padding_behind(const ConvolutionShape& shape) {
    Dims behind;
    for (std::size_t axis = 0; axis < shape.kernel.size(); axis++) {
        const std::int64_t few = shape.few()[axis + 2], many = shape.many()[axis + 2];
        const std::int64_t front = shape.pads[axis], stride = shape.strides[axis];
        const std::int64_t dilation = shape.dilations[axis], taps = shape.kernel[axis];
        const std::int64_t extent = (taps - 1) * dilation + 1;
        const std::int64_t needed = (few - 1) * stride + extent - many - front;
        if (needed < 0 && (shape.is_transposed || (many + front - extent) / stride + 1 != few))
            return {};
        behind.push_back(std::max<std::int64_t>(needed, 0));
        if (front < 0 || front >= extent || behind.back() >= extent || extent > most_extent ||
            (taps > 1 && dilation > many))
            return {};
    }
    return behind;
}

// What a convolution is to oneDNN.
struct Request {
    Description few, weights, many;
    Dims strides, dilations, front, behind;
};

Request request_of(const ConvolutionShape& shape, Dims behind) {
    Request request{{dims_of(shape.few()), f32, any},
                    {dims_of_weights(shape), f32, any},
                    {dims_of(shape.many()), f32, any},
                    shape.strides,
                    shape.dilations,
                    shape.pads,
                    std::move(behind)};
    for (std::int64_t& dilation : request.dilations)
        dilation--;
    return request;
}

bool is_wanted(std::string_view implementation) {
    for (const char* unwanted : {"avx512", "avx10", "amx", "ref"})
        if (implementation.find(unwanted) != std::string_view::npos)
            return false;
    return true;
}

template <typename Chosen>
bool choose(Chosen& chosen) {
    while (!is_wanted(chosen.impl_info_str()))
        if (!chosen.next_impl())
            return false;
    return true;
}

constexpr auto inference = dnnl::prop_kind::forward_inference;
constexpr auto direct = dnnl::algorithm::convolution_direct;

// A description of version 2 is looked at by next_impl(), and so lives as long.
#if DNNL_VERSION_MAJOR >= 3
struct Forward {
    explicit Forward(const Request& r, const Description& bias)
        : chosen(onednn::engine(), inference, direct, r.many, r.weights, bias, r.few, r.strides,
                 r.dilations, r.front, r.behind, onednn::attributes()) {}
    dnnl::convolution_forward::primitive_desc chosen;
};

struct ByData {
    ByData(const Request& r, const Forward& forward)
        : chosen(onednn::engine(), direct, r.many, r.weights, r.few, r.strides, r.dilations,
                 r.front, r.behind, forward.chosen, onednn::attributes()) {}
    dnnl::convolution_backward_data::primitive_desc chosen;
};
#else
struct Forward {
    explicit Forward(const Request& r, const Description& bias)
        : description(inference, direct, r.many, r.weights, bias, r.few, r.strides, r.dilations,
                      r.front, r.behind),
          chosen(description, onednn::attributes(), onednn::engine()) {}
    dnnl::convolution_forward::desc description;
    dnnl::convolution_forward::primitive_desc chosen;
};

struct ByData {
    ByData(const Request& r, const Forward& forward)
        : description(direct, r.many, r.weights, r.few, r.strides, r.dilations, r.front, r.behind),
          chosen(description, onednn::attributes(), onednn::engine(), forward.chosen) {}
    dnnl::convolution_backward_data::desc description;
    dnnl::convolution_backward_data::primitive_desc chosen;
};
#endif

} // namespace

struct OneDnnConvolution::Primitives {
    // The user's memory, and what the primitive reads and writes; one where they are the same.
    struct Side {
        void make(const Description& mine, const Description& its, bool is_read) {
            user = dnnl::memory(mine, onednn::engine(), nullptr);
            is_direct = mine == its;
            if (is_direct)
                return;
            own = onednn::Owned(its);
            reorder = is_read ? onednn::reorder(mine, its) : onednn::reorder(its, mine);
        }
        dnnl_memory_t memory() const { return is_direct ? user.get() : own.memory.get(); }

        dnnl::memory user;
        onednn::Owned own;
        onednn::Step reorder;
        bool is_direct = true;
    };

    onednn::Step convolution;
    Side source, target, weights;
    dnnl::memory bias;

    void read(const Side& side, std::span<const float> data) const {
        onednn::place(side.user, data.data());
        if (!side.is_direct)
            side.reorder.run(
                {{DNNL_ARG_FROM, side.user.get()}, {DNNL_ARG_TO, side.own.memory.get()}});
    }

    // False: there is no implementation that is wanted.
    bool make(const ConvolutionShape& shape, const Request& request);
};

bool OneDnnConvolution::Primitives::make(const ConvolutionShape& shape, const Request& request) {
    const Description bias_description({std::int64_t{shape.target[1]}}, f32,
                                       dnnl::memory::format_tag::x);
    const Description mine = image(shape.source, shape.source_has_channels_last);
    const Description wanted = image(shape.target, shape.target_has_channels_last);
    const Description given = planes(dims_of_weights(shape));
    if (shape.is_transposed) {
        const Forward forward(request, {});
        ByData by_data(request, forward);
        if (!choose(by_data.chosen))
            return false;
        convolution = {dnnl::convolution_backward_data(by_data.chosen),
                       by_data.chosen.scratchpad_desc()};
        source.make(mine, by_data.chosen.diff_dst_desc(), true);
        weights.make(given, by_data.chosen.weights_desc(), true);
        target.make(wanted, by_data.chosen.diff_src_desc(), false);
        return true;
    }
    Forward forward(request, bias_description);
    if (!choose(forward.chosen))
        return false;
    convolution = {dnnl::convolution_forward(forward.chosen), forward.chosen.scratchpad_desc()};
    source.make(mine, forward.chosen.src_desc(), true);
    weights.make(given, forward.chosen.weights_desc(), true);
    target.make(wanted, forward.chosen.dst_desc(), false);
    bias = dnnl::memory(bias_description, onednn::engine(), nullptr);
    return true;
}

OneDnnConvolution::OneDnnConvolution(const ConvolutionShape& shape,
                                     std::unique_ptr<Primitives> primitives)
    : shape_(shape), primitives_(std::move(primitives)), bias_(shape.target[1], 0.0f) {
    if (!shape.is_transposed)
        onednn::place(primitives_->bias, bias_.data());
}

OneDnnConvolution::~OneDnnConvolution() = default;

std::unique_ptr<OneDnnConvolution> OneDnnConvolution::make(const ConvolutionShape& shape,
                                                           std::span<const float> weights,
                                                           std::span<const float> bias) {
    auto behind = padding_behind(shape);
    if (!behind || shape.kernel.size() > primitive_axes || elements(shape.kernel) > primitive_taps)
        return nullptr;
    onednn::require_room("convolution");
    const onednn::OneThread one_thread;
    try {
        auto primitives = std::make_unique<Primitives>();
        if (!primitives->make(shape, request_of(shape, std::move(*behind))))
            return nullptr;
        std::unique_ptr<OneDnnConvolution> made(
            new OneDnnConvolution(shape, std::move(primitives)));
        if (!weights.empty()) {
            made->take_weights(weights);
            made->knows_weights_ = true;
        }
        if (!bias.empty()) {
            std::ranges::copy(bias, made->bias_.begin());
            made->knows_bias_ = true;
        }
        return made;
    } catch (const dnnl::error& error) {
        if (error.status == dnnl_out_of_memory)
            throw Error(ENOMEM, "convolution: oneDNN has not enough memory for it");
        return nullptr;
    } catch (const std::future_error&) {
        return nullptr; // oneDNN's cache keeps what was refused once as a broken promise
    }
}

// To where the primitive reads them: a copy, if they have to outlive the call.
void OneDnnConvolution::take_weights(std::span<const float> weights) {
    Primitives::Side& side = primitives_->weights;
    if (side.is_direct) {
        side.own = onednn::Owned(side.user.get_desc());
        std::ranges::copy(weights, static_cast<float*>(side.own.bytes.data()));
        onednn::place(side.user, side.own.bytes.data());
    } else {
        primitives_->read(side, weights);
        side.reorder = {}; // whose code is as large as the convolution's
    }
}

void OneDnnConvolution::add_bias(std::span<float> target) const {
    const std::size_t channels = shape_.target[1], batch = shape_.target[0];
    const std::size_t each = target.size() / batch / channels;
    for (std::size_t i = 0; i < target.size(); i++)
        target[i] += bias_[shape_.target_has_channels_last ? i % channels : i / each % channels];
}

void OneDnnConvolution::run(std::span<const float> source, std::span<const float> weights,
                            std::span<const float> bias, std::span<float> target) {
    const onednn::OneThread one_thread;
    Primitives& p = *primitives_;
    if (!knows_weights_)
        p.read(p.weights, weights);
    if (!knows_bias_ && !bias.empty())
        std::ranges::copy(bias, bias_.begin());
    p.read(p.source, source);
    onednn::place(p.target.user, target.data());
    if (shape_.is_transposed) {
        p.convolution.run({{DNNL_ARG_DIFF_DST, p.source.memory()},
                           {DNNL_ARG_WEIGHTS, p.weights.memory()},
                           {DNNL_ARG_DIFF_SRC, p.target.memory()}});
    } else {
        p.convolution.run({{DNNL_ARG_SRC, p.source.memory()},
                           {DNNL_ARG_WEIGHTS, p.weights.memory()},
                           {DNNL_ARG_BIAS, p.bias.get()},
                           {DNNL_ARG_DST, p.target.memory()}});
    }
    if (!p.target.is_direct)
        p.target.reorder.run(
            {{DNNL_ARG_FROM, p.target.own.memory.get()}, {DNNL_ARG_TO, p.target.user.get()}});
    if (shape_.is_transposed)
        add_bias(target);
}

} // namespace overtake::cpu
