// SPDX-License-Identifier: MIT
//
// Between the memory that a caller lends and the place where a model has a tensor.
#pragma once

#include "engine/picture_program.hpp"
#include "network/workspace.hpp"
#include "overtake/engine.hpp"

namespace overtake::engine {

/// Throws Error EINVAL, naming the tensor, for memory that cannot be the tensor's.  `kind` and
/// `index` say which it is.
void check_memory(const Tensor& tensor, const TensorMemory& memory, const char* kind,
                  std::size_t index);

/// Whether the model can work in this memory itself.
bool is_lendable(const Tensor& tensor, const TensorMemory& memory);
/// The place that lent memory is.  An nv12 picture that is not as the tensor describes it has a
/// row_stride there.
TensorPlace lent_place(const Tensor& tensor, const TensorMemory& memory);

/// How such a picture lies.
PictureLayout layout_of(const Tensor& tensor, const TensorMemory& memory);

/// Of memory that was not lent.
void fill(const Tensor& tensor, const TensorMemory& from, const TensorPlace& to);
void drain(const Tensor& tensor, const TensorPlace& from, const TensorMemory& to);

/// Bytes of the tensors that these two have moved so far: what was not lent.  Thread safe.
std::uint64_t bytes_moved() noexcept;

} // namespace overtake::engine
