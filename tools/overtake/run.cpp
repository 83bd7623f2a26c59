// SPDX-License-Identifier: MIT
//
// overtake run: samples in files through a model, outputs into .npy files.  A compiled model runs
// on a device; a network as ONNX has it runs in float on the CPU, so that the two can be compared.
#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <sys/resource.h>

#include "commands.hpp"
#include "compile.hpp"
#include "float_executor.hpp"
#include "fold.hpp"
#include "import.hpp"
#include "normalisation_options.hpp"
#include "option_checks.hpp"
#include "output_file.hpp"
#include "overtake/session.hpp"
#include "progress.hpp"
#include "run_samples.hpp"

namespace overtake::command {
namespace {

constexpr std::size_t tasks_in_flight = 4;

struct Options {
    std::string model;
    std::string name;
    std::string device = "auto";
    std::vector<std::string> inputs;
    std::vector<std::string> calibration;
    compiler::Normalisation normalisation;
    std::string output_directory;
    TaskOptions task;
    bool quiet = false;
};

std::vector<Port> ports_of(const Model& model, std::span<const std::uint32_t> numbers) {
    std::vector<Port> ports;
    for (const std::uint32_t number : numbers) {
        const Tensor& tensor = model.tensors()[number];
        ports.push_back({std::string(tensor.name),
                         {tensor.shape.begin(), tensor.shape.end()},
                         tensor.data_type,
                         tensor.colours,
                         tensor.full_range,
                         tensor.on_device()});
    }
    return ports;
}

std::vector<Port> ports_of(const compiler::Graph& graph,
                           const std::vector<compiler::ValueId>& ids) {
    std::vector<Port> ports;
    for (const compiler::ValueId id : ids) {
        const compiler::Value& value = graph.values[id];
        ports.push_back({value.name, {value.shape.begin(), value.shape.end()}});
        if (value.shape.empty()) // a scalar, as in compiled models
            ports.back().shape = {1};
    }
    return ports;
}

// What a run took, for its last line.
class Measure {
public:
    void finish() { taken_ = std::chrono::steady_clock::now() - begin_; }

