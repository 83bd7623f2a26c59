// SPDX-License-Identifier: MIT
//
// MatrixProduct and Convolution of any number of dimensions, on oneDNN's matrix product.
#include <algorithm>
#include <cerrno>

#include <oneapi/dnnl/dnnl.h>

#include "cpu/table.hpp"
#include "overtake/error.hpp"

namespace overtake::cpu {

namespace {

// c (rows, columns) = scale * c + a (rows, inner) * b (inner, columns); all row-major.
void multiply(const float* a, const float* b, float* c, std::size_t rows, std::size_t inner,
              std::size_t columns, float scale = 0) {
    const auto m = static_cast<dnnl_dim_t>(rows), k = static_cast<dnnl_dim_t>(inner),
               n = static_cast<dnnl_dim_t>(columns);
    if (dnnl_sgemm('N', 'N', m, n, k, 1.0f, a, k, b, n, scale, c, n) != dnnl_success)
        throw Error(ENOMEM, "matrix product: oneDNN has not enough memory for it");
}

// Batch dimensions: all but the last two.
Shape batch_of(const Shape& shape) {
    Shape batch(shape.begin(), shape.end() - 2);
    if (batch.empty())
        batch = {1};
    return batch;
}

// Inputs (..., rows, inner) and (..., inner, columns); batches broadcast.
std::string check_matrix_product(const Operation& operation) {
    if (operation.inputs.size() != 2)
        return "needs two inputs";
    const Shape &a = operation.inputs[0], &b = operation.inputs[1], &out = operation.output;
    if (a.size() < 2 || b.size() < 2 || out.size() < 2)
        return "needs matrices";
    const Shape batch = broadcast(batch_of(a), batch_of(b));
    if (a.back() != b[b.size() - 2] || a[a.size() - 2] != out[out.size() - 2] ||
        b.back() != out.back() || batch.empty() || elements(batch) != elements(batch_of(out)))
        return "shapes do not fit each other";
    return "";
}

Kernel make_matrix_product(const Operation& operation) {
    const Shape &a = operation.inputs[0], &b = operation.inputs[1];
    const Shape batch = broadcast(batch_of(a), batch_of(b));
    const auto steps_a = broadcast_strides(batch_of(a), batch);
    const auto steps_b = broadcast_strides(batch_of(b), batch);
    return [batch, steps_a, steps_b, rows = a[a.size() - 2], inner = a.back(),
            columns = b.back()](const Inputs& in, std::span<float> out) {
        const std::size_t each_a = std::size_t{rows} * inner, each_b = std::size_t{inner} * columns;
        const std::size_t each = std::size_t{rows} * columns;
        for (std::size_t index = 0; index < elements(batch); index++) {
            std::size_t rest = index, at_a = 0, at_b = 0;
            for (std::size_t axis = batch.size(); axis-- > 0; rest /= batch[axis]) {
                at_a += rest % batch[axis] * steps_a[axis];
                at_b += rest % batch[axis] * steps_b[axis];
            }
            multiply(in[0].data() + at_a * each_a, in[1].data() + at_b * each_b,
                     out.data() + index * each, rows, inner, columns);
        }
    };
}

// What integers of a convolution say: transposed (0 or 1), groups, then strides, dilations and
// padding in front, one for each spatial axis.
struct Geometry {
    bool transposed = false;
    std::size_t groups = 1, axes = 0;
    std::vector<std::int64_t> strides, dilations, pads;
    Shape kernel, few, many; // spatial; `few` is what windows are, `many` what they look at
    std::size_t few_channels = 0, many_channels = 0; // of all groups

    std::size_t taps() const { return elements(kernel); }
    std::size_t windows() const { return elements(few); }

    // Where tap `tap` of window `window` looks, or -1 for padding.
    std::int64_t source(std::size_t window, std::size_t tap) const {
        std::int64_t offset = 0, stride = 1;
        for (std::size_t axis = axes; axis-- > 0;) {
            const auto at = static_cast<std::int64_t>(window % few[axis]) * strides[axis] -
                            pads[axis] +
                            static_cast<std::int64_t>(tap % kernel[axis]) * dilations[axis];
            if (at < 0 || at >= static_cast<std::int64_t>(many[axis]))
                return -1;
            offset += at * stride;
            stride *= many[axis];
            window /= few[axis];
            tap /= kernel[axis];
        }
        return offset;
    }
};

Geometry geometry_of(const Operation& operation) {
    Geometry result;
    const Shape &in = operation.inputs[0], &weights = operation.inputs[1], &out = operation.output;
    result.transposed = operation.integers[0] != 0;
    result.groups = static_cast<std::size_t>(operation.integers[1]);
    result.axes = in.size() - 2;
    const auto part = [&](std::size_t index) {
        const auto begin =
            operation.integers.begin() + 2 + static_cast<std::ptrdiff_t>(index * result.axes);
        return std::vector<std::int64_t>(begin, begin + static_cast<std::ptrdiff_t>(result.axes));
    };
    result.strides = part(0);
    result.dilations = part(1);
    result.pads = part(2);
    result.kernel.assign(weights.begin() + 2, weights.end());
    const Shape &few = result.transposed ? in : out, &many = result.transposed ? out : in;
    result.few.assign(few.begin() + 2, few.end());
    result.many.assign(many.begin() + 2, many.end());
    result.few_channels = few[1];
    result.many_channels = many[1];
    return result;
}

std::string check_convolution(const Operation& operation) {
    if (operation.inputs.size() < 2 || operation.inputs.size() > 3)
        return "needs two or three inputs";
    const Shape &in = operation.inputs[0], &weights = operation.inputs[1], &out = operation.output;
    if (in.size() < 3 || weights.size() != in.size() || out.size() != in.size() ||
        operation.integers.size() != 2 + 3 * (in.size() - 2))
        return "shapes do not fit each other";
    if (operation.integers[0] < 0 || operation.integers[0] > 1 || operation.integers[1] < 1)
        return "no such convolution";
    for (std::size_t i = 2; i < operation.integers.size(); i++)
        if (operation.integers[i] < (i < 2 + 2 * (in.size() - 2) ? 1 : -(1 << 20)) ||
            operation.integers[i] > 1 << 20)
            return "strides, dilations or padding are out of range";
    const bool transposed = operation.integers[0] == 1;
    const std::uint32_t few = transposed ? in[1] : out[1], many = transposed ? out[1] : in[1];
    const auto groups = static_cast<std::uint64_t>(operation.integers[1]);
    const bool fits = in[0] == out[0] && weights[0] == few && few % groups == 0 &&
                      many % groups == 0 && weights[1] == many / groups;
    if (!fits || (operation.inputs.size() == 3 && elements(operation.inputs[2]) != out[1]))
        return "channels do not fit each other";
    return "";
}

// Windows are gathered into a matrix some at a time; weights times that matrix is the output.
class Convolution {
public:
    explicit Convolution(const Operation& operation)
        : geometry_(geometry_of(operation)), batch_(operation.output[0]),
          has_bias_(operation.inputs.size() == 3) {}

