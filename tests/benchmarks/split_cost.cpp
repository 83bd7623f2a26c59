// SPDX-License-Identifier: MIT
//
// What splitting costs where it is computed: each network whole and at three limits, run in turns
// on one embedded core in functional mode, so that a change of the machine's speed meets all of
// them.
//
//     bench_split NETWORK.onnx ...
//
// Prints the fastest run of each and its ratio to the whole network's; exits with 1 if a ratio is
// above 1.02.
#include <cstdio>
#include <exception>

#include <fmt/format.h>

#include "compile.hpp"
#include "measure.hpp"

namespace {

constexpr unsigned rounds = 40;
constexpr double most = 1.02;

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
    const std::uint32_t limits[] = {0, 1000, 2000, 5000};
    std::vector<std::shared_ptr<const overtake::Model>> models;
    for (const std::uint32_t limit : limits)
        models.push_back(compiled(network, limit));
    std::vector<overtake::host_profile::FcTimes> best(models.size());
    for (unsigned round = 0; round < rounds; ++round)
        for (std::size_t index = 0; index < models.size(); ++index) {
            const auto times = overtake::host_profile::measure(models[index], 1);
            if (round == 0)
                best[index] = times;
            best[index].keep_faster(times);
        }
    bool is_cheap = true;
    for (std::size_t index = 0; index < models.size(); ++index) {
        const double ratio = best[index].total_ns / best[0].total_ns;
        fmt::print("{}, limit {} us: {} FCs, {:.3f} ms, ratio {:.4f}\n", network, limits[index],
                   best[index].fcs_ns.size(), best[index].total_ns / 1e6, ratio);
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
