// SPDX-License-Identifier: MIT
//
// CpuProgram: what a segment of operators of the CPU does step by step, with a layout for each
// value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cpu/operation.hpp"
#include "overtake/cpu_layout.hpp"
#include "overtake/model_contents.hpp"

namespace overtake {

/// Images of a device tensor: more than one of a batch.
inline std::size_t image_count(const Tensor& tensor) {
    return tensor.elements() / (std::size_t{tensor.height} * tensor.width * tensor.channels);
}

/// Whether the device's tensor can be copied to blocks of channels (cpu/layout.hpp) as well: its
/// second dimension is the device's channels, and those behind it are its rows and columns.
bool is_pixels(const Tensor& tensor);

/// Where a step finds a value, or puts it.
struct CpuSlot {
    enum class Where : std::uint8_t {
        constant, ///< in the model, in planes
        host,     ///< in the tensor's array in host memory, in planes
        device,   ///< in the tensor's buffer
        own       ///< in memory that the segment has for itself
    };

    Where where;
    std::uint32_t tensor;
    std::size_t offset = 0; ///< own: first float
    std::size_t count = 0;  ///< own: floats
};

/// Runs an operator, or copies a tensor from one layout to another.
struct CpuStep {
    const CpuOp* op;                               ///< that runs, or that the copy is for
    std::shared_ptr<const cpu::Prepared> prepared; ///< null: copies
    cpu::NodeForm form;                            ///< of `prepared`
    std::vector<CpuSlot> inputs;                   ///< one of a copy
    CpuSlot output;
    cpu::Layout from{}, to{}; ///< of a copy on the host's side; on the device's it does not count
};

struct CpuProgram {
    std::vector<CpuStep> steps;
    std::size_t own_floats = 0; ///< memory that the segment has for itself
    std::size_t most_inputs = 0;
    std::size_t copies = 0;  ///< conversions between layouts, those with the device not among them
    std::size_t blocked = 0; ///< operators whose output is in blocks
    bool is_best = false;    ///< no other choice of layouts costs less by the rule
    bool is_stored = false;  ///< the choice is the file's
    cpu::Layout blocks = cpu::Layout::blocked_8;    ///< those that it has
    std::vector<std::vector<std::uint8_t>> layouts; ///< by operator: CpuOp::layouts of this choice
    double ns = 0;                                  ///< that it takes by the costs
};

/// Of the CPU segment `ops`.  `is_internal`, by tensor: only this segment knows it.  An automatic
/// layout is the file's (CpuOp::layouts), if it chose one that this CPU's kernels have.  Refers to
/// `ops` and `tensors`.  Throws Error ENOMEM.
CpuProgram make_cpu_program(std::span<const CpuOp> ops, std::span<const Tensor> tensors,
                            const std::vector<bool>& is_internal, CpuLayout layout,
                            const cpu::LayoutCosts& costs = {});

/// By tensor: whether it is made by one operator of each CPU segment that has it, is read by
/// nothing else, and is in host memory.  `kept`: inputs and outputs of the model.
std::vector<bool> internal_tensors(std::span<const Segment* const> segments,
                                   std::span<const Tensor> tensors,
                                   std::span<const std::uint32_t> kept);
/// Of the model's segments, which name tensors of `tensors`.
std::vector<bool> internal_tensors(const ModelContents& contents, std::span<const Tensor> tensors);

} // namespace overtake
