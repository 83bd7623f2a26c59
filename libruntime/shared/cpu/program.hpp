// SPDX-License-Identifier: MIT
//
// CpuProgram: the steps of a segment of CPU operators, with a layout for each value.
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

/// Returns the images of a device tensor: more than one for a batch.
inline std::size_t image_count(const Tensor& tensor) {
    return tensor.elements() / (std::size_t{tensor.height} * tensor.width * tensor.channels);
}

/// Whether the device's tensor can also be copied to blocks of channels (cpu/layout.hpp): its
/// second dimension is the device's channels, and the later ones are its rows and columns.
bool is_pixels(const Tensor& tensor);

/// The place where a step finds a value, or puts it.
struct CpuSlot {
    enum class Where : std::uint8_t {
        constant, ///< in the model, in planes
        host,     ///< in the tensor's array in host memory, in planes
        device,   ///< in the tensor's buffer
        own       ///< in the segment's own memory
    };

    Where where;
    std::uint32_t tensor;
    std::size_t offset = 0; ///< own: first float
    std::size_t count = 0;  ///< own: floats
};

/// Runs an operator, or copies a tensor from one layout to another.
struct CpuStep {
    const CpuOp* op;                               ///< the operator; a copy has one for its errors
    std::shared_ptr<const cpu::Prepared> prepared; ///< null: copies
    cpu::NodeForm form;                            ///< of `prepared`
    std::vector<CpuSlot> inputs;                   ///< a copy has one
    CpuSlot output;
    cpu::Layout from{}, to{}; ///< of a copy, on the host's side; ignored on the device's
};

struct CpuProgram {
    std::vector<CpuStep> steps;
    std::size_t own_floats = 0; ///< the segment's own memory
    std::size_t most_inputs = 0;
    std::size_t copies = 0;  ///< conversions between layouts, without those from and to the device
    std::size_t blocked = 0; ///< operators whose output is in blocks
    bool is_best = false;    ///< no other choice of layouts costs less by the costs
    bool is_stored = false;  ///< the choice comes from the file
    cpu::Layout blocks = cpu::Layout::blocked_8;    ///< the blocks that it uses
    std::vector<std::vector<std::uint8_t>> layouts; ///< by operator: CpuOp::layouts of this choice
    double ns = 0;                                  ///< its time by the costs
};

/// Makes the program of the CPU segment `ops`.  `is_internal` states for each tensor whether only
/// this segment uses it.  An automatic layout is that of the file (CpuOp::layouts), if the file
/// chose one that this CPU's kernels have.  Refers to `ops` and `tensors`.  Throws Error ENOMEM.
CpuProgram make_cpu_program(std::span<const CpuOp> ops, std::span<const Tensor> tensors,
                            const std::vector<bool>& is_internal, CpuLayout layout,
                            const cpu::LayoutCosts& costs = {});

/// Returns for each tensor whether CPU segments alone use it, each of them writes it once before it
/// reads it, and it is in host memory.  `kept` has the inputs and outputs of the model, which are
/// not such tensors.
std::vector<bool> internal_tensors(std::span<const Segment* const> segments,
                                   std::span<const Tensor> tensors,
                                   std::span<const std::uint32_t> kept);
/// Does the same for the model's segments, which name tensors of `tensors`.
std::vector<bool> internal_tensors(const ModelContents& contents, std::span<const Tensor> tensors);

} // namespace overtake
