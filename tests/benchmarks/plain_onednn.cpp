// SPDX-License-Identifier: MIT
//
// Networks in float on the CPU beside oneDNN alone: each operator a primitive in the layouts that
// oneDNN likes best, with activations as post-operations, one thread. Both use the library's own
// kernel in planes for operators for which oneDNN has no primitive. The two run in turns; printed
// are milliseconds of a run.
//
//   bench_plain_onednn [--rounds N] MODEL...      models of `overtake compile --cpu`
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.hpp>

#include "cpu/convolution.hpp"
#include "cpu/onednn.hpp"
#include "cpu/operation.hpp"
#include "overtake/device.hpp"
#include "overtake/model_contents.hpp"
#include "overtake/session.hpp"

namespace {

using namespace overtake;
using Description = dnnl::memory::desc;
using Dims = dnnl::memory::dims;
constexpr auto f32 = dnnl::memory::data_type::f32;
constexpr auto any = dnnl::memory::format_tag::any;
constexpr auto inference = dnnl::prop_kind::forward_inference;

Dims dims_of(const cpu::Shape& shape) {
    return {shape.begin(), shape.end()};
}

// Primitives of oneDNN 2 and 3, which are made with other arguments.
#if DNNL_VERSION_MAJOR >= 3
template <class Primitive, class... Arguments>
auto chosen(const dnnl::primitive_attr& attributes, const Arguments&... arguments) {
    return typename Primitive::primitive_desc(cpu::onednn::engine(), arguments..., attributes);
}
#else
template <class Primitive, class... Arguments>
auto chosen(const dnnl::primitive_attr& attributes, const Arguments&... arguments) {
    return typename Primitive::primitive_desc(typename Primitive::desc(arguments...), attributes,
                                              cpu::onednn::engine());
}
#endif

struct Eltwise {
    dnnl::algorithm algorithm;
    float alpha = 0, beta = 0;
};

std::optional<Eltwise> eltwise_of(const CpuOp& op) {
    if (op.type != CpuOpType::unary)
        return std::nullopt;
    switch (static_cast<cpu::Unary>(op.integers[0])) {
    case cpu::Unary::relu:
        return Eltwise{dnnl::algorithm::eltwise_relu};
    case cpu::Unary::sigmoid:
        return Eltwise{dnnl::algorithm::eltwise_logistic};
    case cpu::Unary::clip:
        return Eltwise{dnnl::algorithm::eltwise_clip, op.reals[0], op.reals[1]};
    default:
        return std::nullopt;
    }
}

class PlainNetwork {
public:
    explicit PlainNetwork(const ModelContents& contents)
        : contents_(contents), tensors_(contents.tensors), ops_(contents.segments.at(0).cpu_ops) {
        for (const CpuOp& op : ops_)
            for (const std::uint32_t input : op.inputs)
                reads_[input]++;
        for (const std::uint32_t output : contents.outputs)
            reads_[output]++;
        input_ = &plain(contents.inputs.at(0));
        for (std::size_t i = 0; i < ops_.size(); i++)
            i += add(ops_[i], i + 1 < ops_.size() ? &ops_[i + 1] : nullptr);
        for (const std::uint32_t output : contents.outputs)
            outputs_.push_back(&in(output, cpu::onednn::dense(dims_of(tensors_[output].shape))));
    }

    void run(const std::vector<float>& input) {
        std::copy(input.begin(), input.end(), data(*input_));
        for (const auto& step : steps_)
            step();
        cpu::onednn::stream();
    }

    const float* output(std::size_t number) const { return data(*outputs_[number]); }

private:
    static float* data(const dnnl::memory& memory) {
        return static_cast<float*>(memory.get_data_handle());
    }

    dnnl::memory& make(const Description& description) {
        owned_.push_back(std::make_unique<cpu::onednn::Owned>(description));
        return owned_.back()->memory;
    }

    dnnl::memory& plain(std::uint32_t tensor) {
        dnnl::memory& made = make(cpu::onednn::dense(dims_of(tensors_[tensor].shape)));
        if (tensors_[tensor].is_constant())
            std::ranges::copy(tensors_[tensor].data, data(made));
        return *(values_[tensor] = &made);
    }

