// SPDX-License-Identifier: MIT
#include "run_samples.hpp"

#include <algorithm>
#include <cerrno>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "image.hpp"
#include "npy.hpp"
#include "overtake/device.hpp"

namespace overtake::command {
namespace {

void normalise(const Normalisation& normalisation, std::size_t channels, std::vector<float>& data) {
    const auto of_channel = [&](const std::vector<float>& numbers, const char* option,
                                std::size_t channel, float otherwise) {
        if (numbers.size() > 1 && numbers.size() != channels)
            throw Error(EINVAL, fmt::format("{}: {} numbers for {} channels", option,
                                            numbers.size(), channels));
        return numbers.empty() ? otherwise : numbers[numbers.size() == 1 ? 0 : channel];
    };
    const std::size_t pixels = data.size() / channels;
    for (std::size_t channel = 0; channel < channels; ++channel) {
        const float mean = of_channel(normalisation.mean, "--mean", channel, 0);
        const float scale = of_channel(normalisation.scale, "--scale", channel, 1);
        for (float& value : std::span(data).subspan(channel * pixels, pixels))
            value = (value - mean) * scale;
    }
}

InputSamples read_picture(const Port& port, const std::string& path,
                          const Normalisation& normalisation) {
    const bool is_picture = port.shape.size() == 4 && (port.shape[1] == 1 || port.shape[1] == 3);
    if (!is_picture)
        throw Error(EINVAL, fmt::format("{}: is a picture, but input '{}' has the shape {}; give "
                                        "it a .npy file",
                                        path, port.name, fmt::join(port.shape, "x")));
    const auto height = static_cast<std::uint32_t>(port.shape[2]);
    const auto width = static_cast<std::uint32_t>(port.shape[3]);
    const auto colours = port.shape[1] == 1 ? compiler::Colours::gray : compiler::Colours::rgb;
    InputSamples input{
        port.elements(), 1,
        compiler::to_values(compiler::resize(compiler::read_image(path), height, width), colours,
                            false)};
    normalise(normalisation, port.shape[1], input.data);
    return input;
}

InputSamples read_array(const Port& port, const std::string& path) {
    compiler::Array array = compiler::read_npy(path);
    // Of what has no batch, a sample is the whole.
    const std::vector<std::size_t> sample(port.shape.begin() + (port.shape[0] == 1),
                                          port.shape.end());
    const bool has_axis = array.shape.size() == sample.size() + 1 &&
                          std::equal(sample.begin(), sample.end(), array.shape.begin() + 1);
    if (!has_axis && array.shape != sample)
        throw Error(EINVAL,
                    fmt::format("{}: has the shape {}, but input '{}' needs Nx{}", path,
                                fmt::join(array.shape, "x"), port.name, fmt::join(sample, "x")));
    return {port.elements(), has_axis ? array.shape[0] : 1, std::move(array.data)};
}

std::map<std::string, std::string> files_by_name(const std::vector<std::string>& arguments) {
    std::map<std::string, std::string> files;
    for (const std::string& argument : arguments) {
        const std::size_t equals = argument.find('=');
        if (equals == std::string::npos || equals == 0)
            throw Error(EINVAL, fmt::format("--input {}: is not NAME=FILE.npy (or a .png, a .jpg)",
                                            argument));
        if (!files.emplace(argument.substr(0, equals), argument.substr(equals + 1)).second)
            throw Error(EINVAL, fmt::format("--input {}: the input is given twice", argument));
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
                                      const Normalisation& normalisation) {
    auto files = files_by_name(arguments);
    std::vector<InputSamples> inputs;
    for (const Port& port : ports) {
        const auto file = files.find(port.name);
        if (file == files.end())
            throw Error(EINVAL, fmt::format("--input: '{0}' is missing; add --input {0}=FILE.npy",
                                            port.name));
        inputs.push_back(compiler::is_image_name(file->second)
                             ? read_picture(port, file->second, normalisation)
                             : read_array(port, file->second));
        files.erase(file);
        if (inputs.back().count != inputs.front().count)
            throw Error(EINVAL, fmt::format("--input {}: has {} samples, the first input has {}",
                                            port.name, inputs.back().count, inputs.front().count));
    }
    if (!files.empty())
        throw Error(EINVAL,
                    fmt::format("--input {}: the model has no such input; see overtake info",
                                files.begin()->first));
    return inputs;
}

void OutputSamples::append(std::size_t output, std::span<const float> values) {
    data_[output].insert(data_[output].end(), values.begin(), values.end());
}

void OutputSamples::write(const std::filesystem::path& directory, std::size_t count) const {
    std::filesystem::create_directories(directory);
    for (std::size_t index = 0; index < ports_.size(); ++index) {
        std::string name = ports_[index].name;
        std::ranges::replace(name, '/', '_');
        std::vector<std::size_t> shape = ports_[index].shape;
        shape[0] *= count;
        compiler::write_npy(directory / (name + ".npy"), shape, data_[index]);
    }
}

} // namespace overtake::command
