// SPDX-License-Identifier: MIT
//
// RNN, GRU and LSTM on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"
#include "compiler/onnx/recurrence_gates.hpp"
#include "compiler/onnx/rewrite.hpp"
#include "cpu/operation.hpp"

namespace overtake::compiler {
namespace {

using cpu::Recurrence;
using cpu::Unary;

Unary function_of(const GateFunction& gate) {
    static const std::map<std::string, Unary> functions = {
        {"Relu", Unary::relu},
        {"Tanh", Unary::tangent_hyperbolic},
        {"Sigmoid", Unary::sigmoid},
        {"LeakyRelu", Unary::leaky_relu},
        {"ThresholdedRelu", Unary::thresholded_relu},
        {"HardSigmoid", Unary::hard_sigmoid},
        {"Elu", Unary::elu},
        {"Softsign", Unary::softsign},
        {"Softplus", Unary::softplus},
    };
    return functions.at(gate.type);
}

// Exchanges the axes of steps and batch if the batch is first, also in states (batch, directions,
// hidden).
Reference with_swapped_axes(Context& context, const Reference& input, std::size_t axis,
                            std::size_t other) {
    std::vector<std::int64_t> steps = steps_of(input.shape);
    Shape shape = input.shape;
    std::swap(steps[axis], steps[other]);
    std::swap(shape[axis], shape[other]);
    return cpu_view(context, input, 0, steps, shape);
}

class RecurrenceImport {
public:
    explicit RecurrenceImport(Context& context)
        : context_(context), attributes_(*context.node),
          batch_first_(attributes_.integer("layout", 0) != 0) {}

    void run() {
        static const std::map<std::string, Recurrence> kinds = {
            {"RNN", Recurrence::rnn}, {"GRU", Recurrence::gru}, {"LSTM", Recurrence::lstm}};
        kind_ = kinds.at(context_.node->op_type());
        form_.type = CpuOpType::recurrence;
        form_.integers = {static_cast<std::int64_t>(kind_), direction(), 0,
                          attributes_.integer("linear_before_reset", 0) != 0,
                          attributes_.integer("input_forget", 0) != 0};
        read_inputs();
        read_functions();
        const bool has_cells = kind_ == Recurrence::lstm;
        const std::int64_t steps = inputs_[0].shape[0];
        const Shape shape{steps + (has_cells ? 2 : 1), directions_, batch_, hidden_};
        const Reference all = cpu_node(context_, form_, inputs_, shape);
        write_outputs(all, steps);
    }

private:
    std::int64_t direction() {
        const std::string text = attributes_.text("direction", "forward");
        if (text != "forward" && text != "reverse" && text != "bidirectional")
            refuse(context_, "its direction '" + text + "' is none that ONNX knows");
        directions_ = text == "bidirectional" ? 2 : 1;
        return text == "forward" ? 0 : text == "reverse" ? 1 : 2;
    }

    void read_inputs() {
        Reference x = cpu_input(context_, 0);
        const Reference w = cpu_input(context_, 1), r = cpu_input(context_, 2);
        const std::int64_t gates = recurrence_kind(context_.node->op_type())->gates;
        if (x.shape.size() != 3 || w.shape.size() != 3 || r.shape.size() != 3)
            refuse(context_, "its input or weights have no three axes");
        if (batch_first_)
            x = with_swapped_axes(context_, x, 0, 1);
        batch_ = x.shape[1];
        hidden_ = r.shape[2];
        if (w.shape != Shape{directions_, gates * hidden_, x.shape[2]} ||
            r.shape != Shape{directions_, gates * hidden_, hidden_})
            refuse(context_, "its weights do not fit its input and direction");
        if (const std::int64_t size = attributes_.integer("hidden_size", hidden_); size != hidden_)
            refuse(context_, "its hidden_size is not that of its weights");
        inputs_ = {x, w, r};
        const Shape state{directions_, batch_, hidden_};
        take(3, 1, {directions_, 2 * gates * hidden_}, "bias");
        take(4, 2, {batch_}, "lengths");
        take(5, 4, state, "initial state");
        if (kind_ == Recurrence::lstm) {
            take(6, 8, state, "initial cell");
            take(7, 16, {directions_, 3 * hidden_}, "peepholes");
        }
    }

    void take(int index, std::int64_t bit, const Shape& shape, const char* what) {
        if (!has_input(context_, index))
            return;
        Reference input = cpu_input(context_, index);
        if (batch_first_ && (bit == 4 || bit == 8) && input.shape.size() == 3)
            input = with_swapped_axes(context_, input, 0, 1);
        if (input.shape != shape)
            refuse(context_,
                   std::string("its ") + what + " has another shape than " + to_text(shape));
        form_.integers[2] |= bit;
        inputs_.push_back(input);
    }

    void read_functions() {
        std::vector<GateFunction> functions;
        try {
            functions = gate_functions(*context_.node, directions_);
        } catch (const CannotRewrite& impossible) {
            refuse(context_, impossible.reason);
        }
        const float bound = attributes_.has("clip") ? attributes_.real("clip", 0) : 0;
        if (!(bound >= 0))
            refuse(context_, "its clip is negative");
        form_.reals = {bound};
        for (const GateFunction& gate : functions) {
            form_.integers.push_back(static_cast<std::int64_t>(function_of(gate)));
            form_.reals.push_back(gate.alpha);
            form_.reals.push_back(gate.beta);
        }
    }

    // The steps, the last states and the last cells follow each other.
    void write_outputs(const Reference& all, std::int64_t steps) {
        const std::int64_t state = batch_ * hidden_, step = directions_ * state;
        Shape sequence{steps, directions_, batch_, hidden_}, last{directions_, batch_, hidden_};
        std::vector<std::int64_t> of_sequence{step, state, hidden_, 1}, of_last{state, hidden_, 1};
        if (batch_first_) {
            sequence = {batch_, steps, directions_, hidden_};
            of_sequence = {hidden_, step, state, 1};
            std::swap(last[0], last[1]);
            std::swap(of_last[0], of_last[1]);
        }
        for (int output = 0; output < context_.node->output_size(); ++output) {
            if (context_.node->output(output).empty())
                continue;
            const Reference result =
                output == 0 ? cpu_view(context_, all, 0, of_sequence, sequence)
                            : cpu_view(context_, all, (steps + output - 1) * step, of_last, last);
            finish_cpu(context_, result, output);
        }
    }

    Context& context_;
    const Attributes attributes_;
    const bool batch_first_;
    Recurrence kind_ = Recurrence::rnn;
    op::Cpu form_;
    std::int64_t directions_ = 1, batch_ = 0, hidden_ = 0;
    std::vector<Reference> inputs_;
};

} // namespace

void cpu_recurrence(Context& context) {
    RecurrenceImport(context).run();
}

} // namespace overtake::compiler
