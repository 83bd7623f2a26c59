// SPDX-License-Identifier: MIT
#include "compiler/file/compare.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include <ovt_simd_port.h>

#include "compiler/file/similarity.hpp"
#include "compiler/inputs/nv12.hpp"
#include "compiler/ir/error.hpp"
#include "compiler/lower/memory_plan.hpp"
#include "simd_choice.hpp"

namespace overtake::compiler {
namespace {

/// Returns memory for vector operators, which compute the same bytes in less time.  Returns nothing
/// if the CPU has no vector instructions for them, or if OVERTAKE_SIMD forbids these.
std::unique_ptr<ovt_simd_scratch> simd_scratch() {
    const auto level = chosen_simd();
    if (!level)
        return nullptr;
    auto scratch = std::make_unique<ovt_simd_scratch>();
    scratch->level = *level;
    return scratch;
}

// The memory of a model's tasks: a buffer for every value that crosses a border, in the device's
// form or in float, and the regions of the job that runs.
class Memory {
public:
    Memory(const Graph& graph, const QuantisedGraph& quantised, const Program& program)
        : graph_(graph), quantised_(quantised), on_device_(device_values(graph)),
          bytes_(graph.values.size()), reals_(graph.values.size()),
          constants_(program.constants.bytes()) {
        for (ValueId id = 0; id < graph.values.size(); ++id)
            if (on_device_[id])
                bytes_[id].resize(dense_place(graph.values[id]).bytes);
            else
                reals_[id] = graph.values[id].constant;
    }

    void write(ValueId id, const std::vector<float>& data) {
        if (!on_device_[id]) {
            reals_[id] = data;
            return;
        }
        const Quantisation& quantisation = quantised_.values[id];
        if (graph_.values[id].user_type == UserType::nv12)
            return write_picture(id, data);
        visit(id, dense_place(graph_.values[id]), bytes_[id].data(),
              [&](std::uint8_t* element, std::size_t index) {
                  quantisation.store(quantisation.nearest(data[index]), element);
              });
    }

    void write_picture(ValueId id, const std::vector<float>& data) {
        const Value& value = graph_.values[id];
        const Quantisation& quantisation = quantised_.values[id]; // for bytes less 128
        std::vector<float> pixels;
        for (float real : data)
            pixels.push_back(static_cast<float>(quantisation.nearest(real) + 128));
        const auto bytes = to_nv12(pixels, value.height, value.width, value.picture_flags);
        std::ranges::copy(bytes, bytes_[id].begin());
    }

    /// Reads a value that crosses a border, or that is the input of a segment on the CPU.
    std::vector<float> read(ValueId id) {
        if (!on_device_[id])
            return reals_[id];
        return read_at(id, dense_place(graph_.values[id]), bytes_[id].data());
    }

    void enter(const ProgramSegment& segment) {
        segment_ = &segment;
        scratch_.assign(segment.scratch_bytes, 0);
        regions_ = {};
        bind(OVERTAKE_REGION_WEIGHTS, constants_);
        bind(OVERTAKE_REGION_SCRATCH, scratch_);
        for (std::size_t index = 0; index < segment.io.size(); ++index)
            bind(OVERTAKE_REGION_IO + index, bytes_[segment.io[index].value]);
    }

    /// Reads a value of the entered segment that has just been written.
    std::vector<float> read_here(ValueId id) {
        const Place& place = segment_->places.at(id);
        return read_at(id, place,
                       static_cast<std::uint8_t*>(regions_[place.region].base) + place.offset);
    }

    /// Writes the value into the entered segment, rounded from `data` in float.
    void write_here(ValueId id, const std::vector<float>& data) {
        if (graph_.values[id].is_constant())
            return; // it is among the weights
        if (graph_.values[id].user_type == UserType::nv12)
            return write_picture(id, data);
        const Place& place = segment_->places.at(id);
        const Quantisation& quantisation = quantised_.values[id];
        visit(id, place, static_cast<std::uint8_t*>(regions_[place.region].base) + place.offset,
              [&](std::uint8_t* element, std::size_t index) {
                  quantisation.store(quantisation.nearest(data[index]), element);
              });
    }

    /// Returns the value that the CPU reads if `data` is the value in float: rounded if it is on
    /// the device.
    std::vector<float> rounded(ValueId id, const std::vector<float>& data) const {
        if (!on_device_[id])
            return data;
        const Quantisation& quantisation = quantised_.values[id];
        std::vector<float> result(data.size());
        std::ranges::transform(data, result.begin(), [&](float real) {
            return quantisation.real(quantisation.nearest(real));
        });
        return result;
    }

    /// Returns how many elements lie more than a step beyond the range of the value's bits.
    std::size_t count_beyond(ValueId id, const std::vector<float>& data) const {
        if (!on_device_[id])
            return 0;
        const Quantisation& quantisation = quantised_.values[id];
        const float low = quantisation.real(quantisation.least() - 1),
                    high = quantisation.real(quantisation.greatest() + 1);
        return static_cast<std::size_t>(
            std::ranges::count_if(data, [&](float real) { return real < low || real > high; }));
    }

