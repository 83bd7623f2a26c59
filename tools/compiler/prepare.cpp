// SPDX-License-Identifier: MIT
#include "compiler/prepare.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <string>

#include <fmt/format.h>

#include "compiler/file/write.hpp"
#include "compiler/import/import.hpp"
#include "compiler/inputs/states.hpp"
#include "compiler/lower/opcodes.hpp"
#include "compiler/lower/recurrence_time.hpp"
#include "compiler/passes/fold.hpp"
#include "compiler/passes/order_segments.hpp"
#include "compiler/passes/origins.hpp"
#include "compiler/passes/widen_activations.hpp"
#include "compiler/passes/widen_weights.hpp"
#include "compiler/profile.hpp"
#include "compiler/quantise/given_scales.hpp"
#include "overtake/custom_operator.hpp"
#include "overtake/error.hpp"

namespace overtake::compiler {
namespace {

constexpr std::size_t random_sample_count = 4;
constexpr std::size_t most_random_elements = 1 << 26; // of all these samples together

// Folds the graph.  Gives values without a scale the scale of their neighbours, if the model has
// scales (spread_given_scales()).
void prepare(Graph& graph) {
    fold(graph);
    if (!graph.comes_quantised)
        return;
    widen_weights(graph);
    spread_given_scales(graph);
}

// Returns "5 nodes ('a', 'b', 'c', ...)".
std::string listed(const std::set<std::string>& names) {
    constexpr std::size_t most = 3;
    std::string list;
    std::size_t count = 0;
    for (const std::string& name : names)
        if (count++ < most)
            list += (list.empty() ? "'" : ", '") + name + "'";
    return std::to_string(count) + (count == 1 ? " node (" : " nodes (") + list +
           (count > most ? ", ...)" : ")");
}

// Returns the options of the inputs.  The options of inputs that the program passes in int8, as the
// device has them, are changed to that (prefer_int8()).
std::vector<InputOptions> inputs_of(const Graph& graph, const CompileOptions& options) {
    std::vector<InputOptions> inputs = options.inputs;
    for (const ValueId id : graph.inputs)
        if (options.int8_inputs)
            prefer_int8(graph, graph.values[id].name, inputs);
    for (const NamedTensor& tensor : options.int8_input_names)
        prefer_int8(graph, tensor.name, inputs);
    return inputs;
}

// Returns the names of the device's nodes that need an instruction of the set `without`.
std::set<std::string> nodes_that_lack(const Graph& graph, std::uint64_t without) {
    std::set<std::string> names;
    for (const Node& node : graph.nodes)
        if ((opcodes_of(graph, node) & without) != 0)
            names.insert(node.name);
    return names;
}

// Warns of these nodes, if there are any: puts their list between the two texts.
void tell_of(const std::set<std::string>& names, const CompileOptions& options,
             const std::string& before, const std::string& behind) {
    if (!names.empty() && options.warn)
        options.warn(options.model + ": " + before + listed(names) + behind);
}

// Returns why a recurrence is not unrolled; empty: the device shall compute it.
std::string why_not_unrolled(const RecurrenceSize& size, const CompileOptions& options,
                             const DeviceProfile& device) {
    constexpr std::uint64_t one = 1;
    constexpr std::uint64_t needed = one << OVERTAKE_OP_CONV | one << OVERTAKE_OP_ADD |
                                     one << OVERTAKE_OP_MUL | one << OVERTAKE_OP_TABLE;
    if (size.steps > options.unrolled_steps)
        return fmt::format("it has {} steps, and --unroll allows {}", size.steps,
                           options.unrolled_steps);
    if ((device.numbers.without & needed) != 0)
        return fmt::format("cores of profile {} lack its instructions", options.profile);
    if (recurrence_on_device_us(size, device.numbers) > recurrence_on_cpu_us(size, device.cpu))
        return "the CPU takes less time for it";
    return "";
}

// Both arguments outlive the result.
ImportOptions with_choice_of_recurrences(const CompileOptions& options,
                                         const DeviceProfile& device) {
    ImportOptions result = options.import;
    result.why_not_unrolled = [&](const RecurrenceSize& size) {
        return why_not_unrolled(size, options, device);
    };
    return result;
}

// Adds the names.  For a part of a recurrence, adds the name of the recurrence instead, because the
// CPU computes a recurrence as one operator.
void add_wholes(const Graph& graph, const std::set<std::string>& names,
                std::set<std::string>& wholes) {
    for (const std::string& name : names)
        wholes.insert(recurrence_of(graph, name));
}

// Imports the model with `attempt`, which returns its graph, or null to end.  Nodes whose
// instructions cores lack go to the CPU, in float.  So do nodes without scales in a model that
// comes quantised, if there are no samples to choose a scale by.
void import_with(const CompileOptions& options,
                 const std::function<const Graph*(const ImportOptions&)>& attempt) {
    const auto device = find_profile(options.profile);
    const std::uint64_t without = device->numbers.without;
    std::set<std::string> lacking, unscaled;
    ImportOptions import = with_choice_of_recurrences(options, *device);
    for (;; import.warn = nullptr) { // its warnings are the same each time
        const Graph* graph = attempt(import);
        const bool wants_scales = graph && graph->comes_quantised && options.calibration.empty();
        if (!graph || (!wants_scales && without == 0))
            return;
        Graph prepared = *graph;
        std::vector<InputOptions> inputs = inputs_of(prepared, options);
        naming_the_model(options.model, [&] { apply_input_options(prepared, inputs); });
        prepare(prepared);
        const std::size_t before = lacking.size() + unscaled.size();
        add_wholes(prepared, nodes_that_lack(prepared, without), lacking);
        if (wants_scales)
            add_wholes(prepared, nodes_without_scales(prepared), unscaled);
        if (lacking.size() + unscaled.size() > before) {
            for (const std::string& name : lacking)
                import.keep_on_cpu.emplace(name, "cores of profile " + options.profile +
                                                     " lack its instructions");
            for (const std::string& name : unscaled)
                import.keep_on_cpu.emplace(name, "the model gives no scales for it");
            continue;
        }
        tell_of(lacking, options, "cores of profile " + options.profile + " lack instructions of ",
                ", which run on the CPU in float");
        tell_of(unscaled, options, "the model gives no scales for ",
                ", which run on the CPU in float; --calibration chooses scales for them");
        return;
    }
}

// A node of the network with the names that users know.
struct NamedNode {
    const Graph& graph;
    const Node& node;
    const std::set<std::string>& origins; // names of the nodes of the file that it is from
    const std::set<std::string>& kinds;   // operators of these nodes, and of their wholes

