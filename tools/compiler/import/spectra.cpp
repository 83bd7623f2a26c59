// SPDX-License-Identifier: MIT
#include "compiler/import/spectra.hpp"

#include <algorithm>
#include <map>

namespace overtake::compiler {
namespace {

// Whether the operator is one of signal processing, beside squares.  A network that has learned
// features has activations, normalisation or pools between these.
bool processes_signals(const onnx::NodeProto& node) {
    static const std::set<std::string> types = {
        "Add",       "Cast",    "Clip",      "Concat",   "Conv",      "Div",        "Dropout",
        "Expand",    "Flatten", "Gather",    "Gemm",     "Identity",  "MatMul",     "Max",
        "Min",       "Mul",     "Neg",       "Pad",      "ReduceMax", "ReduceMean", "ReduceMin",
        "ReduceSum", "Reshape", "Slice",     "Split",    "Sqrt",      "Squeeze",    "Sub",
        "Sum",       "Tile",    "Transpose", "Unsqueeze"};
    return types.contains(node.op_type());
}

class SpectraFinder {
public:
    SpectraFinder(const Context& context, const std::vector<Placement>& placements)
        : context_(context), placements_(placements) {
        for (std::size_t number = 0; number < placements.size(); ++number)
            for (const std::string& output : node(number).output())
                writers_[output] = number;
    }

    Spectra run() {
        for (std::size_t number = 0; number < placements_.size(); ++number)
            if (node(number).op_type() == "Log")
                look_behind(number);
        return std::move(found_);
    }

private:
    const onnx::NodeProto& node(std::size_t number) const {
        return context_.model.graph().node(static_cast<int>(number));
    }

    bool is_constant(const std::string& name) const { return context_.constants.contains(name); }

    bool squares(const onnx::NodeProto& node) const {
        static const std::set<std::string> types = {"Abs", "ReduceL1", "ReduceL2",
                                                    "ReduceSumSquare"};
        if (node.op_type() == "Mul")
            return node.input_size() == 2 && node.input(0) == node.input(1);
        if (node.op_type() != "Pow")
            return types.contains(node.op_type());
        const auto exponent = context_.constants.find(node.input(1));
        return exponent != context_.constants.end() &&
               std::ranges::all_of(reals_of(exponent->second), [](float x) { return x >= 2; });
    }

    // Values that the model itself rounds to 8 bits are as exact as the model needs them.
    bool is_rounded_by_model(const onnx::NodeProto& node) const {
        return std::ranges::any_of(node.output(), [&](const std::string& name) {
            return context_.given.tensors.contains(name);
        });
    }

    // Whether the node sums.  Without a sum, each result is a function of one number, which the
    // device looks up.
    static bool sums(const onnx::NodeProto& node) {
        return is_expensive(node.op_type()) || node.op_type().starts_with("Reduce");
    }

    // Takes all nodes that lead from the model's inputs to this logarithm, if each of them
    // processes signals, one squares and one sums.
    void look_behind(std::size_t logarithm) {
        std::set<std::size_t> numbers = {logarithm};
        std::vector<std::size_t> open = {logarithm};
        std::set<std::string> tensors;
        bool has_square = false, has_sum = false;
        while (!open.empty()) {
            const onnx::NodeProto& here = node(open.back());
            open.pop_back();
            for (const std::string& input : here.input()) {
                if (input.empty() || is_constant(input))
                    continue;
                tensors.insert(input);
                const auto writer = writers_.find(input);
                if (writer == writers_.end() || numbers.contains(writer->second))
                    continue;
                const onnx::NodeProto& other = node(writer->second);
                if (is_rounded_by_model(other) || !(processes_signals(other) || squares(other)))
                    return;
                has_square = has_square || squares(other);
                has_sum = has_sum || sums(other);
                numbers.insert(writer->second);
                open.push_back(writer->second);
            }
        }
        if (!has_square || !has_sum)
            return;
        found_.tensors.merge(tensors);
        for (std::size_t number : numbers)
            if (placements_[number] == Placement::bpu)
                found_.nodes.insert(static_cast<int>(number));
    }

    const Context& context_;
    const std::vector<Placement>& placements_;
    std::map<std::string, std::size_t> writers_; // by the tensor's name
    Spectra found_;
};

} // namespace

Spectra find_spectra(const Context& context, const std::vector<Placement>& placements) {
    return SpectraFinder(context, placements).run();
}

} // namespace overtake::compiler
