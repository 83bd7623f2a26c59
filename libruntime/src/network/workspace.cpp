// SPDX-License-Identifier: MIT
#include "network/workspace.hpp"

#include <algorithm>
#include <cerrno>
#include <new>

#include <fmt/format.h>

#include "cpu/tensor_layout.hpp"
#include "overtake/error.hpp"

namespace overtake {

namespace {

/// Allocates the values of a tensor: a model may ask for more memory than there is.
std::vector<float> array_of(const Tensor& tensor) {
    try {
        return std::vector<float>(tensor.elements());
    } catch (const std::bad_alloc&) {
        throw Error(ENOMEM, fmt::format("tensor {}: no memory for {} elements", tensor.name,
                                        tensor.elements()));
    }
}

} // namespace

Workspace::Workspace(const Plan& plan, const std::vector<bool>& lent) {
    std::size_t number = 0;
    for (const Tensor& tensor : plan.tensors()) {
        TensorPlace& place = places_.emplace_back();
        const bool is_lent = number < lent.size() && lent[number];
        const bool is_elsewhere = is_lent || plan.is_internal(number);
        number++;
        if (is_elsewhere || tensor.is_constant())
            continue;
        if (tensor.on_device()) {
            const Buffer& buffer =
                *buffers_.emplace_back(plan.device().create_buffer(tensor.bytes));
            place.device = {buffer.data(), tensor.bytes};
            place.address = buffer.address();
        } else {
            place.host = arrays_.emplace_back(array_of(tensor));
        }
    }
    if (plan.width() != 0)
        group_record_ = plan.device().create_buffer(sizeof(overtake_group_record) +
                                                    plan.width() * sizeof(overtake_part_record));
}

void read_values(const Tensor& tensor, const TensorPlace& place, std::span<float> to) {
    if (tensor.is_constant())
        std::ranges::copy(tensor.data, to.begin());
    else if (tensor.on_device())
        from_device(tensor, place.device, to);
    else
        std::ranges::copy(place.host, to.begin());
}

} // namespace overtake
