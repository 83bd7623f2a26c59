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

// integers: the first axis that is normalised over; all later axes are too.  reals: epsilon.
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

// integers: Reduction, then the axes, ascending; one axis for reductions that return positions.
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

// The state of the reduction of one output's elements.
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

// Adds the elements, in their order, to the entries of sums_ that they belong to.
class Reduce {
public:
    explicit Reduce(const Operation& operation)
        : function_(static_cast<Reduction>(operation.integers[0])), shape_(operation.inputs[0]),
          strides_(shape_.size()), position_(shape_.size()),
          sums_(elements(operation.output), Accumulator(function_)) {
        std::size_t stride = 1;
        for (std::size_t axis = shape_.size(); axis-- > 0;) {
            const bool is_reduced =
                std::ranges::count(operation.integers.begin() + 1, operation.integers.end(),
                                   static_cast<std::int64_t>(axis)) > 0;
            strides_[axis] = is_reduced ? 0 : stride;
            stride *= is_reduced ? 1 : shape_[axis];
        }
    }

    void run(std::span<const float> in, std::span<float> out) {
        begin();
        std::ranges::fill(position_, 0);
        const std::size_t length = shape_.back(), step = strides_.back();
        std::size_t target = 0;
        for (std::size_t first = 0; first < in.size(); first += length) {
            for (std::size_t i = 0; i < length; i++)
                sums_[target + i * step].add(function_, in[first + i]);
            for (std::size_t axis = shape_.size() - 1; axis-- > 0;) {
                target += strides_[axis];
                if (++position_[axis] < shape_[axis])
                    break;
                target -= strides_[axis] * shape_[axis];
                position_[axis] = 0;
            }
        }
        end(out);
    }

    // Reduces all axes after the channels; the input is in blocks and the output in planes.
    void run_blocked(std::span<const float> in, std::size_t width, std::span<float> out) {
        begin();
        const std::size_t channels = shape_[1], batch = shape_[0];
        const std::size_t area = elements(shape_) / batch / channels;
        const float* from = in.data();
        for (std::size_t image = 0; image < batch; image++)
            for (std::size_t channel = 0; channel < channels; channel += width) {
                const std::size_t lanes = std::min(width, channels - channel);
                Accumulator* sums = &sums_[image * channels + channel];
                for (std::size_t i = 0; i < area; i++, from += width)
                    for (std::size_t lane = 0; lane < lanes; lane++)
                        sums[lane].add(function_, from[lane]);
            }
        end(out);
    }

private:
    void begin() { std::ranges::fill(sums_, Accumulator(function_)); }

    void end(std::span<float> out) const {
        for (std::size_t index = 0; index < out.size(); index++)
            out[index] = static_cast<float>(sums_[index].result(function_));
    }

    const Reduction function_;
    const Shape shape_;
    std::vector<std::size_t> strides_; // in the output; 0 where reduced
    std::vector<std::uint32_t> position_;
    std::vector<Accumulator> sums_;
};

Kernel make_reduce(const Operation& operation) {
    return [reduce = Reduce(operation)](const Inputs& in, std::span<float> out) mutable {
        reduce.run(in[0], out);
    };
}

Kernel make_blocked_reduce(const Operation& operation) {
    return [reduce = Reduce(operation),
            width = lanes_of(operation.blocks)](const Inputs& in, std::span<float> out) mutable {
        reduce.run_blocked(in[0], width, out);
    };
}

std::shared_ptr<const Prepared> prepare_reduce(const Operation& operation) {
    const Shape& shape = operation.inputs[0];
    const double planes_ns = operation.costs.elements_ns(elements(shape), operation.costs.reduced);
    bool is_of_axes = can_be_blocked(shape) && operation.integers.size() == shape.size() - 1;
    for (std::size_t i = 1; i < operation.integers.size(); i++)
        is_of_axes = is_of_axes && operation.integers[i] == static_cast<std::int64_t>(i + 1);
    if (!is_of_axes)
        return prepare_forms(operation, planes_ns, make_reduce);
    const NodeForm form = {{static_cast<LayoutNumber>(operation.blocks)},
                           static_cast<LayoutNumber>(Layout::planes),
                           operation.costs.elements_ns(stored_elements(shape, operation.blocks),
                                                       operation.costs.reduced)};
    return prepare_forms(operation, planes_ns, make_reduce, form, make_blocked_reduce);
}

constexpr Entry reduction_table[] = {
    {CpuOpType::softmax, "Softmax", check_softmax, make_softmax},
    {CpuOpType::log_softmax, "LogSoftmax", check_softmax, make_log_softmax},
    {CpuOpType::normalize, "Normalize", check_normalize, make_normalize},
    {CpuOpType::reduce, "Reduce", check_reduce, make_reduce, prepare_reduce},
};

} // namespace

std::span<const Entry> reduction_operators() {
    return reduction_table;
}

} // namespace overtake::cpu
