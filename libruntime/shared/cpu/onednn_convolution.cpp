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
#include "cpu/thread_count.hpp"
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

Dims dims_of_weights(const ConvolutionShape& shape) {
    const std::int64_t few = shape.few()[1], many = shape.many()[1];
    const auto groups = static_cast<std::int64_t>(shape.groups);
    Dims dims{few, many / groups};
    if (groups > 1)
        dims = {groups, few / groups, many / groups};
    dims.insert(dims.end(), shape.kernel.begin(), shape.kernel.end());
    return dims;
}

// Returns the padding behind each axis with which oneDNN counts as many windows as `shape` has.
// Returns nothing if no padding does so, if windows may lie in padding alone, or if windows are too
// long for generated code to address.
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

// A convolution in the terms of oneDNN.
struct Request {
    Description few, weights, many;
    Dims strides, dilations, front, behind;
};

// oneDNN chooses the layouts of source and target, unless they must be in blocks.
Request request_of(const ConvolutionShape& shape, const Dims& behind, bool in_blocks) {
    const auto value = [&](const Shape& its) {
        return in_blocks ? onednn::description(its, shape.blocks)
                         : Description(dims_of(its), f32, any);
    };
    Request request{value(shape.few()),
                    {dims_of_weights(shape), f32, any},
                    value(shape.many()),
                    shape.strides,
                    shape.dilations,
                    shape.pads,
                    behind};
    for (std::int64_t& dilation : request.dilations)
        dilation--;
    return request;
}

// Implementations by products of small matrices ("brgemm") want channels last, which no operator
// here has.
bool is_wanted(std::string_view implementation, bool may_use_avx512) {
    for (const char* unwanted : {"avx10", "amx", "brg", "brdg", "ref"})
        if (implementation.find(unwanted) != std::string_view::npos)
            return false;
    return may_use_avx512 || implementation.find("avx512") == std::string_view::npos;
}

bool may_use_avx512(const ConvolutionShape& shape, const Dims& behind) {
    if (shape.blocks != Layout::blocked_16)
        return false;
    for (std::size_t axis = 0; axis < behind.size(); axis++) {
        const std::int64_t extent = (shape.kernel[axis] - 1) * shape.dilations[axis] + 1;
        if (2 * shape.pads[axis] > extent || 2 * behind[axis] > extent)
            return false;
    }
    return true;
}

template <typename Chosen>
bool choose(Chosen& chosen, bool may_use_avx512) {
    while (!is_wanted(chosen.impl_info_str(), may_use_avx512))
        if (!chosen.next_impl())
            return false;
    return true;
}

constexpr auto inference = dnnl::prop_kind::forward_inference;
constexpr auto direct = dnnl::algorithm::convolution_direct;

// In version 2 next_impl() reads the description, so that lives as long as `chosen`.
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

struct ConvolutionPrimitive::Primitive {
    onednn::Step convolution;
    Description source, weights, target, bias; // the primitive's; empty bias: transposed
    onednn::Owned known_weights;

    // Returns null if oneDNN has no implementation for which is_wanted() is true.
    static std::unique_ptr<Primitive> chosen(const ConvolutionShape& shape, const Dims& behind,
                                             bool in_blocks);
    bool make(const ConvolutionShape& shape, const Request& request);
};

bool ConvolutionPrimitive::Primitive::make(const ConvolutionShape& shape, const Request& request) {
    if (shape.is_transposed) {
        const Forward forward(request, {});
        ByData by_data(request, forward);
        if (!choose(by_data.chosen, may_use_avx512(shape, request.behind)))
            return false;
        convolution = {dnnl::convolution_backward_data(by_data.chosen),
                       by_data.chosen.scratchpad_desc()};
        source = by_data.chosen.diff_dst_desc();
        weights = by_data.chosen.weights_desc();
        target = by_data.chosen.diff_src_desc();
        return true;
    }
    bias = Description({std::int64_t{shape.target[1]}}, f32, dnnl::memory::format_tag::x);
    Forward forward(request, bias);
    if (!choose(forward.chosen, may_use_avx512(shape, request.behind)))
        return false;
    convolution = {dnnl::convolution_forward(forward.chosen), forward.chosen.scratchpad_desc()};
    source = forward.chosen.src_desc();
    weights = forward.chosen.weights_desc();
    target = forward.chosen.dst_desc();
    return true;
}

std::unique_ptr<ConvolutionPrimitive::Primitive>
ConvolutionPrimitive::Primitive::chosen(const ConvolutionShape& shape, const Dims& behind,
                                        bool in_blocks) {
    auto made = std::make_unique<Primitive>();
    try {
        if (made->make(shape, request_of(shape, behind, in_blocks)))
            return made;
    } catch (const dnnl::error& error) {
        if (error.status == dnnl_out_of_memory || !in_blocks)
            throw;
    }
    return nullptr;
}

