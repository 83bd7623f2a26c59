// SPDX-License-Identifier: MIT
//
// What `overtake run` reads and writes: samples in files in, OUTPUT.npy out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace overtake::command {

/// One input or output of a network: its name and ONNX shape, batch 1 in front.
struct Port {
    std::string name;
    std::vector<std::size_t> shape;

    std::size_t elements() const;
};

/// What pictures become before a network sees them: (pixel - mean) * scale, one number or one for
/// each channel; empty: 0 and 1.
struct Normalisation {
    std::vector<float> mean;
    std::vector<float> scale;
};

/// The samples of one input, one behind the other.
struct InputSamples {
    std::size_t elements = 0; ///< of a sample
    std::size_t count = 0;
    std::vector<float> data;

    std::span<const float> sample(std::size_t index) const {
        return std::span(data).subspan(index * elements, elements);
    }
};

/// Reads NAME=FILE for each port, as many samples of each.  A .npy file holds one sample, or
/// several along axis 0; a .png or .jpg is one, stretched to the input's size, RGB or grey. Throws
/// Error naming the argument.
std::vector<InputSamples> read_inputs(const std::vector<Port>& ports,
                                      const std::vector<std::string>& arguments,
                                      const Normalisation& normalisation);

/// Values of every output, samples one behind the other.
class OutputSamples {
public:
    explicit OutputSamples(std::vector<Port> ports)
        : ports_(std::move(ports)), data_(ports_.size()) {}

    void append(std::size_t output, std::span<const float> values);

    /// Writes OUTPUT.npy for each, slashes in names as underscores; makes the directory.
    void write(const std::filesystem::path& directory, std::size_t count) const;

private:
    std::vector<Port> ports_;
    std::vector<std::vector<float>> data_;
};

} // namespace overtake::command