    dnnl::memory& value(std::uint32_t tensor) {
        const auto found = values_.find(tensor);
        return found == values_.end() ? plain(tensor) : *found->second;
    }

    // The value in this layout: copied in each run, unless it is a constant.
    dnnl::memory& in(std::uint32_t tensor, const Description& wanted) {
        dnnl::memory& there = value(tensor);
        if (there.get_desc() == wanted)
            return there;
        dnnl::memory& made = make(wanted);
        const dnnl::reorder reorder(there, made);
        const auto copy = [reorder, &there, &made] {
            reorder.execute(stream(), {{DNNL_ARG_FROM, there}, {DNNL_ARG_TO, made}});
        };
        if (tensors_[tensor].is_constant())
            copy();
        else
            steps_.emplace_back(copy);
        return made;
    }

    static dnnl::stream& stream() {
        static dnnl::stream own(cpu::onednn::engine());
        return own;
    }

    template <class Primitive>
    void add_step(const Primitive& primitive, std::unordered_map<int, dnnl::memory> arguments) {
        steps_.emplace_back([primitive, arguments = std::move(arguments)] {
            primitive.execute(stream(), arguments);
        });
    }

    // Adds a primitive for `op`. Returns the number of following operators that the primitive
    // includes.
    std::size_t add(const CpuOp& op, const CpuOp* next) {
        const cpu::Operation operation = cpu::operation_of(tensors_, op);
        if (op.type == CpuOpType::convolution && operation.integers[0] == 0 &&
            op.inputs.size() == 3)
            return add_convolution(op, operation, next);
        if (const auto eltwise = eltwise_of(op);
            eltwise && operation.inputs[0] == operation.output) {
            add_eltwise(op, *eltwise);
        } else if (op.type == CpuOpType::binary && operation.inputs[0] == operation.output &&
                   operation.inputs[1] == operation.output && op.integers[0] != 1) {
            add_binary(op);
        } else if (op.type == CpuOpType::pool && operation.inputs[0].size() == 4 &&
                   op.integers[0] == 0 && op.integers[5] == 1 && op.integers[6] == 1) {
            add_pool(op, operation);
        } else if (op.type == CpuOpType::concat && op.integers[0] == 1) {
            add_concat(op);
        } else {
            add_own(op, operation);
        }
        return 0;
    }

    std::size_t add_convolution(const CpuOp& op, const cpu::Operation& operation,
                                const CpuOp* next) {
        const cpu::ConvolutionShape shape = cpu::shape_of_convolution(operation);
        Dims weights = dims_of(operation.inputs[1]), dilations = shape.dilations, behind;
        if (shape.groups > 1) {
            const auto groups = static_cast<std::int64_t>(shape.groups);
            weights[0] /= groups;
            weights.insert(weights.begin(), groups);
        }
        for (std::size_t axis = 0; axis < dilations.size(); axis++) {
            const std::int64_t extent =
                (std::int64_t{shape.kernel[axis]} - 1) * dilations[axis] + 1;
            behind.push_back((std::int64_t{shape.target[axis + 2]} - 1) * shape.strides[axis] +
                             extent - shape.source[axis + 2] - shape.pads[axis]);
            dilations[axis]--;
        }
        dnnl::primitive_attr attributes;
        std::uint32_t output = op.output;
        const auto behind_it = next && reads_[op.output] == 1 && next->inputs[0] == op.output
                                   ? eltwise_of(*next)
                                   : std::nullopt;
        if (behind_it) {
            dnnl::post_ops post;
#if DNNL_VERSION_MAJOR >= 3
            post.append_eltwise(behind_it->algorithm, behind_it->alpha, behind_it->beta);
#else
            post.append_eltwise(1, behind_it->algorithm, behind_it->alpha, behind_it->beta);
#endif
            attributes.set_post_ops(post);
            output = next->output;
        }
        const auto primitive = chosen<dnnl::convolution_forward>(
            attributes, inference, dnnl::algorithm::convolution_direct,
            Description(dims_of(shape.source), f32, any), Description(weights, f32, any),
            Description({std::int64_t{shape.target[1]}}, f32, dnnl::memory::format_tag::x),
            Description(dims_of(shape.target), f32, any), shape.strides, dilations, shape.pads,
            behind);
        dnnl::memory& source = in(op.inputs[0], primitive.src_desc());
        dnnl::memory& target = make(primitive.dst_desc());
        dnnl::memory given(cpu::onednn::dense(weights), cpu::onednn::engine(),
                           const_cast<float*>(tensors_[op.inputs[1]].data.data()));
        dnnl::memory& known = make(primitive.weights_desc());
        dnnl::reorder(given, known)
            .execute(stream(), {{DNNL_ARG_FROM, given}, {DNNL_ARG_TO, known}});
        add_step(dnnl::convolution_forward(primitive), {{DNNL_ARG_SRC, source},
                                                        {DNNL_ARG_WEIGHTS, known},
                                                        {DNNL_ARG_BIAS, value(op.inputs[2])},
                                                        {DNNL_ARG_DST, target}});
        values_[output] = &target;
        return behind_it ? 1 : 0;
    }

