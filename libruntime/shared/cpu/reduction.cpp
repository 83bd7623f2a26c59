// SPDX-License-Identifier: MIT
//
// Reductions, Softmax and Normalize.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "cpu/softmax.hpp"
#include "cpu/table.hpp"

namespace overtake::cpu {

namespace {

// integers: axis
std::string check_softmax(const Operation& operation) {
    if (operation.inputs.size() != 1 || operation.integers.size() != 1)
        return "needs one input and an axis";
    if (operation.inputs[0] != operation.output)
        return "input and output differ in shape";
    const auto rank = static_cast<std::int64_t>(operation.output.size());
    return operation.integers[0] >= 0 && operation.integers[0] < rank
               ? ""
               : "its axis lies outside the tensor";
}

Kernel make_softmax(const Operation& operation) {
    auto softmax =
        std::make_shared<Softmax>(operation.output, static_cast<int>(operation.integers[0]));
    return [softmax](const Inputs& in, std::span<float> out) { softmax->run(in[0], out); };
}

Kernel make_log_softmax(const Operation& operation) {
    const Extents extents =
        around(operation.output, static_cast<std::size_t>(operation.integers[0]));
    return [extents](const Inputs& in, std::span<float> out) {
        for (std::size_t outer = 0; outer < extents.outer; outer++)
            for (std::size_t inner = 0; inner < extents.inner; inner++) {
                const std::size_t first = outer * extents.length * extents.inner + inner;
                const auto at = [&](std::size_t i) { return first + i * extents.inner; };
                float greatest = in[0][first];
                for (std::size_t i = 1; i < extents.length; i++)
                    greatest = std::max(greatest, in[0][at(i)]);
                double sum = 0;
                for (std::size_t i = 0; i < extents.length; i++)
                    sum += std::exp(double{in[0][at(i)]} - greatest);
                const double offset = greatest + std::log(sum);
                for (std::size_t i = 0; i < extents.length; i++)
                    out[at(i)] = static_cast<float>(in[0][at(i)] - offset);
            }
    };
}

// integers: first axis that is normalised over; all behind it are too.  reals: epsilon.
// Inputs: data, then scale and bias of the normalised elements, if wanted.
std::string check_normalize(const Operation& operation) {
    if (operation.inputs.empty() || operation.inputs.size() > 3 || operation.integers.size() != 1 ||
        operation.reals.size() != 1)
        return "needs one to three inputs, an axis and epsilon";
    const Shape& shape = operation.inputs[0];
    if (shape != operation.output)
        return "input and output differ in shape";
    if (operation.integers[0] < 0 ||
        operation.integers[0] >= static_cast<std::int64_t>(shape.size()))
        return "its axis lies outside the tensor";
    const Extents extents = around(shape, static_cast<std::size_t>(operation.integers[0]));
    for (std::size_t i = 1; i < operation.inputs.size(); i++)
        if (elements(operation.inputs[i]) != extents.length * extents.inner)
            return "scale or bias do not fit";
    return "";
}

Kernel make_normalize(const Operation& operation) {
    const Extents extents =
        around(operation.output, static_cast<std::size_t>(operation.integers[0]));
    return [rows = extents.outer, length = extents.length * extents.inner,
            epsilon = double{operation.reals[0]}](const Inputs& in, std::span<float> out) {
        for (std::size_t row = 0; row < rows; row++) {
            const float* source = in[0].data() + row * length;
            double sum = 0, squares = 0;
            for (std::size_t i = 0; i < length; i++)
                sum += source[i];
            const double mean = sum / static_cast<double>(length);
            for (std::size_t i = 0; i < length; i++)
                squares += (source[i] - mean) * (source[i] - mean);
            const double factor = 1 / std::sqrt(squares / static_cast<double>(length) + epsilon);
            for (std::size_t i = 0; i < length; i++) {
                double value = (source[i] - mean) * factor;
                value *= in.size() > 1 ? in[1][i] : 1.0f;
                value += in.size() > 2 ? in[2][i] : 0.0f;
                out[row * length + i] = static_cast<float>(value);
            }
        }
    };
}

bool wants_position(Reduction function) {
    return function >= Reduction::first_greatest;
}

// integers: Reduction, then the axes, ascending; one axis for those that give positions.
std::string check_reduce(const Operation& operation) {
    if (operation.inputs.size() != 1 || operation.integers.empty())
        return "needs one input";
    if (operation.integers[0] < 0 ||
        operation.integers[0] >= static_cast<std::int64_t>(Reduction::count))
        return "no such function";
    const Shape& shape = operation.inputs[0];
    std::size_t reduced = 1;
    for (std::size_t i = 1; i < operation.integers.size(); i++) {
        const std::int64_t axis = operation.integers[i];
        if (axis < 0 || axis >= static_cast<std::int64_t>(shape.size()) ||
            (i > 1 && axis <= operation.integers[i - 1]))
            return "its axes lie outside the tensor";
        reduced *= shape[static_cast<std::size_t>(axis)];
    }
    if (wants_position(static_cast<Reduction>(operation.integers[0])) &&
        operation.integers.size() != 2)
        return "needs one axis";
    return elements(operation.output) * reduced == elements(shape) ? ""
                                                                   : "shapes do not fit each other";
}

// What is kept while the elements of one output go by.
struct Accumulator {
    double value;
    double greatest = -std::numeric_limits<double>::infinity(); // log_sum_exp
    std::size_t position = 0, count = 0;

