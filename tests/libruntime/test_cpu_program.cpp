// SPDX-License-Identifier: MIT
//
// CPU segments in each layout, compared bit for bit with their operators one after the other.
#include "cpu/chains.hpp"
#include "cpu/program.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "cpu/tensor_layout.hpp"
#include "model_spec.hpp"
#include "network/plan.hpp"
#include "overtake/session.hpp"

namespace overtake::test {
namespace {

using Values = std::vector<float>;
using Shape = std::vector<std::uint32_t>;

/// A network of one segment on the device, one of random operators on the CPU, and one more on the
/// device: input, copied, [operators], last, output.
class RandomNetwork {
public:
    explicit RandomNetwork(std::uint32_t seed) : random_(seed) {
        const std::uint32_t height = 2 + below(6), width = 1 + below(6), channels = 1 + below(18);
        ModelSpec spec = copy_and_softmax(height, width, channels);
        spec.tensors.resize(2);
        spec.tensors.push_back(device_tensor("last", height, width, channels, 0.25f, 2));
        spec.tensors.push_back(device_tensor("output", height, width, channels, 0.25f, 2));
        spec.outputs = {3};
        if (below(3) == 0) // channels last: these cannot be read as blocks
            for (TensorSpec& tensor : spec.tensors) {
                tensor.shape = {1, height, width, channels};
                tensor.order = static_cast<std::uint8_t>(fbs::Order::Rows);
            }
        spec.segments.push_back(spec.segments[0]);
        spec.segments[2].bindings = {fbs::Binding(OVERTAKE_REGION_IO, 2, false),
                                     fbs::Binding(OVERTAKE_REGION_IO + 1, 3, true)};
        spec.segments[1].ops.resize(1); // replaced by the operators that are made here
        model_ = unpacked(spec);
        ops_ = &model_->segments[1]->cpu->ops;
        ops_->clear();
        values_ = {1};
        for (std::uint32_t count = 1 + below(14); count > 0; count--)
            add_operator();
        const Shape whole = shape(1);
        std::uint32_t from = 1;
        for (const std::uint32_t value : values_)
            if (shape(value) == whole && below(2) == 0)
                from = value;
        add(fbs::CpuOpType::Unary, {0}, {}, {from}, 2);
        values_.push_back(2); // rounded, for later operators
        for (std::uint32_t count = below(4); count > 0; count--)
            add_operator();
        for (const std::uint32_t value : values_)
            if (value > 2 && below(4) == 0)
                model_->outputs.push_back(value);
    }

    std::shared_ptr<const Model> model() const { return loaded(*model_); }

    using Change = std::function<void(fbs::CpuOpT&)>;

    /// Returns the model with the layouts of `program` and with the weights that it reads, in the
    /// form in which a compiler stores them.  Applies `change` to the operators whose weights are
    /// stored.
    std::shared_ptr<const Model> model_with(const CpuProgram& program,
                                            const Change& change = {}) const {
        std::vector<std::unique_ptr<fbs::CpuOpT>>& ops = model_->segments[1]->cpu->ops;
        for (std::size_t i = 0; i < ops.size(); i++)
            ops[i]->layouts = program.layouts[i];
        for (const CpuStep& step : program.steps) {
            const cpu::StoredWeights weights =
                step.prepared ? step.prepared->weights() : cpu::StoredWeights();
            for (auto& op : ops)
                if (!weights.format.empty() && op->name == step.op->name) {
                    op->weights_format = weights.format;
                    op->weights.assign(weights.values.begin(), weights.values.end());
                    if (change)
                        change(*op);
                }
        }
        return loaded(*model_);
    }

private:
    std::uint32_t below(std::uint32_t limit) {
        return static_cast<std::uint32_t>(random_() % limit);
    }
    const Shape& shape(std::uint32_t value) const { return model_->tensors[value]->shape; }

    std::uint32_t add_tensor(const Shape& shape) {
        auto tensor = std::make_unique<fbs::TensorT>();
        tensor->name = "t" + std::to_string(model_->tensors.size());
        tensor->shape = shape;
        tensor->bytes = cpu::elements(shape) * sizeof(float);
        model_->tensors.push_back(std::move(tensor));
        return static_cast<std::uint32_t>(model_->tensors.size() - 1);
    }

    std::uint32_t constant(const Shape& shape) {
        const std::uint32_t number = add_tensor(shape);
        std::normal_distribution<float> normal(0, 1);
        model_->tensors[number]->data.resize(cpu::elements(shape));
        for (float& value : model_->tensors[number]->data)
            value = normal(random_);
        return number;
    }

