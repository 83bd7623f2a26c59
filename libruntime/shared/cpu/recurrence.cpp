// SPDX-License-Identifier: MIT
//
// Recurrence: RNN, GRU and LSTM over a whole sequence.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/onednn.hpp"
#include "cpu/table.hpp"

namespace overtake::cpu {

namespace {

// integers: the kind (Recurrence); the directions: 0 (forward), 1 (reverse) or 2 (both); the
// optional inputs that are there (bits of Given); whether a GRU applies its reset gate to the
// product of its hidden gate, instead of to the states before it; whether an LSTM's forget gate is
// 1 minus its input gate; then, for each direction and gate function, a Unary.
// reals: the bound at which arguments of gate functions are clamped (0: none), then two parameters
// for each of these functions.
// Inputs: X (steps, batch, features), W (directions, gates * hidden, features), R (directions,
// gates * hidden, hidden), then the optional ones in the order of Given: bias (directions, 2 *
// gates * hidden), lengths (batch), states (directions, batch, hidden), cells (likewise), peepholes
// (directions, 3 * hidden).  Gates and their order are those of ONNX.
// Output: (steps + 1, directions, batch, hidden), of an LSTM steps + 2: the result of each step,
// the last states, and the last cells.
namespace given {
constexpr std::int64_t bias = 1, lengths = 2, states = 4, cells = 8, peepholes = 16, all = 31;
} // namespace given

constexpr std::size_t fixed_integers = 5;

struct Sizes {
    std::size_t steps, batch, features, hidden, directions, gates, functions;

    std::size_t rows() const { return gates * hidden; }
    std::size_t state() const { return batch * hidden; } // of one direction
};

std::size_t gates_of(Recurrence kind) {
    return kind == Recurrence::lstm ? 4 : kind == Recurrence::gru ? 3 : 1;
}

std::size_t functions_of(Recurrence kind) {
    return kind == Recurrence::lstm ? 3 : kind == Recurrence::gru ? 2 : 1;
}

Sizes sizes_of(const Operation& operation) {
    const Shape &x = operation.inputs[0], &r = operation.inputs[2];
    const auto kind = static_cast<Recurrence>(operation.integers[0]);
    return {x[0],
            x[1],
            x[2],
            r[2],
            operation.integers[1] == 2 ? 2u : 1u,
            gates_of(kind),
            functions_of(kind)};
}

bool has_small_shapes(const Operation& operation) {
    return std::ranges::all_of(operation.inputs, [](const Shape& shape) {
        return std::ranges::all_of(shape, [](std::uint32_t size) { return size <= 1u << 24; });
    });
}

std::vector<Shape> optional_shapes(const Sizes& sizes, std::int64_t which) {
    const auto of = [](std::size_t size) { return static_cast<std::uint32_t>(size); };
    const Shape state{of(sizes.directions), of(sizes.batch), of(sizes.hidden)};
    std::vector<Shape> shapes;
    if (which & given::bias)
        shapes.push_back({of(sizes.directions), of(2 * sizes.rows())});
    if (which & given::lengths)
        shapes.push_back({of(sizes.batch)});
    if (which & given::states)
        shapes.push_back(state);
    if (which & given::cells)
        shapes.push_back(state);
    if (which & given::peepholes)
        shapes.push_back({of(sizes.directions), of(3 * sizes.hidden)});
    return shapes;
}

std::string check_recurrence(const Operation& operation) {
    const std::vector<std::int64_t>& integers = operation.integers;
    if (operation.inputs.size() < 3 || integers.size() < fixed_integers)
        return "needs three inputs and the numbers of its kind";
    if (integers[0] < 0 || integers[0] >= static_cast<std::int64_t>(Recurrence::count) ||
        integers[1] < 0 || integers[1] > 2 || integers[2] < 0 || integers[2] > given::all)
        return "no such kind";
    const auto kind = static_cast<Recurrence>(integers[0]);
    if (kind != Recurrence::lstm && (integers[2] & (given::cells | given::peepholes)) != 0)
        return "has cells, which only an LSTM has";
    const Shape &x = operation.inputs[0], &w = operation.inputs[1], &r = operation.inputs[2];
    if (x.size() != 3 || w.size() != 3 || r.size() != 3 || !has_small_shapes(operation))
        return "shapes do not fit each other";
    const Sizes sizes = sizes_of(operation);
    const auto of = [](std::size_t size) { return static_cast<std::uint32_t>(size); };
    const Shape fits_w{of(sizes.directions), of(sizes.rows()), x[2]};
    const Shape fits_r{of(sizes.directions), of(sizes.rows()), r[2]};
    const std::uint32_t states = kind == Recurrence::lstm ? 2 : 1;
    const Shape output{x[0] + states, of(sizes.directions), x[1], r[2]};
    const std::vector<Shape> optional = optional_shapes(sizes, integers[2]);
    if (w != fits_w || r != fits_r || operation.output != output ||
        !std::ranges::equal(std::span(operation.inputs).subspan(3), optional))
        return "shapes do not fit each other";
    const std::size_t functions = sizes.directions * sizes.functions;
    if (integers.size() != fixed_integers + functions ||
        operation.reals.size() != 1 + 2 * functions)
        return "has too few or too many functions";
    for (std::size_t i = fixed_integers; i < integers.size(); i++)
        if (integers[i] < 0 || integers[i] >= static_cast<std::int64_t>(Unary::count))
            return "no such function";
    return operation.reals[0] >= 0 ? "" : "has a negative bound";
}

// Writes the transpose of a matrix (rows, columns).
void transpose(const float* from, std::size_t rows, std::size_t columns, float* to) {
    for (std::size_t row = 0; row < rows; row++)
        for (std::size_t column = 0; column < columns; column++)
            to[column * rows + row] = from[row * columns + column];
}

// Computes one direction, or both one after the other.
class Recurrent {
public:
    explicit Recurrent(const Operation& operation)
        : kind_(static_cast<Recurrence>(operation.integers[0])), direction_(operation.integers[1]),
          which_(operation.integers[2]), resets_behind_(operation.integers[3] != 0),
          couples_(operation.integers[4] != 0), bound_(operation.reals[0]),
          sizes_(sizes_of(operation)) {
        for (std::size_t i = 0; i < sizes_.directions * sizes_.functions; i++) {
            std::vector<float> reals(
                operation.reals.begin() + static_cast<std::ptrdiff_t>(1 + 2 * i),
                operation.reals.begin() + static_cast<std::ptrdiff_t>(3 + 2 * i));
            functions_.push_back(
                unary_in_place(static_cast<Unary>(operation.integers[fixed_integers + i]), reals));
        }
        const std::size_t rows = sizes_.rows();
        weights_.resize(sizes_.directions * rows * sizes_.features);
        recurrent_.resize(sizes_.directions * rows * sizes_.hidden);
        knows_weights_ = operation.known.size() > 2 && !operation.known[1].empty() &&
                         !operation.known[2].empty();
        if (knows_weights_)
            take_weights(operation.known[1], operation.known[2]);
        from_inputs_.resize(sizes_.steps * sizes_.batch * rows);
        from_states_.resize(sizes_.batch * rows);
        gates_.resize(rows);
        reset_.resize(sizes_.state());
        cells_.resize(sizes_.state());
    }

