// SPDX-License-Identifier: MIT
//
// What the fuzzer of ONNX import does with an input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace overtake::fuzz {

enum class Imported {
    refused, ///< in one line that says what is wrong
    compiled ///< to a model file that the runtime takes
};

/// Compiles the bytes as `overtake compile` would, without calibration samples and with tensors
/// small enough for a fuzzer; what is refused is not told but in `reason`, if given.  Ends the
/// process if the compiler throws anything but its own refusals, or makes a file that the runtime
/// refuses.  Uses a directory of its own for temporary files.  One thread at a time.
Imported run_import(std::span<const std::uint8_t> bytes, std::string* reason = nullptr);

/// Changes one to four things of a model (raw bytes of what is none), the same for the same seed.
/// The result has at most `most` bytes; what does not fit is left as it was.
void mutate_onnx(std::vector<std::uint8_t>& bytes, std::size_t most, std::uint32_t seed);

} // namespace overtake::fuzz
