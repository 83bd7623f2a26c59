// SPDX-License-Identifier: MIT
//
// The part of a model that inferences on a device need: FCs, operators of the CPU, and the layouts
// of tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "overtake/model.hpp"

namespace overtake {

/// A copy that refers to nothing of the model and its file.
struct KeptModel {
    /// Its tensors are the inputs and outputs and, after these, only for ModelContents, the other
    /// tensors of the segments.  It has no program, weights, units and file.
    std::shared_ptr<const Model> model;
    std::vector<std::uint32_t> old_numbers; ///< by tensor: its number in the whole model
    std::vector<bool> is_left_out;          ///< by tensor: a constant without its values
    std::size_t table_bytes = 0;            ///< the bytes that it takes, constants included
};

/// Makes a kept model.  Leaves out the weights and biases of convolutions, of which CPU kernels
/// usually have copies, except for those in `wanted`, by tensor of the whole model.  Throws
/// std::bad_alloc.
KeptModel keep_for_running(const Model& whole, const std::vector<bool>& wanted);

/// Returns the bytes that a model's reader allocated beside the file.
std::size_t table_bytes(const Model& model);

} // namespace overtake
