// SPDX-License-Identifier: MIT
//
// Calibration samples: files in, arrays in the order of the graph's inputs out.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/float/executor.hpp"
#include "compiler/inputs/images.hpp"
#include "compiler/inputs/input_options.hpp"
#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// Samples, each holding one array for each input of the graph.
using Samples = std::vector<FloatValues>;

/// Called with a warning for the user; the operation goes on.
using Warn = std::function<void(const std::string&)>;

/// Reads samples for `graph`.  Each specification is [INPUT=]FILE or [INPUT=]DIRECTORY of files
/// (taken in the order of their names); the input's name may be left out if there is only one.
/// A .npy array holds one sample, or several along a leading axis; a .png or .jpg is one sample,
/// stretched to the input's size, with values 0..255 in the colours that `inputs` says the network
/// was trained on (else RGB, or gray for one channel).  Files hold samples before normalisation.
/// Samples of other inputs than plain tensors are converted by `inputs`.  Of plain tensors, only
/// pictures are normalised, by `normalisation`.  All inputs need equally many samples, except the
/// inputs named in `states`, which have at most one: it is that of the first sample, and states
/// without a sample are zeros.  Calls `warn`, if there is one, about files of a directory that it
/// leaves out and about pictures that nothing normalises.  Throws CompileError.
Samples read_samples(const Graph& graph, const std::vector<InputOptions>& inputs,
                     const std::vector<std::string>& specifications,
                     const Normalisation& normalisation = {}, const Warn& warn = {},
                     const std::vector<std::string>& states = {});

/// Returns the warning about pictures that go into a plain tensor without normalisation; `what`
/// names them.
std::string unnormalised_pictures(const std::string& what);

/// Returns `count` samples of noise, the same for the same seed.  Noise is standard normal, or
/// uniform over the range of an input's given quantisation, or a picture of random bytes for nv12.
Samples random_samples(const Graph& graph, std::size_t count, unsigned seed);

} // namespace overtake::compiler
