// SPDX-License-Identifier: MIT
//
// What running needs of a model that is on a device: FCs, operators of the CPU, and how tensors
// lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "overtake/model.hpp"

namespace overtake {

/// A copy that refers to nothing of the model and its file.
struct KeptModel {
    /// Its tensors are inputs and outputs and, behind these, for ModelContents alone, the others of
    /// the segments.  It has no program, weights, units and file.
    std::shared_ptr<const Model> model;
    std::vector<std::uint32_t> old_numbers; ///< by tensor: its number in the whole model
    std::vector<bool> is_left_out;          ///< by tensor: a constant without its values
    std::size_t table_bytes = 0;            ///< what it takes, constants included
};

/// Constants that CPU kernels usually have copies of, weights of convolutions, are left out, unless
/// `wanted`, by tensor of the whole model, has them.  Throws std::bad_alloc.
KeptModel keep_for_running(const Model& whole, const std::vector<bool>& wanted);

/// Bytes of what a model's reader made beside the file.
std::size_t table_bytes(const Model& model);

} // namespace overtake
