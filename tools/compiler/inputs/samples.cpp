// SPDX-License-Identifier: MIT
#include "compiler/inputs/samples.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "compiler/inputs/images.hpp"
#include "compiler/inputs/npy.hpp"
#include "compiler/inputs/nv12.hpp"
#include "compiler/inputs/sample_file.hpp"
#include "compiler/ir/error.hpp"

namespace overtake::compiler {
namespace {

bool says_its_type(const std::filesystem::path& path) {
    return path.extension() == ".npy" || is_image_name(path);
}

// Returns a few names in one line.
std::string named(const std::vector<std::string>& names) {
    constexpr std::size_t most = 5;
    std::string text;
    for (std::size_t index = 0; index < names.size() && index < most; ++index)
        text += (index == 0 ? "" : ", ") + names[index];
    return names.size() <= most ? text
                                : text + " and " + std::to_string(names.size() - most) + " more";
}

std::vector<std::string> files_of(const std::string& path, const InputOptions& options,
                                  const Warn& warn) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error))
        return {path};
    std::vector<std::string> files, strays;
    for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
        const std::string name = entry.path().filename();
        if (entry.is_regular_file() &&
            (options.raw != RawType::none || says_its_type(entry.path())))
            files.push_back(entry.path());
        else if (!name.starts_with('.'))
            strays.push_back(entry.is_directory() ? name + "/" : name);
    }
    if (error)
        throw CompileError(path, error.message() + "; name a directory that can be read");
    std::ranges::sort(files);
    std::ranges::sort(strays);
    if (files.empty())
        throw CompileError(path, "no .npy, .png or .jpg file in this directory" +
                                     (strays.empty() ? "" : ", only " + named(strays)) +
                                     "; name one that has samples");
    if (!strays.empty() && warn)
        warn(path + ": left out, being no .npy, .png or .jpg file: " + named(strays));
    return files;
}

// Returns one picture as the network's input takes it.
std::vector<float> picture(const Value& input, const InputOptions& options,
                           const Normalisation& normalisation, const std::string& path) {
    const auto shape = picture_shape(input.shape, options.channels_last);
    if (!shape)
        throw CompileError(path, "is a picture, but input '" + input.name +
                                     "' has not one or three channels; give it .npy files");
    const Image image = read_image(path);
    if (!options.stretches && (image.height != shape->height || image.width != shape->width))
        throw CompileError(path, "has " + std::to_string(image.width) + " x " +
                                     std::to_string(image.height) +
                                     " pixels, which is not the input's size");
    const bool is_bgr = options.trained == InputKind::bgr;
    const Colours colours = shape->channels == 1 ? Colours::gray
                            : is_bgr             ? Colours::bgr
                                                 : Colours::rgb;
    std::vector<float> values =
        to_values(resize(image, shape->height, shape->width), colours, shape->channels_last);
    if (options.trained == InputKind::tensor && !normalisation.empty())
        normalise(normalisation, *shape, values);
    // All images of a batch are the same picture.
    const std::size_t each = values.size();
    values.resize(input.elements());
    for (std::size_t first = each; first < values.size(); first += each)
        std::copy_n(values.begin(), each, values.begin() + static_cast<std::ptrdiff_t>(first));
    return values;
}

// Returns the elements of one sample from a file that has nothing else.
std::vector<float> raw_sample(const Value& input, RawType type, const std::string& path) {
    const std::size_t each = type == RawType::uint8 ? 1 : sizeof(float);
    std::error_code error;
    if (const auto status = std::filesystem::status(path, error);
        status.type() == std::filesystem::file_type::fifo ||
        status.type() == std::filesystem::file_type::character)
        throw CompileError(path, "is a device or a pipe, not a file; name a file of samples");
    std::ifstream file(path, std::ios::binary);
    std::vector<char> bytes(input.elements() * each + 1);
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (static_cast<std::size_t>(file.gcount()) != input.elements() * each)
        throw CompileError(path, "does not hold " + std::to_string(input.elements()) +
                                     " elements of " + std::to_string(each) +
                                     " bytes, a sample of input '" + input.name + "'");
    std::vector<float> sample(input.elements());
    if (type == RawType::float32)
        std::memcpy(sample.data(), bytes.data(), sample.size() * sizeof(float));
    else
        std::ranges::transform(bytes.begin(), bytes.end() - 1, sample.begin(), [](char byte) {
            return static_cast<float>(static_cast<unsigned char>(byte));
        });
    return sample;
}

