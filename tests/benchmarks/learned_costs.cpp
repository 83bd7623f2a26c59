// SPDX-License-Identifier: MIT
//
// Speed of plans for two cores in functional mode on this host, beside one core: a plan by the
// profile `default`, one by learned costs, one whose shares are balanced by measured times as well,
// and one for each scheme alone, whose cores meet behind each layer.
//
//     bench_learned_costs COSTS.json NETWORK.onnx...
//
// COSTS.json is written by `overtake calibrate --partition`.  The variants run in turns.  Prints
// the median of a run's device time: from the first FC's begin to the last FC's end in each
// segment, summed over segments.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "compiler/compile.hpp"
#include "compiler/host_profile/measured_shares.hpp"
#include "overtake/device.hpp"
#include "overtake/model_contents.hpp"
#include "overtake/session.hpp"

namespace {

using namespace overtake;
using compiler::Scheme;

constexpr unsigned core_count = 2;
constexpr int round_count = 25;

struct Variant {
    std::string name;
    std::shared_ptr<const Model> model;
    std::unique_ptr<Session> session;
    std::unique_ptr<Task> task;
    std::vector<double> us = {};
};

std::shared_ptr<const Model> compiled(const compiler::CompileOptions& options) {
    const std::vector<std::uint8_t> bytes = compiler::compile(options);
    return Model::from_bytes(std::as_bytes(std::span(bytes)), options.model);
}

bool has_plan(const Model& model) {
    return ModelContents::of(model).core_plan.has_value();
}

std::vector<Variant> variants_of(const char* costs, const char* network) {
    compiler::CompileOptions options;
    options.model = network;
    options.wants_noise = true;
    std::vector<Variant> variants;
    const auto add = [&](const std::string& name) {
        variants.push_back({name, compiled(options), nullptr, nullptr});
    };
    add("one core");
    options.cores = core_count;
    add("profile default");
    options.costs = costs;
    add("learned costs");
    options.share_prices = host_profile::measured_shares(5, nullptr);
    add("and measured");
    options.share_prices = nullptr;
    options.costs.clear();
    options.overlaps = false;
    for (const auto& [name, scheme] :
         {std::pair{"row", Scheme::row}, std::pair{"column", Scheme::column},
          std::pair{"grid", Scheme::grid}, std::pair{"channel", Scheme::channel},
          std::pair{"balanced", Scheme::balanced}}) {
        options.schemes = {scheme};
        add(name);
    }
    return variants;
}

// Device time of one run, in microseconds.
double run(Task& task) {
    task.start();
    task.wait();
    if (task.status() != 0)
        throw Error(-task.status(), "a run failed");
    double ns = 0;
    for (const Completion& completion : task.completions())
        ns += static_cast<double>(completion.end_ns - completion.start_ns);
    return ns / 1000;
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

void compare(const char* costs, const char* network) {
    std::vector<Variant> variants = variants_of(costs, network);
    EmbeddedOptions embedded;
    embedded.cores = core_count;
    const std::shared_ptr<Device> device = open_embedded(embedded);
    for (Variant& variant : variants) {
        variant.session = std::make_unique<Session>(device, variant.model);
        variant.task = std::make_unique<Task>(variant.session->create_task());
        for (std::size_t input = 0; input < variant.model->inputs().size(); ++input)
            variant.task->set_input(
                input, std::vector<float>(variant.model->input(input).elements(), 0.5f));
        run(*variant.task);
    }
    for (int round = 0; round < round_count; ++round)
        for (Variant& variant : variants)
            variant.us.push_back(run(*variant.task));
    const double one = median(variants[0].us);
    fmt::print("{}: median of {} runs in turns, 2 cores\n", network, round_count);
    for (const Variant& variant : variants)
        fmt::print("  {:<16} {:>10.0f} us  {:5.2f}{}\n", variant.name, median(variant.us),
                   one / median(variant.us),
                   &variant == &variants[0] || has_plan(*variant.model) ? "" : "  (no plan)");
}

} // namespace

int main(int count, char** arguments) {
    if (count < 3) {
        std::fprintf(stderr, "usage: bench_learned_costs COSTS.json NETWORK.onnx...\n");
        return 2;
    }
    try {
        for (int index = 2; index < count; ++index)
            compare(arguments[1], arguments[index]);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench_learned_costs: %s\n", error.what());
        return 1;
    }
    return 0;
}