ConvolutionPrimitive::ConvolutionPrimitive(const ConvolutionShape& shape,
                                           std::unique_ptr<Primitive> primitive,
                                           std::span<const float> weights,
                                           std::span<const float> bias, const StoredWeights& stored)
    : shape_(shape), primitive_(std::move(primitive)), knows_weights_(!weights.empty()),
      format_(onednn::format_of(primitive_->weights)) {
    if (knows_weights_)
        take_weights(weights, stored);
    if (!bias.empty()) {
        bias_.resize(stored_elements({1, shape.target[1], 1}, Layout::blocked_16));
        std::ranges::copy(bias, bias_.begin());
    }
}

void ConvolutionPrimitive::take_weights(std::span<const float> weights,
                                        const StoredWeights& stored) {
    const Description given = onednn::dense(dims_of_weights(shape_)), &its = primitive_->weights;
    onednn::Owned& known = primitive_->known_weights;
    const bool has_format = !format_.empty() && stored.format == format_ &&
                            stored.values.size() * sizeof(float) == its.get_size();
    // The spare lanes of a file may hold anything.
    if (has_format && !onednn::has_spare_lanes(its) && onednn::is_aligned(stored.values.data())) {
        known.memory =
            dnnl::memory(its, onednn::engine(), const_cast<float*>(stored.values.data()));
        return;
    }
    known = onednn::Owned(its);
    if (given == its) {
        std::ranges::copy(weights, static_cast<float*>(known.bytes.data()));
        return;
    }
    const dnnl::memory from(given, onednn::engine(), const_cast<float*>(weights.data()));
    // One thread: OpenMP keeps threads that it starts here, and would then have more threads than
    // CPUs.
    const ThreadCount one(1);
    const onednn::Threads threads;
    onednn::reorder(given, its)
        .run({{DNNL_ARG_FROM, from.get()}, {DNNL_ARG_TO, known.memory.get()}});
}

StoredWeights ConvolutionPrimitive::weights() const {
    if (!knows_weights_ || format_.empty())
        return {};
    const dnnl::memory& known = primitive_->known_weights.memory;
    return {format_,
            {static_cast<const float*>(known.get_data_handle()),
             primitive_->weights.get_size() / sizeof(float)}};
}

ConvolutionPrimitive::~ConvolutionPrimitive() = default;

bool ConvolutionPrimitive::reads(Layout layout) const {
    return onednn::description(shape_.source, layout) == primitive_->source;
}

bool ConvolutionPrimitive::writes(Layout layout) const {
    return onednn::description(shape_.target, layout) == primitive_->target;
}

namespace {

// Calls `step`.  Throws Error ENOMEM if oneDNN has too little memory; returns null for any other
// error of oneDNN.
template <typename Step>
auto translated(const Step& step) -> decltype(step()) {
    onednn::require_room("convolution");
    const onednn::Threads threads;
    try {
        return step();
    } catch (const dnnl::error& error) {
        if (error.status == dnnl_out_of_memory)
            throw Error(ENOMEM, "convolution: oneDNN has not enough memory for it");
        return nullptr;
    } catch (const std::future_error&) {
        return nullptr; // oneDNN's cache reports a primitive that it refused before as a broken
                        // promise
    }
}

} // namespace

std::shared_ptr<const ConvolutionPrimitive>
ConvolutionPrimitive::make(const ConvolutionShape& shape, std::span<const float> weights,
                           std::span<const float> bias, const StoredWeights& stored) {
    auto behind = padding_behind(shape);
    if (!behind || shape.kernel.size() > primitive_axes || elements(shape.kernel) > primitive_taps)
        return nullptr;
    return translated([&]() -> std::shared_ptr<const ConvolutionPrimitive> {
        auto primitive = Primitive::chosen(shape, *behind, false);
        if (!primitive)
            return nullptr;
        // If oneDNN prefers another layout, each run would copy source and target.
        const auto is_ours = [&](const Shape& its, const Description& description) {
            return description == onednn::description(its, Layout::planes) ||
                   description == onednn::description(its, shape.blocks);
        };
        if (!is_ours(shape.source, primitive->source) || !is_ours(shape.target, primitive->target))
            if (auto in_blocks = Primitive::chosen(shape, *behind, true))
                primitive = std::move(in_blocks);
        return std::shared_ptr<const ConvolutionPrimitive>(
            new ConvolutionPrimitive(shape, std::move(primitive), weights, bias, stored));
    });
}

struct OneDnnConvolution::Sides {
    // The user's memory, and the memory that the primitive uses; one memory if the layouts are the
    // same.
    struct Side {
        Side() = default;
        Side(const Description& mine, const Description& its, onednn::Room room)
            : user(mine, onednn::engine(), nullptr), room(room), is_direct(mine == its) {
            if (is_direct)
                return;
            size = its.get_size();
            own = dnnl::memory(its, onednn::engine(), nullptr);
            const bool is_read = room != onednn::Room::target;
            reorder = is_read ? onednn::reorder(mine, its) : onednn::reorder(its, mine);
        }