std::string shape_text(const std::vector<std::size_t>& shape) {
    std::string text;
    for (std::size_t size : shape)
        text.append(text.empty() ? "" : "x").append(std::to_string(size));
    return text.empty() ? "()" : text;
}

// Appends the samples of a .npy file.
void append_array(const Value& input, const std::string& path, FloatValues& samples) {
    const Array array = read_npy(path);
    if (!array.became_infinite.empty())
        throw CompileError(path, "holds " + array.became_infinite + ", but input '" + input.name +
                                     "' is computed in float32, which ends at 3.4e38; take that "
                                     "sample out, or scale the input");
    // If the input has no batch, a sample is the whole tensor.
    const bool has_batch = !input.shape.empty() && input.shape[0] == 1;
    const std::vector<std::size_t> one(input.shape.begin() + has_batch, input.shape.end());
    const bool is_single = array.shape == one;
    const bool has_axis = array.shape.size() == one.size() + 1 &&
                          std::equal(one.begin(), one.end(), array.shape.begin() + 1);
    if (!is_single && !has_axis) {
        const std::string wanted = one.empty() ? "N" : "Nx" + shape_text(one);
        throw CompileError(path, "does not hold samples of input '" + input.name +
                                     "'; it has the shape " + shape_text(array.shape) +
                                     " and needs " + wanted);
    }
    if (array.data.empty())
        throw CompileError(path, "holds no samples of input '" + input.name +
                                     "'; it has the shape " + shape_text(array.shape));
    for (std::size_t start = 0; start < array.data.size(); start += input.elements())
        samples.emplace_back(array.data.begin() + static_cast<std::ptrdiff_t>(start),
                             array.data.begin() +
                                 static_cast<std::ptrdiff_t>(start + input.elements()));
}

// Appends the samples of one file, each with the input's elements; returns whether they are a
// picture.
bool append_samples(const Value& input, const InputOptions& options,
                    const Normalisation& normalisation, const std::string& path,
                    FloatValues& samples) {
    const bool is_raw = options.raw != RawType::none && !says_its_type(path);
    const SampleKind kind = is_raw ? SampleKind::other : kind_of_sample(path);
    if (is_raw)
        samples.push_back(raw_sample(input, options.raw, path));
    else if (kind == SampleKind::picture || is_image_name(path))
        samples.push_back(picture(input, options, normalisation, path));
    else
        append_array(input, path, samples);
    return kind == SampleKind::picture;
}

// Refuses samples that are not finite, since 8 bits hold a range.
void check_finite(const FloatValues& samples, std::size_t first, const std::string& path) {
    for (std::size_t index = first; index < samples.size(); ++index)
        if (const std::string wrong =
                describe_not_finite(samples[index], (index - first) * samples[index].size());
            !wrong.empty())
            throw CompileError(path, wrong + ", which 8 bits cannot; take that sample out");
}

std::string input_names(const Graph& graph) {
    std::string text;
    for (ValueId id : graph.inputs)
        text += (text.empty() ? "'" : ", '") + graph.values[id].name + "'";
    return text;
}

// Parses NAME=PATH, or a path alone.  A path may contain '=' if it exists as it is written, or if
// it follows the name of an input, which may contain '=' too.
std::pair<std::string, std::string> parse_specification(const Graph& graph,
                                                        const std::string& specification) {
    const std::size_t equals = specification.find('=');
    std::error_code error;
    if (equals + 1 == specification.size() || specification.empty())
        throw CompileError("--calibration " + specification, "names no file");
    std::size_t end = 0; // of the longest input name that fits
    for (ValueId id : graph.inputs)
        if (specification.starts_with(graph.values[id].name + "="))
            end = std::max(end, graph.values[id].name.size());
    if (end > 0 && !std::filesystem::exists(specification, error))
        return {specification.substr(0, end), specification.substr(end + 1)};
    if (equals != std::string::npos && !std::filesystem::exists(specification, error))
        return {specification.substr(0, equals), specification.substr(equals + 1)};
    if (graph.inputs.size() != 1)
        throw CompileError("--calibration " + specification, "the model has several inputs, " +
                                                                 input_names(graph) +
                                                                 "; write INPUT=PATH for each");
    return {graph.values[graph.inputs[0]].name, specification};
}

