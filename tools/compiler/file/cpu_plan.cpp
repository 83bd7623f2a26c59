// SPDX-License-Identifier: MIT
#include "compiler/file/cpu_plan.hpp"

#include <string>

#include "compiler/ir/error.hpp"
#include "cpu/program.hpp"
#include "model_generated.h"

namespace overtake::compiler {
namespace {

constexpr std::uint64_t most_file_bytes = 0x7fff0000; // a FlatBuffer, less room for its tables

} // namespace

std::vector<std::uint8_t> with_cpu_plan(std::span<const std::uint8_t> bytes,
                                        const ModelContents& contents, CpuLayout layout,
                                        const cpu::LayoutCosts& costs) {
    const std::unique_ptr<fbs::ModelT> file(fbs::GetModel(bytes.data())->UnPack());
    const std::span<const Tensor> tensors =
        std::span(contents.tensors).first(contents.segment_tensors);
    const std::vector<bool> is_internal = internal_tensors(contents, tensors);
    std::uint64_t size = bytes.size();
    for (std::size_t number = 0; number < contents.segments.size(); ++number) {
        const std::vector<CpuOp>& ops = contents.segments[number].cpu_ops;
        const CpuProgram program = make_cpu_program(ops, tensors, is_internal, layout, costs);
        for (std::size_t i = 0; i < ops.size(); ++i)
            file->segments[number]->cpu->ops[i]->layouts = program.layouts[i];
        for (const CpuStep& step : program.steps) {
            const cpu::StoredWeights weights =
                step.prepared ? step.prepared->weights() : cpu::StoredWeights();
            if (weights.format.empty())
                continue;
            size += weights.values.size_bytes();
            if (size > most_file_bytes)
                throw CompileError(
                    std::string(contents.name),
                    "its weights are more than a model file of 2 GiB can hold twice; "
                    "leave --cpu-layout to the programs that run it");
            fbs::CpuOpT& op =
                *file->segments[number]->cpu->ops[static_cast<std::size_t>(step.op - ops.data())];
            op.weights_format = weights.format;
            op.weights.assign(weights.values.begin(), weights.values.end());
        }
    }
    flatbuffers::FlatBufferBuilder builder(size + (1 << 16));
    fbs::FinishModelBuffer(builder, fbs::Model::Pack(builder, file.get()));
    return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

} // namespace overtake::compiler