    void print(const Options& options, const std::string& what, std::size_t count) const {
        if (options.quiet)
            return;
        rusage usage{};
        getrusage(RUSAGE_SELF, &usage); // ru_maxrss is in KiB
        fmt::print("{}: {} sample{} {}, {:.2f} ms each, peak memory {} MiB\n", options.model, count,
                   count == 1 ? "" : "s", what, taken_.count() * 1e3 / static_cast<double>(count),
                   (usage.ru_maxrss + 1023) / 1024);
    }

private:
    const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    std::chrono::duration<double> taken_{};
};

// What the user ought to know of a run that succeeds, each once.
class Warnings {
public:
    compiler::Warn sink() {
        return [this](const std::string& text) {
            if (std::ranges::find(texts_, text) == texts_.end())
                texts_.push_back(text);
        };
    }
    void print() const {
        for (const std::string& text : texts_)
            fmt::print(stderr, "overtake: {}\n", text);
    }

private:
    std::vector<std::string> texts_;
};

int run_on_device(const Options& options, const std::shared_ptr<const Model>& model,
                  Warnings warnings = {}) {
    const auto inputs = read_inputs(ports_of(*model, model->inputs()), options.inputs,
                                    options.normalisation, warnings.sink());
    const std::size_t count = inputs.front().count;
    SessionOptions rights;
    rights.max_priority = std::max(options.task.priority, rights.max_priority);
    OutputSamples outputs(ports_of(*model, model->outputs()));
    outputs.check(options.output_directory, options.inputs);
    // Nobody waits behind it on an embedded device, and a large network may be slow on a small CPU.
    EmbeddedOptions embedded;
    embedded.queue_timeout_ns = longest_run_ns;
    const auto device = open_device(options.device, embedded);
    Session session(device, model, rights);

    Measure measure;
    {
        ProgressBar bar;
        std::deque<Task> running; // oldest first
        const auto collect = [&] {
            running.front().wait();
            for (std::size_t index = 0; index < model->outputs().size(); ++index)
                outputs.append(index, running.front().output(index));
            running.pop_front();
        };
        for (std::size_t index = 0; index < count; ++index) {
            std::vector<std::span<const float>> sample;
            for (const InputSamples& input : inputs)
                sample.push_back(input.sample(index));
            if (running.size() == tasks_in_flight)
                collect();
            running.push_back(session.submit(sample, options.task));
            bar.show("running", static_cast<double>(index) / static_cast<double>(count));
        }
        while (!running.empty())
            collect();
    }
    measure.finish();
    outputs.write(options.output_directory, count);
    warnings.print();
    measure.print(options, fmt::format("in int8 on {}", device->backend()), count);
    return 0;
}

int run_in_float(const Options& options) {
    compiler::Graph graph = compiler::import_onnx(options.model);
    compiler::fold(graph);
    Warnings warnings;
    const auto inputs = read_inputs(ports_of(graph, graph.inputs), options.inputs,
                                    options.normalisation, warnings.sink());
    const std::size_t count = inputs.front().count;
    OutputSamples outputs(ports_of(graph, graph.outputs));
    outputs.check(options.output_directory, options.inputs);
    compiler::FloatExecutor executor(graph);
    Measure measure;
    {
        ProgressBar bar;
        for (std::size_t index = 0; index < count; ++index) {
            compiler::FloatValues sample;
            for (const InputSamples& input : inputs) {
                const std::span<const float> values = input.sample(index);
                sample.emplace_back(values.begin(), values.end());
            }
            const compiler::FloatValues& values = executor.run(sample);
            for (std::size_t output = 0; output < graph.outputs.size(); ++output)
                outputs.append(output, values[graph.outputs[output]]);
            bar.show("running", static_cast<double>(index) / static_cast<double>(count));
        }
    }
    measure.finish();
    outputs.write(options.output_directory, count);
    warnings.print();
    measure.print(options, "in float on the CPU", count);
    return 0;
}

bool is_onnx(const std::string& model) {
    return std::filesystem::path(model).extension() == ".onnx";
}

int run_model(const Options& options) {
    if (!is_onnx(options.model)) {
        if (!options.calibration.empty())
            throw CLI::ValidationError("--calibration", "is for .onnx files; " + options.model +
                                                            " is compiled already");
        return run_on_device(options, Model::load(options.model, options.name));
    }
    if (options.calibration.empty())
        return run_in_float(options);
    check_output_directory("--output-dir", options.output_directory); // before minutes of compiling
    compiler::CompileOptions compile;
    compile.model = options.model;
    compile.calibration = options.calibration;
    compile.normalisation = options.normalisation;
    Warnings warnings;
    compile.warn = warnings.sink();
    std::vector<std::uint8_t> bytes;
    {
        ProgressBar bar;
        bytes = compiler::compile(
            compile, [&](const std::string& what, double done) { bar.show(what, done); });
    }
    return run_on_device(options, Model::from_bytes(std::as_bytes(std::span(bytes)), options.model),
                         std::move(warnings));
}

void add_task_options(CLI::App& command, Options& options) {
    command
        .add_option("--device", options.device,
                    "auto, embedded, kernel or a path like /dev/accel/accel0")
        ->capture_default_str();
    command
        .add_option("--priority", options.task.priority,
                    "0..254 NORMAL, 255 HIGH (kernel device: needs CAP_SYS_NICE)")
        ->check(whole_number(0, 255))
        ->capture_default_str();
    command
        .add_option("--custom-id", options.task.custom_id,
                    "Breaks ties inside one priority: the smaller goes first")
        ->capture_default_str();
    command.add_option("--core", options.task.core, "Core, from 1; 0 = any")
        ->check(whole_number(0, OVERTAKE_MAX_CORES))
        ->capture_default_str();
}

} // namespace

void add_run(CLI::App& app, int& status) {
    auto options = std::make_shared<Options>();
    auto* command =
        app.add_subcommand("run", "Run a model on samples: compiled on a device, ONNX in float");
    command
        ->add_option("MODEL", options->model,
                     "Compiled model (.ovm), or a network (.onnx) to run in float on the CPU")
        ->required();
    command
        ->add_option("--input", options->inputs,
                     "NAME=FILE, once per input: .npy (several samples along axis 0 run one after "
                     "the other), .png or .jpg")
        ->allow_extra_args(false)
        ->required();
    command
        ->add_option("--output-dir", options->output_directory,
                     "Directory for OUTPUT.npy; slashes in names become underscores")
        ->check(not_empty())
        ->required();
    command
        ->add_option(
            "--calibration", options->calibration,
            "[INPUT=]FILE or directory: compile the .onnx in memory with these samples and "
            "run it in int8")
        ->allow_extra_args(false);
    add_normalisation(*command, options->normalisation);
    add_task_options(*command, *options);
    command->add_option("--model-name", options->name, "Which model of a pack");
    command->add_flag("-q,--quiet", options->quiet, "Print nothing on success");
    command->callback([options, command, &status] {
        if (is_onnx(options->model) && command->count("--model-name") > 0)
            throw CLI::ValidationError("--model-name", "is for packs of compiled models, and " +
                                                           options->model + " is none");
        status = run_model(*options);
    });
}

} // namespace overtake::command
