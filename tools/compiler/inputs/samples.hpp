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

/// Called with what the user ought to know about something that works all the same.
using Warn = std::function<void(const std::string&)>;

/// Reads samples for `graph`.  Each specification is [INPUT=]FILE or [INPUT=]DIRECTORY of files
/// (taken in the order of their names); the input's name may be left out if there is only one.
/// A .npy array holds one sample, or several along a leading axis; a .png or .jpg is one sample,
/// stretched to the input's size, with values 0..255 in the colours that `inputs` says the network
/// was trained on (else RGB, or gray for one channel).  Samples are before normalisation: `inputs`
/// says what they become; only pictures of inputs that are plain tensors become what
/// `normalisation` says.  All inputs need equally many, but for `states`, names of inputs that
/// need one or none: the first sample has that or zeros, the others have zeros.  Calls `warn`,
/// if there is one, about files of a directory that it leaves out and about pictures that nothing
/// normalises.  Throws CompileError.
Samples read_samples(const Graph& graph, const std::vector<InputOptions>& inputs,
                     const std::vector<std::string>& specifications,
                     const Normalisation& normalisation = {}, const Warn& warn = {},
                     const std::vector<std::string>& states = {});

/// The warning about pictures that go into a plain tensor as they are; `what` names them.
std::string unnormalised_pictures(const std::string& what);

/// `count` samples of noise, the same for the same seed: standard normal, or uniform over what an
/// input's given quantisation holds.
Samples random_samples(const Graph& graph, std::size_t count, unsigned seed);

} // namespace overtake::compiler