    void run(const Inputs& in, std::span<float> out) {
        const onednn::Threads threads;
        if (!knows_weights_)
            take_weights(in[1], in[2]);
        const std::size_t steps = sizes_.steps;
        std::ranges::fill(out, 0.0f);
        for (std::size_t direction = 0; direction < sizes_.directions; direction++) {
            prepare(in, direction);
            float* states = row(out, steps, direction);
            if (states_)
                std::copy_n(states_, sizes_.state(), states);
            std::ranges::fill(cells_, 0.0f);
            if (first_cells_)
                std::copy_n(first_cells_, sizes_.state(), cells_.begin());
            const bool is_reverse = direction_ == 1 || direction == 1;
            multiply(in[0].data(), weights_.data() + direction * sizes_.rows() * sizes_.features,
                     from_inputs_.data(), steps * sizes_.batch, sizes_.features, sizes_.rows());
            for (std::size_t step = 0; step < steps; step++)
                advance(out, states, direction, step, is_reverse);
            if (kind_ == Recurrence::lstm)
                std::ranges::copy(cells_, row(out, steps + 1, direction));
        }
    }

private:
    void take_weights(std::span<const float> w, std::span<const float> r) {
        const std::size_t rows = sizes_.rows();
        for (std::size_t direction = 0; direction < sizes_.directions; direction++) {
            transpose(w.data() + direction * rows * sizes_.features, rows, sizes_.features,
                      weights_.data() + direction * rows * sizes_.features);
            transpose(r.data() + direction * rows * sizes_.hidden, rows, sizes_.hidden,
                      recurrent_.data() + direction * rows * sizes_.hidden);
        }
    }

