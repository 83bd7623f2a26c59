// SPDX-License-Identifier: MIT
//
// The group input_parameters: its lists, each with one part for each input of the network.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "compiler/configuration/value.hpp"
#include "compiler/inputs/input_options.hpp"

namespace overtake::compiler {

struct InputLists {
    using List = std::vector<ConfigurationValue>;
    List name, trained, given, layout_trained, layout_given, range, shape, normalisation, mean,
        scale;
    std::optional<ConfigurationValue> source; ///< compiler_parameters.input_source
    bool stretches = true;                    ///< calibration_parameters.preprocess_on
};

/// Whether `source`, a word of input_source, is a device's resizer.
bool is_resizer(const ConfigurationValue& source);

/// Reads the lists: the options of each input; at least one input, without a name if the file gives
/// none.  Faults are kept in `problems`.
std::vector<InputOptions> read_inputs(const InputLists& lists, ConfigurationProblems& problems);

} // namespace overtake::compiler
