// SPDX-License-Identifier: MIT
#include "calibrate.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <random>

#include "error.hpp"
#include "npy.hpp"

namespace overtake::compiler {
namespace {

constexpr std::size_t histogram_bins = 4096;

std::vector<std::string> files_of(const std::string& path) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error))
        return {path};
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(path, error))
        if (entry.path().extension() == ".npy")
            files.push_back(entry.path());
    if (error)
        throw CompileError(path, error.message());
    if (files.empty())
        throw CompileError(path, "no .npy file in this directory; name one that has samples");
    std::ranges::sort(files);
    return files;
}

// Appends the samples of one file, each of the input's elements.
void append_samples(const Value& input, const std::string& path, FloatValues& samples) {
    const Array array = read_npy(path);
    const std::vector<std::size_t> one(input.shape.begin() + 1, input.shape.end());
    const bool is_single = array.shape == one;
    const bool has_axis = array.shape.size() == one.size() + 1 &&
                          std::equal(one.begin(), one.end(), array.shape.begin() + 1);
    if (!is_single && !has_axis) {
        std::string wanted = "N";
        for (std::size_t size : one)
            wanted.append("x").append(std::to_string(size));
        throw CompileError(path, "does not hold samples of input '" + input.name +
                                     "'; it needs the shape " + wanted);
    }
    for (std::size_t start = 0; start < array.data.size(); start += input.elements())
        samples.emplace_back(array.data.begin() + static_cast<std::ptrdiff_t>(start),
                             array.data.begin() +
                                 static_cast<std::ptrdiff_t>(start + input.elements()));
}

// NAME=PATH, or a path alone.  A path may hold '=' when it exists as it stands.
std::pair<std::string, std::string> parse_specification(const Graph& graph,
                                                        const std::string& specification) {
    const std::size_t equals = specification.find('=');
    std::error_code error;
    if (equals != std::string::npos && !std::filesystem::exists(specification, error))
        return {specification.substr(0, equals), specification.substr(equals + 1)};
    if (graph.inputs.size() != 1)
        throw CompileError("--calibration " + specification,
                           "the model has several inputs; write INPUT=PATH for each");
    return {graph.values[graph.inputs[0]].name, specification};
}

// Minimum and maximum of everything seen, then, in a second pass, a histogram between them.
struct Observer {
    float low = std::numeric_limits<float>::infinity();
    float high = -std::numeric_limits<float>::infinity();
    std::vector<std::uint64_t> bins;

    bool look(const std::vector<float>& data) {
        bool finite = true;
        for (float element : data) {
            low = std::min(low, element);
            high = std::max(high, element);
            finite = finite && std::isfinite(element);
        }
        return finite;
    }

    void count(const std::vector<float>& data) {
        bins.resize(histogram_bins);
        const float step = (high - low) / static_cast<float>(histogram_bins);
        for (float element : data) {
            const float position = step > 0 ? (element - low) / step : 0.0f;
            ++bins[std::min(static_cast<std::size_t>(position), histogram_bins - 1)];
        }
    }

    Range range(double percentile) const {
        std::uint64_t total = 0;
        for (std::uint64_t bin : bins)
            total += bin;
        const double dropped = static_cast<double>(total) * (100.0 - percentile) / 100.0;
        std::size_t first = 0, last = bins.size();
        for (std::uint64_t seen = 0; first < last && double(seen += bins[first]) <= dropped;)
            ++first;
        for (std::uint64_t seen = 0; last > first && double(seen += bins[last - 1]) <= dropped;)
            --last;
        const float step = (high - low) / static_cast<float>(histogram_bins);
        return {low + step * static_cast<float>(first), low + step * static_cast<float>(last)};
    }
};

} // namespace

Samples read_samples(const Graph& graph, const std::vector<std::string>& specifications) {
    std::map<std::string, FloatValues> by_input;
    for (const std::string& specification : specifications) {
        const auto [name, path] = parse_specification(graph, specification);
        const auto input = std::ranges::find_if(
            graph.inputs, [&](ValueId id) { return graph.values[id].name == name; });
        if (input == graph.inputs.end())
            throw CompileError("--calibration " + specification,
                               "the model has no input '" + name + "'");
        for (const std::string& file : files_of(path))
            append_samples(graph.values[*input], file, by_input[name]);
    }
    Samples samples;
    for (ValueId id : graph.inputs) {
        const std::string& name = graph.values[id].name;
        FloatValues& arrays = by_input[name];
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
            sample.push_back(std::move(data));
        }
    return samples;
}

std::vector<Range> calibrate(const Graph& graph, const Samples& samples, double percentile,
                             const std::function<void(double)>& progress) {
    std::vector<Observer> observers(graph.values.size());
    FloatExecutor executor(graph);
    const int passes = percentile < 100.0 ? 2 : 1;
    double done = 0;
    for (int pass = 0; pass < passes; ++pass)
        for (const FloatValues& sample : samples) {
            const FloatValues& values = executor.run(sample);
            for (ValueId id = 0; id < values.size(); ++id) {
                if (pass == 1)
                    observers[id].count(values[id]);
                else if (!observers[id].look(values[id]))
                    throw CompileError("tensor '" + graph.values[id].name + "'",
                                       "is not finite on the calibration samples; check them");
            }
            progress(++done / static_cast<double>(samples.size() * passes));
        }
    std::vector<Range> ranges(graph.values.size());
    for (ValueId id = 0; id < ranges.size(); ++id)
        ranges[id] = passes == 2 ? observers[id].range(percentile)
                                 : Range{observers[id].low, observers[id].high};
    return ranges;
}

} // namespace overtake::compiler
