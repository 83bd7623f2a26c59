// SPDX-License-Identifier: MIT
#include "compile.hpp"

#include <algorithm>
#include <numeric>

#include "compare.hpp"
#include "concat.hpp"
#include "error.hpp"
#include "fold.hpp"
#include "import.hpp"
#include "lower.hpp"
#include "split.hpp"
#include "write.hpp"

namespace overtake::compiler {
namespace {

constexpr std::size_t random_sample_count = 4;
// The device's operators are exact and slow: as many samples are compared as fit in this.
constexpr std::uint64_t compared_macs = 1ull << 31;
constexpr std::size_t compared_samples = 16;

const ovt_profile& find_profile(const std::string& name) {
    if (const ovt_profile* profile = ovt_profile_find(name.c_str()))
        return *profile;
    std::string known;
    for (u32 index = 0; const ovt_profile* profile = ovt_profile_at(index); ++index)
        known += (known.empty() ? "" : ", ") + std::string(profile->name);
    throw CompileError("--profile " + name, "is not known; there are " + known);
}

Samples some_of(const Graph& graph, const Samples& samples) {
    std::uint64_t macs = 1;
    for (const Node& node : graph.nodes)
        macs += multiply_accumulates(graph, node);
    const std::size_t count =
        std::min({samples.size(), compared_samples,
                  std::max<std::size_t>(1, static_cast<std::size_t>(compared_macs / macs))});
    return {samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(count)};
}

// Puts the model in front of messages about what is in it.
template <typename Step>
auto about(const std::string& model, const Step& step) {
    try {
        return step();
    } catch (const CompileError& error) {
        throw CompileError(model, error.what());
    }
}

} // namespace

std::vector<std::uint8_t> compile(const CompileOptions& options, const Progress& progress) {
    const auto tell = [&](const char* what) {
        return [&progress, what](double done) {
            if (progress)
                progress(what, done);
        };
    };
    const ovt_profile& profile = find_profile(options.profile);
    Graph graph = import_onnx(options.model);
    fold(graph);
    const Samples samples = options.calibration.empty()
                                ? random_samples(graph, random_sample_count, options.seed)
                                : read_samples(graph, options.calibration);
    const QuantisedGraph quantised = about(options.model, [&] {
        const std::vector<Range> ranges =
            calibrate(graph, samples, options.percentile, tell("calibrating"));
        std::vector<Quantisation> quantisations = choose_quantisations(graph, ranges);
        align_concats(graph, quantisations);
        return quantise(graph, std::move(quantisations));
    });
    Program program = about(options.model, [&] {
        Program lowered = lower(graph, quantised);
        check_steps(graph, lowered);
        return lowered;
    });
    split(graph, program, profile,
          std::uint64_t{options.max_time_per_fc_us} * profile.clock_khz / 1000);
    check_steps(graph, program);
    ModelFacts facts{&profile, options.max_time_per_fc_us, {}};
    facts.cosines = cosine_similarities(graph, quantised, program, some_of(graph, samples),
                                        tell("comparing with float"));
    return serialise(graph, quantised, program, facts);
}

} // namespace overtake::compiler
