// SPDX-License-Identifier: MIT
#include "cpu/operation.hpp"

#include <algorithm>

#include "cpu/table.hpp"

namespace overtake::cpu {

namespace {

const Entry* find(CpuOpType type) {
    for (const auto& group :
         {unary_operators(), binary_operators(), movement_operators(), reduction_operators(),
          selection_operators(), product_operators(), convolution_operators(), pool_operators(),
          custom_operators(), scan_operators(), grid_operators(), region_operators(),
          recurrence_operators()})
        for (const Entry& entry : group)
            if (entry.type == type)
                return &entry;
    return nullptr;
}

// At most two forms: in planes, and in blocks.
class Forms : public Prepared {
public:
    Forms(const Operation& operation, double planes_ns, Kernel (*planes)(const Operation&),
          const NodeForm& blocked_form, Kernel (*blocked)(const Operation&))
        : operation_(operation), planes_(planes),
          blocked_(blocked), forms_{all_planes(operation, planes_ns)} {
        if (blocked)
            forms_.push_back(blocked_form);
    }

    std::vector<NodeForm> forms() const override { return forms_; }

    Kernel kernel(const NodeForm& form) const override {
        return form == forms_.front() ? planes_(operation_) : blocked_(operation_);
    }

private:
    const Operation operation_;
    Kernel (*const planes_)(const Operation&);
    Kernel (*const blocked_)(const Operation&);
    std::vector<NodeForm> forms_;
};

// An operator whose form in blocks is the same computation on other shapes.
class InBlocks : public Prepared {
public:
    InBlocks(const Operation& operation, double ns_of_each, Kernel (*make)(const Operation&),
             const std::vector<std::int64_t>& integers)
        : planes_(operation), blocks_(operation), make_(make) {
        const auto blocked = static_cast<LayoutNumber>(operation.blocks);
        blocks_.integers = integers;
        for (Shape& shape : blocks_.inputs)
            shape = shape_in_blocks(shape, operation.blocks);
        blocks_.output = shape_in_blocks(operation.output, operation.blocks);
        forms_ = {all_planes(operation,
                             operation.costs.elements_ns(elements(operation.output), ns_of_each)),
                  {std::vector<LayoutNumber>(operation.inputs.size(), blocked), blocked,
                   operation.costs.elements_ns(elements(blocks_.output), ns_of_each)}};
    }

    std::vector<NodeForm> forms() const override { return forms_; }

    Kernel kernel(const NodeForm& form) const override {
        if (form == forms_.front())
            return make_(planes_);
        return [shape = planes_.output, blocks = planes_.blocks,
                made = make_(blocks_)](const Inputs& in, std::span<float> out) {
            made(in, out);
            clear_spare_lanes(shape, blocks, out);
        };
    }

private:
    const Operation planes_;
    Operation blocks_;
    Kernel (*const make_)(const Operation&);
    std::vector<NodeForm> forms_;
};

} // namespace

std::span<const LayoutCost> layout_cost_names() {
    static constexpr LayoutCost all[] = {{"step", &LayoutCosts::step},
                                         {"conversion", &LayoutCosts::conversion},
                                         {"element", &LayoutCosts::element},
                                         {"following", &LayoutCosts::following},
                                         {"copied", &LayoutCosts::copied},
                                         {"padded", &LayoutCosts::padded},
                                         {"interpolated", &LayoutCosts::interpolated},
                                         {"reduced", &LayoutCosts::reduced},
                                         {"pool_in_planes", &LayoutCosts::pool_in_planes},
                                         {"tap_in_planes", &LayoutCosts::tap_in_planes},
                                         {"pool_in_blocks", &LayoutCosts::pool_in_blocks},
                                         {"tap_in_blocks", &LayoutCosts::tap_in_blocks},
                                         {"device_to_planes", &LayoutCosts::device_to_planes},
                                         {"device_to_blocks", &LayoutCosts::device_to_blocks},
                                         {"macs", &LayoutCosts::macs}};
    return all;
}

Shape shape_in_blocks(const Shape& shape, Layout blocks) {
    const auto lanes = static_cast<std::uint32_t>(lanes_of(blocks));
    Shape result = shape;
    result[1] = (shape[1] + lanes - 1) / lanes;
    result.push_back(lanes);
    return result;
}

std::shared_ptr<const Prepared> prepare_in_blocks(const Operation& operation, double ns_of_each,
                                                  Kernel (*make)(const Operation&),
                                                  const std::vector<std::int64_t>& integers) {
    return std::make_shared<InBlocks>(operation, ns_of_each, make, integers);
}

NodeForm all_planes(const Operation& operation, double ns) {
    constexpr auto planes = static_cast<LayoutNumber>(Layout::planes);
    return {std::vector<LayoutNumber>(operation.inputs.size(), planes), planes, ns};
}

std::shared_ptr<const Prepared> prepare_forms(const Operation& operation, double planes_ns,
                                              Kernel (*planes)(const Operation&),
                                              const NodeForm& blocked_form,
                                              Kernel (*blocked)(const Operation&)) {
    return std::make_shared<Forms>(operation, planes_ns, planes, blocked_form, blocked);
}

Operation operation_of(std::span<const Tensor> tensors, const CpuOp& op) {
    Operation operation{op.type, op.integers, op.reals, {}, tensors[op.output].shape, op.custom};
    operation.stored = {op.weights_format, op.weights};
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

std::shared_ptr<const Prepared> prepare(const Operation& operation) {
    const Entry* entry = find(operation.type);
    if (!operation.following.empty()) {
        Operation alone = operation;
        alone.following.clear();
        const auto added = std::ranges::count_if(
            operation.following, [](const Following& next) { return !next.function; });
        alone.inputs.resize(operation.inputs.size() - static_cast<std::size_t>(added));
        return with_following(operation, prepare(alone));
    }
    if (entry->prepare)
        return entry->prepare(operation);
    return prepare_forms(
        operation, operation.costs.elements_ns(elements(operation.output), operation.costs.element),
        entry->make);
}

Kernel make_kernel(const Operation& operation) {
    const std::shared_ptr<const Prepared> prepared = prepare(operation);
    return prepared->kernel(prepared->forms().front());
}

const char* name_of(CpuOpType type) {
    const Entry* entry = find(type);
    return entry ? entry->name : nullptr;
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
