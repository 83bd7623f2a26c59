// SPDX-License-Identifier: MIT
//
// The files of `overtake run`: it reads samples and writes OUTPUT.npy.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "compiler/inputs/images.hpp"
#include "compiler/inputs/samples.hpp"
#include "compiler/inputs/states.hpp"
#include "compiler/ir/element_type.hpp"
#include "overtake/model.hpp"

namespace overtake::command {

/// One input or output of a network, with its name and its shape, which is not empty.
struct Port {
    std::string name;
    std::vector<std::size_t> shape;
    DataType type = DataType::float32;
    Colours colours = Colours::unknown; ///< as in Tensor
    bool full_range = false;            ///< as in Tensor
    bool is_int8 = false;               ///< its numbers become 8 bits
    /// The type of an output in the ONNX file; an output that is a scalar there has the shape {1}.
    compiler::ElementType element_type = compiler::ElementType::float32;
    bool is_scalar = false;
    compiler::Normalisation normalisation = {}; ///< of the pictures that it gets

    std::size_t elements() const;
};

/// The samples of one input, one after the other.
struct InputSamples {
    std::size_t elements = 0; ///< of one sample
    std::size_t count = 0;
    std::vector<float> data;

    std::span<const float> sample(std::size_t index) const {
        return std::span(data).subspan(index * elements, elements);
    }
};

/// Reads NAME=FILE for each port, the same number of samples for each; FILE alone if only one port
/// is no state. A .npy file has one sample, or several along axis 0. A .png or .jpg file is one
/// sample: it is stretched to the input's size, in the input's colours if they are known, else RGB
/// or grey. A name may have '='. Calls `warn` for pictures that nothing normalises, for NaN and for
/// whole numbers that float32 rounds. Inputs of `states` have one sample, of zeros if no file is
/// given. Throws Error, or CLI::ValidationError, which names the argument.
std::vector<InputSamples> read_inputs(const std::vector<Port>& ports,
                                      const std::vector<std::string>& arguments,
                                      const compiler::Normalisation& normalisation,
                                      const compiler::Warn& warn,
                                      const std::vector<compiler::StateLink>& states = {});
std::size_t count_of(const std::vector<InputSamples>& inputs);

/// The states between two runs.
class States {
public:
    /// Parses OUTPUT=INPUT. Throws CompileError, which names --state.
    States(const std::vector<std::string>& arguments, const std::vector<Port>& inputs,
           const std::vector<Port>& outputs);

    const std::vector<compiler::StateLink>& links() const { return links_; }
    bool empty() const { return links_.empty(); }
    /// Returns sample `index`; for a state, the value that the run before made.
    std::vector<std::span<const float>> sample(const std::vector<InputSamples>& inputs,
                                               std::size_t index) const;
    /// Takes the values of an output of a run.
    void take(std::size_t output, std::span<const float> values);

private:
    std::vector<compiler::StateLink> links_;
    std::vector<std::vector<float>> values_; // by link; empty before the first run has ended
};

/// The values of every output, in the types and shapes that ONNX gives them, one sample after the
/// other.
class OutputSamples {
public:
    /// Has room for `count` samples. Throws Error if two outputs would be the same file.
    OutputSamples(std::vector<Port> ports, std::size_t count);

    /// Throws Error if write() could not write into the directory, or would replace a file that
    /// `arguments` (NAME=FILE) give these inputs.
    void check(const std::filesystem::path& directory, const std::vector<Port>& inputs,
               const std::vector<std::string>& arguments) const;

    void append(std::size_t output, std::span<const float> values);

    /// Returns the name, file and shape of each output, as write() writes them.
    nlohmann::ordered_json to_json(const std::filesystem::path& directory, std::size_t count) const;

    /// Writes OUTPUT.npy for each output, with slashes in names as underscores, into the directory,
    /// which is made if needed. Each file is written atomically.
    void write(const std::filesystem::path& directory, std::size_t count) const;

private:
    std::vector<std::size_t> shape(std::size_t output, std::size_t count) const;

    std::vector<Port> ports_;
    std::vector<std::string> files_; // names
    std::vector<std::vector<float>> data_;
};

} // namespace overtake::command
