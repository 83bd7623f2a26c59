// SPDX-License-Identifier: MIT
#include "cpu/operation.hpp"

#include <algorithm>

#include "cpu/table.hpp"

namespace overtake::cpu {

namespace {

const Entry* find(CpuOpType type) {
    for (const auto& group : {elementwise_operators(), movement_operators(), reduction_operators(),
                              selection_operators(), product_operators(), convolution_operators(),
                              pool_operators(), custom_operators()})
        for (const Entry& entry : group)
            if (entry.type == type)
                return &entry;
    return nullptr;
}

} // namespace

Operation operation_of(std::span<const Tensor> tensors, const CpuOp& op) {
    Operation operation{op.type, op.integers, op.reals, {}, tensors[op.output].shape, op.custom};
    for (const std::uint32_t input : op.inputs) {
        operation.inputs.push_back(tensors[input].shape);
        operation.known.push_back(tensors[input].is_constant() ? tensors[input].data
                                                               : std::span<const float>());
    }
    return operation;
}

std::string check(const Operation& operation) {
    const Entry* entry = find(operation.type);
    if (!entry)
        return "is no operator of the CPU";
    return entry->check(operation);
}

Kernel make_kernel(const Operation& operation) {
    return find(operation.type)->make(operation);
}

const char* name_of(CpuOpType type) {
    const Entry* entry = find(type);
    return entry ? entry->name : nullptr;
}

std::size_t elements(const Shape& shape) {
    std::size_t count = 1;
    for (const std::uint32_t size : shape)
        count *= size;
    return count;
}

Extents around(const Shape& shape, std::size_t axis) {
    Extents extents{1, shape[axis], 1};
    for (std::size_t i = 0; i < axis; i++)
        extents.outer *= shape[i];
    for (std::size_t i = axis + 1; i < shape.size(); i++)
        extents.inner *= shape[i];
    return extents;
}

std::vector<std::size_t> broadcast_strides(const Shape& shape, const Shape& target) {
    std::vector<std::size_t> strides(target.size(), 0);
    std::size_t stride = 1;
    for (std::size_t i = 0; i < shape.size(); i++) {
        const std::uint32_t size = shape[shape.size() - 1 - i];
        strides[target.size() - 1 - i] = size == 1 ? 0 : stride;
        stride *= size;
    }
    return strides;
}

Shape broadcast(const Shape& left, const Shape& right) {
    Shape result(std::max(left.size(), right.size()));
    for (std::size_t i = 0; i < result.size(); i++) {
        const std::uint32_t a = i < left.size() ? left[left.size() - 1 - i] : 1;
        const std::uint32_t b = i < right.size() ? right[right.size() - 1 - i] : 1;
        if (a != b && a != 1 && b != 1)
            return {};
        result[result.size() - 1 - i] = std::max(a, b);
    }
    return result;
}

} // namespace overtake::cpu
