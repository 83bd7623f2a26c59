// SPDX-License-Identifier: MIT
//
// Convolution of any number of dimensions, by a primitive of oneDNN.  Where oneDNN has no such
// primitive, matrix products of oneDNN compute a convolution, and loops compute a transposed one.
#include <algorithm>
#include <utility>

#include "cpu/convolution.hpp"
#include "cpu/onednn.hpp"
#include "cpu/table.hpp"

namespace overtake::cpu {

namespace {

// The integers of a convolution: transposed (0 or 1), groups, then strides, dilations and padding
// in front, one of each for every spatial axis.
struct Geometry {
    bool transposed = false;
    std::size_t groups = 1, axes = 0;
    std::vector<std::int64_t> strides, dilations, pads;
    Shape kernel, few, many; // spatial; `few`: the windows, `many`: their source
    std::size_t few_channels = 0, many_channels = 0; // of all groups

    std::size_t taps() const { return elements(kernel); }
    std::size_t windows() const { return elements(few); }

    // Returns the position at which tap `tap` of window `window` looks, or -1 for padding.
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

// Computes convolutions for which oneDNN has no primitive.  Gathers some windows at a time into a
// matrix, and adds the product of weights and matrix to the output.  For a transposed convolution,
// adds each input element times each weight to the output.
class WindowSums {
public:
    explicit WindowSums(const Operation& operation)
        : geometry_(geometry_of(operation)), batch_(operation.output[0]),
          has_bias_(operation.inputs.size() == 3) {}

    void run(const Inputs& in, std::span<float> out) {
        const onednn::Threads threads;
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
    // The bounds of one matrix; a single window may have more than most_elements.
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

std::span<const float> known(const Operation& operation, std::size_t input) {
    return input < operation.known.size() ? operation.known[input] : std::span<const float>();
}

Kernel make_window_sums(const Operation& operation) {
    onednn::require_room("convolution"); // for the first product, in run()
    auto sums = std::make_shared<WindowSums>(operation);
    return [sums](const Inputs& in, std::span<float> out) { sums->run(in, out); };
}

double macs_of(const ConvolutionShape& shape) {
    return static_cast<double>(shape.weights()) / shape.few()[1] *
           static_cast<double>(elements(shape.few()));
}

// Takes source and target in planes or in blocks, and copies them if the primitive needs another
// layout.
class PreparedConvolution : public Prepared {
public:
    PreparedConvolution(const Operation& operation, const ConvolutionShape& shape,
                        std::shared_ptr<const ConvolutionPrimitive> primitive)
        : shape_(shape), inputs_(operation.inputs.size()), costs_(operation.costs),
          primitive_(std::move(primitive)) {}

    std::vector<NodeForm> forms() const override {
        std::vector<NodeForm> forms;
        for (const Layout source : {Layout::planes, shape_.blocks})
            for (const Layout target : {Layout::planes, shape_.blocks}) {
                NodeForm& form = forms.emplace_back();
                form.inputs.resize(inputs_, static_cast<LayoutNumber>(Layout::planes));
                form.inputs[0] = static_cast<LayoutNumber>(source);
                form.output = static_cast<LayoutNumber>(target);
                form.ns = costs_.convolution_ns(macs_of(shape_)) +
                          copied_ns(shape_.source, primitive_->reads(source)) +
                          copied_ns(shape_.target, primitive_->writes(target));
            }
        return forms;
    }

    Kernel kernel(const NodeForm& form) const override {
        const auto convolution = std::make_shared<OneDnnConvolution>(
            primitive_, static_cast<Layout>(form.inputs[0]), static_cast<Layout>(form.output));
        return [convolution](const Inputs& in, std::span<float> out) {
            convolution->run(in[0], in[1], in.size() == 3 ? in[2] : std::span<const float>(), out);
        };
    }

    StoredWeights weights() const override { return primitive_->weights(); }
    bool has_copy_of(std::size_t input) const override {
        return (input == 1 && primitive_->knows_weights()) ||
               (input == 2 && primitive_->knows_bias());
    }

private:
    double copied_ns(const Shape& shape, bool is_direct) const {
        return is_direct ? 0 : costs_.conversion_ns(stored_elements(shape, shape_.blocks));
    }

    const ConvolutionShape shape_;
    const std::size_t inputs_;
    const LayoutCosts costs_;
    const std::shared_ptr<const ConvolutionPrimitive> primitive_;
};

std::shared_ptr<const Prepared> prepare_convolution(const Operation& operation) {
    const ConvolutionShape shape = shape_of_convolution(operation);
    auto primitive = ConvolutionPrimitive::make(shape, known(operation, 1), known(operation, 2),
                                                operation.stored);
    if (primitive)
        return std::make_shared<PreparedConvolution>(operation, shape, std::move(primitive));
    return prepare_forms(operation, 20 * operation.costs.convolution_ns(macs_of(shape)),
                         make_window_sums);
}

constexpr Entry convolution_table[] = {
    {CpuOpType::convolution, "Convolution", check_convolution, nullptr, prepare_convolution},
};

} // namespace

ConvolutionShape shape_of_convolution(const Operation& operation) {
    const Geometry geometry = geometry_of(operation);
    return {geometry.transposed, geometry.groups, operation.inputs[0],
            operation.output,    geometry.kernel, geometry.strides,
            geometry.dilations,  geometry.pads,   operation.blocks};
}

std::span<const Entry> convolution_operators() {
    return convolution_table;
}

} // namespace overtake::cpu
