// SPDX-License-Identifier: MIT
//
// Networks in float on the CPU, with values between operators in planes, in blocks, and as each
// segment is planned: milliseconds of a run, one thread, the layouts in turn.
//
//   bench_cpu_layouts [--rounds N] MODEL...      models of `overtake compile --cpu`
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "overtake/device.hpp"
#include "overtake/model.hpp"
#include "overtake/session.hpp"

namespace {

using namespace overtake;

constexpr CpuLayout layouts[] = {CpuLayout::planes, CpuLayout::blocked, CpuLayout::automatic};

struct Candidate {
    Candidate(const std::shared_ptr<Device>& device, const std::shared_ptr<const Model>& model,
              CpuLayout layout)
        : session(device, model, {.cpu_layout = layout}) {}

    double run(const std::vector<float>& input) {
        const auto begin = std::chrono::steady_clock::now();
        Task task = session.submit(input);
        if (!task.wait() || task.status() != 0) {
            fmt::print(stderr, "bench_cpu_layouts: a run failed\n");
            std::exit(1);
        }
        const std::chrono::duration<double, std::milli> taken =
            std::chrono::steady_clock::now() - begin;
        return taken.count();
    }

    Session session;
    std::vector<double> times;
};

double least(const Candidate& candidate) {
    return *std::ranges::min_element(candidate.times);
}

// Least times of each layout.
std::vector<double> measure(const std::string& path, int rounds) {
    const auto device = open_device("embedded");
    const auto model = Model::load(path);
    if (model->inputs().size() != 1) {
        fmt::print(stderr, "bench_cpu_layouts: {}: has more than one input\n", path);
        std::exit(2);
    }
    std::vector<float> input(model->input(0).elements());
    for (std::size_t i = 0; i < input.size(); i++)
        input[i] = static_cast<float>(i * 7 % 256) / 128 - 1;
    std::vector<std::unique_ptr<Candidate>> candidates;
    for (const CpuLayout layout : layouts)
        candidates.push_back(std::make_unique<Candidate>(device, model, layout));
    for (int round = -2; round < rounds; round++)
        for (const auto& candidate : candidates) {
            const double ms = candidate->run(input);
            if (round >= 0)
                candidate->times.push_back(ms);
        }
    std::vector<double> result;
    for (const auto& candidate : candidates)
        result.push_back(least(*candidate));
    return result;
}

} // namespace

int main(int argc, char** argv) {
    int rounds = 20, first = 1;
    if (argc > 2 && std::string_view(argv[1]) == "--rounds") {
        rounds = std::max(std::atoi(argv[2]), 1);
        first = 3;
    }
    if (first >= argc) {
        fmt::print(stderr, "usage: bench_cpu_layouts [--rounds N] MODEL...\n");
        return 2;
    }
    fmt::print("least of {} runs, ms{:>14}{:>10}{:>10}{:>16}{:>14}\n", rounds, "planes", "blocked",
               "auto", "planes / auto", "best / auto");
    double product = 1;
    for (int i = first; i < argc; i++) {
        const std::vector<double> times = measure(argv[i], rounds);
        const double gain = times[0] / times[2];
        product *= gain;
        const std::string_view path = argv[i];
        fmt::print("{:<25}{:>10.2f}{:>10.2f}{:>10.2f}{:>15.2f}x{:>13.2f}x\n",
                   path.substr(path.rfind('/') + 1), times[0], times[1], times[2], gain,
                   std::min(times[0], times[1]) / times[2]);
    }
    fmt::print("geometric mean of planes / auto: {:.2f}\n",
               std::pow(product, 1.0 / (argc - first)));
    return 0;
}
