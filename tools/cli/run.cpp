// SPDX-License-Identifier: MIT
//
// overtake run: runs samples in files through a model and writes outputs to .npy files. A compiled
// model runs on a device. An ONNX network runs in float on the CPU, so that the two can be
// compared.
#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include "commands.hpp"
#include "compiler/compile.hpp"
#include "compiler/float/executor.hpp"
#include "compiler/import/import.hpp"
#include "compiler/passes/fold.hpp"
#include "cpu_layout_option.hpp"
#include "cpu_network.hpp"
#include "huge_pages.hpp"
#include "json_text.hpp"
#include "model_generated.h"
#include "network_options.hpp"
#include "normalisation_options.hpp"
#include "option_checks.hpp"
#include "output_file.hpp"
#include "overtake/custom_operator.hpp"
#include "overtake/model_contents.hpp"
#include "overtake/session.hpp"
#include "overtaking.hpp"
#include "plan_cores.hpp"
#include "printable.hpp"
#include "processor_options.hpp"
#include "progress.hpp"
#include "record_option.hpp"
#include "run_engine.hpp"
#include "run_samples.hpp"
#include "warnings.hpp"

namespace overtake::command {
namespace {

constexpr std::size_t tasks_in_flight = 4;
const std::string in_float = "in float on the CPU";

struct RunOptions {
    std::string model;
    std::string name;
    std::string device = "auto";
    std::vector<std::string> inputs;
    std::vector<std::string> calibration;
    std::vector<std::string> states;
    NetworkOptions network;
    compiler::ImportOptions import; ///< from `network`
    compiler::Normalisation normalisation;
    std::string output_directory;
    std::string custom_op_library;
    TaskOptions task;
    unsigned core_limit = 0;
    CpuLayout cpu_layout = CpuLayout::automatic;
    unsigned cpu_threads = 1;
    unsigned record = 0;
    bool runs_compiled = false; ///< .onnx without samples: it runs as compile --cpu makes it
    bool service = false;
    ProcessorArguments processors;
    bool quiet = false;
    bool json = false;
};

std::vector<float> numbers_of(const flatbuffers::Vector<float>* numbers) {
    return numbers ? std::vector<float>(numbers->begin(), numbers->end()) : std::vector<float>();
}

compiler::Normalisation normalisation_of(const fbs::Tensor& tensor) {
    return {numbers_of(tensor.pixel_mean()), numbers_of(tensor.pixel_scale())};
}

std::vector<Port> ports_of(const Model& model, std::span<const std::uint32_t> numbers) {
    std::vector<Port> ports;
    const auto& table = *ModelContents::of(model).table->tensors();
    for (const std::uint32_t number : numbers) {
        const Tensor& tensor = model.tensors()[number];
        ports.push_back({std::string(tensor.name),
                         {tensor.shape.begin(), tensor.shape.end()},
                         tensor.data_type,
                         tensor.colours,
                         tensor.full_range,
                         tensor.on_device(),
                         static_cast<compiler::ElementType>(table.Get(number)->element_type()),
                         table.Get(number)->is_scalar(),
                         normalisation_of(*table.Get(number))});
    }
    return ports;
}

std::vector<Port> ports_of(const compiler::Graph& graph,
                           const std::vector<compiler::ValueId>& ids) {
    std::vector<Port> ports;
    for (const compiler::ValueId id : ids) {
        const compiler::Value& value = graph.values[id];
        ports.push_back({value.name, {value.shape.begin(), value.shape.end()}});
        ports.back().element_type = value.element_type;
        ports.back().is_scalar = value.shape.empty();
        if (value.shape.empty()) // as in compiled models
            ports.back().shape = {1};
    }
    return ports;
}

// The measurements of a run, for the text at its end.
class Measure {
public:
    void finish() { taken_ = std::chrono::steady_clock::now() - begin_; }

    // `backend` is empty for a network in float.
    void print_json(const RunOptions& options, std::string_view backend, std::size_t count,
                    const OutputSamples& outputs) const {
        nlohmann::ordered_json json = {
            {"model", options.model},
            {"arithmetic", backend.empty() ? "float32" : "int8"},
            {"backend", backend.empty() ? nlohmann::ordered_json() : backend},
            {"samples", count},
            {"ms_per_sample", taken_.count() * 1e3 / static_cast<double>(count)},
            {"peak_memory_bytes", peak_memory_kib() * 1024},
            {"outputs", outputs.to_json(options.output_directory, count)}};
        if (gave_back_bytes != 0)
            json["gave_back_bytes"] = gave_back_bytes;
        fmt::print("{}\n", text_of(json));
    }

