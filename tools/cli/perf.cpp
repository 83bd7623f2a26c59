// SPDX-License-Identifier: MIT
//
// overtake perf: loads a device with models and prints how long requests took.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "cpu_layout_option.hpp"
#include "cpu_network.hpp"
#include "device_facts.hpp"
#include "huge_pages.hpp"
#include "json_text.hpp"
#include "load/client.hpp"
#include "load/load.hpp"
#include "load/records.hpp"
#include "network_options.hpp"
#include "option_checks.hpp"
#include "output_file.hpp"
#include "overtaking.hpp"
#include "perf_report.hpp"
#include "perf_try.hpp"
#include "plan_cores.hpp"
#include "processor_options.hpp"
#include "progress.hpp"
#include "record_option.hpp"
#include "resident_memory.hpp"
#include "units.hpp"

namespace overtake::command {
namespace {

using Json = nlohmann::ordered_json;

/// Without --warm-up, these are the requests that warm up, and their longest time.
constexpr std::uint64_t usual_warm_up = 10;
constexpr std::uint64_t usual_warm_up_ns = 500'000'000;

struct PerfOptions {
    std::vector<std::string> models;
    std::string name;
    std::string device = "auto";
    std::string mode = "functional";
    EmbeddedOptions embedded;
    bool has_cores = false; ///< --cores was given for the embedded device
    unsigned threads = 1;
    bool engine = false;
    bool service = false;
    ProcessorArguments processors;
    unsigned workers = EngineOptions{}.workers;
    double seconds = 0;
    unsigned core_limit = 0;
    CpuLayout cpu_layout = CpuLayout::automatic;
    unsigned cpu_threads = 1;
    unsigned record = 0;
    NetworkOptions network;
    compiler::ImportOptions import; ///< from `network`
    std::string records;
    bool tries = false; ///< try each setting of cpu_layout and record
    bool json = false;
    load::Options load;
};

std::atomic<bool> stop{false};

/// The first signal ends the run, the second one the process.
void stop_on_signals() {
    struct sigaction action {};
    action.sa_handler = [](int) { stop = true; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
}

/// Checks the options that CLI11 cannot check by itself.
void check_usage(const CLI::App& command, const PerfOptions& options, const std::string& node) {
    check_embedded_options(command, node);
    check_core_limit(options.core_limit, options.load.task.priority);
    if (options.models.size() == 1) {
        if (is_onnx(options.models.front()) && command.count("--model-name") > 0)
            throw CLI::ValidationError("--model-name", "is for packs of compiled models, and " +
                                                           options.models.front() + " is none");
        return;
    }
    for (const char* option : {"--model-name", "--records"})
        if (command.count(option) > 0)
            throw CLI::ValidationError(option, "is for one MODEL; give one, or leave it out");
}

/// Refuses options that --try chooses by itself, or whose settings it cannot compare.
void check_try(const CLI::App& command, const PerfOptions& options) {
    if (!options.tries)
        return;
    for (const char* option : {"--cpu-layout", "--record-level"})
        if (command.count(option) > 0)
            throw CLI::ValidationError("--try",
                                       fmt::format("tries each {}; leave one of them out", option));
    for (const char* option :
         {"--service", "--processors", "--records", "--seconds", "--period-us"})
        if (command.count(option) > 0)
            throw CLI::ValidationError("--try", fmt::format("does not go with {}", option));
    if (options.models.size() != 1)
        throw CLI::ValidationError("--try", "is for one MODEL");
    if (command.count("--frames") > 0 && options.load.requests < try_turns)
        throw CLI::ValidationError(
            "--try", fmt::format("needs --frames of at least {}, one for each turn", try_turns));
}

/// Checks and completes options that have a meaning only with others.
void complete(const CLI::App& command, PerfOptions& options) {
    options.embedded.mode = mode_number(options.mode);
    options.has_cores = command.count("--cores") > 0;
    options.embedded.queue_timeout_ns = longest_run_ns;
    options.load.longest_ns = static_cast<std::uint64_t>(options.seconds * 1e9);
    if (command.count("--seconds") > 0 && command.count("--frames") == 0)
        options.load.requests = 0;
    if (options.tries && command.count("--frames") == 0) {
        options.load.requests = usual_try_requests;
        options.load.longest_ns = usual_try_turn_ns;
    }
    if (command.count("--warm-up") == 0) {
        options.load.warm_up = usual_warm_up;
        options.load.warm_up_longest_ns = usual_warm_up_ns;
    }
}

using Models = std::vector<std::shared_ptr<const Model>>;

Models load_models(const PerfOptions& options) {
    Models models;
    Warnings warnings;
    for (const std::string& path : options.models)
        models.push_back(is_onnx(path) ? compile_for_cpu(path, options.import, warnings)
                                       : Model::load(path, options.name));
    warnings.print();
    return models;
}

/// Returns null unless --engine or --processors was given.
std::shared_ptr<Engine> make_engine(const PerfOptions& options,
                                    const std::shared_ptr<Device>& device) {
    const bool has_processors = !options.processors.processors.empty();
    if (!options.engine && !has_processors)
        return nullptr;
    EngineOptions wanted;
    if (has_processors)
        set_processors(wanted, options.processors, device, options.embedded);
    wanted.service = options.service;
    wanted.workers = options.workers;
    wanted.max_priority = std::max(options.load.task.priority, wanted.max_priority);
    wanted.core_limit = options.core_limit;
    wanted.cpu_layout = options.cpu_layout;
    wanted.cpu_threads = options.cpu_threads;
    wanted.record = options.record;
    return std::make_shared<Engine>(device, wanted);
}

std::vector<load::Load> make_loads(const PerfOptions& options, const Models& models,
                                   const std::shared_ptr<Device>& device,
                                   const std::shared_ptr<Engine>& engine) {
    SessionOptions rights;
    rights.max_priority = std::max(options.load.task.priority, rights.max_priority);
    rights.core_limit = options.core_limit;
    rights.cpu_layout = options.cpu_layout;
    rights.cpu_threads = options.cpu_threads;
    rights.record = options.record;
    std::vector<std::shared_ptr<LoadedModel>> networks(models.size());
    if (engine)
        networks = load_models(*engine, models, options.processors);
    std::vector<load::Load> loads;
    for (std::size_t index = 0; index < models.size(); index++) {
        const auto& model = models[index];
        load::Load& load = loads.emplace_back();
        load.options = options.load;
        set_requests(load.options.task, options.processors);
        for (unsigned thread = 0; thread < options.threads; thread++)
            load.sources.push_back(engine ? load::engine_source(device, engine, networks[index])
                                          : load::session_source({device, model, rights}));
    }
    return loads;
}

/// Throws if a request failed. A request that was dropped for its deadline has not failed.
void check_requests(const std::string& path, const load::Load& load, const load::Outcome& outcome) {
    const auto is_failed = [&](const load::Request& request) {
        return request.status != 0 && !load::is_dropped(load.options, request);
    };
    const auto failed = std::ranges::count_if(outcome.requests, is_failed);
    if (failed == 0)
        return;
    const load::Request& first = *std::ranges::find_if(outcome.requests, is_failed);
    throw Error(-first.status,
                fmt::format("{}: {} of {} requests failed, the first one: {}", path, failed,
                            outcome.requests.size(), load::why_it_failed(first)));
}

std::vector<load::Outcome> run_loads(std::span<load::Load> loads) {
    ProgressBar bar;
    return load::run(loads, stop, [&](double done) { bar.show("measuring", done); });
}

/// Makes a load of one model at a setting, with its own sessions or engine.
load::Load make_load(PerfOptions options, const std::shared_ptr<const Model>& model,
                     const std::shared_ptr<Device>& device, const TrySetting& setting) {
    options.cpu_layout = setting.layout;
    options.record = setting.record;
    return std::move(make_loads(options, {model}, device, make_engine(options, device)).front());
}

/// Prints the first line.
DeviceFacts print_facts(const PerfOptions& options, Device& device, const std::string& node,
                        const EmbeddedOptions& embedded) {
    DeviceFacts facts = facts_of(device, node, embedded);
    if (options.json)
        return facts;
    fmt::print("{}\n", one_line(facts));
    std::fflush(stdout);
    return facts;
}

void warn_of_load(const PerfOptions& options, Device& device, const Models& models) {
    warn_unless_overtaking(device, options.load.task, options.core_limit);
    if (options.load.task.core == core_any)
        warn_of_unused_plans(device, models, options.models,
                             !options.processors.processors.empty() ? RequestsBy::processors
                             : options.engine                       ? RequestsBy::engine
                                                                    : RequestsBy::session);
}

int run_try(const PerfOptions& options, const Models& models, const std::shared_ptr<Device>& device,
            const std::string& node, const EmbeddedOptions& embedded) {
    Json json;
    const auto made = [&] {
        warn_of_load(options, *device, models);
        json["device"] = to_json(print_facts(options, *device, node, embedded));
    };
    const Json tried = try_settings(
        *models.front(), *device,
        [&](const TrySetting& setting) {
            return make_load(options, models.front(), device, setting);
        },
        made, stop);
    json.update(tried);
    json["interrupted"] = stop.load();
    if (options.json)
        fmt::print("{}\n", text_of(json));
    else
        print_try(json);
    return 0;
}

int run_perf(const PerfOptions& options, const std::string& node) {
    if (!options.records.empty())
        check_output_file(options.records, options.models);
    Models models = load_models(options);
    stop_on_signals();
    EmbeddedOptions embedded = options.embedded;
    if (!options.has_cores)
        give_plan_cores(embedded, models);
    const auto device = open_device(options.device, embedded);
    if (device->info().manual_clock != 0)
        throw Error(EINVAL, fmt::format("{}: its clock is stepped by hand, so there is no time to "
                                        "measure; load the module without manual_clock",
                                        node));
    if (options.tries)
        return run_try(options, models, device, node, embedded);
    const std::shared_ptr<Engine> engine = make_engine(options, device);
    std::vector<load::Load> loads = make_loads(options, models, device, engine);
    warn_of_load(options, *device, models);
    const DeviceFacts facts = print_facts(options, *device, node, embedded);
    std::vector<Json> memory;
    for (const auto& model : models)
        memory.push_back(memory_of(*model));
    models.clear(); // at record level 2, the models are freed
    const std::int64_t begin_ns = load::monotonic_ns();
    const std::vector<load::Outcome> outcomes = run_loads(loads);
    const std::int64_t lasted_ns = load::monotonic_ns() - begin_ns; // includes the warm-up
    const ResidentMemory resident = resident_memory();
    if (!options.records.empty())
        write_file(options.records, [&](std::ostream& file) {
            load::write_records(file, outcomes.front().requests);
        });
    Json json = {{"device", to_json(facts)}, {"interrupted", stop.load()}};
    for (std::size_t index = 0; index < loads.size(); index++)
        json["models"].push_back(perf_report(loads[index], outcomes[index], memory[index]));
    if (engine)
        add_processors(json, engine->processors(), lasted_ns);
    json["resident_bytes"] = {{"all", resident.all_bytes()},
                              {"anonymous", resident.anonymous_bytes},
                              {"files", resident.file_bytes},
                              {"shared", resident.shared_bytes}};
    if (options.json)
        fmt::print("{}\n", text_of(json));
    else
        print_perf_reports(json);
    for (std::size_t index = 0; index < loads.size(); index++)
        check_requests(options.models[index], loads[index], outcomes[index]);
    return 0;
}

void add_device_options(CLI::App& command, PerfOptions& options) {
    command
        .add_option("--device", options.device,
                    "auto, embedded, kernel, server, server:SOCKET or a path like "
                    "/dev/accel/accel0")
        ->capture_default_str();
    command
        .add_option("--mode", options.mode,
                    "Embedded device: how cores execute FCs: functional, timed or both")
        ->check(one_of({"functional", "timed", "both"}))
        ->capture_default_str();
    command.add_option("--cores", options.embedded.cores, "Embedded device: number of cores")
        ->check(whole_number(1, 64))
        ->capture_default_str();
    command
        .add_option("--priority", options.load.task.priority,
                    "0..254 NORMAL, 255 HIGH (kernel device: needs CAP_SYS_NICE)")
        ->check(whole_number(0, 255))
        ->capture_default_str();
    command.add_option("--core-limit", options.core_limit,
                       "Core limit to ask for during the run; needs --priority 255");
    command.add_option("--core", options.load.task.core, "Core, from 1; 0 = any")
        ->capture_default_str();
}

void add_load_options(CLI::App& command, PerfOptions& options) {
    command
        .add_option("--frames", options.load.requests,
                    "Requests to make of each model; 0 = until SIGINT or SIGTERM")
        ->capture_default_str();
    command
        .add_option("--seconds", options.seconds,
                    "Make requests for so long; without --frames, as many as there is time for")
        ->transform(duration(TimeUnit::second, 1e-3, 1e7));
    command.add_option("--warm-up", options.load.warm_up,
                       "Requests that come first and are not counted; default: 10, but for at most "
                       "half a second");
    auto* period = command
                       .add_option("--period-us", options.load.period_us,
                                   "Make a request every so many microseconds, whether or not "
                                   "others have ended")
                       ->transform(whole_duration(TimeUnit::microsecond, 1, 3'600'000'000));
    command
        .add_option("--in-flight", options.load.in_flight,
                    "Without --period-us: requests that each thread keeps in flight")
        ->check(whole_number(1, 1024))
        ->capture_default_str()
        ->excludes(period);
    auto* engine = command.add_flag("--engine", options.engine,
                                    "Through the library's queue of tasks, as board programs: one "
                                    "for all models; else every thread has a session of its own");
    command
        .add_option("--workers", options.workers,
                    "With --engine: threads that compute CPU operators")
        ->check(whole_number(1, 256))
        ->capture_default_str()
        ->needs(engine);
    auto* service =
        command
            .add_flag(
                "--service", options.service,
                "With --engine: service mode: wait in one queue with the tasks of other processes")
            ->needs(engine);
    add_processor_options(command, options.processors);
    service->excludes("--processors");
    command.add_option("--threads", options.threads, "Threads that make requests to a model")
        ->check(whole_number(1, 64))
        ->capture_default_str();
}

} // namespace

void add_perf(CLI::App& app, int& status) {
    auto options = std::make_shared<PerfOptions>();
    auto* command =
        app.add_subcommand("perf", "Load a device with models and measure latency and throughput");
    command
        ->add_option("MODEL", options->models,
                     "Compiled models (.ovm), or networks (.onnx) to run in float on the CPU; "
                     "several are run at the same time")
        ->required();
    command->add_option("--model-name", options->name, "Model to take from a pack");
    add_network_options(*command, options->network);
    add_device_options(*command, *options);
    add_load_options(*command, *options);
    add_cpu_layout_option(*command, options->cpu_layout);
    add_cpu_threads_option(*command, options->cpu_threads);
    add_record_option(*command, options->record);
    command->add_option("--records", options->records,
                        "Write every request's times to this CSV file");
    command->add_flag(
        "--try", options->tries,
        "Try each --cpu-layout at each --record-level in turns, and print which to use; "
        "without --frames, half a second of each");
    command->add_flag("--json", options->json, "Print JSON");
    command->callback([options, command, &status] {
        use_huge_pages();
        const std::string node = node_of(options->device);
        read_network_options(options->network, options->import);
        check_usage(*command, *options, node);
        check_try(*command, *options);
        complete(*command, *options);
        status = run_perf(*options, node);
    });
}

} // namespace overtake::command