        dnnl_memory_t memory() const { return is_direct ? user.get() : own.get(); }

        // The memory that the primitive uses belongs to the thread, and all convolutions share it.
        void begin(const float* data) const {
            onednn::place(user, data);
            if (!is_direct)
                onednn::place(own, onednn::room_for(room, size));
        }

        void read(std::span<const float> data) const {
            begin(data.data());
            if (!is_direct)
                reorder.run({{DNNL_ARG_FROM, user.get()}, {DNNL_ARG_TO, own.get()}});
        }

        void write() const {
            if (!is_direct)
                reorder.run({{DNNL_ARG_FROM, own.get()}, {DNNL_ARG_TO, user.get()}});
        }

        dnnl::memory user, own;
        onednn::Room room = onednn::Room::source;
        std::size_t size = 0;
        onednn::Step reorder;
        bool is_direct = true;
    };

    Side source, target, weights;
    onednn::Step convolution;
    dnnl::memory bias;
};

std::unique_ptr<OneDnnConvolution> OneDnnConvolution::make(const ConvolutionShape& shape,
                                                           std::span<const float> weights,
                                                           std::span<const float> bias) {
    auto primitive = ConvolutionPrimitive::make(shape, weights, bias);
    if (!primitive)
        return nullptr;
    return std::make_unique<OneDnnConvolution>(std::move(primitive), shape.source_layout,
                                               shape.target_layout);
}

OneDnnConvolution::OneDnnConvolution(std::shared_ptr<const ConvolutionPrimitive> primitive,
                                     Layout source, Layout target)
    : primitive_(std::move(primitive)), target_layout_(target), sides_(std::make_unique<Sides>()) {
    const ConvolutionShape& shape = primitive_->shape_;
    const ConvolutionPrimitive::Primitive& its = *primitive_->primitive_;
    const auto made = translated([&]() -> Sides* {
        sides_->convolution = its.convolution.another();
        sides_->source = {onednn::description(shape.source, source), its.source,
                          onednn::Room::source};
        sides_->target = {onednn::description(shape.target, target), its.target,
                          onednn::Room::target};
        if (!primitive_->knows_weights_)
            sides_->weights = {onednn::dense(dims_of_weights(shape)), its.weights,
                               onednn::Room::weights};
        if (!shape.is_transposed)
            sides_->bias = dnnl::memory(its.bias, onednn::engine(), nullptr);
        return sides_.get();
    });
    if (!made)
        throw Error(ENOMEM, "convolution: oneDNN cannot copy between its layout and ours");
    if (primitive_->bias_.empty())
        bias_.resize(stored_elements({1, shape.target[1], 1}, Layout::blocked_16));
}

OneDnnConvolution::~OneDnnConvolution() = default;

void OneDnnConvolution::add_bias(std::span<const float> bias, std::span<float> target) const {
    const Shape& shape = primitive_->shape_.target;
    const std::size_t lanes = lanes_of(target_layout_);
    const std::size_t area = elements(shape) / shape[0] / shape[1];
    const std::size_t channels = (shape[1] + lanes - 1) / lanes * lanes;
    for (std::size_t i = 0; i < target.size(); i++)
        target[i] += bias[target_layout_ == Layout::channels_last
                              ? i % channels
                              : i / (area * lanes) * lanes % channels + i % lanes];
}

void OneDnnConvolution::run(std::span<const float> source, std::span<const float> weights,
                            std::span<const float> bias, std::span<float> target) {
    const onednn::Threads threads;
    const Sides& s = *sides_;
    const bool is_transposed = primitive_->shape_.is_transposed;
    dnnl_memory_t read_weights = primitive_->primitive_->known_weights.memory.get(true);
    if (!primitive_->knows_weights_) {
        s.weights.read(weights);
        read_weights = s.weights.memory();
    }
    if (primitive_->bias_.empty() && !bias.empty())
        std::ranges::copy(bias, bias_.begin());
    const std::vector<float>& added = primitive_->bias_.empty() ? bias_ : primitive_->bias_;
    s.source.read(source);
    s.target.begin(target.data());
    if (is_transposed) {
        s.convolution.run({{DNNL_ARG_DIFF_DST, s.source.memory()},
                           {DNNL_ARG_WEIGHTS, read_weights},
                           {DNNL_ARG_DIFF_SRC, s.target.memory()}});
    } else {
        onednn::place(s.bias, added.data());
        s.convolution.run({{DNNL_ARG_SRC, s.source.memory()},
                           {DNNL_ARG_WEIGHTS, read_weights},
                           {DNNL_ARG_BIAS, s.bias.get()},
                           {DNNL_ARG_DST, s.target.memory()}});
    }
    s.target.write();
    if (is_transposed)
        add_bias(added, target);
    if (is_blocked(target_layout_)) // spare lanes are the source times 0, which may be NaN
        clear_spare_lanes(primitive_->shape_.target, target_layout_, target);
}

} // namespace overtake::cpu
