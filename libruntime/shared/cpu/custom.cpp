// SPDX-License-Identifier: MIT
//
// Operators of the program that runs the model.
#include <array>
#include <cerrno>
#include <exception>
#include <memory>
#include <new>

#include "cpu/table.hpp"
#include "overtake/custom_operator.hpp"
#include "overtake/error.hpp"

namespace overtake::cpu {

namespace {

std::string check_custom(const Operation& operation) {
    if (!operation.custom || operation.custom->type.empty())
        return "has no type";
    return "";
}

Kernel make_custom(const Operation& operation) {
    OperatorDescription node = *operation.custom;
    node.inputs = operation.inputs;
    node.output = operation.output;
    const std::shared_ptr<CustomOperator> made = create_custom_operator(node);
    return [made](const Inputs& inputs, std::span<float> output) {
        try {
            made->compute(inputs, output);
        } catch (const Error&) {
            throw;
        } catch (const std::bad_alloc&) {
            throw;
        } catch (const std::exception& exception) {
            throw Error(EIO, exception.what());
        }
    };
}

constexpr std::array<Entry, 1> table{{{CpuOpType::custom, "Custom", check_custom, make_custom}}};

} // namespace

std::span<const Entry> custom_operators() {
    return table;
}

} // namespace overtake::cpu
