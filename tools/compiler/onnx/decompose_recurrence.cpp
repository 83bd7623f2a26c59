// SPDX-License-Identifier: MIT
//
// Writes RNN, GRU and LSTM as matrix products and functions, one step after the other.
#include "compiler/onnx/decompose.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/onnx/recurrence_gates.hpp"

namespace overtake::compiler {
namespace {

using Numbers = std::vector<std::int64_t>;

// Some of a direction's gates, one behind the other in the weights: their sums are made together.
struct GateRows {
    std::string of_inputs;      // (steps * batch, rows) products of inputs, with biases
    std::string recurrent;      // (rows, hidden)
    std::string recurrent_bias; // (rows); empty: it is among those of the inputs
    std::int64_t rows;
};

class Steps {
public:
    explicit Steps(Rewrite& r)
        : r_(r), kind_(r.node.op_type()), gates_(recurrence_kind(kind_)->gates),
          batch_first_(r.attributes().integer("layout", 0) != 0) {}

    void run() {
        const Numbers shape = r_.shape(r_.node.input(0));
        hidden_ = r_.shape(r_.node.input(2))[2];
        steps_ = shape[batch_first_ ? 1 : 0];
        batch_ = shape[batch_first_ ? 0 : 1];
        features_ = shape[2];
        const std::string direction = r_.attributes().text("direction", "forward");
        directions_ = direction == "bidirectional" ? 2 : 1;
        functions_ = gate_functions(r_.node, directions_);
        bound_ = r_.attributes().has("clip") ? r_.attributes().real("clip", 0) : 0;
        const std::string x =
            batch_first_ ? r_.build.transposed(r_.node.input(0), {1, 0, 2}) : r_.node.input(0);
        rows_ = r_.build.reshaped(x, {steps_ * batch_, features_});
        for (direction_ = 0; direction_ < directions_; ++direction_)
            run_direction(direction == "reverse" || direction_ == 1);
        write_outputs();
    }

private:
    std::string sliced(const std::string& tensor, std::int64_t axis, std::int64_t first,
                       std::int64_t end) {
        return r_.build("Slice", {tensor, r_.build.integers({first}), r_.build.integers({end}),
                                  r_.build.integers({axis})});
    }

    // Returns the present direction's part of an input, whose first axis is that of directions, as
    // a matrix or a row.
    std::string of_direction(int input, const Numbers& shape) {
        const std::string& name = r_.node.input(input);
        const std::string part =
            directions_ == 1 ? name : sliced(name, 0, direction_, direction_ + 1);
        return r_.build.reshaped(part, shape);
    }

    // Returns the first state (batch, hidden); empty if it is all zeros.
    std::string first_state(int input) {
        if (!r_.has_input(input))
            return "";
        const std::string& name = r_.node.input(input);
        const auto numbers = r_.facts.reals(name);
        if (numbers && std::ranges::all_of(*numbers, [](float value) { return value == 0; }))
            return "";
        if (!batch_first_)
            return of_direction(input, {batch_, hidden_});
        return r_.build.reshaped(directions_ == 1 ? name
                                                  : sliced(name, 1, direction_, direction_ + 1),
                                 {batch_, hidden_});
    }

    std::string product(const std::string& left, const std::string& weights,
                        const std::string& bias) {
        std::vector<std::string> inputs{left, weights};
        if (!bias.empty())
            inputs.push_back(bias);
        onnx::NodeProto& made = r_.build.node("Gemm", inputs);
        set_integer(made, "transB", 1);
        return made.output(0);
    }

    // Returns the rows of `count` gates from `first` on.  A recurrent bias that is multiplied
    // before it is added stays with the recurrent product.
    GateRows rows_of(std::int64_t first, std::int64_t count, bool adds_early = true) {
        const std::int64_t from = first * hidden_, end = (first + count) * hidden_,
                           rows = gates_ * hidden_;
        const auto part = [&](const std::string& all, std::int64_t offset) {
            return sliced(all, 0, offset + from, offset + end);
        };
        GateRows result{"", part(of_direction(2, {rows, hidden_}), 0), "", end - from};
        std::string bias;
        if (r_.has_input(3)) {
            const std::string both = of_direction(3, {2 * rows});
            const std::string recurrent = part(both, rows);
            bias = part(both, 0);
            if (adds_early)
                bias = r_.build("Add", {bias, recurrent});
            else
                result.recurrent_bias = recurrent;
        }
        result.of_inputs = product(rows_, part(of_direction(1, {rows, features_}), 0), bias);
        return result;
    }

    std::string inputs_at(const GateRows& gates, std::int64_t step) {
        return steps_ == 1 ? gates.of_inputs
                           : sliced(gates.of_inputs, 0, step * batch_, (step + 1) * batch_);
    }