    // Whether `name` is the name of the node's output, or of a node of the file that this node is
    // from or a part of.
    bool is_called(const std::string& name) const {
        return graph.values[node.output].name == name ||
               std::ranges::any_of(origins, [&](const std::string& origin) {
                   return origin == name || origin.starts_with(name + ":");
               });
    }
};

// Whether the node computes a sum that a recurrence carries from step to step, or a term of it.
bool accumulates(const NamedNode& node) {
    return std::ranges::any_of(node.origins, [&](const std::string& origin) {
        return node.graph.accumulators.contains(origin);
    });
}

bool asks_for_int16(const CompileOptions& options, const NamedNode& node) {
    const auto is_called = [&](const std::string& name) { return node.is_called(name); };
    return std::ranges::any_of(options.nodes_in_16_bits, is_called) ||
           std::ranges::any_of(
               options.import.int16,
               [&](const std::string& name) { return name == all_nodes || is_called(name); }) ||
           std::ranges::any_of(options.import.wishes, [&](const NodeWish& wish) {
               const bool is_of_kind = wish.kind.empty() || node.kinds.contains(wish.kind);
               return wish.width == "int16" &&
                      (wish.name.empty() ? is_of_kind : is_called(wish.name));
           });
}

// Whether the node converts a camera's picture (NV12) to pixels, whose channels are bytes.
bool reads_picture(const Graph& graph, const Node& node) {
    return std::ranges::any_of(node.inputs, [&](ValueId input) {
        return graph.values[input].user_type == UserType::nv12;
    });
}

// Gives 16 bits to the activations of accumulators, and of the nodes that the options or a
// configuration file name.  Nodes that read a picture keep 8 bits.  `kinds` has the kinds of each
// node.
void apply_int16(PreparedNetwork& network, const std::vector<std::set<std::string>>& kinds,
                 const CompileOptions& options) {
    Graph& graph = network.graph;
    std::vector<std::size_t> wanted;
    const auto named = [&](std::size_t index) {
        return NamedNode{graph, graph.nodes[index], network.origins[index], kinds[index]};
    };
    for (std::size_t index = 0; index < graph.nodes.size(); ++index)
        if (graph.nodes[index].on_bpu() && !reads_picture(graph, graph.nodes[index]) &&
            (accumulates(named(index)) || asks_for_int16(options, named(index))))
            wanted.push_back(index);
    for (const std::string& name : options.import.int16)
        if (options.warn && name != all_nodes &&
            std::ranges::none_of(wanted,
                                 [&](std::size_t index) { return named(index).is_called(name); }))
            options.warn("--int16 " + name +
                         ": the node runs on the CPU, in float32, or as a part of other nodes");
    std::vector<ValueId> kept;
    for (const ValueId id : graph.outputs)
        if (wants_int8(options, graph.values[id]))
            kept.push_back(id);
    const NarrowNodes narrow = widen_activations(graph, wanted, kept);
    const auto names_of = [&](const std::vector<std::size_t>& nodes) {
        std::set<std::string> names;
        for (const std::size_t index : nodes)
            if (asks_for_int16(options, named(index)))
                names.insert(network.origins[index].begin(), network.origins[index].end());
        return names;
    };
    tell_of(names_of(narrow.fixed), options, "16 bits: the outputs of ",
            " keep 8 bits, as their scale is fixed");
    tell_of(names_of(narrow.many_products), options, "16 bits: the inputs of ",
            " keep 8 bits, as more than 32768 products are added up");
}

bool is_whole(const Survey& survey) {
    return survey.refusal.empty() &&
           std::ranges::none_of(survey.nodes, [](const NodeVerdict& node) {
               return node.where == NodeVerdict::Where::refused;
           });
}

// Returns fewer samples for large inputs, but at least one.
std::size_t random_samples_of(const Graph& graph) {
    std::size_t elements = 1;
    for (const ValueId id : graph.inputs)
        elements += graph.values[id].elements();
    return std::clamp<std::size_t>(most_random_elements / elements, 1, random_sample_count);
}

Samples given_samples(const Graph& graph, const std::vector<InputOptions>& inputs,
                      bool comes_quantised, const CompileOptions& options,
                      const std::vector<StateLink>& states) {
    std::vector<std::string> names;
    for (const StateLink& state : states)
        names.push_back(graph.values[graph.inputs[state.input]].name);
    if (!options.calibration.empty())
        return read_samples(graph, inputs, options.calibration, options.normalisation, options.warn,
                            names);
    if (!options.normalisation.empty() && options.warn)
        options.warn("--mean, --scale: are for pictures among samples of --calibration");
    if (options.needs_given_scales && !comes_quantised)
        throw CompileError(options.model, "gives no scales; calibrate it");
    if (std::ranges::none_of(graph.nodes, &Node::on_bpu))
        return random_samples(graph, 1, options.seed); // nothing is rounded to integers
    if (!comes_quantised && !options.wants_noise && options.warn)
        options.warn(options.model + ": calibrated with random noise, so accuracy is not to be "
                                     "trusted; give samples with --calibration");
    return random_samples(graph, random_samples_of(graph), options.seed);
}

} // namespace

void load_custom_library(const CompileOptions& options) {
    if (options.custom_op_library.empty())
        return;
    try {
        load_custom_operators(options.custom_op_library);
    } catch (const Error& error) {
        throw CompileError("--custom-op-library", error.what());
    }
}

PreparedNetwork prepare_network(const CompileOptions& options) {
    PreparedNetwork network;
    Graph& graph = network.graph;
    import_with(options, [&](const ImportOptions& import) {
        graph = import_onnx(options.model, import);
        return &graph;
    });
    network.comes_quantised = graph.comes_quantised;
    check_names(graph, options.int8_input_names, graph.inputs, "input", options.warn);
    network.inputs = inputs_of(graph, options);
    naming_the_model(options.model, [&] { apply_input_options(graph, network.inputs); });
    const Origins origins(graph);
    prepare(graph);
    order_segments(graph);
    naming_the_model(options.model, [&] { check_sizes(graph); });
    std::vector<std::set<std::string>> kinds;
    for (const Node& node : graph.nodes) {
        const std::vector<Origin> nodes = origins.of(node);
        network.origins.emplace_back();
        kinds.emplace_back();
        for (const Origin& origin : nodes) {
            network.origins.back().insert(origin.name);
            kinds.back().insert(origin.kind);
            for (const Whole& whole : wholes_of(graph, origin.name))
                kinds.back().insert(whole.kind);
        }
    }
    apply_int16(network, kinds, options);
    naming_the_model(options.model, [&] { check_sizes(graph); });
    return network;
}

Survey survey_network(const CompileOptions& options) {
    Survey survey;
    try {
        load_custom_library(options);
        import_with(options, [&](const ImportOptions& import) {
            survey = survey_onnx(options.model, import);
            return is_whole(survey) ? &survey.graph : nullptr;
        });
        if (!is_whole(survey))
            return survey;
        std::vector<InputOptions> inputs = inputs_of(survey.graph, options);
        apply_input_options(survey.graph, inputs);
        prepare(survey.graph);
        order_segments(survey.graph);
        check_sizes(survey.graph);
    } catch (const CompileError& refusal) {
        survey.refusal = refusal.what();
    }
    return survey;
}

// Returns the samples; those of a network with states are steps of one sequence.
Samples samples_for(const PreparedNetwork& network, const CompileOptions& options) {
    const std::vector<StateLink> states = read_states(options.states, network.graph);
    Samples samples =
        given_samples(network.graph, network.inputs, network.comes_quantised, options, states);
    follow_states(network.graph, states, samples);
    return samples;
}

bool wants_int8(const CompileOptions& options, const Value& output) {
    return output.user_type == UserType::float32 &&
           (options.int8_outputs ||
            std::ranges::find(options.int8_output_names, output.name, &NamedTensor::name) !=
                options.int8_output_names.end());
}

void check_names(const Graph& graph, const std::vector<NamedTensor>& tensors,
                 const std::vector<ValueId>& ids, const char* kind, const Warn& warn) {
    for (const NamedTensor& tensor : tensors)
        if (warn && std::ranges::none_of(
                        ids, [&](ValueId id) { return graph.values[id].name == tensor.name; }))
            warn(tensor.place + ": the network has no " + kind + " '" + tensor.name + "'");
}

} // namespace overtake::compiler
