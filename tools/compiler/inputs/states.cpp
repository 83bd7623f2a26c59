// SPDX-License-Identifier: MIT
#include "compiler/inputs/states.hpp"

#include <algorithm>
#include <optional>

#include "compiler/float/executor.hpp"
#include "compiler/ir/error.hpp"

namespace overtake::compiler {

namespace {

std::string names_of(const std::vector<StateTensor>& tensors) {
    std::string text;
    for (const StateTensor& tensor : tensors)
        text += (text.empty() ? "'" : ", '") + tensor.name + "'";
    return text;
}

std::optional<std::size_t> find(const std::vector<StateTensor>& tensors, const std::string& name) {
    const auto found = std::ranges::find(tensors, name, &StateTensor::name);
    if (found == tensors.end())
        return std::nullopt;
    return static_cast<std::size_t>(found - tensors.begin());
}

StateLink read_state(const std::string& argument, const std::vector<StateTensor>& inputs,
                     const std::vector<StateTensor>& outputs) {
    const std::string place = "--state " + argument;
    if (argument.find('=') == std::string::npos)
        throw CompileError(place, "is not OUTPUT=INPUT");
    // Uses the first '=' between existing names, or else the first one.
    for (std::size_t equals = argument.find('='); equals != std::string::npos;
         equals = argument.find('=', equals + 1)) {
        const auto output = find(outputs, argument.substr(0, equals));
        const auto input = find(inputs, argument.substr(equals + 1));
        if (!output || !input)
            continue;
        if (outputs[*output].elements != inputs[*input].elements)
            throw CompileError(
                place, "the output has " + std::to_string(outputs[*output].elements) +
                           " elements, the input " + std::to_string(inputs[*input].elements));
        return {*output, *input};
    }
    const std::size_t equals = argument.find('=');
    if (!find(outputs, argument.substr(0, equals)))
        throw CompileError(place, "the model has no output '" + argument.substr(0, equals) +
                                      "'; it has " + names_of(outputs));
    throw CompileError(place, "the model has no input '" + argument.substr(equals + 1) +
                                  "'; it has " + names_of(inputs));
}

} // namespace

std::vector<StateLink> read_states(const std::vector<std::string>& arguments,
                                   const std::vector<StateTensor>& inputs,
                                   const std::vector<StateTensor>& outputs) {
    std::vector<StateLink> states;
    for (const std::string& argument : arguments) {
        states.push_back(read_state(argument, inputs, outputs));
        if (std::ranges::count(states, states.back().input, &StateLink::input) > 1)
            throw CompileError("--state " + argument, "the input '" +
                                                          inputs[states.back().input].name +
                                                          "' takes another output already");
    }
    return states;
}

std::vector<StateLink> read_states(const std::vector<std::string>& arguments, const Graph& graph) {
    const auto tensors = [&](const std::vector<ValueId>& ids) {
        std::vector<StateTensor> list;
        for (const ValueId id : ids)
            list.push_back({graph.values[id].name, graph.values[id].elements()});
        return list;
    };
    return read_states(arguments, tensors(graph.inputs), tensors(graph.outputs));
}

void follow_states(const Graph& graph, const std::vector<StateLink>& states, Samples& samples) {
    if (states.empty())
        return;
    FloatExecutor executor(graph);
    for (std::size_t index = 0; index + 1 < samples.size(); ++index) {
        const FloatValues& sample = samples[index];
        const FloatValues& values = executor.run_in_little_memory({sample.begin(), sample.end()});
        for (const StateLink& state : states)
            samples[index + 1][state.input] = values[graph.outputs[state.output]];
    }
}

} // namespace overtake::compiler