    void execute(const overtake_insn& insn) {
        ovt_operands operands{};
        if (ovt_insn_check(&insn, regions_.data(), &operands) != OVERTAKE_FAULT_NONE)
            throw CompileError(graph_.name, "compiled to an instruction that the device refuses");
        if (simd_ && execute_twin(insn, operands))
            return;
        ovt_cursor cursor{};
        for (s64 work = 1 << 24; !ovt_operator_run(&insn, &operands, &cursor, &work);)
            work = 1 << 24;
    }

private:
    bool execute_twin(const overtake_insn& insn, const ovt_operands& operands) {
        ovt_simd_section section;
        ovt_simd_begin(&section);
        const bool is_covered = ovt_simd_covers(&insn);
        ovt_cursor cursor{};
        for (s64 work = 1 << 24;
             is_covered && !ovt_simd_run(&insn, &operands, simd_.get(), &cursor, &work);)
            work = 1 << 24;
        ovt_simd_end(&section);
        return is_covered;
    }

    void bind(std::size_t region, std::vector<std::uint8_t>& bytes) {
        regions_[region] = {bytes.data(), bytes.size(), OVT_REGION_READ | OVT_REGION_WRITE, 0};
    }

    std::vector<float> read_at(ValueId id, const Place& place, std::uint8_t* base) {
        const Quantisation& quantisation = quantised_.values[id];
        std::vector<float> data(graph_.values[id].elements());
        visit(id, place, base, [&](const std::uint8_t* element, std::size_t index) {
            data[index] = quantisation.real(quantisation.load(element));
        });
        return data;
    }

    // Calls a function for every element in device memory, with its index in ONNX's order.
    template <typename Function>
    void visit(ValueId id, const Place& place, std::uint8_t* base, const Function& function) {
        const Value& value = graph_.values[id];
        for (std::size_t image = 0; image < value.batch; ++image)
            for_each_element(value, [&](auto channel, auto y, auto x, std::size_t index) {
                function(base + image * place.image_stride + std::uint64_t{y} * place.row_stride +
                             std::uint64_t{x} * place.pixel_stride +
                             std::uint64_t{channel} * value.element_bytes(),
                         image * value.elements_of_image() + index);
            });
    }

    const Graph& graph_;
    const QuantisedGraph& quantised_;
    const std::vector<bool> on_device_;
    std::vector<std::vector<std::uint8_t>> bytes_; // by value
    std::vector<std::vector<float>> reals_;        // by value
    std::vector<std::uint8_t> constants_, scratch_;
    const ProgramSegment* segment_ = nullptr;
    std::unique_ptr<ovt_simd_scratch> simd_ = simd_scratch();
    std::array<ovt_region, OVERTAKE_MAX_REGIONS> regions_{};
};

class Comparison {
public:
    Comparison(const Graph& graph, const QuantisedGraph& quantised, const Program& program,
               Alone alone, const OutputUses& uses, const std::function<void(double)>& step_done)
        : graph_(graph), program_(program), step_done_(step_done),
          memory_(graph, quantised, program), executor_(graph), sums_(graph.nodes.size()),
          is_output_(graph.values.size()) {
        for (const ValueId output : graph.outputs)
            is_output_[output] = true;
        for (const Decision& decision : uses.decisions)
            decisions_.emplace(decision.value, Decided{&decision, DecisionSimilarity(uses.tie)});
        for (const Decision& vectors : uses.logits)
            logits_.emplace(vectors.value, Logits{vectors.choices, LogitSimilarity()});
        if (alone == Alone::yes)
            alone_.emplace(graph, quantised, program);
        for (const Node& node : graph.nodes)
            kernels_.push_back(node.on_bpu() ? cpu::Kernel{} : cpu_kernel(graph, node));
    }

    void run(const FloatValues& sample, const std::vector<StateLink>& states) {
        const FloatValues& expected = executor_.run(sample);
        for (std::size_t index = 0; index < graph_.inputs.size(); ++index)
            memory_.write(graph_.inputs[index], sample[index]);
        for (std::size_t index = 0; index < states_.size(); ++index)
            memory_.write(graph_.inputs[states[index].input], states_[index]);
        for (const ProgramSegment& segment : program_.segments)
            if (segment.on_bpu)
                run_bpu(segment, expected);
            else
                for (std::size_t index = 0; index < segment.node_count; ++index)
                    run_cpu(segment.first_node + index, expected);
        states_.clear();
        for (const StateLink& state : states)
            states_.push_back(memory_.read(graph_.outputs[state.output]));
    }