    void run(const Inputs& in, std::span<float> out) {
        const Geometry& g = geometry_;
        const std::size_t channels = geometry_.transposed ? g.many_channels : g.few_channels;
        const std::size_t each = out.size() / batch_ / channels;
        for (std::size_t i = 0; i < out.size(); i++)
            out[i] = has_bias_ ? in[2][i / each % channels] : 0.0f;
        const std::size_t few_each = g.few_channels * g.windows();
        const std::size_t many_each = g.many_channels * elements(g.many);
        for (std::size_t sample = 0; sample < batch_; sample++)
            for (std::size_t group = 0; group < g.groups; group++)
                if (g.transposed)
                    scatter(in[0].data() + sample * few_each, in[1].data(),
                            out.data() + sample * many_each, group);
                else
                    gather(in[0].data() + sample * many_each, in[1].data(),
                           out.data() + sample * few_each, group);
    }

private:
    // In one matrix, which takes no more than most_elements of memory if a window allows it.
    static constexpr std::size_t most_windows = 2048, most_elements = 1u << 25;

    std::size_t inner() const {
        return geometry_.many_channels / geometry_.groups * geometry_.taps();
    }
    std::size_t outer() const { return geometry_.few_channels / geometry_.groups; }

    void gather(const float* in, const float* weights, float* out, std::size_t group) {
        const std::size_t windows = geometry_.windows(), area = elements(geometry_.many);
        const std::size_t channels = geometry_.many_channels / geometry_.groups;
        const std::size_t at_once =
            std::clamp<std::size_t>(most_elements / inner(), 1, most_windows);
        for (std::size_t first = 0; first < windows; first += at_once) {
            const std::size_t count = std::min(at_once, windows - first);
            matrix_.assign(inner() * count, 0.0f);
            for (std::size_t tap = 0; tap < geometry_.taps(); tap++)
                for (std::size_t window = 0; window < count; window++) {
                    const std::int64_t source = geometry_.source(first + window, tap);
                    for (std::size_t c = 0; c < channels && source >= 0; c++)
                        matrix_[(c * geometry_.taps() + tap) * count + window] =
                            in[(group * channels + c) * area + static_cast<std::size_t>(source)];
                }
            result_.resize(outer() * count);
            multiply(weights + group * outer() * inner(), matrix_.data(), result_.data(), outer(),
                     inner(), count);
            for (std::size_t o = 0; o < outer(); o++)
                for (std::size_t window = 0; window < count; window++)
                    out[(group * outer() + o) * windows + first + window] +=
                        result_[o * count + window];
        }
    }

    void scatter(const float* in, const float* weights, float* out, std::size_t group) {
        const std::size_t windows = geometry_.windows(), area = elements(geometry_.many);
        const std::size_t channels = geometry_.many_channels / geometry_.groups;
        for (std::size_t i = 0; i < outer(); i++)
            for (std::size_t c = 0; c < channels; c++)
                for (std::size_t tap = 0; tap < geometry_.taps(); tap++) {
                    const float weight =
                        weights[((group * outer() + i) * channels + c) * geometry_.taps() + tap];
                    for (std::size_t window = 0; window < windows; window++) {
                        const std::int64_t target = geometry_.source(window, tap);
                        if (target >= 0)
                            out[(group * channels + c) * area + static_cast<std::size_t>(target)] +=
                                weight * in[(group * outer() + i) * windows + window];
                    }
                }
    }

    const Geometry geometry_;
    const std::size_t batch_;
    const bool has_bias_;
    std::vector<float> matrix_, result_;
};

Kernel make_convolution(const Operation& operation) {
    auto convolution = std::make_shared<Convolution>(operation);
    return [convolution](const Inputs& in, std::span<float> out) { convolution->run(in, out); };
}

constexpr Entry product_table[] = {
    {CpuOpType::matrix_product, "MatrixProduct", check_matrix_product, make_matrix_product},
    {CpuOpType::convolution, "Convolution", check_convolution, make_convolution},
};

} // namespace

std::span<const Entry> product_operators() {
    return product_table;
}

} // namespace overtake::cpu
