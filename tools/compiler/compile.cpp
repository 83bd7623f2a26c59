// SPDX-License-Identifier: MIT
#include "compiler/compile.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "compiler/accuracy/outputs.hpp"
#include "compiler/accuracy/search.hpp"
#include "compiler/asked_plan.hpp"
#include "compiler/candidate.hpp"
#include "compiler/file/compare.hpp"
#include "compiler/file/write.hpp"
#include "compiler/ir/error.hpp"
#include "compiler/lower/host_time.hpp"
#include "compiler/lower/lower.hpp"
#include "compiler/lower/split.hpp"
#include "compiler/passes/equalise.hpp"
#include "compiler/prepare.hpp"
#include "compiler/profile.hpp"
#include "compiler/quantise/best_method.hpp"
#include "compiler/quantise/unreached.hpp"
#include "compiler/units/compile_units.hpp"

namespace overtake::compiler {
namespace {

// Shorter FCs would cost more than they gain; boards have the same bound.
constexpr std::uint32_t least_max_time_us = 1000;
// A comparison computes the device's operators exactly, which is slow.  It takes as many samples as
// fit in these bounds, but at least one.
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

// Makes int8 outputs of those that the options ask for so and that the device makes.  Warns of the
// others that the options ask for.
void keep_in_8_bits(Graph& graph, const CompileOptions& options) {
    check_names(graph, options.int8_output_names, graph.outputs, "output", options.warn);
    const std::vector<bool> on_device = device_values(graph);
    for (const ValueId id : graph.outputs) {
        Value& output = graph.values[id];
        if (!wants_int8(options, output))
            continue;
        if (on_device[id] && output.element_type == ElementType::float32)
            output.user_type = UserType::int8;
        else if (options.warn)
            options.warn(options.model + ": output '" + output.name +
                         "' is computed on the CPU, so it stays float32");
    }
}

Candidate best_candidate(const Graph& graph, const Calibration& calibration, const Samples& samples,
                         const CompileOptions& options,
                         const std::function<void(double)>& progress) {
    const OutputUses uses = {read_states(options.states, graph), {}};
    constexpr CalibrationMethod methods[] = {CalibrationMethod::min_max,
                                             CalibrationMethod::percentile, CalibrationMethod::kl,
                                             CalibrationMethod::mse};
    const auto with = [&](CalibrationMethod method) {
        return make_candidate(graph, calibration, calibration.ranges(method, options.percentile),
                              options.corrects_bias);
    };
    std::vector<std::vector<float>> errors; // by method, by output
    for (CalibrationMethod method : methods) {
        const auto done = static_cast<double>(errors.size());
        errors.push_back(errors_of(compare_outputs(with(method), samples, uses, [&](double part) {
            progress((done + part) / std::size(methods));
        })));
    }
    return with(methods[best_method(errors)]);
}

// Quantises by the method that the options name.
Candidate calibrated(const Graph& graph, const Samples& samples, const CompileOptions& options,
                     const std::function<std::function<void(double)>(const char*)>& tell) {
    const Calibration calibration(graph, samples, options.method, tell("calibrating"));
    if (!options.calibration.empty())
        warn_of_unreached(options.model, graph, calibration, options.warn);
    if (options.method == CalibrationMethod::best)
        return best_candidate(graph, calibration, samples, options, tell("choosing ranges"));
    return make_candidate(graph, calibration,
                          calibration.ranges(options.method, options.percentile),
                          options.corrects_bias);
}

// Refuses a program with an instruction that the cores of the profile lack.
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

// Returns the units of the network.  If it cannot have units, throws CompileError if the options
// name classes, or else warns and returns none.
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
    return survey_network(options);
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
    load_custom_library(options);
    PreparedNetwork network = prepare_network(options);
    if (options.accuracy > 0 && network.comes_quantised)
        throw CompileError(options.model, "comes quantised, with the accuracy that its scales give "
                                          "it; --accuracy is for networks in float");
    const Samples samples = samples_for(network, options);
    Candidate chosen = naming_the_model(options.model, [&] {
        if (options.equalises_channels)
            equalise(network.graph, samples, tell("equalising channels"));
        if (options.accuracy == 0)
            return calibrated(network.graph, samples, options, tell);
        AccurateNetwork accurate =
            search_accuracy(std::move(network), samples, options, *device, progress);
        network = std::move(accurate.network);
        return std::move(accurate.candidate);
    });
    Graph& graph = chosen.graph;
    const QuantisedGraph& quantised = chosen.quantised; // in another order while units are made
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
    const std::span<const FloatValues> compared =
        options.accuracy == 0 ? some_of(graph, samples) : std::span<const FloatValues>(samples);
    return naming_the_model(options.model, [&] {
        const ModelFacts facts{&profile,
                               options.max_time_per_fc_us,
                               compare_with_float(graph, quantised, program, compared, Alone::yes,
                                                  {read_states(options.states, graph), {}},
                                                  tell("comparing with float")),
                               static_cast<std::uint32_t>(samples.size()),
                               static_cast<std::uint32_t>(compared.size()),
                               options.calibration.empty(),
                               device->cpu,
                               units ? &*units : nullptr,
                               core_plan ? &*core_plan : nullptr,
                               std::move(instructions),
                               options.normalisation};
        keep_in_8_bits(graph, options);
        if (!options.name.empty())
            graph.name = options.name;
        return serialise(graph, quantised, program, facts);
    });
}

} // namespace overtake::compiler
