// SPDX-License-Identifier: MIT
//
// What the fuzzer of model files does with an input, and with what it is built from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model_generated.h"

namespace overtake::fuzz {

enum class Outcome {
    refused,    ///< at an offset of the file and for a reason
    too_large,  ///< sound, but would take longer than an input may
    impossible, ///< sound, but data or the device's memory do not allow it
    failed,     ///< its task ended with an error
    finished
};

/// Reads the bytes as a model file and runs what the reader accepts once on an embedded device.
/// Ends the process if a refusal does not say where and why.  One thread at a time.
Outcome run_model(std::span<const std::byte> bytes);

/// Changes one to four things of a sound model file (raw bytes of any other), the same for the same
/// seed.  The result has at most `most` bytes; what does not fit is left as it was.
void mutate_model(std::vector<std::uint8_t>& bytes, std::size_t most, std::uint32_t seed);

/// A model of each operator of the CPU, and two with segments of the device.
std::vector<fbs::ModelT> seed_models();

constexpr const char* pack_identifier = "OVP1";

/// The bytes of a model file, and of one of several models.
std::vector<std::uint8_t> pack(const fbs::ModelT& model);
std::vector<std::uint8_t> pack(const fbs::ModelPackT& models);

/// The bytes of a file of two of seed_models().
std::vector<std::uint8_t> seed_pack();

} // namespace overtake::fuzz
