// SPDX-License-Identifier: MIT
#include "run_samples.hpp"

#include <algorithm>
#include <cerrno>
#include <map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/inputs/npy.hpp"
#include "compiler/inputs/nv12.hpp"
#include "compiler/inputs/sample_file.hpp"
#include "output_file.hpp"
#include "overtake/device.hpp"

namespace overtake::command {
namespace {

compiler::Colours colours_of(const Port& port, std::size_t channels) {
    switch (port.colours) {
    case Colours::bgr:
        return compiler::Colours::bgr;
    case Colours::gray:
        return compiler::Colours::gray;
    case Colours::rgb:
        return compiler::Colours::rgb;
    case Colours::unknown:
        break;
    }
    return channels == 1 ? compiler::Colours::gray : compiler::Colours::rgb;
}

std::uint32_t conversion_of(const Port& port) {
    std::uint32_t flags = port.full_range ? OVERTAKE_FLAG_FULL_RANGE : 0;
    if (port.colours == Colours::bgr)
        flags |= OVERTAKE_FLAG_BGR;
    return port.colours == Colours::gray ? flags | OVERTAKE_FLAG_GRAY : flags;
}

// Reads a picture in the format of a camera.
std::vector<float> read_nv12(const Port& port, const std::string& path) {
    const auto height = static_cast<std::uint32_t>(port.shape[2] / 3 * 2);
    const auto width = static_cast<std::uint32_t>(port.shape[3]);
    const auto pixels =
        compiler::to_values(compiler::resize(compiler::read_image(path), height, width),
                            colours_of(port, port.shape[1]), false);
    const auto bytes = compiler::to_nv12(pixels, height, width, conversion_of(port));
    return {bytes.begin(), bytes.end()};
}

InputSamples read_picture(const Port& port, const std::string& path,
                          const compiler::Normalisation& normalisation) {
    const bool is_nv12 = port.type == DataType::nv12;
    const auto shape =
        compiler::picture_shape(std::vector<std::int64_t>(port.shape.begin(), port.shape.end()));
    if (!shape || port.shape[0] != 1 || port.type == DataType::int8)
        throw Error(EINVAL,
                    fmt::format("{}: is an image, but input '{}' is {} of shape {}; give "
                                "it a .npy file",
                                path, port.name, name_of(port.type), fmt::join(port.shape, "x")));
    if (!normalisation.empty() && port.type != DataType::float32)
        throw Error(EINVAL, fmt::format("--mean, --scale: input '{}' takes the pixels as they are; "
                                        "the model normalises them itself",
                                        port.name));
    if (is_nv12)
        return {port.elements(), 1, read_nv12(port, path)};
    const compiler::Image image =
        compiler::resize(compiler::read_image(path), shape->height, shape->width);
    InputSamples input{
        port.elements(), 1,
        compiler::to_values(image, colours_of(port, shape->channels), shape->channels_last)};
    compiler::normalise(normalisation, *shape, input.data);
    return input;
}

InputSamples read_array(const Port& port, const std::string& path, const compiler::Warn& warn) {
    compiler::Array array = compiler::read_npy(path);
    // Without a batch axis, a sample has the whole shape.
    const std::vector<std::size_t> sample(port.shape.begin() + (port.shape[0] == 1),
                                          port.shape.end());
    const bool has_axis = array.shape.size() == sample.size() + 1 &&
                          std::equal(sample.begin(), sample.end(), array.shape.begin() + 1);
    if (!has_axis && array.shape != sample)
        throw Error(EINVAL,
                    fmt::format("{}: has the shape {}, but input '{}' needs Nx{}", path,
                                fmt::join(array.shape, "x"), port.name, fmt::join(sample, "x")));
    if (array.elements() == 0)
        throw Error(EINVAL, path + ": holds no samples");
    if (!array.became_infinite.empty())
        throw Error(
            EINVAL,
            fmt::format("{}: holds {}, but input '{}' is computed in float32, which ends at "
                        "3.4e38; scale the input",
                        path, array.became_infinite, port.name));
    if (!array.was_rounded.empty())
        warn(fmt::format("{}: holds {}, which float32, in which input '{}' is computed, rounds",
                         path, array.was_rounded, port.name));
    return {port.elements(), has_axis ? array.shape[0] : 1, std::move(array.data)};
}

// Reads a picture or an array, whatever its name.
InputSamples read_file(const Port& port, const std::string& path,
                       const compiler::Normalisation& normalisation, const compiler::Warn& warn) {
    if (compiler::kind_of_sample(path) == compiler::SampleKind::picture ||
        compiler::is_image_name(path)) {
        const bool has_own = normalisation.empty() && port.type == DataType::float32;
        const compiler::Normalisation& used = has_own ? port.normalisation : normalisation;
        InputSamples picture = read_picture(port, path, used);
        if (used.empty() && port.type == DataType::float32)
            warn(compiler::unnormalised_pictures(path));
        return picture;
    }
    if (!normalisation.empty())
        warn(fmt::format("--mean, --scale: are for pictures; {} is an array and stays as it is",
                         path));
    InputSamples samples = read_array(port, path, warn);
    if (const std::string wrong = compiler::describe_not_finite(samples.data); !wrong.empty()) {
        if (port.is_int8)
            throw Error(EINVAL,
                        fmt::format("{}: {}, which 8 bits cannot hold; remove it", path, wrong));
        warn(fmt::format("{}: {}, and outputs may hold it too", path, wrong));
    }
    return samples;
}

std::string input_names(const std::vector<Port>& ports) {
    std::vector<std::string> names;
    for (const Port& port : ports)
        names.push_back("'" + port.name + "'");
    return fmt::format("{}", fmt::join(names, ", "));
}

// Returns where the name ends. Names and files may have '=', too, so it is the end of the longest
// name that an input has.
std::size_t end_of_name(const std::string& argument, const std::vector<Port>& ports) {
    std::size_t end = 0;
    for (const Port& port : ports)
        if (argument.starts_with(port.name + "="))
            end = std::max(end, port.name.size());
    return end > 0 ? end : argument.find('=');
}

// `sole` is the input that needs no name; null if several need one.
std::map<std::string, std::string> files_by_name(const std::vector<std::string>& arguments,
                                                 const std::vector<Port>& ports, const Port* sole) {
    std::map<std::string, std::string> files;
    for (const std::string& argument : arguments) {
        const bool is_named = std::ranges::any_of(
            ports, [&](const Port& port) { return argument.starts_with(port.name + "="); });
        std::error_code ignored;
        if (sole && !argument.empty() && !is_named &&
            (argument.find('=') == std::string::npos ||
             std::filesystem::exists(argument, ignored))) {
            if (!files.emplace(sole->name, argument).second)
                throw CLI::ValidationError("--input",
                                           fmt::format("'{}': the input is given twice", argument));
            continue;
        }
        if (!sole && argument.find('=') == std::string::npos)
            throw CLI::ValidationError(
                "--input", fmt::format("'{}' names no input, and the model has {}; write "
                                       "NAME=FILE for each",
                                       argument, input_names(ports)));
        const std::size_t equals = end_of_name(argument, ports);
        if (equals == std::string::npos || equals == 0 || equals + 1 == argument.size())
            throw CLI::ValidationError(
                "--input", fmt::format("'{}' is not NAME=FILE.npy (or a .png, a .jpg)", argument));
        if (!files.emplace(argument.substr(0, equals), argument.substr(equals + 1)).second)
            throw CLI::ValidationError("--input",
                                       fmt::format("'{}': the input is given twice", argument));
    }
    return files;
}

} // namespace

std::size_t Port::elements() const {
    std::size_t count = 1;
    for (const std::size_t size : shape)
        count *= size;
    return count;
}

std::vector<InputSamples> read_inputs(const std::vector<Port>& ports,
                                      const std::vector<std::string>& arguments,
                                      const compiler::Normalisation& normalisation,
                                      const compiler::Warn& warn,
                                      const std::vector<compiler::StateLink>& states) {
    const auto is_a_state = [&](std::size_t input) {
        return std::ranges::find(states, input, &compiler::StateLink::input) != states.end();
    };
    const Port* sole = nullptr;
    for (std::size_t input = 0, others = 0; input < ports.size(); ++input)
        if (!is_a_state(input))
            sole = others++ == 0 ? &ports[input] : nullptr;
    auto files = files_by_name(arguments, ports, sole);
    std::vector<InputSamples> inputs;
    const InputSamples* first = nullptr; // the first input that is no state
    inputs.reserve(ports.size());
    for (const Port& port : ports) {
        const auto file = files.find(port.name);
        const bool is_state = is_a_state(inputs.size());
        if (is_state && file == files.end()) {
            inputs.push_back({port.elements(), 1, std::vector<float>(port.elements())});
            continue;
        }
        if (file == files.end())
            throw Error(EINVAL, fmt::format("--input: '{0}' is missing; add --input {0}=FILE.npy",
                                            port.name));
        inputs.push_back(read_file(port, file->second, normalisation, warn));
        files.erase(file);
        if (is_state && inputs.back().count != 1)
            throw Error(EINVAL, fmt::format("--input {}: is a state (--state), and has {} samples; "
                                            "give one, with which the sequence begins",
                                            port.name, inputs.back().count));
        if (is_state)
            continue;
        first = first ? first : &inputs.back();
        if (inputs.back().count != first->count)
            throw Error(EINVAL, fmt::format("--input {}: has {} samples, the first input has {}",
                                            port.name, inputs.back().count, first->count));
    }
    if (!files.empty())
        throw Error(EINVAL, fmt::format("--input {}: the model has no such input; it has {}",
                                        files.begin()->first, input_names(ports)));
    return inputs;
}

// Returns the number of samples of the inputs that are no states: a state has one.
std::size_t count_of(const std::vector<InputSamples>& inputs) {
    return std::ranges::max(inputs, {}, &InputSamples::count).count;
}

States::States(const std::vector<std::string>& arguments, const std::vector<Port>& inputs,
               const std::vector<Port>& outputs) {
    const auto tensors = [](const std::vector<Port>& ports) {
        std::vector<compiler::StateTensor> list;
        for (const Port& port : ports)
            list.push_back({port.name, port.elements()});
        return list;
    };
    links_ = compiler::read_states(arguments, tensors(inputs), tensors(outputs));
    for (const compiler::StateLink& link : links_)
        if (inputs[link.input].type != outputs[link.output].type)
            throw Error(EINVAL, fmt::format("--state {}={}: the output is {}, the input {}",
                                            outputs[link.output].name, inputs[link.input].name,
                                            name_of(outputs[link.output].type),
                                            name_of(inputs[link.input].type)));
    values_.resize(links_.size());
}

std::vector<std::span<const float>> States::sample(const std::vector<InputSamples>& inputs,
                                                   std::size_t index) const {
    std::vector<std::span<const float>> sample;
    for (const InputSamples& input : inputs)
        sample.push_back(input.sample(std::min(index, input.count - 1)));
    for (std::size_t link = 0; link < links_.size(); ++link)
        if (!values_[link].empty())
            sample[links_[link].input] = values_[link];
    return sample;
}

void States::take(std::size_t output, std::span<const float> values) {
    for (std::size_t link = 0; link < links_.size(); ++link)
        if (links_[link].output == output)
            values_[link].assign(values.begin(), values.end());
}

OutputSamples::OutputSamples(std::vector<Port> ports, std::size_t count)
    : ports_(std::move(ports)), data_(ports_.size()) {
    for (std::size_t index = 0; index < ports_.size(); ++index)
        data_[index].reserve(ports_[index].elements() * count);
    for (const Port& port : ports_) {
        std::string name = port.name + ".npy";
        std::ranges::replace(name, '/', '_');
        if (const auto other = std::ranges::find(files_, name); other != files_.end())
            throw Error(EINVAL,
                        fmt::format("outputs '{}' and '{}' would both be {}; rename one in the "
                                    "ONNX file",
                                    ports_[static_cast<std::size_t>(other - files_.begin())].name,
                                    port.name, name));
        files_.push_back(std::move(name));
    }
}

void OutputSamples::check(const std::filesystem::path& directory, const std::vector<Port>& inputs,
                          const std::vector<std::string>& arguments) const {
    check_output_directory("--output-dir", directory);
    std::error_code error;
    if (!std::filesystem::is_directory(directory, error))
        return;
    std::vector<std::string> read;
    for (const std::string& argument : arguments)
        read.push_back(argument.substr(end_of_name(argument, inputs) + 1));
    for (const std::string& file : files_)
        check_output_file(directory / file, read);
}

void OutputSamples::append(std::size_t output, std::span<const float> values) {
    data_[output].insert(data_[output].end(), values.begin(), values.end());
}

void OutputSamples::write(const std::filesystem::path& directory, std::size_t count) const {
    OutputFiles files;
    files.make_directory(directory);
    for (std::size_t index = 0; index < ports_.size(); ++index) {
        const std::vector<std::size_t> sizes = shape(index, count);
        files.add(directory / files_[index], [&](std::ostream& file) {
            compiler::write_npy(file, sizes, data_[index], ports_[index].element_type);
        });
    }
    files.commit();
}

nlohmann::ordered_json OutputSamples::to_json(const std::filesystem::path& directory,
                                              std::size_t count) const {
    auto json = nlohmann::ordered_json::array();
    for (std::size_t index = 0; index < ports_.size(); ++index)
        json.push_back({{"name", ports_[index].name},
                        {"file", (directory / files_[index]).string()},
                        {"shape", shape(index, count)}});
    return json;
}

/// Returns the shape of all samples, one after the other.
std::vector<std::size_t> OutputSamples::shape(std::size_t output, std::size_t count) const {
    std::vector<std::size_t> sizes = ports_[output].shape;
    sizes[0] *= count;
    if (ports_[output].is_scalar && count == 1)
        sizes.clear();
    return sizes;
}

} // namespace overtake::command
