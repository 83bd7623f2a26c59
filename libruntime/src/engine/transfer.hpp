// SPDX-License-Identifier: MIT
//
// Copies between the memory that a caller lends and the place where a model has a tensor.
#pragma once

#include "engine/picture_program.hpp"
#include "network/workspace.hpp"
#include "overtake/engine.hpp"

namespace overtake::engine {

/// Throws Error EINVAL, naming the tensor, for memory that cannot be the tensor's.  `kind` and
/// `index` name it in the message.
void check_memory(const Tensor& tensor, const TensorMemory& memory, const char* kind,
                  std::size_t index);

/// Whether the model can work in this memory directly.
bool is_lendable(const Tensor& tensor, const TensorMemory& memory);
/// Returns lent memory as the place of its tensor.  If an NV12 picture has another layout than the
/// tensor, its place has a row_stride.
TensorPlace lent_place(const Tensor& tensor, const TensorMemory& memory);

/// Returns the layout of an NV12 picture in this memory.
PictureLayout layout_of(const Tensor& tensor, const TensorMemory& memory);

/// Copies from or to memory that was not lent.
void fill(const Tensor& tensor, const TensorMemory& from, const TensorPlace& to);
void drain(const Tensor& tensor, const TensorPlace& from, const TensorMemory& to);

/// Bytes that fill() and drain() have copied so far.  Thread safe.
std::uint64_t bytes_moved() noexcept;

} // namespace overtake::engine
