// SPDX-License-Identifier: MIT
#include "compiler/passes/fuse_elementwise.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <span>

#include "compiler/ir/block_function.hpp"

namespace overtake::compiler {
namespace {

using Function = BlockFunction::Body;

// The definition of a value: a function of each element of `root`, made of `size` nodes.  A value
// that no such function makes has itself as root, and the identity.
struct Expression {
    ValueId root;
    Function function = nullptr; // null: the identity
    int size = 0;
};

// Functions that people write are shorter; evaluating one takes time in proportion to its nodes.
constexpr int most_nodes = 64;

void apply(const Function& function, std::span<float> block) {
    if (function)
        function(block);
}

using Combination = void (*)(std::span<float> first, std::span<const float> second);

// Combines both blocks into the first.
template <typename Combine>
void combine_blocks(std::span<float> first, std::span<const float> second) {
    std::ranges::transform(first, second, first.begin(), Combine());
}

struct Maximum {
    float operator()(float a, float b) const { return std::isnan(b) || a < b ? b : a; }
};

struct Minimum {
    float operator()(float a, float b) const { return std::isnan(b) || b < a ? b : a; }
};

Combination combination(const op::Pair& pair) {
    switch (pair.kind) {
    case op::Pair::Kind::add:
        return combine_blocks<std::plus<float>>;
    case op::Pair::Kind::subtract:
        return combine_blocks<std::minus<float>>;
    case op::Pair::Kind::multiply:
        return combine_blocks<std::multiplies<float>>;
    case op::Pair::Kind::maximum:
        return combine_blocks<Maximum>;
    case op::Pair::Kind::minimum:
        return combine_blocks<Minimum>;
    }
    return nullptr;
}

class Composer {
public:
    explicit Composer(Graph& graph) : graph_(graph) {
        for (ValueId value = 0; value < graph.values.size(); ++value)
            expressions_.push_back(Expression{value});
    }

    void run() {
        for (Node& node : graph_.nodes) {
            const auto expression = expression_of(node);
            if (!expression || expression->size > most_nodes)
                continue;
            expressions_[node.output] = clamped(*expression, node);
            const bool is_direct = node.inputs.size() == 1 && expression->root == node.inputs[0];
            if (is_direct)
                continue;
            make_activation(node, *expression);
        }
    }

private:
    // Returns the expression of a value as an input: rounded, if the model gives the value's scale.
    Expression operand(ValueId value) const {
        const Expression& expression = expressions_[value];
        const auto& given = graph_.values[value].given;
        if (!given || !expression.function)
            return expression;
        return {expression.root,
                [given, function = expression.function](std::span<float> block) {
                    function(block);
                    for (float& x : block)
                        x = given->real(given->nearest(x));
                },
                expression.size};
    }

    // Returns the expression before its clamp.
    std::optional<Expression> expression_of(const Node& node) const {
        if (const auto* activation = node.as<op::Activation>()) {
            const Expression in = operand(node.inputs[0]);
            return Expression{
                in.root,
                [inner = in.function, outer = activation->function](std::span<float> block) {
                    apply(inner, block);
                    if (outer)
                        replace_all(block, outer);
                },
                in.size + 1};
        }
        if (const auto scaling = uniform_scaling(graph_, node)) {
            const Expression in = operand(node.inputs[0]);
            return Expression{in.root,
                              [inner = in.function, scaling = *scaling](std::span<float> block) {
                                  apply(inner, block);
                                  for (float& x : block)
                                      x = x * scaling.factor + scaling.offset;
                              },
                              in.size + 1};
        }
        const auto* pair = node.as<op::Pair>();
        if (!pair)
            return std::nullopt;
        const auto combine = combination(*pair);
        const Expression left = operand(node.inputs[0]), right = operand(node.inputs[1]);
        if (left.root != right.root)
            return std::nullopt;
        return Expression{
            left.root,
            [combine, first = left.function, second = right.function](std::span<float> block) {
                std::array<float, BlockFunction::size> others;
                const std::span other = std::span(others).first(block.size());
                std::ranges::copy(block, other.begin());
                apply(first, block);
                apply(second, other);
                combine(block, other);
            },
            left.size + right.size + 1};
    }

    static Expression clamped(const Expression& expression, const Node& node) {
        if (!node.is_clamped())
            return expression;
        return {expression.root,
                [function = expression.function, low = node.clamp_low,
                 high = node.clamp_high](std::span<float> block) {
                    function(block);
                    for (float& x : block)
                        x = std::clamp(x, low, high);
                },
                expression.size};
    }

    static void make_activation(Node& node, const Expression& expression) {
        node.operation = op::Activation{BlockFunction(expression.function)};
        node.inputs = {expression.root};
    }

    Graph& graph_;
    std::vector<Expression> expressions_; // by value
};

} // namespace

bool is_scaling(const Graph& graph, const Node& node) {
    if (!is_depthwise(node))
        return false;
    const auto& convolution = *node.as<op::Convolution>();
    if (convolution.weights.size() != convolution.bias.size())
        return false;
    const Window& window = convolution.window;
    const Value &in = graph.values[node.inputs[0]], &out = graph.values[node.output];
    return window.stride_height == 1 && window.stride_width == 1 && window.pad_top == 0 &&
           window.pad_left == 0 && in.height == out.height && in.width == out.width;
}

std::optional<UniformScaling> uniform_scaling(const Graph& graph, const Node& node) {
    const auto differ = [](const std::vector<float>& numbers) {
        return std::ranges::adjacent_find(numbers, std::not_equal_to<>()) != numbers.end();
    };
    if (!is_scaling(graph, node))
        return std::nullopt;
    const std::vector<float>&weights = node.as<op::Convolution>()->weights,
          &bias = node.as<op::Convolution>()->bias;
    if (differ(weights) || differ(bias))
        return std::nullopt;
    return UniformScaling{weights[0], bias[0]};
}

// Looks back over at most `depth` nodes.
static ValueId element_root(const Graph& graph, ValueId value, const WriterOf& writer_of,
                            int depth) {
    const Node* writer = depth == 0 ? nullptr : writer_of(value);
    if (!writer)
        return value;
    const auto root_of = [&](std::size_t input) {
        return element_root(graph, writer->inputs[input], writer_of, depth - 1);
    };
    if (writer->is<op::Activation>() || uniform_scaling(graph, *writer))
        return root_of(0);
    if (!writer->is<op::Pair>())
        return value;
    const ValueId left = root_of(0);
    return left == root_of(1) ? left : value;
}

ValueId element_root(const Graph& graph, ValueId value, const WriterOf& writer_of) {
    constexpr int depth = 8;
    return element_root(graph, value, writer_of, depth);
}

void fuse_elementwise(Graph& graph) {
    Composer(graph).run();
}

} // namespace overtake::compiler