    void add_eltwise(const CpuOp& op, const Eltwise& eltwise) {
        dnnl::memory& source = value(op.inputs[0]);
        dnnl::memory& target = make(source.get_desc());
#if DNNL_VERSION_MAJOR >= 3
        const auto primitive =
            chosen<dnnl::eltwise_forward>({}, inference, eltwise.algorithm, source.get_desc(),
                                          source.get_desc(), eltwise.alpha, eltwise.beta);
#else
        const auto primitive = chosen<dnnl::eltwise_forward>(
            {}, inference, eltwise.algorithm, source.get_desc(), eltwise.alpha, eltwise.beta);
#endif
        add_step(dnnl::eltwise_forward(primitive),
                 {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, target}});
        values_[op.output] = &target;
    }

    void add_binary(const CpuOp& op) {
        const bool adds = op.integers[0] == static_cast<std::int64_t>(cpu::Binary::add);
        dnnl::memory& left = value(op.inputs[0]);
        dnnl::memory& right = in(op.inputs[1], left.get_desc());
        dnnl::memory& target = make(left.get_desc());
        const auto primitive = chosen<dnnl::binary>(
            {}, adds ? dnnl::algorithm::binary_add : dnnl::algorithm::binary_mul, left.get_desc(),
            right.get_desc(), left.get_desc());
        add_step(dnnl::binary(primitive),
                 {{DNNL_ARG_SRC_0, left}, {DNNL_ARG_SRC_1, right}, {DNNL_ARG_DST, target}});
        values_[op.output] = &target;
    }

    void add_pool(const CpuOp& op, const cpu::Operation& operation) {
        const auto part = [&](std::size_t number) {
            return Dims(op.integers.begin() + 1 + static_cast<std::ptrdiff_t>(number * 2),
                        op.integers.begin() + 3 + static_cast<std::ptrdiff_t>(number * 2));
        };
        dnnl::memory& source = value(op.inputs[0]);
        const Description wanted(dims_of(operation.output), f32, any);
#if DNNL_VERSION_MAJOR >= 3
        const auto primitive = chosen<dnnl::pooling_forward>(
            {}, inference, dnnl::algorithm::pooling_max, source.get_desc(), wanted, part(1),
            part(0), Dims{0, 0}, part(3), part(4));
#else
        const auto primitive = chosen<dnnl::pooling_forward>(
            {}, inference, dnnl::algorithm::pooling_max, source.get_desc(), wanted, part(1),
            part(0), part(3), part(4));
#endif
        dnnl::memory& target = make(primitive.dst_desc());
        add_step(dnnl::pooling_forward(primitive),
                 {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, target}});
        values_[op.output] = &target;
    }

    void add_concat(const CpuOp& op) {
        std::vector<Description> sources;
        for (const std::uint32_t input : op.inputs)
            sources.push_back(value(input).get_desc());
#if DNNL_VERSION_MAJOR >= 3
        const dnnl::concat::primitive_desc primitive(cpu::onednn::engine(), 1, sources);
#else
        const dnnl::concat::primitive_desc primitive(1, sources, cpu::onednn::engine());
#endif
        dnnl::memory& target = make(primitive.dst_desc());
        std::unordered_map<int, dnnl::memory> arguments = {{DNNL_ARG_DST, target}};
        for (std::size_t i = 0; i < op.inputs.size(); i++)
            arguments.emplace(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), value(op.inputs[i]));
        add_step(dnnl::concat(primitive), std::move(arguments));
        values_[op.output] = &target;
    }

    void add_own(const CpuOp& op, const cpu::Operation& operation) {
        cpu::Inputs inputs;
        for (std::size_t i = 0; i < op.inputs.size(); i++)
            inputs.emplace_back(
                data(in(op.inputs[i], cpu::onednn::dense(dims_of(operation.inputs[i])))),
                cpu::elements(operation.inputs[i]));
        dnnl::memory& target = plain(op.output);
        const std::span<float> out(data(target), cpu::elements(operation.output));
        steps_.emplace_back(
            [kernel = cpu::make_kernel(operation), inputs, out] { kernel(inputs, out); });
    }

    const ModelContents& contents_;
    const std::span<const Tensor> tensors_;
    const std::span<const CpuOp> ops_;
    std::map<std::uint32_t, std::size_t> reads_;
    std::map<std::uint32_t, dnnl::memory*> values_;
    std::vector<std::unique_ptr<cpu::onednn::Owned>> owned_;
    std::vector<std::function<void()>> steps_;
    dnnl::memory* input_ = nullptr;
    std::vector<dnnl::memory*> outputs_;
};