    // Returns the sums to which a gate's function is applied.
    std::string sums(const GateRows& gates, std::int64_t step, const std::string& state) {
        const std::string from_inputs = inputs_at(gates, step);
        if (state.empty())
            return from_inputs;
        return r_.build("Add", {from_inputs, product(state, gates.recurrent, "")});
    }

    std::string clipped(const std::string& tensor) {
        if (bound_ == 0)
            return tensor;
        return r_.build("Clip", {tensor, r_.build.real(-bound_), r_.build.real(bound_)});
    }

    std::string applied(std::int64_t number, const std::string& tensor) {
        const GateFunction& function = functions_[static_cast<std::size_t>(
            direction_ * recurrence_kind(kind_)->functions + number)];
        onnx::NodeProto& made = r_.build.node(function.type, {tensor});
        if (function.has_alpha)
            set_real(made, "alpha", function.alpha);
        if (function.has_beta)
            set_real(made, "beta", function.beta);
        return made.output(0);
    }

    std::string one_minus(const std::string& tensor) {
        return r_.build("Sub", {r_.build.real(1), tensor});
    }

    // Returns one of several gates that are one behind the other.
    std::string gate_of(const std::string& gates, std::int64_t number) {
        return sliced(gates, 1, number * hidden_, (number + 1) * hidden_);
    }

    void run_direction(bool is_reverse) {
        std::string state = first_state(5);
        std::vector<std::string> states(static_cast<std::size_t>(steps_));
        const auto each_step = [&](const auto& next) {
            for (std::int64_t step = 0; step < steps_; ++step) {
                const std::int64_t at = is_reverse ? steps_ - 1 - step : step;
                state = next(at);
                states[static_cast<std::size_t>(at)] = state;
            }
        };
        if (kind_ == "RNN") {
            const GateRows all = rows_of(0, 1);
            each_step([&](std::int64_t at) { return applied(0, clipped(sums(all, at, state))); });
        } else if (kind_ == "GRU") {
            const bool resets_behind = r_.attributes().integer("linear_before_reset", 0) != 0;
            const GateRows both = rows_of(0, 2), hidden = rows_of(2, 1, !resets_behind);
            each_step([&](std::int64_t at) {
                return resets_behind ? gru_behind(both, hidden, at, state)
                                     : gru_before(both, hidden, at, state);
            });
        } else {
            run_lstm(each_step, state);
        }
        sequences_.push_back(std::move(states));
        last_states_.push_back(state);
    }

    // Adds the part of the step before that a gate keeps and the new part.  Rounded to 8 bits in
    // each step, both would soon be lost.
    std::string accumulated(const std::string& gate, const std::string& before,
                            const std::string& taken) {
        const onnx::NodeProto kept = r_.build.node("Mul", {gate, before});
        const onnx::NodeProto sum = r_.build.node("Add", {kept.output(0), taken});
        r_.accumulators.push_back(kept.name());
        r_.accumulators.push_back(sum.name());
        return sum.output(0);
    }

    // Gates: update, reset.  Returns the new state: a part of the old one and a part of `hidden`.
    std::string mixed(const std::string& update, const std::string& hidden,
                      const std::string& state) {
        const std::string taken = r_.build("Mul", {one_minus(update), hidden});
        return state.empty() ? taken : accumulated(update, state, taken);
    }

    std::string gru_before(const GateRows& both, const GateRows& hidden, std::int64_t at,
                           const std::string& state) {
        const std::string gates = applied(0, clipped(sums(both, at, state)));
        const std::string kept = state.empty() ? "" : r_.build("Mul", {gate_of(gates, 1), state});
        return mixed(gate_of(gates, 0), applied(1, clipped(sums(hidden, at, kept))), state);
    }

    std::string gru_behind(const GateRows& both, const GateRows& hidden, std::int64_t at,
                           const std::string& state) {
        const std::string gates = applied(0, clipped(sums(both, at, state)));
        std::string sum = inputs_at(hidden, at);
        const std::string past = state.empty()
                                     ? hidden.recurrent_bias
                                     : product(state, hidden.recurrent, hidden.recurrent_bias);
        if (!past.empty())
            sum = r_.build("Add", {sum, r_.build("Mul", {gate_of(gates, 1), past})});
        return mixed(gate_of(gates, 0), applied(1, clipped(sum)), state);
    }

    // Gates: input, output, forget, cell; the first three have peepholes.
    template <typename EachStep>
    void run_lstm(const EachStep& each_step, const std::string& state) {
        std::string cells = first_state(6);
        couples_ = r_.attributes().integer("input_forget", 0) != 0;
        if (r_.has_input(7)) {
            run_lstm_with_peepholes(each_step, state, cells);
        } else {
            const GateRows sigmoids = rows_of(0, couples_ ? 2 : 3), cell = rows_of(3, 1);
            each_step([&](std::int64_t at) {
                const std::string gates = applied(0, clipped(sums(sigmoids, at, state)));
                const std::string input = gate_of(gates, 0);
                const std::string fresh = applied(1, clipped(sums(cell, at, state)));
                const std::string forget = cells.empty() ? ""
                                           : couples_    ? one_minus(input)
                                                         : gate_of(gates, 2);
                cells = next_cells(input, forget, fresh, cells);
                return r_.build("Mul", {gate_of(gates, 1), applied(2, cells)});
            });
        }
        last_cells_.push_back(cells);
    }

