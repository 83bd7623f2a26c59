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
    std::vector<std::set<std::string>> origins; ///< by node: the file's nodes that it is from
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

/// Calls `step`, and puts the model's path in front of the message of a CompileError.
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

/// Whether the options ask for this output in int8, and it is of floats.  The program gets it so
/// only if the device makes it.
bool wants_int8(const CompileOptions& options, const Value& output);

/// Warns of the tensors of a configuration file that are not among the values `ids`.
void check_names(const Graph& graph, const std::vector<NamedTensor>& tensors,
                 const std::vector<ValueId>& ids, const char* kind, const Warn& warn);

} // namespace overtake::compiler