double milliseconds(const std::function<void()>& step) {
    const auto begin = std::chrono::steady_clock::now();
    step();
    const std::chrono::duration<double, std::milli> taken =
        std::chrono::steady_clock::now() - begin;
    return taken.count();
}

// Least times of plain oneDNN and of a session.
std::pair<double, double> measure(const std::string& path, int rounds) {
    const auto model = Model::load(path);
    Session session(open_device("embedded"), model);
    const cpu::onednn::Threads threads;
    PlainNetwork plain(ModelContents::of(*model));
    std::vector<float> input(model->input(0).elements());
    for (std::size_t i = 0; i < input.size(); i++)
        input[i] = static_cast<float>(i * 7 % 256) / 128 - 1;
    Task task = session.create_task();
    std::pair<double, double> best{1e9, 1e9};
    for (int round = -2; round < rounds; round++) {
        const double its = milliseconds([&] { plain.run(input); });
        const double ours = milliseconds([&] {
            task.set_input(0, input);
            task.start();
            if (!task.wait() || task.status() != 0) {
                fmt::print(stderr, "bench_plain_onednn: a run failed\n");
                std::exit(1);
            }
        });
        if (round >= 0)
            best = {std::min(best.first, its), std::min(best.second, ours)};
    }
    double difference = 0, greatest = 0;
    for (std::size_t number = 0; number < model->outputs().size(); number++) {
        const std::vector<float> values = task.output(number);
        for (std::size_t i = 0; i < values.size(); i++) {
            difference =
                std::max<double>(difference, std::abs(values[i] - plain.output(number)[i]));
            greatest = std::max<double>(greatest, std::abs(values[i]));
        }
    }
    if (!(difference <= 1e-3 * greatest)) {
        fmt::print(stderr, "bench_plain_onednn: {}: outputs differ by {} of {}\n", path, difference,
                   greatest);
        std::exit(1);
    }
    return best;
}

} // namespace

int main(int argc, char** argv) {
    int rounds = 20, first = 1;
    if (argc > 2 && std::string_view(argv[1]) == "--rounds") {
        rounds = std::max(std::atoi(argv[2]), 1);
        first = 3;
    }
    if (first >= argc) {
        fmt::print(stderr, "usage: bench_plain_onednn [--rounds N] MODEL...\n");
        return 2;
    }
    fmt::print("least of {} runs, ms{:>14}{:>12}{:>22}\n", rounds, "oneDNN", "Overtake",
               "oneDNN / Overtake");
    double product = 1;
    for (int i = first; i < argc; i++) {
        const auto [its, ours] = measure(argv[i], rounds);
        product *= its / ours;
        const std::string_view path = argv[i];
        fmt::print("{:<25}{:>10.2f}{:>12.2f}{:>21.2f}x\n", path.substr(path.rfind('/') + 1), its,
                   ours, its / ours);
    }
    fmt::print("geometric mean: {:.2f}\n", std::pow(product, 1.0 / (argc - first)));
    return 0;
}
