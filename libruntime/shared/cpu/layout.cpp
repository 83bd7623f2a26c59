// SPDX-License-Identifier: MIT
#include "cpu/layout.hpp"

#include <algorithm>
#include <cerrno>
#include <string>

#include "cpu/onednn.hpp"
#include "overtake/error.hpp"

namespace overtake::cpu {

const char* name_of(Layout layout) {
    switch (layout) {
    case Layout::planes:
        return "planes";
    case Layout::blocked_8:
        return "blocks of 8";
    case Layout::blocked_16:
        return "blocks of 16";
    case Layout::channels_last:
        break;
    }
    return "channels last";
}

Layout blocks_of_this_cpu() {
    static const bool has_avx512 = [] {
        constexpr auto core = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
        return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & core) == core;
    }();
    return has_avx512 ? Layout::blocked_16 : Layout::blocked_8;
}

std::size_t elements(const Shape& shape) {
    std::size_t count = 1;
    for (const std::uint32_t size : shape)
        count *= size;
    return count;
}

bool can_be_blocked(const Shape& shape) {
    return shape.size() >= 3;
}

std::size_t stored_elements(const Shape& shape, Layout layout) {
    const std::size_t count = elements(shape);
    if (!is_blocked(layout))
        return count;
    const std::size_t channels = shape[1], lanes = lanes_of(layout);
    return count / channels * ((channels + lanes - 1) / lanes * lanes);
}

void clear_spare_lanes(const Shape& shape, Layout blocks, std::span<float> values) {
    const std::size_t lanes = lanes_of(blocks), last = shape[1] % lanes;
    if (last == 0)
        return;
    const std::size_t each = values.size() / shape[0]; // of one sample of the batch
    const std::size_t in_block = elements(shape) / shape[0] / shape[1] * lanes;
    for (std::size_t end = each; end <= values.size(); end += each)
        for (std::size_t at = end - in_block; at < end; at += lanes)
            std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(at + last), lanes - last,
                        0.0f);
}

struct Conversion::Reorder {
    dnnl::memory from, to;
    onednn::Step step;
};

Conversion::Conversion(const Shape& shape, Layout from, Layout to)
    : reorder_(std::make_unique<Reorder>()) {
    onednn::require_room("layout conversion");
    const onednn::Threads threads;
    const Shape flat = {shape[0], shape[1],
                        static_cast<std::uint32_t>(elements(shape) / shape[0] / shape[1])};
    try {
        const dnnl::memory::desc source = onednn::description(flat, from);
        const dnnl::memory::desc target = onednn::description(flat, to);
        reorder_->from = dnnl::memory(source, onednn::engine(), nullptr);
        reorder_->to = dnnl::memory(target, onednn::engine(), nullptr);
        reorder_->step = onednn::reorder(source, target);
    } catch (const dnnl::error& error) {
        throw Error(ENOMEM, std::string("layout conversion: oneDNN: ") + error.what());
    }
}

Conversion::~Conversion() = default;
Conversion::Conversion(Conversion&&) noexcept = default;

void Conversion::run(std::span<const float> from, std::span<float> to) const {
    const onednn::Threads threads;
    onednn::place(reorder_->from, from.data());
    onednn::place(reorder_->to, to.data());
    reorder_->step.run({{DNNL_ARG_FROM, reorder_->from.get()}, {DNNL_ARG_TO, reorder_->to.get()}});
}

} // namespace overtake::cpu
