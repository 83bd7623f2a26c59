// SPDX-License-Identifier: MIT
#include "compare.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "error.hpp"
#include "float_operators.hpp"
#include "nv12.hpp"

namespace overtake::compiler {
namespace {

// The regions of one job, in host memory.
class Memory {
public:
    Memory(const Graph& graph, const QuantisedGraph& quantised, const Program& program)
        : graph_(graph), quantised_(quantised), program_(program) {
        bytes_[OVERTAKE_REGION_WEIGHTS] = program.constants.bytes();
        bytes_[OVERTAKE_REGION_SCRATCH].resize(program.scratch_bytes);
        for (std::size_t index = 0; index < program.io.size(); ++index)
            bytes_[OVERTAKE_REGION_IO + index].resize(
                program.places[program.io[index].value].bytes);
        for (std::size_t region = 0; region < bytes_.size(); ++region)
            regions_[region] = {bytes_[region].data(), bytes_[region].size(),
                                OVT_REGION_READ | OVT_REGION_WRITE, 0};
    }

    void write(ValueId id, const std::vector<float>& data) {
        const Quantisation& quantisation = quantised_.values[id];
        if (graph_.values[id].user_type == UserType::nv12)
            return write_picture(id, data);
        visit(id, [&](std::uint8_t& element, std::size_t index) {
            element = static_cast<std::uint8_t>(quantisation.nearest(data[index]));
        });
    }

    void write_picture(ValueId id, const std::vector<float>& data) {
        const Value& value = graph_.values[id];
        const Quantisation& quantisation = quantised_.values[id]; // of bytes less 128
        std::vector<float> pixels;
        for (float real : data)
            pixels.push_back(static_cast<float>(quantisation.nearest(real) + 128));
        const auto bytes = to_nv12(pixels, value.height, value.width, value.picture_flags);
        std::ranges::copy(bytes, bytes_[program_.places[id].region].begin());
    }

    std::vector<float> read(ValueId id) {
        const Quantisation& quantisation = quantised_.values[id];
        std::vector<float> data(graph_.values[id].elements());
        visit(id, [&](std::uint8_t& element, std::size_t index) {
            data[index] = quantisation.real(static_cast<std::int8_t>(element));
        });
        return data;
    }

    void execute(const overtake_insn& insn) {
        ovt_operands operands{};
        if (ovt_insn_check(&insn, regions_.data(), &operands) != OVERTAKE_FAULT_NONE)
            throw CompileError(graph_.name, "compiled to an instruction that the device refuses");
        ovt_cursor cursor{};
        for (s64 work = 1 << 24; !ovt_operator_run(&insn, &operands, &cursor, &work);)
            work = 1 << 24;
    }

private:
    // Every element in device memory with its index in ONNX's order.
    template <typename Function>
    void visit(ValueId id, const Function& function) {
        const Value& value = graph_.values[id];
        const Place& place = program_.places[id];
        std::uint8_t* base = bytes_[place.region].data() + place.offset;
        std::size_t index = 0;
        for (std::uint32_t channel = 0; channel < value.channels; ++channel)
            for (std::uint32_t y = 0; y < value.height; ++y)
                for (std::uint32_t x = 0; x < value.width; ++x)
                    function(base[std::uint64_t{y} * place.row_stride +
                                  std::uint64_t{x} * place.pixel_stride + channel],
                             index++);
    }

    const Graph& graph_;
    const QuantisedGraph& quantised_;
    const Program& program_;
    std::array<std::vector<std::uint8_t>, OVERTAKE_MAX_REGIONS> bytes_;
    std::array<ovt_region, OVERTAKE_MAX_REGIONS> regions_{};
};

// Sums for one node, over all samples.
struct Similarity {
    double product = 0, left = 0, right = 0;

    void add(const std::vector<float>& a, const std::vector<float>& b) {
        for (std::size_t index = 0; index < a.size(); ++index) {
            product += double{a[index]} * b[index];
            left += double{a[index]} * a[index];
            right += double{b[index]} * b[index];
        }
    }

    float cosine() const {
        if (left == 0 && right == 0)
            return 1.0f;
        return left == 0 || right == 0 ? 0.0f
                                       : static_cast<float>(product / std::sqrt(left * right));
    }
};

} // namespace

std::vector<float> cosine_similarities(const Graph& graph, const QuantisedGraph& quantised,
                                       const Program& program, const Samples& samples,
                                       const std::function<void(double)>& progress) {
    std::vector<Similarity> sums(graph.nodes.size());
    FloatExecutor executor(graph);
    Memory memory(graph, quantised, program);
    const double total =
        static_cast<double>(samples.size() * std::max<std::size_t>(program.steps.size(), 1));
    double done = 0;
    for (const FloatValues& sample : samples) {
        const FloatValues& expected = executor.run(sample);
        for (std::size_t index = 0; index < graph.inputs.size(); ++index)
            if (program.places[graph.inputs[index]].bytes > 0)
                memory.write(graph.inputs[index], sample[index]);
        // A node may have no steps: a view of what others wrote.
        std::size_t step = 0;
        for (std::size_t index = 0; index < graph.nodes.size(); ++index) {
            const ValueId output = graph.nodes[index].output;
            for (; step < program.steps.size() && program.steps[step].node == index; ++step) {
                memory.execute(program.steps[step].insn);
                progress(++done / total);
            }
            if (program.places[output].bytes > 0)
                sums[index].add(memory.read(output), expected[output]);
        }
        for (std::size_t index = 0; index < graph.nodes.size(); ++index) {
            const Node& node = graph.nodes[index];
            if (node.op != Operator::softmax || program.places[node.inputs[0]].bytes == 0)
                continue;
            std::vector<float> result(graph.values[node.output].elements());
            softmax(node, graph.values[node.output], memory.read(node.inputs[0]), result);
            sums[index].add(result, expected[node.output]);
        }
    }
    std::vector<float> cosines;
    for (const Similarity& sum : sums)
        cosines.push_back(sum.cosine());
    return cosines;
}

} // namespace overtake::compiler