    std::string next_cells(const std::string& input, const std::string& forget,
                           const std::string& fresh, const std::string& cells) {
        const std::string taken = r_.build("Mul", {input, fresh});
        return cells.empty() ? taken : accumulated(forget, cells, taken);
    }

    template <typename EachStep>
    void run_lstm_with_peepholes(const EachStep& each_step, const std::string& state,
                                 std::string& cells) {
        const GateRows rows[] = {rows_of(0, 1), rows_of(1, 1),
                                 couples_ ? GateRows{} : rows_of(2, 1), rows_of(3, 1)};
        const std::string all = of_direction(7, {3 * hidden_});
        std::string peepholes[3];
        for (std::int64_t gate = 0; gate < 3; ++gate)
            peepholes[gate] = sliced(all, 0, gate * hidden_, (gate + 1) * hidden_);
        each_step([&](std::int64_t at) {
            const auto peeping = [&](std::size_t gate) {
                const std::string sum = sums(rows[gate], at, state);
                const std::string seen =
                    cells.empty()
                        ? sum
                        : r_.build("Add", {sum, r_.build("Mul", {cells, peepholes[gate]})});
                return applied(0, clipped(seen));
            };
            const std::string input = peeping(0);
            const std::string forget = cells.empty() ? ""
                                       : couples_    ? one_minus(input)
                                                     : peeping(2);
            const std::string fresh = applied(1, clipped(sums(rows[3], at, state)));
            cells = next_cells(input, forget, fresh, cells);
            return r_.build("Mul", {peeping(1), applied(2, cells)});
        });
    }

    std::string joined(const std::vector<std::string>& parts, std::int64_t axis) {
        if (parts.size() == 1)
            return parts[0];
        onnx::NodeProto& made = r_.build.node("Concat", parts);
        set_integer(made, "axis", axis);
        return made.output(0);
    }

    // Joins the states (batch, hidden) of the directions to (directions, batch, hidden), or with
    // the batch first.
    std::string with_directions(const std::vector<std::string>& states) {
        if (batch_first_)
            return r_.build.reshaped(joined(states, 1), {batch_, directions_, hidden_});
        return r_.build.reshaped(joined(states, batch_ == 1 ? 1 : 0),
                                 {directions_, batch_, hidden_});
    }

    // Returns (steps, directions, batch, hidden), or (batch, steps, directions, hidden).  Features
    // of both directions are side by side where possible, as most readers need them.
    std::string sequence() {
        const bool side_by_side = batch_first_ || batch_ == 1;
        std::vector<std::string> rows;
        for (std::size_t step = 0; step < static_cast<std::size_t>(steps_); ++step) {
            std::vector<std::string> directions;
            for (const std::vector<std::string>& states : sequences_)
                directions.push_back(states[step]);
            if (side_by_side)
                directions = {joined(directions, 1)};
            rows.insert(rows.end(), directions.begin(), directions.end());
        }
        std::string all = joined(rows, 0);
        if (!batch_first_)
            return r_.build.reshaped(all, {steps_, directions_, batch_, hidden_});
        if (batch_ > 1 && steps_ > 1) {
            const Numbers shape{steps_, batch_, directions_ * hidden_};
            all = r_.build.transposed(r_.build.reshaped(all, shape), {1, 0, 2});
        }
        return r_.build.reshaped(all, {batch_, steps_, directions_, hidden_});
    }

    void write_outputs() {
        if (r_.has_output(0))
            r_.build.last("Identity", {sequence()}, 0);
        if (r_.has_output(1))
            r_.build.last("Identity", {with_directions(last_states_)}, 1);
        if (r_.has_output(2))
            r_.build.last("Identity", {with_directions(last_cells_)}, 2);
    }

    Rewrite& r_;
    const std::string kind_;
    const std::int64_t gates_;
    const bool batch_first_;
    bool couples_ = false;
    float bound_ = 0;
    std::int64_t steps_ = 0, batch_ = 0, features_ = 0, hidden_ = 0, directions_ = 1;
    std::int64_t direction_ = 0; // at hand
    std::vector<GateFunction> functions_;
    std::string rows_;                                  // (steps * batch, features)
    std::vector<std::vector<std::string>> sequences_;   // by direction, by step: (batch, hidden)
    std::vector<std::string> last_states_, last_cells_; // by direction
};

} // namespace

void decompose_recurrence(Rewrite& r) {
    Steps(r).run();
}

} // namespace overtake::compiler