    void add(fbs::CpuOpType type, std::vector<std::int64_t> integers, std::vector<float> reals,
             std::vector<std::uint32_t> inputs, std::uint32_t output) {
        auto op = std::make_unique<fbs::CpuOpT>();
        op->type = type;
        op->name = "op" + std::to_string(ops_->size());
        op->integers = std::move(integers);
        op->reals = std::move(reals);
        op->inputs = std::move(inputs);
        op->outputs = {output};
        ops_->push_back(std::move(op));
    }

    void add_new(fbs::CpuOpType type, std::vector<std::int64_t> integers, std::vector<float> reals,
                 std::vector<std::uint32_t> inputs, const Shape& output) {
        const std::uint32_t number = add_tensor(output);
        add(type, std::move(integers), std::move(reals), std::move(inputs), number);
        values_.push_back(number);
    }

    void add_operator() {
        const std::uint32_t from = values_[below(static_cast<std::uint32_t>(values_.size()))];
        switch (below(6)) {
        case 0:
            return add_convolution(from);
        case 1:
            return add_binary(from);
        case 2:
            return add_pool(from);
        case 3:
            return add_scale_by_mean(from);
        case 4:
            return add_new(fbs::CpuOpType::Softmax, {1}, {}, {from}, Shape(shape(from)));
        default:
            return add_new(fbs::CpuOpType::Unary, {below(44)}, {0.5f, 2}, {from},
                           Shape(shape(from)));
        }
    }

    void add_convolution(std::uint32_t from) {
        const Shape in = shape(from);
        const std::uint32_t kernel = below(2) == 0 ? 1 : 3, stride = 1 + below(2);
        const bool is_depthwise = below(3) == 0;
        const std::uint32_t out = is_depthwise ? in[1] : 1 + below(20);
        const auto size = [&](std::uint32_t length) { return (length - 1) / stride + 1; };
        const std::uint32_t weights = constant({out, is_depthwise ? 1 : in[1], kernel, kernel});
        const std::uint32_t bias = constant({out});
        const std::int64_t pad = kernel / 2;
        add_new(fbs::CpuOpType::Convolution,
                {0, is_depthwise ? in[1] : 1, stride, stride, 1, 1, pad, pad}, {},
                {from, weights, bias}, {1, out, size(in[2]), size(in[3])});
    }

    void add_binary(std::uint32_t from) {
        const Shape whole = shape(from);
        std::uint32_t other = constant({1});
        if (below(2) == 0)
            other = constant({whole[1], 1, 1});
        for (const std::uint32_t value : values_)
            if (shape(value) == whole && below(2) == 0)
                other = value;
        std::vector<std::uint32_t> inputs = {from, other};
        if (below(2) == 0)
            std::swap(inputs[0], inputs[1]);
        add_new(fbs::CpuOpType::Binary, {below(19)}, {}, inputs, whole);
    }

    void add_pool(std::uint32_t from) {
        const Shape in = shape(from);
        add_new(fbs::CpuOpType::Pool, {below(4), 3, 3, 2, 2, 1, 1, 1, 1, 1, 1}, {}, {from},
                {1, in[1], (in[2] - 1) / 2 + 1, (in[3] - 1) / 2 + 1});
    }

    void add_scale_by_mean(std::uint32_t from) {
        const Shape whole = shape(from);
        add_new(fbs::CpuOpType::Reduce, {1, 2, 3}, {}, {from}, {1, whole[1], 1, 1});
        add_new(fbs::CpuOpType::Binary, {2}, {}, {from, values_.back()}, whole);
    }

