// SPDX-License-Identifier: MIT
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler/import/context.hpp"
#include "compiler/import/partition.hpp"

namespace overtake::compiler {

/// The places where a network takes the logarithm of powers of its input, as spectrograms of sound
/// do: a signal passes linear operators (Conv, MatMul), is squared, and is summed into bands.  The
/// logarithm distinguishes a millionth of the loudest power from a thousandth, which 8 bits cannot.
struct Spectra {
    /// Nodes of the file, by number, that the device could run and that have to run on the CPU: the
    /// logarithm, and all nodes that lead from the model's inputs to it.
    std::set<int> nodes;
    /// The tensors that these nodes read and write.
    std::set<std::string> tensors;
};

/// Called when all nodes have been imported once, to `placements`.
Spectra find_spectra(const Context& context, const std::vector<Placement>& placements);

} // namespace overtake::compiler
