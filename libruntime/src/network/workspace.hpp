// SPDX-License-Identifier: MIT
//
// Workspace: the memory of a model's tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "network/plan.hpp"

namespace overtake {

/// The place of a tensor while its model runs: either `device` or `host` is set; neither for a
/// constant or a tensor that is internal to a CPU segment.
struct TensorPlace {
    std::span<std::byte> device;      ///< as Tensor describes it
    std::uint64_t address = 0;        ///< device address of `device`
    std::uint64_t chroma_address = 0; ///< caller's nv12 picture: device address of its chroma
    std::byte* chroma = nullptr;      ///< caller's nv12 picture: its chroma in this process
    std::uint32_t row_stride = 0;     ///< of such a picture; 0: it is none
    std::uint32_t chroma_rows = 0;    ///< of such a picture; luma has twice as many
    std::span<float> host;            ///< dense row-major
};

/// The memory of the tensors of one inference at a time.
class Workspace {
public:
    /// Allocates the tensors that are not `lent`.  The caller of an inference has the lent ones (by
    /// number; none beyond the vector's end).  Throws Error ENOSPC or ENOMEM.
    explicit Workspace(const Plan& plan, const std::vector<bool>& lent = {});

    /// The places of the tensors by number.
    const std::vector<TensorPlace>& places() const noexcept { return places_; }
    /// The buffer for the record of a group (Job::group_record); null where the plan has no groups.
    Buffer* group_record() const noexcept { return group_record_.get(); }

private:
    std::vector<std::unique_ptr<Buffer>> buffers_;
    std::vector<std::vector<float>> arrays_;
    std::vector<TensorPlace> places_;
    std::unique_ptr<Buffer> group_record_;
};

/// Writes the dense values of a tensor to `to`, which has tensor.elements() elements.  A constant's
/// values are those of the model.
void read_values(const Tensor& tensor, const TensorPlace& place, std::span<float> to);

} // namespace overtake
