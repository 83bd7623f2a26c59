// SPDX-License-Identifier: MIT
//
// The run of an input by the fuzzer of model files, and the mutations and seeds of inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model_generated.h"

namespace overtake::fuzz {

enum class Outcome {
    refused,    ///< refused with an offset in the file and a reason
    too_large,  ///< sound, but would take longer than an input may
    impossible, ///< sound, but data or the device's memory do not permit it
    failed,     ///< its task ended with an error
    finished
};

/// Reads the bytes as a model file, and runs an accepted model once on an embedded device.
/// Ends the process if a refusal has no place or no reason.  For one thread at a time.
Outcome run_model(std::span<const std::byte> bytes);

/// Makes one to four changes to a sound model file, or to raw bytes of any other file, the same for
/// the same seed.  The result has at most `most` bytes; if the changed file has more, raw bytes are
/// changed instead.
void mutate_model(std::vector<std::uint8_t>& bytes, std::size_t most, std::uint32_t seed);

/// Returns a model of each operator of the CPU, and two with segments of the device.
std::vector<fbs::ModelT> seed_models();

constexpr const char* pack_identifier = "OVP1";

/// The next functions return the bytes of a file with one model, or with several models.
std::vector<std::uint8_t> pack(const fbs::ModelT& model);
std::vector<std::uint8_t> pack(const fbs::ModelPackT& models);

/// Returns the bytes of a file with two of seed_models().
std::vector<std::uint8_t> seed_pack();

} // namespace overtake::fuzz
