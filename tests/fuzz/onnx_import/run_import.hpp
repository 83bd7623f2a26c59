// SPDX-License-Identifier: MIT
//
// The run of an input by the fuzzer of ONNX import, and the mutations of inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace overtake::fuzz {

enum class Imported {
    refused, ///< refused with a message of one line
    compiled ///< compiled to a model file that the runtime accepts
};

/// Compiles the bytes as `overtake compile` would, without calibration samples and with tensors
/// small enough for a fuzzer. The message of a refusal goes only to `reason`, if given. Ends the
/// process if the compiler throws an exception that is no refusal, or makes a file that the runtime
/// refuses. run_import() uses a directory of its own for temporary files. For one thread at a time.
Imported run_import(std::span<const std::uint8_t> bytes, std::string* reason = nullptr);

/// Makes one to four changes to a model, or to raw bytes of any other input, the same for the same
/// seed.  The result has at most `most` bytes; a greater result leaves `bytes` as they are.
void mutate_onnx(std::vector<std::uint8_t>& bytes, std::size_t most, std::uint32_t seed);

} // namespace overtake::fuzz
