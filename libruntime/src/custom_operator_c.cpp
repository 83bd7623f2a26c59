// SPDX-License-Identifier: MIT
//
// The C interface of custom operators.
#include "overtake/custom_operator.h"

#include <cerrno>
#include <new>
#include <vector>

#include <fmt/format.h>

#include "overtake/custom_operator.hpp"
#include "overtake/error.hpp"

namespace overtake {

namespace {

/// A description as C sees it; refers to the description that it was made from.
class CNode {
public:
    explicit CNode(const OperatorDescription& node) {
        for (const OperatorAttribute& attribute : node.attributes) {
            std::vector<const char*>& texts = texts_.emplace_back();
            for (const std::string& text : attribute.strings)
                texts.push_back(text.c_str());
            attributes_.push_back({attribute.name.c_str(), attribute.integers.data(),
                                   attribute.integers.size(), attribute.reals.data(),
                                   attribute.reals.size(), texts.data(), texts.size(),
                                   attribute.shape.data(), attribute.shape.size()});
        }
        for (const std::vector<std::uint32_t>& shape : node.inputs)
            inputs_.push_back({shape.data(), shape.size()});
        node_ = {node.domain.c_str(), node.type.c_str(),
                 node.node.c_str(),   attributes_.data(),
                 attributes_.size(),  inputs_.data(),
                 inputs_.size(),      {node.output.data(), node.output.size()}};
    }
    CNode(const CNode&) = delete;
    CNode& operator=(const CNode&) = delete;

    const overtake_operator_node& node() const { return node_; }

private:
    std::vector<std::vector<const char*>> texts_;
    std::vector<overtake_operator_attribute> attributes_;
    std::vector<overtake_operator_shape> inputs_;
    overtake_operator_node node_{};
};

class COperator final : public CustomOperator {
public:
    COperator(const overtake_operator_functions& functions, const OperatorDescription& node)
        : functions_(functions), what_(fmt::format("{}.{}", node.domain, node.type)) {
        if (!functions_.create)
            return;
        const CNode of(node);
        check(functions_.create(&of.node(), &state_), "create");
    }
    ~COperator() override {
        if (functions_.destroy)
            functions_.destroy(state_);
    }

    void compute(std::span<const std::span<const float>> inputs, std::span<float> output) override {
        std::vector<const float*> arrays;
        for (const std::span<const float> input : inputs)
            arrays.push_back(input.data());
        check(functions_.compute(state_, arrays.data(), output.data()), "compute");
    }

private:
    void check(int result, const char* function) const {
        if (result != 0)
            throw Error(result < 0 ? -result : EIO,
                        fmt::format("{}: {}() returned {}", what_, function, result));
    }

    const overtake_operator_functions functions_;
    const std::string what_;
    void* state_ = nullptr;
};

} // namespace

} // namespace overtake

extern "C" int
overtake_register_custom_operator(const char* domain, const char* type,
                                  const struct overtake_operator_functions* functions) {
    if (!domain || !type || !functions || !functions->compute)
        return -EINVAL;
    try {
        overtake::register_custom_operator(
            domain, type,
            [copy = *functions](const overtake::OperatorDescription& node)
                -> std::unique_ptr<overtake::CustomOperator> {
                return std::make_unique<overtake::COperator>(copy, node);
            });
        return 0;
    } catch (const overtake::Error& error) {
        return -error.code();
    } catch (const std::bad_alloc&) {
        return -ENOMEM;
    }
}
