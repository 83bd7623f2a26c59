// SPDX-License-Identifier: MIT
//
// What a network's inputs are, beyond what ONNX says: pictures, their colours, their normalisation.
#pragma once

#include <string>
#include <vector>

#include "graph.hpp"

namespace overtake::compiler {

enum class InputKind { tensor, int8, rgb, bgr, gray, nv12 };

struct InputOptions {
    std::string name;                      ///< of the network's input
    InputKind trained = InputKind::tensor; ///< what the ONNX file takes: tensor, rgb, bgr, gray
    InputKind given = InputKind::tensor;   ///< what the compiled model takes
    bool channels_last = false;            ///< whether the ONNX file takes pictures as (H, W, C)
    /// The network was trained on (pixel - mean) * scale: one number, or one a channel in the order
    /// of `trained`.  Empty: 0 and 1.
    std::vector<float> mean;
    std::vector<float> scale;
};

/// The options of one input; those of a plain tensor if there are none.
const InputOptions& options_of(const std::vector<InputOptions>& all, const std::string& name);

} // namespace overtake::compiler