    void print(const RunOptions& options, const std::string& what, std::size_t count) const {
        if (options.quiet || options.json)
            return;
        fmt::print("{}: {} sample{} {}, {:.2f} ms each, peak memory {} MiB\n", options.model, count,
                   count == 1 ? "" : "s", what, taken_.count() * 1e3 / static_cast<double>(count),
                   (peak_memory_kib() + 1023) / 1024);
        if (gave_back_bytes != 0)
            fmt::print("gave back {} bytes: the model's file, and tables of what is in it\n",
                       gave_back_bytes);
    }

    std::size_t gave_back_bytes = 0; ///< at record level 2

private:
    static long peak_memory_kib() {
        rusage usage{};
        getrusage(RUSAGE_SELF, &usage);
        return usage.ru_maxrss;
    }

    const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    std::chrono::duration<double> taken_{};
};

// Runs samples like EngineRun, but without an engine.
class SessionRun {
public:
    SessionRun(const std::shared_ptr<Device>& device, const std::shared_ptr<const Model>& model,
               const TaskOptions& task, const SessionOptions& rights)
        : outputs_(model->outputs().size()), task_(task), session_(device, model, rights) {}

    std::size_t given_back_bytes() const { return session_.given_back_bytes(); }
    std::size_t in_flight() const noexcept { return running_.size(); }
    void submit(const std::vector<std::span<const float>>& sample) {
        running_.push_back(session_.submit(sample, task_));
    }
    void collect(const std::function<void(std::size_t, std::span<const float>)>& take) {
        running_.front().wait();
        for (std::size_t index = 0; index < outputs_; ++index)
            take(index, running_.front().output(index));
        running_.pop_front();
    }

private:
    const std::size_t outputs_;
    const TaskOptions task_;
    Session session_;
    std::deque<Task> running_; // oldest first
};

// With states, each sample waits for the one before it.
template <class Run, class Take>
void run_samples(Run& run, const std::vector<InputSamples>& inputs, States& states,
                 std::size_t count, const Take& append) {
    const auto take = [&](std::size_t output, std::span<const float> values) {
        append(output, values);
        states.take(output, values);
    };
    const std::size_t most = states.empty() ? tasks_in_flight : 1;
    ProgressBar bar;
    for (std::size_t index = 0; index < count; ++index) {
        if (run.in_flight() == most)
            run.collect(take);
        run.submit(states.sample(inputs, index));
        bar.show("running", static_cast<double>(index) / static_cast<double>(count));
    }
    while (run.in_flight() != 0)
        run.collect(take);
}

int run_on_device(const RunOptions& options, std::shared_ptr<const Model> model,
                  Warnings warnings = {}) {
    const std::vector<Port> ports = ports_of(*model, model->inputs());
    States states(options.states, ports, ports_of(*model, model->outputs()));
    const auto inputs =
        read_inputs(ports, options.inputs, options.normalisation, warnings.sink(), states.links());
    const std::size_t count = count_of(inputs);
    SessionOptions rights;
    rights.max_priority = std::max(options.task.priority, rights.max_priority);
    rights.core_limit = options.core_limit;
    rights.cpu_layout = options.cpu_layout;
    rights.cpu_threads = options.cpu_threads;
    rights.record = options.record;
    OutputSamples outputs(ports_of(*model, model->outputs()), count);
    outputs.check(options.output_directory, ports, options.inputs);
    // On an embedded device, no other client waits behind the run, and a large network may be slow
    // on a small CPU.
    EmbeddedOptions embedded;
    embedded.queue_timeout_ns = longest_run_ns;
    give_plan_cores(embedded, {&model, 1}); // one of which a task may name
    const auto device = open_device(options.device, embedded);
    if (!options.quiet)
        warn_unless_overtaking(*device, options.task, options.core_limit);
    if (!options.quiet && device->info().mode == OVERTAKE_MODE_TIMED)
        std::fputs("overtake: the device is in mode timed: it takes the modelled time and computes "
                   "nothing, so the outputs are not the network's\n",
                   stderr);
    if (!options.quiet && options.task.core == core_any)
        warn_of_unused_plans(*device, {&model, 1}, {&options.model, 1},
                             !options.processors.processors.empty() ? RequestsBy::processors
                             : options.service                      ? RequestsBy::engine
                                                                    : RequestsBy::session);

    const bool is_on_cpu =
        std::ranges::none_of(ModelContents::of(*model).segments, &Segment::on_bpu);
    Measure measure;
    const auto take = [&](std::size_t output, std::span<const float> values) {
        outputs.append(output, values);
    };
    if (options.service || !options.processors.processors.empty()) {
        EngineOptions wanted;
        wanted.max_priority = rights.max_priority;
        wanted.core_limit = options.core_limit;
        wanted.cpu_layout = options.cpu_layout;
        wanted.cpu_threads = options.cpu_threads;
        wanted.record = options.record;
        wanted.service = options.service;
        TaskOptions task = options.task;
        if (!options.service) {
            set_processors(wanted, options.processors, device, embedded);
            set_requests(task, options.processors);
        }
        EngineRun run(device, model, task, wanted, options.processors);
        run_samples(run, inputs, states, count, take);
    } else {
        SessionRun run(device, model, options.task, rights);
        model.reset(); // at record level 2, the model is freed
        measure.gave_back_bytes = run.given_back_bytes();
        run_samples(run, inputs, states, count, take);
    }
    measure.finish();
    outputs.write(options.output_directory, count);
    warnings.print();
    if (options.json)
        measure.print_json(options, is_on_cpu ? "" : device->backend(), count, outputs);
    measure.print(options, is_on_cpu ? in_float : fmt::format("in int8 on {}", device->backend()),
                  count);
    return 0;
}

int run_in_float(const RunOptions& options) {
    Warnings warnings;
    compiler::ImportOptions import = options.import;
    import.warn = warnings.sink();
    compiler::Graph graph = compiler::import_onnx(options.model, import);
    compiler::fold(graph);
    const std::vector<Port> ports = ports_of(graph, graph.inputs);
    States states(options.states, ports, ports_of(graph, graph.outputs));
    const auto inputs =
        read_inputs(ports, options.inputs, options.normalisation, warnings.sink(), states.links());
    const std::size_t count = count_of(inputs);
    OutputSamples outputs(ports_of(graph, graph.outputs), count);
    outputs.check(options.output_directory, ports, options.inputs);
    compiler::FloatExecutor executor(graph);
    Measure measure;
    {
        ProgressBar bar;
        for (std::size_t index = 0; index < count; ++index) {
            const compiler::FloatValues& values =
                executor.run_in_little_memory(states.sample(inputs, index));
            for (std::size_t output = 0; output < graph.outputs.size(); ++output) {
                outputs.append(output, values[graph.outputs[output]]);
                states.take(output, values[graph.outputs[output]]);
            }
            bar.show("running", static_cast<double>(index) / static_cast<double>(count));
        }
    }
    measure.finish();
    outputs.write(options.output_directory, count);
    warnings.print();
    if (options.json)
        measure.print_json(options, "", count, outputs);
    measure.print(options, in_float, count);
    return 0;
}

int run_model(const RunOptions& options) {
    if (!is_onnx(options.model)) {
        if (!options.calibration.empty())
            throw CLI::ValidationError("--calibration", "is for .onnx files; " + options.model +
                                                            " is compiled already");
        return run_on_device(options, Model::load(options.model, options.name));
    }
    if (options.calibration.empty() && !options.runs_compiled)
        return run_in_float(options);
    check_output_directory("--output-dir", options.output_directory); // before minutes of compiling
    if (options.calibration.empty()) {
        Warnings warnings;
        auto model = compile_for_cpu(options.model, options.import, warnings);
        return run_on_device(options, std::move(model), std::move(warnings));
    }
    compiler::CompileOptions compile;
    compile.model = options.model;
    compile.calibration = options.calibration;
    compile.states = options.states;
    compile.normalisation = options.normalisation;
    compile.import = options.import;
    Warnings warnings;
    compile.warn = compile.import.warn = warnings.sink();
    std::vector<std::uint8_t> bytes;
    {
        ProgressBar bar;
        bytes = compiler::compile(
            compile, [&](const std::string& what, double done) { bar.show(what, done); });
    }
    return run_on_device(options, Model::from_bytes(std::as_bytes(std::span(bytes)), options.model),
                         std::move(warnings));
}

void add_task_options(CLI::App& command, RunOptions& options) {
    command
        .add_option("--device", options.device,
                    "auto, embedded, kernel, server, server:SOCKET or a path like "
                    "/dev/accel/accel0")
        ->capture_default_str();
    command
        .add_option("--priority", options.task.priority,
                    "0..254 NORMAL, 255 HIGH (kernel device: needs CAP_SYS_NICE)")
        ->check(whole_number(0, 255))
        ->capture_default_str();
    command.add_option("--core-limit", options.core_limit,
                       "Core limit to ask for during the run; needs --priority 255");
    command
        .add_option("--custom-id", options.task.custom_id,
                    "Breaks ties within a priority: the smaller goes first")
        ->capture_default_str();
    command.add_option("--core", options.task.core, "Core, from 1; 0 = any")
        ->check(whole_number(0, OVERTAKE_MAX_CORES))
        ->capture_default_str();
    auto* service =
        command.add_flag("--service", options.service,
                         "Service mode: wait in one queue with the tasks of other processes");
    add_processor_options(command, options.processors);
    add_cpu_layout_option(command, options.cpu_layout);
    add_cpu_threads_option(command, options.cpu_threads);
    add_record_option(command, options.record);
    service->excludes("--processors");
}

} // namespace

void add_run(CLI::App& app, int& status) {
    auto options = std::make_shared<RunOptions>();
    auto* command = app.add_subcommand(
        "run", "Run a model on samples: a compiled one on a device, ONNX in float");
    command
        ->add_option("MODEL", options->model,
                     "Compiled model (.ovm), or a network (.onnx) to run in float on the CPU")
        ->required();
    command
        ->add_option(
            "--input", options->inputs,
            "[NAME=]FILE, once per input: .npy (several samples along axis 0 run one after "
            "the other), .png or .jpg")
        ->allow_extra_args(false)
        ->required();
    command
        ->add_option("--state", options->states,
                     "OUTPUT=INPUT, once per state: the output is that input of the next sample; "
                     "--input INPUT=FILE begins, or zeros")
        ->allow_extra_args(false);
    command
        ->add_option("--output-dir", options->output_directory,
                     "Directory for OUTPUT.npy; slashes in names become underscores")
        ->check(not_empty())
        ->required();
    command
        ->add_option("--calibration", options->calibration,
                     "[INPUT=]PATH: compile the .onnx in memory with these samples, and run it in "
                     "int8")
        ->allow_extra_args(false);
    add_network_options(*command, options->network);
    add_normalisation(*command, options->normalisation);
    add_task_options(*command, *options);
    command->add_option("--model-name", options->name, "Model to take from a pack");
    command->add_option("--custom-op-library", options->custom_op_library,
                        "Shared object that registers the custom operators of the model");
    command->add_flag("-q,--quiet", options->quiet, "Print nothing on success");
    command->add_flag("--json", options->json, "Print the result as JSON");
    command->callback([options, command, &status] {
        use_huge_pages();
        if (is_onnx(options->model) && options->calibration.empty() &&
            command->count("--processors") > 0)
            throw CLI::ValidationError("--processors",
                                       "is for compiled models, and " + options->model +
                                           " runs in float on the CPU; compile it, or give "
                                           "--calibration");
        if (is_onnx(options->model) && command->count("--model-name") > 0)
            throw CLI::ValidationError("--model-name", "is for packs of compiled models, and " +
                                                           options->model + " is none");
        for (const char* name : {"--input-shape", "--set-input"})
            if (!is_onnx(options->model) && command->count(name) > 0)
                throw CLI::ValidationError(name, "is for .onnx files; " + options->model +
                                                     " is compiled already");
        options->runs_compiled = command->count("--cpu-layout") + command->count("--cpu-threads") +
                                     command->count("--record-level") >
                                 0;
        read_network_options(options->network, options->import);
        check_core_limit(options->core_limit, options->task.priority);
        if (!options->custom_op_library.empty())
            load_custom_operators(options->custom_op_library);
        status = run_model(*options);
    });
}

} // namespace overtake::command
