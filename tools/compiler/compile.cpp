// SPDX-License-Identifier: MIT
#include "compiler/compile.hpp"

#include <algorithm>
#include <new>
#include <numeric>

#include "compiler/file/compare.hpp"
#include "compiler/file/write.hpp"
#include "compiler/import/import.hpp"
#include "compiler/ir/error.hpp"
#include "compiler/lower/lower.hpp"
#include "compiler/lower/split.hpp"
#include "compiler/passes/equalise.hpp"
#include "compiler/passes/fold.hpp"
#include "compiler/passes/order_segments.hpp"
#include "compiler/profile.hpp"
#include "compiler/quantise/concat_scales.hpp"

namespace overtake::compiler {
namespace {

// Shorter FCs would cost more than they bring; boards have the same bound.
constexpr std::uint32_t least_max_time_us = 1000;
constexpr std::size_t random_sample_count = 4;
// The device's operators are exact and slow: as many samples are compared as fit in this.
constexpr std::uint64_t compared_macs = 1ull << 31;
constexpr std::size_t compared_samples = 16;

Samples some_of(const Graph& graph, const Samples& samples) {
    std::uint64_t macs = 1;
    for (const Node& node : graph.nodes)
        if (node.on_bpu())
            macs += multiply_accumulates(graph, node);
    const std::size_t count =
        std::min({samples.size(), compared_samples,
                  std::max<std::size_t>(1, static_cast<std::size_t>(compared_macs / macs))});
    return {samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(count)};
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

// Whether the model is quantised as it comes, and not only given bytes.
bool gives_scales(const Graph& graph) {
    const auto is_given = [](const Value& value) { return value.given.has_value(); };
    const auto all = std::ranges::count_if(graph.values, is_given);
    const auto inputs =
        std::ranges::count_if(graph.inputs, [&](ValueId id) { return is_given(graph.values[id]); });
    return inputs == std::ssize(graph.inputs) && all > inputs;
}

Samples samples_for(const Graph& graph, const std::vector<InputOptions>& inputs,
                    bool comes_quantised, const CompileOptions& options) {
    if (!options.calibration.empty())
        return read_samples(graph, inputs, options.calibration, options.normalisation,
                            options.warn);
    if (!options.normalisation.empty() && options.warn)
        options.warn("--mean, --scale: are for pictures among samples of --calibration");
    if (options.needs_given_scales && !comes_quantised)
        throw CompileError(options.model, "gives no scales; calibrate it");
    if (!comes_quantised && !options.wants_noise && options.warn)
        options.warn(options.model + ": calibrated with random noise, so accuracy is not to be "
                                     "trusted; give samples with --calibration");
    return random_samples(graph, random_sample_count, options.seed);
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

// The similarity of the output that is farthest from float.
float worst_output(const Candidate& of, const Samples& samples,
                   const std::function<void(double)>& progress) {
    const std::vector<NodeSimilarity> similarities =
        compare_with_float(of.graph, of.quantised, of.program, samples, progress);
    float worst = 1;
    for (std::size_t index = 0; index < of.graph.nodes.size(); ++index)
        if (std::ranges::count(of.graph.outputs, of.graph.nodes[index].output) > 0)
            worst = std::min(worst, similarities[index].cosine);
    return worst;
}

Candidate best_candidate(const Graph& graph, const Calibration& calibration, const Samples& samples,
                         const CompileOptions& options,
                         const std::function<void(double)>& progress) {
    constexpr CalibrationMethod methods[] = {CalibrationMethod::min_max,
                                             CalibrationMethod::percentile, CalibrationMethod::kl,
                                             CalibrationMethod::mse};
    Candidate best;
    float best_score = -2;
    double done = 0;
    for (CalibrationMethod method : methods) {
        Candidate next = candidate(graph, calibration, method, options);
        const float score = worst_output(
            next, samples, [&](double part) { progress((done + part) / std::size(methods)); });
        done += 1;
        if (score > best_score) {
            best_score = score;
            best = std::move(next);
        }
    }
    return best;
}

} // namespace

Survey check(const CompileOptions& options) {
    Survey survey = survey_onnx(options.model, options.import);
    const bool is_whole =
        survey.refusal.empty() && std::ranges::none_of(survey.nodes, [](const NodeVerdict& node) {
            return node.where == NodeVerdict::Where::refused;
        });
    if (!is_whole)
        return survey;
    try {
        std::vector<InputOptions> inputs = options.inputs;
        apply_input_options(survey.graph, inputs);
        fold(survey.graph);
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
    Graph imported = import_onnx(options.model, options.import);
    const bool comes_quantised = gives_scales(imported);
    std::vector<InputOptions> inputs = options.inputs;
    naming_the_model(options.model, [&] { apply_input_options(imported, inputs); });
    fold(imported);
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
    const QuantisedGraph& quantised = chosen.quantised;
    Program& program = chosen.program;
    split(graph, program, profile,
          std::uint64_t{options.max_time_per_fc_us} * profile.clock_khz / 1000);
    check_steps(graph, program);
    const Samples compared = some_of(graph, samples);
    return naming_the_model(options.model, [&] {
        const ModelFacts facts{
            &profile,
            options.max_time_per_fc_us,
            compare_with_float(graph, quantised, program, compared, tell("comparing with float")),
            static_cast<std::uint32_t>(samples.size()),
            static_cast<std::uint32_t>(compared.size()),
            options.calibration.empty(),
            device->cpu};
        return serialise(graph, quantised, program, facts);
    });
}

} // namespace overtake::compiler
