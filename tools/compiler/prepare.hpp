// SPDX-License-Identifier: MIT
//
// Makes a graph that can be calibrated from an ONNX file.
#pragma once

#include <functional>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "compiler/compile.hpp"
#include "compiler/ir/error.hpp"
#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// A network in float, folded, in segments.
struct PreparedNetwork {
    Graph graph;
    std::vector<InputOptions> inputs; ///< of all inputs
    bool comes_quantised = false;
    std::vector<std::set<std::string>> origins; ///< by node: names of the file's nodes that it is
};

/// Loads the shared objects that compute operators that are not ONNX's.  Throws CompileError.
void load_custom_library(const CompileOptions& options);

/// Reads the model.  Warns of nodes that the profile's cores cannot run, if options.warn is there.
/// Throws CompileError.
PreparedNetwork prepare_network(const CompileOptions& options);

/// Does the same without refusing the network, for a survey.
Survey survey_network(const CompileOptions& options);

/// Returns samples for the network's inputs: those that the options name, or noise.
Samples samples_for(const PreparedNetwork& network, const CompileOptions& options);

/// Calls `step`, and puts the model in front of messages about what is in it.
template <typename Step>
auto naming_the_model(const std::string& model, const Step& step) {
    try {
        return step();
    } catch (const CompileError& error) {
        throw CompileError(model, error.what());
    } catch (const std::bad_alloc&) {
        throw CompileError(model, "there is not enough memory for it");
    }
}

/// Whether the program is to get the output in 8 bits, if the device makes it and it is of floats.
bool wants_int8(const CompileOptions& options, const Value& output);

/// Warns of a configuration file's tensors that are none of the network's.
void check_names(const Graph& graph, const std::vector<NamedTensor>& tensors,
                 const std::vector<ValueId>& ids, const char* kind, const Warn& warn);

} // namespace overtake::compiler
