// SPDX-License-Identifier: MIT
//
// The properties of a network's inputs that ONNX does not describe: pictures, their colours, their
// normalisation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

enum class InputKind { tensor, int8, rgb, bgr, gray, nv12 };

/// The type of elements in files that do not describe it.
enum class RawType { none, float32, uint8 };

struct InputOptions {
    std::string name;                      ///< of the network's input; may be empty if it has one
    std::string place;                     ///< FILE:LINE of the file that sets this; empty: none
    InputKind trained = InputKind::tensor; ///< the kind of the ONNX file: tensor, rgb, bgr, gray
    InputKind given = InputKind::tensor;   ///< the kind of the compiled model
    bool channels_last = false;            ///< whether the ONNX file takes pictures as (H, W, C)
    bool full_range = true;                ///< nv12: 0..255 rather than 16..235
    bool from_resizer = false; ///< nv12: a region of a picture, which the device resizes
    /// The network was trained on (pixel - mean) * scale, with one number or one for each channel
    /// in the order of `trained`.  Empty: 0 and 1.
    std::vector<float> mean;
    std::vector<float> scale;
    std::vector<std::int64_t> shape = {}; ///< that the input must have; empty: any
    bool stretches = true;                ///< stretches sample pictures of another size
    RawType raw = RawType::none;          ///< of samples that are neither .npy nor pictures
};

/// Returns the options of one input; those of a plain tensor if it has none.
const InputOptions& options_of(const std::vector<InputOptions>& all, const std::string& name);

/// Applies `all` to the graph's inputs, and fills in names that were left out.  A picture becomes
/// an input of bytes with a quantisation of its own.  Normalisation is part of this quantisation if
/// one scale and one whole mean serve all channels.  Otherwise it is a node of its own, which also
/// exchanges red and blue.  Throws CompileError.
void apply_input_options(Graph& graph, std::vector<InputOptions>& all);

/// Makes the program pass the input as int8, if it is a plain tensor of reals that the device can
/// hold.
void prefer_int8(const Graph& graph, const std::string& name, std::vector<InputOptions>& all);

/// Returns one sample as the graph's input takes it.  The pixels of a picture, channel by channel
/// in the colours of the training, become the given colours and the numbers of the input's bytes.
std::vector<float> to_graph_input(const Value& input, const InputOptions& options,
                                  std::vector<float> sample);

} // namespace overtake::compiler
