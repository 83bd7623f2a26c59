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

/// Where a tensor is while its model runs: one of the two, and neither of a constant or of one that
/// is internal to a CPU segment.
struct TensorPlace {
    std::span<std::byte> device;      ///< as Tensor describes it
    std::uint64_t address = 0;        ///< of `device`
    std::uint64_t chroma_address = 0; ///< of an nv12 picture of a caller's, with row_stride
    std::byte* chroma = nullptr;      ///< the same in this process
    std::uint32_t row_stride = 0;     ///< 0: not such a picture
    std::uint32_t chroma_rows = 0;    ///< of such a picture; luma has twice as many
    std::span<float> host;            ///< dense row-major
};

/// For one inference at a time.
class Workspace {
public:
    /// Of those tensors that are not `lent` (by number; none beyond its end), which the caller of
    /// an inference has.  Throws Error ENOSPC or ENOMEM.
    explicit Workspace(const Plan& plan, const std::vector<bool>& lent = {});

    /// By tensor number.
    const std::vector<TensorPlace>& places() const noexcept { return places_; }
    /// For the record of a group (Job::group_record); null where the plan has none.
    Buffer* group_record() const noexcept { return group_record_.get(); }

private:
    std::vector<std::unique_ptr<Buffer>> buffers_;
    std::vector<std::vector<float>> arrays_;
    std::vector<TensorPlace> places_;
    std::unique_ptr<Buffer> group_record_;
};

/// Puts the dense values of a tensor, of a constant those of the model, into `to`, which has
/// tensor.elements() elements.
void read_values(const Tensor& tensor, const TensorPlace& place, std::span<float> to);

} // namespace overtake