    // Sets the pointers to the optional inputs of one direction; null for inputs that are not
    // there.
    void prepare(const Inputs& in, std::size_t direction) {
        std::size_t next = 3;
        const auto take = [&](std::int64_t bit, std::size_t each) -> const float* {
            return which_ & bit ? in[next++].data() + direction * each : nullptr;
        };
        bias_ = take(given::bias, 2 * sizes_.rows());
        lengths_ = take(given::lengths, 0);
        states_ = take(given::states, sizes_.state());
        first_cells_ = take(given::cells, sizes_.state());
        peepholes_ = take(given::peepholes, 3 * sizes_.hidden);
    }

    float* row(std::span<float> out, std::size_t step, std::size_t direction) const {
        return out.data() + (step * sizes_.directions + direction) * sizes_.state();
    }

    // Returns the steps of this batch entry's sequence.
    std::size_t length(std::size_t batch) const {
        if (!lengths_)
            return sizes_.steps;
        const auto most = static_cast<float>(sizes_.steps);
        return lengths_[batch] >= 0 ? static_cast<std::size_t>(std::min(lengths_[batch], most)) : 0;
    }

    void advance(std::span<float> out, float* states, std::size_t direction, std::size_t step,
                 bool is_reverse) {
        multiply(states, recurrent_.data() + direction * sizes_.rows() * sizes_.hidden,
                 from_states_.data(), sizes_.batch, sizes_.hidden, sizes_.rows());
        if (kind_ == Recurrence::gru && !resets_behind_)
            reset_states(states, direction, step, is_reverse);
        for (std::size_t batch = 0; batch < sizes_.batch; batch++) {
            const std::size_t count = length(batch);
            if (step >= count)
                continue;
            const std::size_t at = is_reverse ? count - 1 - step : step;
            float* state = states + batch * sizes_.hidden;
            compute(batch, at, direction, state);
            std::copy_n(state, sizes_.hidden, row(out, at, direction) + batch * sizes_.hidden);
        }
    }

    // Computes the hidden gate's product again, from states that the reset gate has multiplied.
    void reset_states(const float* states, std::size_t direction, std::size_t step,
                      bool is_reverse) {
        const std::size_t hidden = sizes_.hidden, rows = sizes_.rows();
        std::copy_n(states, sizes_.state(), reset_.begin());
        for (std::size_t batch = 0; batch < sizes_.batch; batch++) {
            const std::size_t count = length(batch);
            if (step >= count)
                continue;
            add(batch, is_reverse ? count - 1 - step : step, 1, true);
            apply(direction, 0, gates_.data() + hidden, hidden);
            for (std::size_t i = 0; i < hidden; i++)
                reset_[batch * hidden + i] *= gates_[hidden + i];
        }
        // The product of the hidden gate's columns alone.
        const float* recurrent = recurrent_.data() + direction * rows * hidden;
        for (std::size_t batch = 0; batch < sizes_.batch; batch++) {
            float* sums = from_states_.data() + batch * rows + 2 * hidden;
            std::fill_n(sums, hidden, 0.0f);
            for (std::size_t k = 0; k < hidden; k++) {
                const float factor = reset_[batch * hidden + k];
                const float* weights = recurrent + k * rows + 2 * hidden;
                for (std::size_t i = 0; i < hidden; i++)
                    sums[i] += factor * weights[i];
            }
        }
    }

    // Writes the sum of a gate's inputs, states and bias to gates_.  The peepholes and the gate's
    // function are applied later.
    void add(std::size_t batch, std::size_t at, std::size_t gate, bool with_states) {
        const std::size_t hidden = sizes_.hidden, first = gate * hidden;
        const float* input = from_inputs_.data() + (at * sizes_.batch + batch) * sizes_.rows();
        const float* state = from_states_.data() + batch * sizes_.rows();
        for (std::size_t i = first; i < first + hidden; i++) {
            float sum = input[i] + (with_states ? state[i] : 0.0f);
            if (bias_)
                sum += bias_[i] + (with_states ? bias_[sizes_.rows() + i] : 0.0f);
            gates_[i] = sum;
        }
    }

    void apply(std::size_t direction, std::size_t function, float* values,
               std::size_t count) const {
        if (bound_ > 0)
            for (std::size_t i = 0; i < count; i++)
                values[i] = std::clamp(values[i], -bound_, bound_);
        functions_[direction * sizes_.functions + function](values, count);
    }

