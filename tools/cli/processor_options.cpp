// SPDX-License-Identifier: MIT
#include "processor_options.hpp"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "option_checks.hpp"
#include "overtake/expected_times.hpp"
#include "units.hpp"

namespace overtake::command {

void add_processor_options(CLI::App& command, ProcessorArguments& arguments) {
    auto* processors =
        command
            .add_option("--processors", arguments.processors,
                        "Several processors behind one coordinator: NAME or NAME=1+2 (cores), "
                        "cpu or NAME=x4 (CPU workers), NAME@DEVICE, with commas between them")
            ->check(not_empty());
    command
        .add_option("--times", arguments.times,
                    "With --processors: file of overtake profile, what runs of the model take on "
                    "them")
        ->allow_extra_args(false)
        ->check(not_empty())
        ->needs(processors);
    command
        .add_option("--policy", arguments.policy,
                    "With --processors: priority, fixed, round-robin, shortest-latency, heft, "
                    "heft-reserved or least-slack")
        ->check(one_of({"priority", "fixed", "round-robin", "shortest-latency", "heft",
                        "heft-reserved", "least-slack"}))
        ->capture_default_str()
        ->needs(processors);
    command
        .add_option("--on", arguments.on,
                    "With --processors: the processor or entry that each request is to run on; "
                    "what that lacks runs on CPU workers")
        ->check(not_empty())
        ->needs(processors);
    auto* slo = command
                    .add_option("--slo", arguments.slo_ms,
                                "With --processors: each request's deadline after its submission, "
                                "milliseconds")
                    ->transform(duration(TimeUnit::millisecond, 1e-3, 1e7))
                    ->needs(processors);
    command
        .add_option("--drop", arguments.drop,
                    "With --slo: requests to drop: never, late, or predicted to be late")
        ->check(one_of({"never", "late", "predicted"}))
        ->capture_default_str()
        ->needs(slo);
    command
        .add_option("--run-timeout", arguments.run_timeout_s,
                    "With --processors: seconds, or a time such as 500ms, after which a core of a "
                    "device server that ends nothing counts as failed; 0: never")
        ->transform(duration(TimeUnit::second, 0, 1e7))
        ->capture_default_str()
        ->needs(processors);
}

void set_processors(EngineOptions& options, const ProcessorArguments& arguments,
                    const std::shared_ptr<Device>& device, const EmbeddedOptions& embedded) {
    options.processors = parse_processors(arguments.processors, device, embedded);
    options.policy = arguments.policy;
    options.drop = arguments.drop == "late"        ? Drop::late
                   : arguments.drop == "predicted" ? Drop::predicted
                                                   : Drop::never;
    options.run_timeout_ns = static_cast<std::uint64_t>(arguments.run_timeout_s * 1e9);
}

namespace {

/// Returns the model of that name, or the first model.
auto nearest(std::span<const std::shared_ptr<const Model>> models, std::string_view name) {
    const auto of = std::ranges::find(models, name, [](const auto& each) { return each->name(); });
    return of == models.end() ? models.begin() : of;
}

} // namespace

std::vector<std::shared_ptr<LoadedModel>>
load_models(Engine& engine, std::span<const std::shared_ptr<const Model>> models,
            const ProcessorArguments& arguments) {
    std::vector<std::shared_ptr<LoadedModel>> loaded(models.size());
    for (const std::string& path : arguments.times) {
        const ExpectedTimes times = ExpectedTimes::read(path);
        bool is_used = false;
        for (std::size_t i = 0; i < models.size(); i++) {
            if (!times.is_of(*models[i]))
                continue;
            if (loaded[i])
                throw Error(EINVAL, fmt::format("{}: a file before it is of the same model, '{}'; "
                                                "give one of them",
                                                path, times.model_name()));
            loaded[i] = engine.load(models[i], times);
            is_used = true;
        }
        if (!is_used) // the library reports the difference
            engine.load(*nearest(models, times.model_name()), times);
    }
    for (std::size_t i = 0; i < models.size(); i++)
        if (!loaded[i])
            loaded[i] = engine.load(models[i]);
    return loaded;
}

void set_requests(TaskOptions& task, const ProcessorArguments& arguments) {
    task.slo_ns = static_cast<std::uint64_t>(arguments.slo_ms * 1e6);
    task.on = arguments.on;
}

} // namespace overtake::command
