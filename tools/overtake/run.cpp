// SPDX-License-Identifier: MIT
//
// overtake run: samples in .npy files through a model, outputs into .npy files.
#include <algorithm>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "commands.hpp"
#include "npy.hpp"
#include "overtake/session.hpp"
#include "progress.hpp"

namespace overtake::command {
namespace {

constexpr std::size_t tasks_in_flight = 4;

struct Options {
    std::string model;
    std::string device = "auto";
    std::vector<std::string> inputs;
    std::string output_directory;
    TaskOptions task;
};

// The samples of one input, one behind the other.
struct Input {
    std::vector<float> data;
    std::size_t count = 0;

    std::span<const float> sample(std::size_t index, std::size_t elements) const {
        return std::span(data).subspan(index * elements, elements);
    }
};

// One sample, with or without an axis of 1 in front, or several along that axis.
Input read_input(const Tensor& tensor, const std::string& path) {
    const compiler::Array array = compiler::read_npy(path);
    const std::vector<std::size_t> shape(tensor.shape.begin(), tensor.shape.end());
    // Of what has no batch, a sample is the whole.
    const std::vector<std::size_t> sample(shape.begin() + (shape[0] == 1), shape.end());
    const bool has_axis = array.shape.size() == sample.size() + 1 &&
                          std::equal(sample.begin(), sample.end(), array.shape.begin() + 1);
    if (!has_axis && array.shape != sample)
        throw Error(EINVAL,
                    fmt::format("{}: has the shape {}, but input '{}' needs Nx{}", path,
                                fmt::join(array.shape, "x"), tensor.name, fmt::join(sample, "x")));
    return {array.data, has_axis ? array.shape[0] : 1};
}

std::vector<Input> read_inputs(const Model& model, const std::vector<std::string>& arguments) {
    std::map<std::string, std::string> files;
    for (const std::string& argument : arguments) {
        const std::size_t equals = argument.find('=');
        if (equals == std::string::npos || equals == 0)
            throw Error(EINVAL, fmt::format("--input {}: is not NAME=FILE.npy", argument));
        if (!files.emplace(argument.substr(0, equals), argument.substr(equals + 1)).second)
            throw Error(EINVAL, fmt::format("--input {}: the input is given twice", argument));
    }
    std::vector<Input> inputs;
    for (std::size_t index = 0; index < model.inputs().size(); ++index) {
        const Tensor& tensor = model.input(index);
        const auto file = files.find(std::string(tensor.name));
        if (file == files.end())
            throw Error(EINVAL, fmt::format("--input: '{0}' is missing; add --input {0}=FILE.npy",
                                            tensor.name));
        inputs.push_back(read_input(tensor, file->second));
        files.erase(file);
        if (inputs.back().count != inputs.front().count)
            throw Error(EINVAL,
                        fmt::format("--input {}: has {} samples, the first input has {}",
                                    tensor.name, inputs.back().count, inputs.front().count));
    }
    if (!files.empty())
        throw Error(EINVAL,
                    fmt::format("--input {}: the model has no such input; see overtake info",
                                files.begin()->first));
    return inputs;
}

// Values of every output, samples one behind the other.
class Outputs {
public:
    explicit Outputs(const Model& model) : model_(model), data_(model.outputs().size()) {}

    void append(const Task& task) {
        for (std::size_t index = 0; index < data_.size(); ++index) {
            const std::vector<float> values = task.output(index);
            data_[index].insert(data_[index].end(), values.begin(), values.end());
        }
    }

    void write(const std::filesystem::path& directory, std::size_t count) const {
        std::filesystem::create_directories(directory);
        for (std::size_t index = 0; index < data_.size(); ++index) {
            const Tensor& tensor = model_.output(index);
            std::string name(tensor.name);
            std::ranges::replace(name, '/', '_');
            std::vector<std::size_t> shape(tensor.shape.begin(), tensor.shape.end());
            shape[0] *= count;
            compiler::write_npy(directory / (name + ".npy"), shape, data_[index]);
        }
    }

private:
    const Model& model_;
    std::vector<std::vector<float>> data_;
};

int run_model(const Options& options) {
    const auto model = Model::load(options.model);
    const std::vector<Input> inputs = read_inputs(*model, options.inputs);
    const std::size_t count = inputs.front().count;
    SessionOptions rights;
    rights.max_priority = std::max(options.task.priority, rights.max_priority);
    // Nobody waits behind it on an embedded device, and a large network may be slow on a small CPU.
    EmbeddedOptions embedded;
    embedded.queue_timeout_ns = longest_run_ns;
    Session session(open_device(options.device, embedded), model, rights);

    Outputs outputs(*model);
    ProgressBar bar;
    std::deque<Task> running; // oldest first
    const auto collect = [&] {
        running.front().wait();
        outputs.append(running.front());
        running.pop_front();
    };
    for (std::size_t index = 0; index < count; ++index) {
        std::vector<std::span<const float>> sample;
        for (std::size_t input = 0; input < inputs.size(); ++input)
            sample.push_back(inputs[input].sample(index, model->input(input).elements()));
        if (running.size() == tasks_in_flight)
            collect();
        running.push_back(session.submit(sample, options.task));
        bar.show("running", static_cast<double>(index) / static_cast<double>(count));
    }
    while (!running.empty())
        collect();
    outputs.write(options.output_directory, count);
    return 0;
}

} // namespace

void add_run(CLI::App& app, int& status) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("run", "Run a model on samples in .npy files");
    command->add_option("MODEL", options->model, "Compiled model (.ovm)")->required();
    command
        ->add_option("--input", options->inputs,
                     "NAME=FILE.npy, once per input; several samples along axis 0 run one after "
                     "the other")
        ->allow_extra_args(false)
        ->required();
    command
        ->add_option("--output-dir", options->output_directory,
                     "Directory for OUTPUT.npy; slashes in names become underscores")
        ->required();
    command
        ->add_option("--device", options->device,
                     "auto, embedded, kernel or a path like /dev/accel/accel0")
        ->capture_default_str();
    command
        ->add_option("--priority", options->task.priority,
                     "0..254 NORMAL, 255 HIGH (kernel device: needs CAP_SYS_NICE)")
        ->check(CLI::Range(0, 255))
        ->capture_default_str();
    command
        ->add_option("--custom-id", options->task.custom_id,
                     "Breaks ties inside one priority: the smaller goes first")
        ->capture_default_str();
    command->add_option("--core", options->task.core, "Core, from 1; 0 = any")
        ->capture_default_str();
    command->callback([options, &status] { status = run_model(*options); });
}

} // namespace overtake::command
