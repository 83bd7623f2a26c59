// SPDX-License-Identifier: MIT
//
// Workspace: what one execution of a model at a time needs beside its program: the memory of its
// tensors and the kernels of its CPU operators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cpu/operation.hpp"
#include "network/upload.hpp"
#include "overtake/model_contents.hpp"

namespace overtake {

/// Where a tensor is while its model runs: one of the two, and neither of a constant.
struct TensorPlace {
    std::span<std::byte> device;      ///< as Tensor describes it
    std::uint64_t address = 0;        ///< of `device`
    std::uint64_t chroma_address = 0; ///< of an nv12 picture of a caller's, with row_stride
    std::uint32_t row_stride = 0;     ///< 0: not such a picture
    std::uint32_t chroma_rows = 0;    ///< of such a picture; luma has twice as many
    std::span<float> host;            ///< dense row-major
};

/// By [segment][operator].
using Kernels = std::vector<std::vector<cpu::Kernel>>;

Kernels make_kernels(const Model& model);

/// The memory of a model's tensors.  One thread at a time.
class Workspace {
public:
    /// Of those tensors that are not `lent` (by number; none beyond its end), which somebody else
    /// has.  Throws Error ENOSPC or ENOMEM.
    explicit Workspace(std::shared_ptr<const Upload> upload, const std::vector<bool>& lent = {});

    const Model& model() const noexcept { return *upload_->model; }
    const Upload& upload() const noexcept { return *upload_; }
    /// By tensor number.
    const std::vector<TensorPlace>& places() const noexcept { return places_; }

private:
    std::shared_ptr<const Upload> upload_;
    std::vector<std::unique_ptr<Buffer>> buffers_;
    std::vector<std::vector<float>> arrays_;
    std::vector<TensorPlace> places_;
};

/// What the job of a BPU segment binds.  `places` by tensor number.
std::vector<overtake_binding> bindings_of(const Upload& upload, const Segment& segment,
                                          std::span<const TensorPlace> places);

/// Computes a CPU segment.  Throws Error, naming the operator.
void compute_segment(const Model& model, const Segment& segment,
                     const std::vector<cpu::Kernel>& kernels, std::span<const TensorPlace> places);

/// Dense values of a tensor, read from wherever it is; of a constant, from the model.
std::vector<float> values_of(const Tensor& tensor, const TensorPlace& place);

} // namespace overtake
