// SPDX-License-Identifier: MIT
#include "compiler/inputs/input_options.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "compiler/inputs/nv12.hpp"
#include "compiler/ir/error.hpp"

namespace overtake::compiler {
namespace {

constexpr std::uint32_t colour_channels = 3;
constexpr int byte_zero = -128; // the int8 that means 0 of an unsigned byte

bool is_picture(InputKind kind) {
    return kind != InputKind::tensor && kind != InputKind::int8;
}

std::string names_of_inputs(const Graph& graph) {
    std::string names;
    for (const ValueId id : graph.inputs)
        names += (names.empty() ? "'" : ", '") + graph.values[id].name + "'";
    return names;
}

bool exchanges_colours(const InputOptions& options) {
    return (options.trained == InputKind::rgb && options.given == InputKind::bgr) ||
           (options.trained == InputKind::bgr && options.given == InputKind::rgb);
}

[[noreturn]] void refuse(const std::string& name, const std::string& reason) {
    throw CompileError("input '" + name + "'", reason);
}

std::string join(const std::vector<std::int64_t>& shape) {
    std::string text;
    for (std::int64_t size : shape)
        text.append(text.empty() ? "" : "x").append(std::to_string(size));
    return text;
}

// Returns one number for each channel.
std::vector<float> each_channel(const std::string& name, const char* what, float otherwise,
                                const std::vector<float>& given, std::uint32_t channels) {
    if (given.empty())
        return std::vector<float>(channels, otherwise);
    if (given.size() == 1)
        return std::vector<float>(channels, given[0]);
    if (given.size() != channels)
        refuse(name, std::string(what) + " has " + std::to_string(given.size()) +
                         " numbers; give one, or one for each of " + std::to_string(channels) +
                         " channels");
    return given;
}

void check(const Value& input, const InputOptions& options) {
    if (!options.shape.empty() && options.shape != input.shape)
        refuse(input.name, "has the shape " + join(input.shape) + ", not " + join(options.shape));
    const bool is_plain =
        options.trained == InputKind::tensor && options.given == InputKind::tensor;
    if (input.user_type != UserType::float32 && !is_plain)
        refuse(input.name,
               "is of bytes in the ONNX file and is given as such; leave its types out");
    if (!is_picture(options.trained)) {
        if (is_picture(options.given))
            refuse(input.name, "is given as a picture; say with input_type_train which colours the "
                               "network was trained on");
        return;
    }
    if (!is_picture(options.given))
        refuse(input.name, "is a picture; it can be given as rgb, bgr, gray or nv12");
    const bool is_gray = options.trained == InputKind::gray;
    if (is_gray != (options.given == InputKind::gray) && options.given != InputKind::nv12)
        refuse(input.name, is_gray ? "is trained on gray, so it is given as gray or nv12"
                                   : "is trained on colours, so it is given as rgb, bgr or nv12");
    if (options.channels_last)
        refuse(input.name, "as a picture needs the network's layout to be NCHW");
    const std::uint32_t channels = is_gray ? 1 : colour_channels;
    if (input.shape.size() != 4 || input.channels != channels)
        refuse(input.name, "has the shape " + join(input.shape) + "; such a picture has " +
                               std::to_string(channels) + " channels");
    for (float scale : options.scale)
        if (!(scale > 0))
            refuse(input.name, "scale_value must be above 0");
    if (options.given == InputKind::nv12 && input.batch > 1)
        refuse(input.name,
               "has a batch of " + std::to_string(input.batch) + "; nv12 is one picture at a time");
    if (options.given == InputKind::nv12 && (input.height % 2 != 0 || input.width % 2 != 0))
        refuse(input.name, "as nv12 needs an even height and width");
}

// Returns the node (pixel - mean) * scale, which also exchanges red and blue if needed.
Node normalising_node(const Value& picture, const InputOptions& options,
                      const std::vector<float>& mean, const std::vector<float>& scale) {
    const std::size_t channels = picture.channels;
    Node node;
    node.name = picture.name + ":normalise";
    node.onnx_type = "Normalise";
    op::Convolution convolution;
    for (std::size_t channel = 0; channel < channels; ++channel)
        convolution.bias.push_back(-mean[channel] * scale[channel]);
    if (!exchanges_colours(options)) {
        convolution.kind = op::Convolution::Kind::depthwise;
        convolution.weights = scale;
    } else {
        convolution.weights.resize(channels * channels);
        for (std::size_t channel = 0; channel < channels; ++channel)
            convolution.weights[channel * channels + channels - 1 - channel] = scale[channel];
    }
    node.operation = std::move(convolution);
    return node;
}

std::uint32_t flags_of(InputKind kind) {
    return kind == InputKind::bgr    ? OVERTAKE_FLAG_BGR
           : kind == InputKind::gray ? OVERTAKE_FLAG_GRAY
                                     : 0;
}

// Makes `outer` the graph's input; `node` makes the former input from it.
void put_in_front(Graph& graph, std::size_t index, Value outer, Node node) {
    node.inputs = {graph.values.size()};
    node.output = graph.inputs[index];
    graph.inputs[index] = graph.values.size();
    graph.values.push_back(std::move(outer));
    graph.nodes.insert(graph.nodes.begin(), std::move(node));
}

void mark_picture(Value& input, const InputOptions& options) {
    input.user_type = UserType::uint8;
    input.is_picture = true;
    input.picture_flags = flags_of(options.given);
}

void apply_picture(Graph& graph, std::size_t index, const InputOptions& options) {
    const ValueId network_input = graph.inputs[index];
    const Value network = graph.values[network_input];
    const auto mean = each_channel(network.name, "mean_value", 0, options.mean, network.channels);
    const auto scale =
        each_channel(network.name, "scale_value", 1, options.scale, network.channels);
    const bool is_uniform = std::ranges::count(mean, mean[0]) == std::ssize(mean) &&
                            std::ranges::count(scale, scale[0]) == std::ssize(scale);
    const bool is_whole = mean[0] == std::nearbyint(mean[0]) && mean[0] >= 0 && mean[0] <= 255;
    if (is_uniform && is_whole && !exchanges_colours(options) && !network.given) {
        graph.values[network_input].given = {scale[0], byte_zero + static_cast<int>(mean[0])};
        mark_picture(graph.values[network_input], options);
        return;
    }
    Value picture = network;
    picture.given = {1.0f, byte_zero};
    mark_picture(picture, options);
    Node node = normalising_node(picture, options, mean, scale);
    graph.values[network_input].name += ":normalised";
    put_in_front(graph, index, std::move(picture), std::move(node));
}

// Adds the conversion before a picture of bytes.  The meaning of the bytes does not change, so in
// float it is a copy.
void convert_nv12(Graph& graph, std::size_t index, const InputOptions& options) {
    const ValueId converted = graph.inputs[index];
    Value camera = graph.values[converted];
    camera.user_type = UserType::nv12;
    camera.from_resizer = options.from_resizer;
    camera.picture_flags = flags_of(options.trained);
    camera.picture_flags |= options.full_range ? OVERTAKE_FLAG_FULL_RANGE : 0;
    graph.values[converted].name += ":converted";
    graph.values[converted].user_type = UserType::float32;
    graph.values[converted].is_picture = false;
    Node node;
    node.name = camera.name + ":nv12";
    node.onnx_type = "Nv12";
    put_in_front(graph, index, std::move(camera), std::move(node));
}

// The CPU reads real numbers: the device first copies an input of bytes that only the CPU reads.
void copy_bytes(Graph& graph, std::size_t index) {
    const ValueId copied = graph.inputs[index];
    if (device_values(graph)[copied])
        return;
    Value bytes = graph.values[copied];
    if (!bytes.fits_device())
        refuse(bytes.name, "of shape " + join(bytes.shape) +
                               " has no form on the device; it can be given as float32 only");
    graph.values[copied].name += ":copied";
    graph.values[copied].user_type = UserType::float32;
    Node node;
    node.name = bytes.name + ":copy";
    node.onnx_type = "Copy";
    put_in_front(graph, index, std::move(bytes), std::move(node));
}

void apply_one(Graph& graph, const InputOptions& options) {
    const auto input = std::ranges::find_if(
        graph.inputs, [&](ValueId id) { return graph.values[id].name == options.name; });
    if (input == graph.inputs.end())
        refuse(options.name, "is no input of the model, which has " + names_of_inputs(graph));
    check(graph.values[*input], options);
    const auto index = static_cast<std::size_t>(input - graph.inputs.begin());
    if (is_picture(options.given))
        apply_picture(graph, index, options);
    if (options.given == InputKind::nv12)
        convert_nv12(graph, index, options);
    else if (options.given == InputKind::int8)
        graph.values[*input].user_type = UserType::int8;
    if (graph.values[graph.inputs[index]].user_type != UserType::float32)
        copy_bytes(graph, index);
}

} // namespace

const InputOptions& options_of(const std::vector<InputOptions>& all, const std::string& name) {
    static const InputOptions plain;
    const auto found = std::ranges::find(all, name, &InputOptions::name);
    return found == all.end() ? plain : *found;
}

void apply_input_options(Graph& graph, std::vector<InputOptions>& all) {
    for (InputOptions& options : all) {
        if (options.name.empty()) {
            if (graph.inputs.size() != 1)
                throw CompileError(graph.name, "has several inputs; add input_name");
            options.name = graph.values[graph.inputs[0]].name;
        }
        try {
            apply_one(graph, options);
        } catch (const CompileError& error) {
            if (options.place.empty())
                throw;
            throw CompileError(options.place, error.what());
        }
    }
}

void prefer_int8(const Graph& graph, const std::string& name, std::vector<InputOptions>& all) {
    const auto input = std::ranges::find_if(
        graph.inputs, [&](ValueId id) { return graph.values[id].name == name; });
    if (input == graph.inputs.end() || graph.values[*input].user_type != UserType::float32 ||
        !graph.values[*input].fits_device())
        return;
    auto options = std::ranges::find_if(all, [&](const InputOptions& one) {
        return one.name == name || (one.name.empty() && graph.inputs.size() == 1);
    });
    if (options == all.end()) {
        options = all.insert(all.end(), InputOptions());
        options->name = name;
    }
    if (options->trained == InputKind::tensor && options->given == InputKind::tensor)
        options->given = InputKind::int8;
}

std::vector<float> to_graph_input(const Value& input, const InputOptions& options,
                                  std::vector<float> sample) {
    if (!is_picture(options.given))
        return sample;
    if (exchanges_colours(options))
        std::swap_ranges(sample.begin(), sample.begin() + std::ssize(sample) / colour_channels,
                         sample.end() - std::ssize(sample) / colour_channels);
    if (input.user_type == UserType::nv12)
        sample = from_nv12(to_nv12(sample, input.height, input.width, input.picture_flags),
                           input.height, input.width, input.picture_flags);
    for (float& element : sample)
        element = input.given->real(
            static_cast<int>(std::clamp(std::nearbyint(element), 0.0f, 255.0f)) + byte_zero);
    return sample;
}

} // namespace overtake::compiler