// Returns random bytes as the picture that they make.
std::vector<float> noisy_picture(const Value& input, std::mt19937& generator) {
    std::uniform_int_distribution<int> byte(0, 255);
    const std::size_t area = std::size_t{input.height} * input.width;
    std::vector<std::uint8_t> bytes(area + area / 2);
    std::ranges::generate(bytes, [&] { return static_cast<std::uint8_t>(byte(generator)); });
    std::vector<float> pixels = from_nv12(bytes, input.height, input.width, input.picture_flags);
    for (float& pixel : pixels)
        pixel = input.given->real(static_cast<int>(pixel) - 128);
    return pixels;
}

} // namespace

std::string unnormalised_pictures(const std::string& what) {
    return what +
           ": pictures go in as pixels 0..255; if the network was trained on normalised ones, "
           "give --mean and --scale (--scale 1: it was not)";
}

Samples read_samples(const Graph& graph, const std::vector<InputOptions>& inputs,
                     const std::vector<std::string>& specifications,
                     const Normalisation& normalisation, const Warn& warn,
                     const std::vector<std::string>& states) {
    const std::vector<bool> on_device = device_values(graph);
    std::map<std::string, FloatValues> by_input;
    bool has_pictures = false;
    for (const std::string& specification : specifications) {
        const auto [name, path] = parse_specification(graph, specification);
        const auto input = std::ranges::find_if(
            graph.inputs, [&, &name = name](ValueId id) { return graph.values[id].name == name; });
        if (input == graph.inputs.end())
            throw CompileError("--calibration " + specification, "the model has no input '" + name +
                                                                     "'; it has " +
                                                                     input_names(graph));
        const Value& value = graph.values[*input];
        const InputOptions& options = options_of(inputs, name);
        FloatValues read;
        bool holds_pictures = false;
        for (const std::string& file : files_of(path, options, warn)) {
            const std::size_t before = read.size();
            holds_pictures |= append_samples(value, options, normalisation, file, read);
            if (on_device[*input])
                check_finite(read, before, file);
        }
        has_pictures |= holds_pictures;
        if (warn && holds_pictures && normalisation.empty() &&
            options.trained == InputKind::tensor && value.user_type == UserType::float32)
            warn(unnormalised_pictures(path));
        for (std::vector<float>& sample : read)
            by_input[name].push_back(to_graph_input(value, options, std::move(sample)));
    }
    if (warn && !has_pictures && !normalisation.empty())
        warn("--mean, --scale: are for pictures; the calibration samples are arrays and stay as "
             "they "
             "are");
    const auto is_state = [&](ValueId id) {
        return std::ranges::find(states, graph.values[id].name) != states.end();
    };
    Samples samples;
    if (const auto first = std::ranges::find_if_not(graph.inputs, is_state);
        first != graph.inputs.end())
        samples.resize(by_input[graph.values[*first].name].size());
    for (ValueId id : graph.inputs) {
        const std::string& name = graph.values[id].name;
        FloatValues& arrays = by_input[name];
        if (is_state(id)) {
            if (arrays.size() > 1)
                throw CompileError("--calibration",
                                   "input '" + name + "' is a state (--state), and has " +
                                       std::to_string(arrays.size()) +
                                       " samples; give one, with which the sequence begins");
            samples.resize(std::max<std::size_t>(samples.size(), 1));
            arrays.resize(samples.size(), std::vector<float>(graph.values[id].elements()));
        }
        if (samples.empty())
            samples.resize(arrays.size());
        if (arrays.empty() || arrays.size() != samples.size())
            throw CompileError("--calibration", "input '" + name + "' has " +
                                                    std::to_string(arrays.size()) +
                                                    " samples; every input needs equally many, "
                                                    "at least one");
        for (std::size_t index = 0; index < samples.size(); ++index)
            samples[index].push_back(std::move(arrays[index]));
    }
    return samples;
}

Samples random_samples(const Graph& graph, std::size_t count, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> noise;
    std::uniform_int_distribution<int> byte(-128, 127);
    Samples samples(count);
    for (FloatValues& sample : samples)
        for (ValueId id : graph.inputs) {
            std::vector<float> data(graph.values[id].elements());
            const auto& given = graph.values[id].given;
            std::ranges::generate(
                data, [&] { return given ? given->real(byte(generator)) : noise(generator); });
            if (graph.values[id].user_type == UserType::nv12)
                data = noisy_picture(graph.values[id], generator);
            sample.push_back(std::move(data));
        }
    return samples;
}

} // namespace overtake::compiler