    explicit Accumulator(Reduction function) : value(start(function)) {}

    static double start(Reduction function) {
        switch (function) {
        case Reduction::product:
            return 1;
        case Reduction::maximum:
        case Reduction::first_greatest:
        case Reduction::last_greatest:
            return -std::numeric_limits<double>::infinity();
        case Reduction::minimum:
        case Reduction::first_least:
        case Reduction::last_least:
            return std::numeric_limits<double>::infinity();
        default:
            return 0;
        }
    }

    void take_position(bool better, double element) {
        if (better || count == 0) {
            value = element;
            position = count;
        }
    }

    void add_exponential(double element) {
        if (element > greatest) {
            value = value * std::exp(greatest - element);
            greatest = element;
        }
        value += std::isinf(element) && element < 0 ? 0 : std::exp(element - greatest);
    }

    void add(Reduction function, double element) {
        switch (function) {
        case Reduction::product:
            value *= element;
            break;
        case Reduction::maximum:
            value = std::max(value, element);
            break;
        case Reduction::minimum:
            value = std::min(value, element);
            break;
        case Reduction::sum_of_squares:
        case Reduction::l2:
            value += element * element;
            break;
        case Reduction::l1:
            value += std::abs(element);
            break;
        case Reduction::log_sum_exp:
            add_exponential(element);
            break;
        case Reduction::first_greatest:
            take_position(element > value, element);
            break;
        case Reduction::last_greatest:
            take_position(element >= value, element);
            break;
        case Reduction::first_least:
            take_position(element < value, element);
            break;
        case Reduction::last_least:
            take_position(element <= value, element);
            break;
        default:
            value += element;
        }
        count++;
    }

    double result(Reduction function) const {
        switch (function) {
        case Reduction::mean:
            return value / static_cast<double>(count);
        case Reduction::l2:
            return std::sqrt(value);
        case Reduction::log_sum:
            return std::log(value);
        case Reduction::log_sum_exp:
            return std::log(value) + greatest;
        default:
            return wants_position(function) ? static_cast<double>(position) : value;
        }
    }
};

Kernel make_reduce(const Operation& operation) {
    const auto function = static_cast<Reduction>(operation.integers[0]);
    const Shape& shape = operation.inputs[0];
    std::vector<std::size_t> strides(shape.size()); // in the output; 0 where reduced
    std::size_t stride = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        const bool reduced =
            std::ranges::count(operation.integers.begin() + 1, operation.integers.end(),
                               static_cast<std::int64_t>(axis)) > 0;
        strides[axis] = reduced ? 0 : stride;
        stride *= reduced ? 1 : shape[axis];
    }
    return [function, shape, strides,
            sums = std::vector<Accumulator>(elements(operation.output), Accumulator(function))](
               const Inputs& in, std::span<float> out) mutable {
        std::ranges::fill(sums, Accumulator(function));
        for (std::size_t index = 0; index < in[0].size(); index++) {
            std::size_t rest = index, target = 0;
            for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis])
                target += rest % shape[axis] * strides[axis];
            sums[target].add(function, in[0][index]);
        }
        for (std::size_t index = 0; index < out.size(); index++)
            out[index] = static_cast<float>(sums[index].result(function));
    };
}

constexpr Entry reduction_table[] = {
    {CpuOpType::softmax, "Softmax", check_softmax, make_softmax},
    {CpuOpType::log_softmax, "LogSoftmax", check_softmax, make_log_softmax},
    {CpuOpType::normalize, "Normalize", check_normalize, make_normalize},
    {CpuOpType::reduce, "Reduce", check_reduce, make_reduce},
};

} // namespace

std::span<const Entry> reduction_operators() {
    return reduction_table;
}

} // namespace overtake::cpu
