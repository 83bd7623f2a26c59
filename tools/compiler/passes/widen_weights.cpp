// SPDX-License-Identifier: MIT
#include "compiler/passes/widen_weights.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/limits.hpp"
#include "overtake_isa.h"

namespace overtake::compiler {
namespace {

constexpr float eight_bits_max = 127;
// The rounding error of float32 for a whole number of steps, in steps.
constexpr float whole_tolerance = 1e-3f;

// Whether some weight is a whole number of steps that 9 bits hold and 8 do not, and no weight needs
// more bits.
bool needs_nine_bits(const op::Convolution& convolution) {
    if (convolution.weight_scales.empty())
        return false;
    const std::size_t each = convolution.weights.size() / convolution.bias.size();
    float greatest = 0;
    for (std::size_t index = 0; index < convolution.weights.size(); ++index) {
        const float steps = convolution.weights[index] / convolution.weight_scales[index / each];
        if (!(std::abs(steps - std::nearbyint(steps)) <= whole_tolerance))
            return false;
        greatest = std::max(greatest, steps > 0 ? steps : -steps - 1); // 8 bits hold -128
    }
    return each > 1 && greatest > eight_bits_max + whole_tolerance &&
           greatest <= 2 * eight_bits_max + 1;
}

class Widener {
public:
    explicit Widener(Graph& graph) : graph_(graph) {}

    void run() {
        std::vector<Node> nodes = std::move(graph_.nodes);
        graph_.nodes.clear();
        for (Node& node : nodes) {
            auto* convolution = node.as<op::Convolution>();
            if (convolution && needs_nine_bits(*convolution))
                widen(node, *convolution);
            graph_.nodes.push_back(std::move(node));
        }
    }

private:
    void widen(Node& node, op::Convolution& convolution) {
        using Kind = op::Convolution::Kind;
        const std::size_t each = convolution.weights.size() / convolution.bias.size();
        const bool has_groups = convolution.groups > 1 || convolution.kind == Kind::depthwise;
        if (2 * each > OVERTAKE_MAX_KERNEL_ELEMENTS)
            return;
        if (!has_groups)
            double_channels(node, convolution, each);
        else if (convolution.kind != Kind::transposed && convolution.window.dilation_height <= 1 &&
                 2 * std::max(convolution.window.pad_top, convolution.window.stride_height) <=
                     max_window)
            double_rows(node, convolution);
    }

    // Makes parts of `length` weights, each followed by the rest that its 8 bits lack.
    static void split_weights(op::Convolution& convolution, std::size_t length) {
        const std::size_t each = convolution.weights.size() / convolution.bias.size();
        std::vector<float> weights;
        for (std::size_t first = 0; first < convolution.weights.size(); first += length) {
            const float scale = convolution.weight_scales[first / each];
            std::vector<float> rest;
            for (std::size_t index = first; index < first + length; ++index) {
                const float steps = std::nearbyint(convolution.weights[index] / scale);
                const float held = std::clamp(steps, -eight_bits_max - 1, eight_bits_max);
                weights.push_back(held * scale);
                rest.push_back((steps - held) * scale);
            }
            weights.insert(weights.end(), rest.begin(), rest.end());
        }
        convolution.weights = std::move(weights);
    }

    ValueId add_input(Node& reader, Operation operation, std::vector<ValueId> inputs, Value value) {
        Node node;
        node.name = reader.name;
        node.onnx_type = reader.onnx_type;
        node.operation = std::move(operation);
        node.inputs = std::move(inputs);
        value.name = reader.name + ":twice";
        value.user_type = UserType::float32;
        value.is_picture = false;
        graph_.values.push_back(std::move(value));
        node.output = graph_.values.size() - 1;
        graph_.nodes.push_back(std::move(node));
        return graph_.values.size() - 1;
    }

    void double_channels(Node& node, op::Convolution& convolution, std::size_t each) {
        const ValueId input = node.inputs[0];
        Value twice = graph_.values[input];
        const std::size_t rank = twice.shape.size();
        const std::size_t axis = twice.order == Order::rows ? rank - 1 : 1;
        if (rank < 2 || twice.shape[axis] != std::int64_t{twice.channels})
            return;
        twice.shape[axis] *= 2;
        twice.channels *= 2;
        node.inputs[0] = add_input(node, op::Concat{}, {input, input}, std::move(twice));
        split_weights(convolution, each);
    }

    void double_rows(Node& node, op::Convolution& convolution) {
        const ValueId input = node.inputs[0];
        Value twice = graph_.values[input];
        if (twice.order != Order::planes || twice.shape.size() != 4)
            return;
        twice.shape[2] *= 2;
        twice.height *= 2;
        op::Resize resize;
        resize.rows.step = 0.5;
        node.inputs[0] = add_input(node, resize, {input}, std::move(twice));
        split_weights(convolution, convolution.window.kernel_width);
        convolution.window.kernel_height *= 2;
        convolution.window.stride_height *= 2;
        convolution.window.pad_top *= 2;
    }

    Graph& graph_;
};

} // namespace

void widen_weights(Graph& graph) {
    Widener(graph).run();
}

} // namespace overtake::compiler