    // Replaces the state with the state of the next step.
    void compute(std::size_t batch, std::size_t at, std::size_t direction, float* state) {
        switch (kind_) {
        case Recurrence::lstm:
            return compute_lstm(batch, at, direction, state);
        case Recurrence::gru:
            return compute_gru(batch, at, direction, state);
        default:
            add(batch, at, 0, true);
            apply(direction, 0, gates_.data(), sizes_.hidden);
            std::copy_n(gates_.begin(), sizes_.hidden, state);
        }
    }

    // Gates: update, reset, hidden.
    void compute_gru(std::size_t batch, std::size_t at, std::size_t direction, float* state) {
        const std::size_t hidden = sizes_.hidden;
        float* hidden_gate = gates_.data() + 2 * hidden;
        add(batch, at, 0, true);
        apply(direction, 0, gates_.data(), hidden);
        if (resets_behind_) {
            add(batch, at, 1, true);
            apply(direction, 0, gates_.data() + hidden, hidden);
            add(batch, at, 2, false);
            const float* product = from_states_.data() + batch * sizes_.rows() + 2 * hidden;
            const float* bias = bias_ ? bias_ + sizes_.rows() + 2 * hidden : nullptr;
            for (std::size_t i = 0; i < hidden; i++)
                hidden_gate[i] += gates_[hidden + i] * (product[i] + (bias ? bias[i] : 0.0f));
        } else {
            add(batch, at, 2, true);
        }
        apply(direction, 1, hidden_gate, hidden);
        for (std::size_t i = 0; i < hidden; i++)
            state[i] = (1 - gates_[i]) * hidden_gate[i] + gates_[i] * state[i];
    }

    // Gates: input, output, forget, cell.
    void compute_lstm(std::size_t batch, std::size_t at, std::size_t direction, float* state) {
        const std::size_t hidden = sizes_.hidden;
        float* cells = cells_.data() + batch * hidden;
        float *input = gates_.data(), *output = input + hidden, *forget = output + hidden,
              *cell = forget + hidden;
        for (const std::size_t gate : {0, 2, 3})
            add(batch, at, gate, true);
        if (peepholes_)
            for (std::size_t i = 0; i < hidden; i++) {
                input[i] += peepholes_[i] * cells[i];
                forget[i] += peepholes_[2 * hidden + i] * cells[i];
            }
        apply(direction, 0, input, hidden);
        if (couples_)
            for (std::size_t i = 0; i < hidden; i++)
                forget[i] = 1 - input[i];
        else
            apply(direction, 0, forget, hidden);
        apply(direction, 1, cell, hidden);
        for (std::size_t i = 0; i < hidden; i++)
            cells[i] = forget[i] * cells[i] + input[i] * cell[i];
        add(batch, at, 1, true);
        if (peepholes_)
            for (std::size_t i = 0; i < hidden; i++)
                output[i] += peepholes_[hidden + i] * cells[i];
        apply(direction, 0, output, hidden);
        std::copy_n(cells, hidden, state);
        functions_[direction * sizes_.functions + 2](state, hidden);
        for (std::size_t i = 0; i < hidden; i++)
            state[i] *= output[i];
    }

    const Recurrence kind_;
    const std::int64_t direction_, which_;
    const bool resets_behind_, couples_;
    const float bound_;
    const Sizes sizes_;
    bool knows_weights_ = false;
    std::vector<InPlace> functions_;         // by direction and function
    std::vector<float> weights_, recurrent_; // by direction, transposed
    std::vector<float> from_inputs_;         // (steps, batch, gates * hidden), of one direction
    std::vector<float> from_states_;         // (batch, gates * hidden), of one step
    std::vector<float> gates_;               // of one step and one entry of the batch
    std::vector<float> reset_, cells_;       // (batch, hidden)
    const float *bias_ = nullptr, *lengths_ = nullptr, *states_ = nullptr, *first_cells_ = nullptr,
                *peepholes_ = nullptr;
};

Kernel make_recurrence(const Operation& operation) {
    onednn::require_room("recurrence"); // for what oneDNN allocates at the first product, in run()
    return [recurrent = Recurrent(operation)](const Inputs& in, std::span<float> out) mutable {
        recurrent.run(in, out);
    };
}

constexpr Entry recurrence_table[] = {
    {CpuOpType::recurrence, "Recurrence", check_recurrence, make_recurrence},
};

} // namespace

std::span<const Entry> recurrence_operators() {
    return recurrence_table;
}

} // namespace overtake::cpu
