// SPDX-License-Identifier: MIT
//
// The cost of splitting in functional mode: each network whole and at three limits, run in turns on
// one embedded core, so that a change of the machine's speed meets all of them.
//
//     bench_split NETWORK.onnx ...
//
// Prints the device's time, what lies between the FCs of a segment included and the CPU's segments
// not: the fastest run of each, and the median of its ratios to the whole network in the same turn.
// Exits with 1 if one is above 1.02.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <limits>

#include <fmt/format.h>

#include "compiler/compile.hpp"
#include "compiler/host_profile/fit.hpp"
#include "compiler/host_profile/measure.hpp"
#include "overtake/model_contents.hpp"

namespace {

constexpr unsigned rounds = 40;
constexpr double most = 1.02;
// Faster ones are run several times a turn.
constexpr double long_network_ns = 100e6;

std::size_t fc_count(const overtake::Model& model) {
    std::size_t count = 0;
    for (const overtake::Segment& segment : overtake::ModelContents::of(model).segments)
        count += segment.fcs.size();
    return count;
}

std::shared_ptr<const overtake::Model> compiled(const char* network, std::uint32_t limit_us) {
    overtake::compiler::CompileOptions options;
    options.model = network;
    options.method = overtake::compiler::CalibrationMethod::min_max;
    options.wants_noise = true;
    options.max_time_per_fc_us = limit_us;
    const auto bytes = overtake::compiler::compile(options);
    return overtake::Model::from_bytes(std::as_bytes(std::span(bytes)), network);
}

bool compare(const char* network) {
    std::vector<std::uint32_t> limits = {0};
    std::vector<std::shared_ptr<const overtake::Model>> models = {compiled(network, 0)};
    const auto whole = overtake::host_profile::measure(models[0], 1);
    const unsigned runs = whole.device_ns < long_network_ns ? 5 : 1;
    for (const std::uint32_t limit : {1000, 2000, 5000}) {
        auto model = compiled(network, limit);
        if (fc_count(*model) == whole.fcs_ns.size()) {
            fmt::print("{}, limit {} us: nothing to split\n", network, limit);
            continue;
        }
        limits.push_back(limit);
        models.push_back(std::move(model));
    }
    std::vector<double> fastest(models.size(), std::numeric_limits<double>::infinity());
    std::vector<std::vector<double>> ratios(models.size());
    std::vector<std::size_t> fcs(models.size());
    for (unsigned round = 0; round < rounds; ++round) {
        std::vector<double> ns(models.size());
        for (std::size_t turn = 0; turn < models.size(); ++turn) {
            const std::size_t index = (turn + round) % models.size();
            const auto times = overtake::host_profile::measure(models[index], runs);
            fcs[index] = times.fcs_ns.size();
            ns[index] = times.device_ns;
        }
        for (std::size_t index = 0; index < models.size(); ++index) {
            fastest[index] = std::min(fastest[index], ns[index]);
            ratios[index].push_back(ns[index] / ns[0]);
        }
    }
    bool is_cheap = true;
    for (std::size_t index = 0; index < models.size(); ++index) {
        const double ratio = overtake::host_profile::percentile(ratios[index], 50);
        fmt::print("{}, limit {} us: {} FCs, {:.3f} ms, ratio {:.4f}\n", network, limits[index],
                   fcs[index], fastest[index] / 1e6, ratio);
        is_cheap = is_cheap && ratio <= most;
    }
    return is_cheap;
}

} // namespace

int main(int argc, char** argv) {
    try {
        bool is_cheap = true;
        for (int index = 1; index < argc; ++index)
            is_cheap = compare(argv[index]) && is_cheap;
        return is_cheap ? 0 : 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench_split: %s\n", error.what());
        return 2;
    }
}