    std::mt19937 random_;
    std::unique_ptr<fbs::ModelT> model_;
    std::vector<std::unique_ptr<fbs::CpuOpT>>* ops_ = nullptr;
    std::vector<std::uint32_t> values_; ///< tensors that operators can read
};

Values as_on_device(const Tensor& tensor, const Values& values) {
    std::vector<std::byte> bytes(tensor.bytes);
    Values result(values.size());
    to_device(tensor, values, bytes);
    from_device(tensor, bytes, result);
    return result;
}

/// Computes each operator by itself, in planes; the results are by tensor.
std::vector<Values> expected_values(const Model& model, const Values& input) {
    const std::span<const Tensor> tensors = model.tensors();
    std::vector<Values> values(tensors.size());
    for (std::size_t i = 0; i < tensors.size(); i++)
        values[i].assign(tensors[i].data.begin(), tensors[i].data.end());
    values[0] = values[1] = as_on_device(tensors[0], input);
    for (const CpuOp& op : ModelContents::of(model).segments[1].cpu_ops) {
        cpu::Inputs inputs;
        for (const std::uint32_t number : op.inputs)
            inputs.emplace_back(values[number]);
        Values& out = values[op.output];
        out.resize(tensors[op.output].elements());
        cpu::Operation operation = cpu::operation_of(tensors, op);
        operation.blocks = cpu::blocks_of_this_cpu(); // sums as in the program
        cpu::make_kernel(operation)(inputs, out);
        if (tensors[op.output].on_device())
            out = as_on_device(tensors[op.output], out);
    }
    values[3] = values[2];
    return values;
}

bool are_same_bits(const Values& a, const Values& b) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](float x, float y) {
               return std::memcmp(&x, &y, sizeof(x)) == 0 || (std::isnan(x) && std::isnan(y));
           });
}

TEST(CpuProgram, RandomSegmentsGiveTheSameBitsInEachLayout) {
    const auto device = open_embedded();
    std::mt19937 random(7);
    std::size_t copies = 0, blocked = 0, internal = 0, weights = 0;
    for (std::uint32_t seed = 0; seed < 1000; seed++) {
        const RandomNetwork network(seed);
        const auto model = network.model();
        Values input(model->tensors()[0].elements());
        for (float& value : input)
            value = static_cast<float>(static_cast<int>(random() % 41)) - 20.0f;
        const std::vector<Values> expected = expected_values(*model, input);
        for (const CpuLayout layout :
             {CpuLayout::planes, CpuLayout::automatic, CpuLayout::blocked}) {
            Session session(device, model, {.cpu_layout = layout});
            for (int round = 0; round < 2; round++) { // the second round uses memory again
                Task task = session.submit(input);
                ASSERT_TRUE(task.wait());
                ASSERT_EQ(task.status(), 0);
                for (std::size_t i = 0; i < model->outputs().size(); i++)
                    EXPECT_TRUE(are_same_bits(task.output(i), expected[model->outputs()[i]]))
                        << "network " << seed << ", layout " << static_cast<int>(layout)
                        << ", output " << i << ", round " << round;
            }
            const auto plan = plan_once(device, model, PlanParts::segments, {layout, 1});
            const CpuProgram& program = plan->cpu_programs()[1];
            EXPECT_TRUE(program.is_best);
            if (layout == CpuLayout::planes) {
                EXPECT_EQ(program.blocked, 0u);
                EXPECT_EQ(program.copies, 0u);
            }
            blocked += program.blocked;
            copies += program.copies;
            for (std::size_t i = 0; i < model->tensors().size(); i++)
                internal += plan->is_internal(i);
            const auto stored = network.model_with(program);
            const auto stored_plan = plan_once(device, stored);
            const CpuProgram& again = stored_plan->cpu_programs()[1];
            EXPECT_TRUE(again.is_stored) << seed;
            EXPECT_EQ(again.layouts, program.layouts) << seed;
            EXPECT_LE(again.ns, program.ns * 1.0001) << seed;
            for (const CpuOp& op : ModelContents::of(*stored).segments[1].cpu_ops)
                weights += !op.weights.empty();
            Session session_of_stored(device, stored);
            Task task = session_of_stored.submit(input);
            ASSERT_TRUE(task.wait());
            for (std::size_t i = 0; i < model->outputs().size(); i++)
                EXPECT_TRUE(are_same_bits(task.output(i), expected[model->outputs()[i]]))
                    << "network " << seed << ", stored, output " << i;
        }
    }
    EXPECT_GT(blocked, 1000u); // else no blocks were compared
    EXPECT_GT(copies, 300u);
    EXPECT_GT(internal, 1000u);
    EXPECT_GT(weights, 1000u);
}

/// Returns whether a kernel of the model's program reads weights in the file's memory.
bool reads_the_file(const std::shared_ptr<Device>& device,
                    const std::shared_ptr<const Model>& model) {
    const auto plan = plan_once(device, model);
    const std::vector<CpuStep>& steps = plan->cpu_programs()[1].steps;
    return std::ranges::any_of(steps, [](const CpuStep& step) {
        return step.prepared && !step.op->weights.empty() &&
               step.prepared->weights().values.data() == step.op->weights.data();
    });
}

