// SPDX-License-Identifier: MIT
#include "compiler/quantise/concat_scales.hpp"

#include <optional>

namespace overtake::compiler {
namespace {

class Aligner {
public:
    Aligner(Graph& graph, std::vector<Quantisation>& quantisations)
        : graph_(graph), quantisations_(quantisations), uses_(count_uses(graph)),
          writers_(graph.values.size()) {}

    void run() {
        for (std::size_t index = 0; index < graph_.nodes.size(); ++index)
            writers_[graph_.nodes[index].output] = index;
        for (const Node& node : graph_.nodes)
            if (gathers_quantisation(node))
                give_quantisation(node);
        std::vector<Node> nodes = std::move(graph_.nodes);
        graph_.nodes.clear();
        for (Node& node : nodes) {
            if (gathers_quantisation(node))
                requantise_inputs(node);
            if (keeps_quantisation(node))
                quantisations_[node.output] = quantisations_[node.inputs[0]];
            graph_.nodes.push_back(std::move(node));
        }
    }

private:
    // Returns the value whose quantisation determines that of `value`.
    ValueId origin(ValueId value) const {
        while (writers_[value] && keeps_quantisation(graph_.nodes[*writers_[value]]) &&
               !gathers_quantisation(graph_.nodes[*writers_[value]]))
            value = graph_.nodes[*writers_[value]].inputs[0];
        return value;
    }

    // Whether the value, and each value that it is moved from, has a writer and only one reader.
    bool is_own(ValueId value) const {
        for (;;) {
            if (uses_[value] != 1 || !writers_[value])
                return false;
            const Node& writer = graph_.nodes[*writers_[value]];
            if (!keeps_quantisation(writer) || gathers_quantisation(writer))
                return true;
            value = writer.inputs[0];
        }
    }

    void give_quantisation(const Node& node) {
        for (ValueId input : node.inputs)
            if ((is_own(input) || (graph_.values[input].is_constant() && uses_[input] == 1)) &&
                !graph_.values[origin(input)].given &&
                graph_.values[input].is_int16 == graph_.values[node.output].is_int16)
                quantisations_[origin(input)] = quantisations_[node.output];
    }

    void requantise_inputs(Node& node) {
        const Quantisation wanted = quantisations_[node.output];
        for (std::size_t number = 0; number < node.inputs.size(); ++number) {
            ValueId& input = node.inputs[number];
            if (quantisations_[input] == wanted)
                continue;
            Node requantise;
            requantise.name = node.name + ":" + std::to_string(number);
            requantise.onnx_type = node.onnx_type;
            requantise.operation = op::Activation{};
            requantise.inputs = {input};
            requantise.output = graph_.values.size();
            Value value = graph_.values[input];
            value.name = requantise.name;
            value.is_int16 = wanted.is_int16;
            value.constant.clear(); // the instruction's result is no constant
            graph_.values.push_back(std::move(value));
            quantisations_.push_back(wanted);
            input = requantise.output;
            graph_.nodes.push_back(std::move(requantise));
        }
    }

    Graph& graph_;
    std::vector<Quantisation>& quantisations_;
    const std::vector<std::size_t> uses_;
    std::vector<std::optional<std::size_t>> writers_; // by value, index into nodes before run
};

} // namespace

void align_concats(Graph& graph, std::vector<Quantisation>& quantisations) {
    Aligner(graph, quantisations).run();
}

} // namespace overtake::compiler
