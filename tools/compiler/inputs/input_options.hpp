// SPDX-License-Identifier: MIT
//
// What a network's inputs are, beyond what ONNX says: pictures, their colours, their normalisation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

enum class InputKind { tensor, int8, rgb, bgr, gray, nv12 };

/// Elements of files that say nothing of themselves.
enum class RawType { none, float32, uint8 };

struct InputOptions {
    std::string name;                      ///< of the network's input; may be empty if it has one
    std::string place;                     ///< where a file says this, FILE:LINE; empty: nowhere
    InputKind trained = InputKind::tensor; ///< what the ONNX file takes: tensor, rgb, bgr, gray
    InputKind given = InputKind::tensor;   ///< what the compiled model takes
    bool channels_last = false;            ///< whether the ONNX file takes pictures as (H, W, C)
    bool full_range = true;                ///< nv12: 0..255 rather than 16..235
    bool from_resizer = false; ///< nv12: a region of a picture, which the device resizes
    /// The network was trained on (pixel - mean) * scale: one number, or one a channel in the order
    /// of `trained`.  Empty: 0 and 1.
    std::vector<float> mean;
    std::vector<float> scale;
    std::vector<std::int64_t> shape = {}; ///< that the input must have; empty: any
    bool stretches = true;                ///< samples that are pictures of another size
    RawType raw = RawType::none;          ///< of samples that are neither .npy nor pictures
};

/// The options of one input; those of a plain tensor if there are none.
const InputOptions& options_of(const std::vector<InputOptions>& all, const std::string& name);

/// Gives the graph's inputs what `all` says, and fills in names left out.  A picture becomes an
/// input of bytes with a quantisation of its own: normalising is part of that where one scale and a
/// whole mean serve all channels, and otherwise a node of its own, which also exchanges red and
/// blue. Throws CompileError.
void apply_input_options(Graph& graph, std::vector<InputOptions>& all);

/// Has the program hand the input in as int8, where it is a plain tensor of reals that the device
/// can hold.
void prefer_int8(const Graph& graph, const std::string& name, std::vector<InputOptions>& all);

/// One sample as the graph's input wants it: of pictures the pixels, channel by channel in the
/// colours trained on, become the colours given and the numbers that the input's bytes stand for.
std::vector<float> to_graph_input(const Value& input, const InputOptions& options,
                                  std::vector<float> sample);

} // namespace overtake::compiler