TEST(CpuProgram, StoredWeightsAreReadWhereTheyAreIfTheyFit) {
    const auto device = open_embedded();
    std::size_t in_place = 0;
    for (std::uint32_t seed = 0; seed < 1000; seed++) {
        const RandomNetwork network(seed);
        const auto plain = network.model();
        const auto program = plan_once(device, plain);
        const CpuProgram& made = program->cpu_programs()[1];
        const auto reads = [&](const RandomNetwork::Change& change) {
            const auto stored = network.model_with(made, change);
            return reads_the_file(device, stored);
        };
        if (!reads({})) // no weights, or all with spare lanes
            continue;
        in_place++;
        EXPECT_FALSE(reads([](fbs::CpuOpT& op) { op.weights_format += " of another"; }));
        EXPECT_FALSE(reads([](fbs::CpuOpT& op) { op.weights.pop_back(); }));
        EXPECT_FALSE(reads([](fbs::CpuOpT& op) { op.weights.push_back(1); }));
    }
    EXPECT_GT(in_place, 10u);
}

TEST(CpuProgram, AFileWithLayoutsOrWeightsThatDoNotFitIsRefused) {
    const auto refusal = [](const RandomNetwork::Change& change) -> std::string {
        auto file = unpacked(copy_and_softmax());
        change(*file->segments[1]->cpu->ops[0]);
        try {
            loaded(*file);
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_EQ(refusal([](fbs::CpuOpT& op) { op.layouts = {0, 0}; }), "");
    EXPECT_NE(refusal([](fbs::CpuOpT& op) { op.layouts = {0}; }).find("layouts: 1, but"),
              std::string::npos);
    EXPECT_NE(refusal([](fbs::CpuOpT& op) {
                  op.layouts = {0, 2};
              }).find("another number than 0"),
              std::string::npos);
    EXPECT_NE(refusal([](fbs::CpuOpT& op) { op.weights = {1}; }).find("weights: are those of a"),
              std::string::npos);
}

Tensor host(std::string_view name, const Shape& shape) {
    Tensor tensor{};
    tensor.name = name;
    tensor.shape = shape;
    return tensor;
}

CpuOp unary(std::uint32_t from, std::uint32_t to) {
    return {CpuOpType::unary, "op", {from}, to, {1}, {}};
}

TEST(CpuProgram, LayoutsThatKernelsDoNotHaveAreChosenAnew) {
    std::vector<Tensor> tensors(3, host("t", {1, 16, 2, 2}));
    std::vector<CpuOp> ops = {{CpuOpType::softmax, "op", {0}, 1, {1}, {}, nullptr, {1, 1}},
                              unary(1, 2)};
    ops[1].layouts = {1, 1};
    const std::vector<bool> internal = {false, false, false};
    const CpuProgram program = make_cpu_program(ops, tensors, internal, CpuLayout::automatic);
    EXPECT_FALSE(program.is_stored); // softmax has no blocks
    EXPECT_EQ(program.layouts[0], (std::vector<std::uint8_t>{0, 0}));
    ops[0].layouts = {0, 0};
    EXPECT_TRUE(make_cpu_program(ops, tensors, internal, CpuLayout::automatic).is_stored);
    EXPECT_EQ(make_cpu_program(ops, tensors, internal, CpuLayout::automatic).blocked, 1u);
    EXPECT_FALSE(make_cpu_program(ops, tensors, internal, CpuLayout::planes).is_stored);
    EXPECT_EQ(make_cpu_program(ops, tensors, internal, CpuLayout::planes).blocked, 0u);
    ops[1].layouts = {};
    EXPECT_FALSE(make_cpu_program(ops, tensors, internal, CpuLayout::automatic).is_stored);
}

TEST(CpuProgram, ValuesThatHaveEndedGiveTheirMemoryToOthers) {
    std::vector<Tensor> tensors;
    std::vector<CpuOp> ops;
    for (std::uint32_t i = 0; i < 100; i++) {
        tensors.push_back(host("t", {1, 16, 10, 10}));
        if (i > 0) // not in place, unlike functions of one element
            ops.push_back({CpuOpType::dequantize, "op", {i - 1}, i, {}, {}});
    }
    std::vector<bool> internal(100, true);
    internal.front() = internal.back() = false;
    const CpuProgram program = make_cpu_program(ops, tensors, internal, CpuLayout::planes);
    EXPECT_EQ(program.steps.size(), 99u);
    EXPECT_EQ(program.own_floats, 2u * 1600); // two values of a chain live at once
}

TEST(CpuProgram, NoTwoValuesThatAreAliveShareMemory) {
    std::mt19937 random(3);
    for (int round = 0; round < 200; round++) {
        std::vector<Tensor> tensors = {host("t", {1, 8, 2, 2})};
        std::vector<CpuOp> ops;
        for (std::uint32_t i = 1; i < 40; i++) {
            const auto from = static_cast<std::uint32_t>(random() % i);
            tensors.push_back(host("t", tensors[from].shape));
            ops.push_back(unary(from, i));
        }
        std::vector<bool> internal(tensors.size(), true);
        internal.front() = internal.back() = false;
        const CpuProgram program = make_cpu_program(ops, tensors, internal, CpuLayout::blocked);
        // By float of the memory, the tensor that was written there last.
        std::vector<std::uint32_t> owner(program.own_floats, 0);
        for (const CpuStep& step : program.steps) {
            for (const CpuSlot& slot : step.inputs)
                for (std::size_t i = 0; i < slot.count && slot.where == CpuSlot::Where::own; i++)
                    ASSERT_EQ(owner[slot.offset + i], slot.tensor) << "round " << round;
            for (std::size_t i = 0; i < step.output.count; i++)
                owner[step.output.offset + i] = step.output.tensor;
        }
    }
}

CpuOp sum(std::uint32_t left, std::uint32_t right, std::uint32_t to) {
    return {CpuOpType::binary, "op", {left, right}, to, {0}, {}};
}

/// Returns, by chain, its first operator, its last one, and the tensors that its sums add.
std::vector<std::vector<std::uint32_t>> chains_of(const std::vector<CpuOp>& ops,
                                                  const std::vector<Tensor>& tensors,
                                                  const std::vector<bool>& internal) {
    std::vector<std::vector<std::uint32_t>> result;
    for (const CpuChain& chain : cpu_chains(ops, tensors, internal)) {
        result.push_back(
            {static_cast<std::uint32_t>(chain.first), static_cast<std::uint32_t>(chain.last)});
        result.back().insert(result.back().end(), chain.added.begin(), chain.added.end());
    }
    return result;
}

using Numbers = std::vector<std::vector<std::uint32_t>>;

TEST(CpuChains, FunctionsAndSumsFollowAnOperatorThatOnlyTheyRead) {
    const std::vector<Tensor> tensors(10, host("t", {1, 8, 2, 2}));
    const std::vector<bool> internal = {false, true, true, true,  true,
                                        true,  true, true, false, false};
    const CpuOp pool{CpuOpType::dequantize, "op", {0}, 1, {}, {}};
    const CpuOp other{CpuOpType::dequantize, "op", {0}, 3, {}, {}};
    // Two branches: the later one takes the sum, and the function after it.
    EXPECT_EQ(chains_of({pool, unary(1, 2), other, sum(2, 3, 4), unary(4, 8)}, tensors, internal),
              (Numbers{{0, 1}, {2, 4, 2}}));
    EXPECT_EQ(chains_of({pool, unary(1, 2), other, sum(3, 2, 4), unary(4, 8)}, tensors, internal),
              (Numbers{{0, 1}, {2, 4, 2}}));
    // A value that two operators read stays; so does a tensor that is not internal.
    EXPECT_EQ(chains_of({pool, unary(1, 2), unary(1, 8)}, tensors, internal),
              (Numbers{{0, 0}, {1, 1}, {2, 2}}));
    EXPECT_EQ(chains_of({unary(0, 8), unary(8, 9)}, tensors, internal), (Numbers{{0, 0}, {1, 1}}));
    EXPECT_EQ(chains_of({pool, sum(1, 1, 8)}, tensors, internal), (Numbers{{0, 0}, {1, 1}}));
}

TEST(CpuChains, TheInputsOfAnOperatorStayUntilItsChainRuns) {
    const std::vector<Tensor> tensors(6, host("t", {1, 8, 2, 2}));
    const std::vector<bool> internal = {false, false, true, true, false, false};
    const CpuOp first{CpuOpType::dequantize, "op", {1}, 2, {}, {}};
    EXPECT_EQ(chains_of({unary(0, 1), first, unary(2, 4)}, tensors, internal),
              (Numbers{{0, 0}, {1, 2}}));
    EXPECT_EQ(chains_of({unary(0, 1), first, unary(0, 1), unary(2, 4)}, tensors, internal),
              (Numbers{{0, 0}, {1, 1}, {2, 2}, {3, 3}}));
    const CpuOp of_input{CpuOpType::dequantize, "op", {0}, 2, {}, {}};
    EXPECT_EQ(chains_of({unary(0, 1), of_input, sum(2, 1, 3), unary(0, 1), unary(3, 4)}, tensors,
                        internal),
              (Numbers{{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}}));
    // A tensor that an earlier segment made, and that this segment makes again once it has read it.
    EXPECT_EQ(chains_of({first, unary(0, 1), unary(2, 4)}, tensors, internal),
              (Numbers{{0, 0}, {1, 1}, {2, 2}}));
    EXPECT_EQ(chains_of({first, unary(2, 1)}, tensors, internal), (Numbers{{0, 0}, {1, 1}}));
    EXPECT_EQ(chains_of({of_input, sum(2, 1, 3), unary(3, 1)}, tensors, internal),
              (Numbers{{0, 0}, {1, 1}, {2, 2}}));
}

TEST(CpuChains, NothingFollowsAnotherShapeACustomOperatorOrAConstant) {
    std::vector<Tensor> tensors(6, host("t", {1, 8, 2, 2}));
    tensors[3].shape = {1, 32};
    tensors[4].shape = {1, 8, 1, 1};
    const std::vector<float> eight(8);
    tensors[5].data = eight;
    const std::vector<bool> internal = {false, true, true, false, false, false};
    const CpuOp first{CpuOpType::dequantize, "op", {0}, 1, {}, {}};
    EXPECT_EQ(chains_of({first, unary(1, 3)}, tensors, internal), (Numbers{{0, 0}, {1, 1}}));
    EXPECT_EQ(chains_of({first, sum(1, 4, 2)}, tensors, internal), (Numbers{{0, 0}, {1, 1}}));
    EXPECT_EQ(chains_of({first, sum(1, 5, 2)}, tensors, internal), (Numbers{{0, 0}, {1, 1}}));
    EXPECT_EQ(
        chains_of({{CpuOpType::custom, "op", {0}, 1, {}, {}}, unary(1, 2)}, tensors, internal),
        (Numbers{{0, 0}, {1, 1}}));
    EXPECT_EQ(chains_of({first, unary(1, 2)}, tensors, internal), (Numbers{{0, 1}}));
}

TEST(CpuChains, EightFollowAtMost) {
    const std::vector<Tensor> tensors(21, host("t", {1, 8, 2, 2}));
    std::vector<CpuOp> ops;
    for (std::uint32_t i = 0; i < 20; i++)
        ops.push_back(unary(i, i + 1));
    std::vector<bool> internal(21, true);
    internal.front() = internal.back() = false;
    EXPECT_EQ(chains_of(ops, tensors, internal), (Numbers{{0, 8}, {9, 17}, {18, 19}}));
}

TEST(CpuProgram, InternalAreTensorsOfOneSegmentAlone) {
    const std::vector<Tensor> tensors(8, host("t", {1, 8, 2, 2}));
    Segment first, second, third;
    first.cpu_ops = {unary(0, 1), unary(1, 2), unary(2, 3)};
    second.cpu_ops = {unary(3, 4), unary(4, 5)};
    third.cpu_ops = {unary(0, 1), unary(1, 2)}; // an alternative; `rest` reads its 2
    const std::vector<const Segment*> two = {&first, &second};
    const std::vector<std::uint32_t> kept = {0, 5};
    EXPECT_EQ(internal_tensors(two, tensors, kept),
              (std::vector<bool>{false, true, true, false, true, false, false, false}));
    Segment rest;
    rest.cpu_ops = {unary(2, 3)};
    const std::vector<const Segment*> parts = {&first, &second, &third, &rest};
    EXPECT_EQ(internal_tensors(parts, tensors, kept),
              (std::vector<bool>{false, true, false, false, true, false, false, false}));
}

TEST(CpuProgram, ATensorThatIsReadBeforeItIsMadeIsNotInternal) {
    const std::vector<Tensor> tensors(3, host("t", {1, 8, 2, 2}));
    Segment segment;
    segment.cpu_ops = {unary(1, 2), unary(0, 1)};
    const std::vector<const Segment*> all = {&segment};
    const std::vector<std::uint32_t> kept = {0};
    EXPECT_EQ(internal_tensors(all, tensors, kept), (std::vector<bool>{false, false, true}));
    segment.cpu_ops = {unary(0, 1), unary(0, 1)}; // made twice
    EXPECT_EQ(internal_tensors(all, tensors, kept), (std::vector<bool>{false, false, false}));
}

} // namespace
} // namespace overtake::test
