// SPDX-License-Identifier: MIT
//
// What `overtake run` reads and writes: samples in files in, OUTPUT.npy out.
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

/// One input or output of a network: its name and shape as it is seen, not empty.
struct Port {
    std::string name;
    std::vector<std::size_t> shape;
    DataType type = DataType::float32;
    Colours colours = Colours::unknown; ///< as in Tensor
    bool full_range = false;            ///< as in Tensor
    bool is_int8 = false;               ///< its numbers become 8 bits
    /// Of an output, as in the ONNX file; its shape is {1} if it is a scalar there.
    compiler::ElementType element_type = compiler::ElementType::float32;
    bool is_scalar = false;
    compiler::Normalisation normalisation = {}; ///< of pictures that it is given

    std::size_t elements() const;
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

/// Reads NAME=FILE for each port, as many samples of each; FILE alone where there is one port
/// beside those of `states`.  A .npy file holds one sample, or several along axis 0; a .png or .jpg
/// is one, stretched to the input's size, in its colours if they are known, else RGB or grey.  A
/// name may hold '='.  Calls `warn` for pictures that nothing normalises, for NaN and for whole
/// numbers that float32 rounds.  Inputs of `states` have one sample, of zeros if no file is given.
/// Throws Error, or CLI::ValidationError, naming the argument.
std::vector<InputSamples> read_inputs(const std::vector<Port>& ports,
                                      const std::vector<std::string>& arguments,
                                      const compiler::Normalisation& normalisation,
                                      const compiler::Warn& warn,
                                      const std::vector<compiler::StateLink>& states = {});
std::size_t count_of(const std::vector<InputSamples>& inputs);

/// States between two runs.
class States {
public:
    /// OUTPUT=INPUT.  Throws CompileError naming --state.
    States(const std::vector<std::string>& arguments, const std::vector<Port>& inputs,
           const std::vector<Port>& outputs);

    const std::vector<compiler::StateLink>& links() const { return links_; }
    bool empty() const { return links_.empty(); }
    /// Sample `index`; of a state what the run before has made of it.
    std::vector<std::span<const float>> sample(const std::vector<InputSamples>& inputs,
                                               std::size_t index) const;
    /// Takes the values of an output of a run.
    void take(std::size_t output, std::span<const float> values);

private:
    std::vector<compiler::StateLink> links_;
    std::vector<std::vector<float>> values_; // by link; empty before the first run has ended
};

/// Values of every output, of the types and shapes that ONNX gives them, samples one behind the
/// other.
class OutputSamples {
public:
    /// Of `count` samples.  Throws Error if two outputs would be one file.
    OutputSamples(std::vector<Port> ports, std::size_t count);

    /// Throws Error if write() could not write into the directory, or would replace a file that
    /// `arguments`, NAME=FILE, have these inputs read.
    void check(const std::filesystem::path& directory, const std::vector<Port>& inputs,
               const std::vector<std::string>& arguments) const;

    void append(std::size_t output, std::span<const float> values);

    /// Name, file and shape of each, as write() has them.
    nlohmann::ordered_json to_json(const std::filesystem::path& directory, std::size_t count) const;

    /// Writes OUTPUT.npy for each, slashes in names as underscores, into the directory, which is
    /// made if need be: all of them, whole, or nothing.
    void write(const std::filesystem::path& directory, std::size_t count) const;

private:
    std::vector<std::size_t> shape(std::size_t output, std::size_t count) const;

    std::vector<Port> ports_;
    std::vector<std::string> files_; // names
    std::vector<std::vector<float>> data_;
};

} // namespace overtake::command