    std::vector<NodeSimilarity> similarities() const {
        std::vector<NodeSimilarity> result;
        for (std::size_t index = 0; index < sums_.size(); ++index) {
            const Sums& sums = sums_[index];
            const auto decided = decisions_.find(graph_.nodes[index].output);
            const auto logits = logits_.find(graph_.nodes[index].output);
            constexpr double none = std::numeric_limits<double>::quiet_NaN();
            const bool decides = decided != decisions_.end();
            result.push_back(
                {static_cast<float>(sums.all.cosine()), static_cast<float>(sums.all.error()),
                 static_cast<float>(sums.alone.error()),
                 static_cast<float>(sums.beyond) /
                     static_cast<float>(std::max<std::size_t>(sums.elements, 1)),
                 static_cast<float>(sums.signs.rarer_cosine()),
                 static_cast<float>(decides ? decided->second.similarity.share() : none),
                 static_cast<float>(decides ? decided->second.similarity.expected_share() : none),
                 static_cast<float>(logits != logits_.end() ? logits->second.similarity.nearness()
                                                            : none)});
        }
        return result;
    }

private:
    // The sums of one node over all samples.
    struct Sums {
        Similarity all, alone;
        SignSimilarity signs; // for outputs of the graph
        std::size_t beyond = 0, elements = 0;
    };

    // A tensor of decisions, over all samples.
    struct Decided {
        const Decision* decision;
        DecisionSimilarity similarity;
    };

    // The similarity of a tensor that may hold logits, over all samples.
    struct Logits {
        std::size_t choices;
        LogitSimilarity similarity;
    };

    void add(std::size_t index, const std::vector<float>& result, const FloatValues& expected) {
        const ValueId output = graph_.nodes[index].output;
        sums_[index].all.add(result, expected[output]);
        if (is_output_[output])
            sums_[index].signs.add(result, expected[output]);
        if (const auto decided = decisions_.find(output); decided != decisions_.end()) {
            auto& [decision, similarity] = decided->second;
            if (decision->choices == 1)
                similarity.add_each(result, expected[output], 0.5F);
            else
                similarity.add(result, expected[output], decision->choices, decision->inner);
        }
        if (const auto found = logits_.find(output); found != logits_.end())
            found->second.similarity.add(result, expected[output], found->second.choices);
        sums_[index].beyond += memory_.count_beyond(output, expected[output]);
        sums_[index].elements += result.size();
    }

    // Runs the steps of nodes; a node that is a view of other values has none.
    void run_bpu(const ProgramSegment& segment, const FloatValues& expected) {
        memory_.enter(segment);
        if (alone_)
            alone_->enter(segment);
        std::size_t step = segment.first_step;
        for (std::size_t index = segment.first_node;
             index < segment.first_node + segment.node_count; ++index) {
            const std::size_t first = step;
            for (; step < segment.first_step + segment.step_count &&
                   program_.steps[step].node == index;
                 ++step) {
                memory_.execute(program_.steps[step].insn);
                step_done_(1);
            }
            add(index, memory_.read_here(graph_.nodes[index].output), expected);
            if (alone_)
                run_bpu_alone(index, first, step, expected);
        }
    }

    void run_bpu_alone(std::size_t index, std::size_t first, std::size_t last,
                       const FloatValues& expected) {
        const Node& node = graph_.nodes[index];
        for (ValueId input : node.inputs)
            alone_->write_here(input, expected[input]);
        for (std::size_t step = first; step < last; ++step)
            alone_->execute(program_.steps[step].insn);
        sums_[index].alone.add(alone_->read_here(node.output), expected[node.output]);
    }

    void run_cpu(std::size_t index, const FloatValues& expected) {
        const Node& node = graph_.nodes[index];
        const auto result_of = [&](const auto& read) {
            std::vector<std::vector<float>> values;
            for (ValueId input : node.inputs)
                values.push_back(read(input));
            std::vector<float> result(graph_.values[node.output].elements());
            kernels_[index](cpu::Inputs(values.begin(), values.end()), result);
            return result;
        };
        const std::vector<float> result =
            result_of([&](ValueId input) { return memory_.read(input); });
        memory_.write(node.output, result);
        // If the device reads an output as well, the output is compared as the device reads it.
        add(index, is_output_[node.output] ? memory_.read(node.output) : result, expected);
        if (alone_)
            sums_[index].alone.add(
                result_of([&](ValueId input) { return alone_->rounded(input, expected[input]); }),
                expected[node.output]);
    }

    const Graph& graph_;
    const Program& program_;
    const std::function<void(double)>& step_done_;
    Memory memory_;
    std::optional<Memory> alone_; // where a node runs on float's inputs
    FloatExecutor executor_;
    std::vector<cpu::Kernel> kernels_; // by node, for nodes on the CPU
    std::vector<Sums> sums_;           // by node
    std::map<ValueId, Decided> decisions_;
    std::map<ValueId, Logits> logits_;
    std::vector<bool> is_output_; // by value
    FloatValues states_;          // of the previous run; empty before the first
};

} // namespace

std::vector<NodeSimilarity> compare_with_float(const Graph& graph, const QuantisedGraph& quantised,
                                               const Program& program,
                                               std::span<const FloatValues> samples, Alone alone,
                                               const OutputUses& uses,
                                               const std::function<void(double)>& progress) {
    const double total =
        static_cast<double>(samples.size() * std::max<std::size_t>(program.steps.size(), 1));
    double done = 0;
    const std::function<void(double)> step_done = [&](double steps) {
        progress((done += steps) / total);
    };
    Comparison comparison(graph, quantised, program, alone, uses, step_done);
    for (const FloatValues& sample : samples)
        comparison.run(sample, uses.states);
    return comparison.similarities();
}

} // namespace overtake::compiler
