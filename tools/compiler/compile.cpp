// SPDX-License-Identifier: MIT
#include "compiler/compile.hpp"

#include <algorithm>
#include <functional>
#include <new>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "compiler/asked_plan.hpp"
#include "compiler/file/compare.hpp"
#include "compiler/file/write.hpp"
#include "compiler/import/import.hpp"
#include "compiler/inputs/states.hpp"
#include "compiler/ir/error.hpp"
#include "compiler/lower/host_time.hpp"
#include "compiler/lower/lower.hpp"
#include "compiler/lower/opcodes.hpp"
#include "compiler/lower/split.hpp"
#include "compiler/passes/equalise.hpp"
#include "compiler/passes/fold.hpp"
#include "compiler/passes/order_segments.hpp"
#include "compiler/passes/widen_weights.hpp"
#include "compiler/profile.hpp"
#include "compiler/quantise/best_method.hpp"
#include "compiler/quantise/concat_scales.hpp"
#include "compiler/quantise/given_scales.hpp"
#include "compiler/units/compile_units.hpp"
#include "overtake/custom_operator.hpp"
#include "overtake/error.hpp"

namespace overtake::compiler {
namespace {

// Shorter FCs would cost more than they bring; boards have the same bound.
constexpr std::uint32_t least_max_time_us = 1000;
constexpr std::size_t random_sample_count = 4;
constexpr std::size_t most_random_elements = 1 << 26; // of all of these samples
// The device's operators are exact and slow: as many samples are compared as fit in this.
constexpr std::uint64_t compared_macs = 1ull << 31;
constexpr std::size_t compared_samples = 16;

std::span<const FloatValues> some_of(const Graph& graph, const Samples& samples) {
    std::uint64_t macs = 1;
    for (const Node& node : graph.nodes)
        if (node.on_bpu())
            macs += multiply_accumulates(graph, node);
    const std::size_t count =
        std::min({samples.size(), compared_samples,
                  std::max<std::size_t>(1, static_cast<std::size_t>(compared_macs / macs))});
    return std::span(samples).first(count);
}

// Puts the model in front of messages about what is in it.
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

// Folded, and with the scales that follow from those that the model gives.
void prepare(Graph& graph) {
    fold(graph);
    if (!graph.comes_quantised)
        return;
    widen_weights(graph);
    spread_given_scales(graph);
}

// "5 nodes ('a', 'b', 'c', ...)"
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

// The inputs' options, with those that a program hands in as the device has them.
std::vector<InputOptions> inputs_of(const Graph& graph, const CompileOptions& options) {
    std::vector<InputOptions> inputs = options.inputs;
    for (const ValueId id : graph.inputs)
        if (options.int8_inputs)
            prefer_int8(graph, graph.values[id].name, inputs);
    for (const NamedTensor& tensor : options.int8_input_names)
        prefer_int8(graph, tensor.name, inputs);
    return inputs;
}

// Nodes of the device with instructions that its cores lack.
std::set<std::string> nodes_that_lack(const Graph& graph, std::uint64_t without) {
    std::set<std::string> names;
    for (const Node& node : graph.nodes)
        if ((opcodes_of(graph, node) & without) != 0)
            names.insert(node.name);
    return names;
}

// Says of nodes that run on the CPU why they do; nothing of none.
void tell_of(const std::set<std::string>& names, const CompileOptions& options,
             const std::string& before, const std::string& behind) {
    if (!names.empty() && options.warn)
        options.warn(options.model + ": " + before + listed(names) + behind);
}

// Imports the model with `attempt`, which returns its graph, or null to end.  To the CPU, in float,
// go nodes whose instructions cores lack; of a model that comes quantised, without samples to
// choose a scale by, those that have none in it.
void import_with(const CompileOptions& options,
                 const std::function<const Graph*(const ImportOptions&)>& attempt) {
    const std::uint64_t without = find_profile(options.profile)->numbers.without;
    std::set<std::string> lacking, unscaled;
    ImportOptions import = options.import;
    for (;; import.warn = nullptr) { // what it says is the same each time
        const Graph* graph = attempt(import);
        const bool wants_scales = graph && graph->comes_quantised && options.calibration.empty();
        if (!graph || (!wants_scales && without == 0))
            return;
        Graph prepared = *graph;
        std::vector<InputOptions> inputs = inputs_of(prepared, options);
        naming_the_model(options.model, [&] { apply_input_options(prepared, inputs); });
        prepare(prepared);
        const std::size_t before = lacking.size() + unscaled.size();
        lacking.merge(nodes_that_lack(prepared, without));
        if (wants_scales)
            unscaled.merge(nodes_without_scales(prepared));
        if (lacking.size() + unscaled.size() > before) {
            for (const auto* names : {&lacking, &unscaled})
                import.keep_on_cpu.insert(names->begin(), names->end());
            continue;
        }
        tell_of(lacking, options, "cores of profile " + options.profile + " lack instructions of ",
                ", which run on the CPU in float");
        tell_of(unscaled, options, "the model gives no scales for ",
                ", which run on the CPU in float; --calibration chooses scales for them");
        return;
    }
}

// What computes the operators that are not ONNX's.
void load_custom_library(const CompileOptions& options) {
    if (options.custom_op_library.empty())
        return;
    try {
        load_custom_operators(options.custom_op_library);
    } catch (const Error& error) {
        throw CompileError("--custom-op-library", error.what());
    }
}

Graph import_model(const CompileOptions& options) {
    load_custom_library(options);
    Graph graph;
    import_with(options, [&](const ImportOptions& import) {
        graph = import_onnx(options.model, import);
        return &graph;
    });
    return graph;
}

bool is_whole(const Survey& survey) {
    return survey.refusal.empty() &&
           std::ranges::none_of(survey.nodes, [](const NodeVerdict& node) {
               return node.where == NodeVerdict::Where::refused;
           });
}

// Of large inputs fewer, as long as there is one.
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

// Samples of a network with states are steps of one sequence.
Samples samples_for(const Graph& graph, const std::vector<InputOptions>& inputs,
                    bool comes_quantised, const CompileOptions& options) {
    const std::vector<StateLink> states = read_states(options.states, graph);
    Samples samples = given_samples(graph, inputs, comes_quantised, options, states);
    follow_states(graph, states, samples);
    return samples;
}

// Of a configuration file's tensors those that are none of the network's.
void check_names(const Graph& graph, const std::vector<NamedTensor>& tensors,
                 const std::vector<ValueId>& ids, const char* kind, const Warn& warn) {
    for (const NamedTensor& tensor : tensors)
        if (warn && std::ranges::none_of(
                        ids, [&](ValueId id) { return graph.values[id].name == tensor.name; }))
            warn(tensor.place + ": the network has no " + kind + " '" + tensor.name + "'");
}

// Outputs that a program gets as the device has them.
void keep_in_8_bits(Graph& graph, const CompileOptions& options) {
    check_names(graph, options.int8_output_names, graph.outputs, "output", options.warn);
    const std::vector<bool> on_device = device_values(graph);
    for (const ValueId id : graph.outputs) {
        Value& output = graph.values[id];
        const bool is_asked_for =
            options.int8_outputs ||
            std::ranges::find(options.int8_output_names, output.name, &NamedTensor::name) !=
                options.int8_output_names.end();
        if (!is_asked_for || output.user_type != UserType::float32)
            continue;
        if (on_device[id] && output.element_type == ElementType::float32)
            output.user_type = UserType::int8;
        else if (options.warn)
            options.warn(options.model + ": output '" + output.name +
                         "' is computed on the CPU, so it stays float32");
    }
}

// A graph in integers, and its program, whole.
struct Candidate {
    Graph graph;
    QuantisedGraph quantised;
    Program program;
};

Candidate candidate(const Graph& graph, const Calibration& calibration, CalibrationMethod method,
                    const CompileOptions& options) {
    Candidate result{graph, {}, {}};
    std::vector<Quantisation> quantisations =
        choose_quantisations(graph, calibration.ranges(method, options.percentile));
    align_concats(result.graph, quantisations);
    ChannelMeans means;
    if (options.corrects_bias)
        means = calibration.channel_means();
    means.resize(options.corrects_bias ? quantisations.size() : 0);
    result.quantised = quantise(result.graph, std::move(quantisations), means);
    result.program = lower(result.graph, result.quantised);
    check_steps(result.graph, result.program);
    return result;
}

std::vector<float> output_errors(const Candidate& of, std::span<const FloatValues> samples,
                                 const std::function<void(double)>& progress) {
    const std::vector<NodeSimilarity> similarities =
        compare_with_float(of.graph, of.quantised, of.program, samples, Alone::no, progress);
    std::vector<float> errors;
    for (std::size_t index = 0; index < of.graph.nodes.size(); ++index)
        if (std::ranges::count(of.graph.outputs, of.graph.nodes[index].output) > 0)
            errors.push_back(
                output_error(similarities[index].error, similarities[index].saturated));
    return errors;
}

Candidate best_candidate(const Graph& graph, const Calibration& calibration,
                         std::span<const FloatValues> samples, const CompileOptions& options,
                         const std::function<void(double)>& progress) {
    constexpr CalibrationMethod methods[] = {CalibrationMethod::min_max,
                                             CalibrationMethod::percentile, CalibrationMethod::kl,
                                             CalibrationMethod::mse};
    std::vector<std::vector<float>> errors; // by method, by output
    for (CalibrationMethod method : methods) {
        const auto done = static_cast<double>(errors.size());
        errors.push_back(
            output_errors(candidate(graph, calibration, method, options), samples,
                          [&](double part) { progress((done + part) / std::size(methods)); }));
    }
    return candidate(graph, calibration, methods[best_method(errors)], options);
}

// What importing has left where cores cannot run it.
void check_opcodes(const Graph& graph, const Program& program, const ovt_profile& profile) {
    for (const Step& step : program.steps)
        if (profile.without >> step.insn.opcode & 1)
            throw CompileError(describe(graph.nodes[step.node]),
                               "needs an instruction that cores of profile " +
                                   std::string(profile.name) +
                                   " lack; --run-on-cpu can move it to the CPU");
}

UnitOptions unit_options(const CompileOptions& options,
                         const std::shared_ptr<const DeviceProfile>& device) {
    UnitOptions units{{}, options.min_unit, options.max_time_per_fc_us, device->cpu};
    const auto add = [&](const std::string& name,
                         const std::shared_ptr<const DeviceProfile>& cores) {
        units.classes.push_back({name, {cores, &cores->numbers}, cores->cpu});
    };
    if (options.classes.empty()) {
        add("npu", device);
        units.classes.push_back({"cpu", nullptr});
    }
    for (const ClassOption& of : options.classes)
        if (of.profile.empty())
            units.classes.push_back({of.name, nullptr});
        else
            add(of.name, find_profile(of.profile));
    return units;
}

// None, and a warning, of a network that cannot have them for the classes that were not asked for.
std::optional<CompiledUnits> units_of(Candidate& chosen, const CompileOptions& options,
                                      const std::shared_ptr<const DeviceProfile>& device) {
    const UnitOptions asked = unit_options(options, device);
    std::optional<CompiledUnits> units;
    try {
        units = compile_units(chosen.graph, chosen.quantised, chosen.program, asked);
    } catch (const CompileError& error) {
        if (!options.classes.empty())
            throw;
        if (options.warn)
            options.warn(options.model +
                         ": has no units, so engines of several processors run it "
                         "in segments: " +
                         error.what());
        return std::nullopt;
    }
    if (options.warn && units->joined_fronts > 0)
        options.warn(options.model + ": its " + std::to_string(units->joined_fronts) +
                     " units are joined to " + std::to_string(units->units.size()) +
                     ", the most that schedulers take");
    return units;
}

} // namespace

Survey check(const CompileOptions& options) {
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

std::vector<std::uint8_t> compile(const CompileOptions& options, const Progress& progress) {
    const auto tell = [&](const char* what) {
        return [&progress, what](double done) {
            if (progress)
                progress(what, done);
        };
    };
    if (options.max_time_per_fc_us > 0 && options.max_time_per_fc_us < least_max_time_us)
        throw CompileError("--max-time-per-fc " + std::to_string(options.max_time_per_fc_us),
                           "is not 0 (off) or 1000..4294967295 microseconds");
    const std::shared_ptr<const DeviceProfile> device = find_profile(options.profile);
    const ovt_profile& profile = device->numbers;
    const std::shared_ptr<const LearnedCosts> costs = check_core_options(options);
    Graph imported = import_model(options);
    const bool comes_quantised = imported.comes_quantised;
    check_names(imported, options.int8_input_names, imported.inputs, "input", options.warn);
    std::vector<InputOptions> inputs = inputs_of(imported, options);
    naming_the_model(options.model, [&] { apply_input_options(imported, inputs); });
    prepare(imported);
    order_segments(imported);
    naming_the_model(options.model, [&] { check_sizes(imported); });
    const Samples samples = samples_for(imported, inputs, comes_quantised, options);
    if (options.equalises_channels)
        naming_the_model(options.model,
                         [&] { equalise(imported, samples, tell("equalising channels")); });
    Candidate chosen = naming_the_model(options.model, [&] {
        const Calibration calibration(imported, samples, options.method, tell("calibrating"));
        return options.method == CalibrationMethod::best
                   ? best_candidate(imported, calibration, some_of(imported, samples), options,
                                    tell("choosing ranges"))
                   : candidate(imported, calibration, options.method, options);
    });
    Graph& graph = chosen.graph;
    const QuantisedGraph& quantised = chosen.quantised; // not while its units are made
    Program& program = chosen.program;
    split(graph, program, profile,
          std::uint64_t{options.max_time_per_fc_us} * profile.clock_khz / 1000);
    check_steps(graph, program);
    check_opcodes(graph, program, profile);
    const std::optional<CompiledUnits> units =
        naming_the_model(options.model, [&] { return units_of(chosen, options, device); });
    std::vector<overtake_insn> instructions =
        units ? units->instructions : instructions_of(program);
    const std::optional<CorePlan> core_plan = naming_the_model(options.model, [&] {
        return asked_plan(graph, quantised, program, options, costs.get(), instructions,
                          tell("sharing layers between cores"));
    });
    if (options.warn)
        for (const std::string& text : {long_fc_warning(graph, program, profile, host_path()),
                                        long_job_warning(program, host_path())})
            if (!text.empty())
                options.warn(options.model + ": " + text);
    const std::span<const FloatValues> compared = some_of(graph, samples);
    return naming_the_model(options.model, [&] {
        const ModelFacts facts{&profile,
                               options.max_time_per_fc_us,
                               compare_with_float(graph, quantised, program, compared, Alone::yes,
                                                  tell("comparing with float")),
                               static_cast<std::uint32_t>(samples.size()),
                               static_cast<std::uint32_t>(compared.size()),
                               options.calibration.empty(),
                               device->cpu,
                               units ? &*units : nullptr,
                               core_plan ? &*core_plan : nullptr,
                               std::move(instructions)};
        keep_in_8_bits(graph, options);
        if (!options.name.empty())
            graph.name = options.name;
        return serialise(graph, quantised, program, facts);
    });
}

} // namespace overtake::compiler
