// SPDX-License-Identifier: MIT
//
// From a model file's bytes to what the library works with; everything that later code relies on
// is checked here, and only here.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "model_generated.h"
#include "overtake/model.hpp"

namespace overtake {

/// Views point into the file.
struct ModelContents {
    std::string_view name;
    std::string_view profile_name;
    std::uint32_t clock_khz = 0;
    std::uint32_t max_time_per_fc_us = 0;
    std::vector<Tensor> tensors;
    std::vector<std::uint32_t> inputs;
    std::vector<std::uint32_t> outputs;
    std::vector<Segment> segments;
    std::span<const std::byte> program;
    std::span<const std::byte> weights;
};

/// The root has passed verified_root() or verified_pack(), is in `file`, which is aligned to 64 bytes
/// and outlives the result; `weights` are the model's own or its pack's; `path` is for messages.
/// Throws Error EINVAL, "PATH: offset N: FIELD: reason"; a field that the file leaves out is where
/// its table is.
ModelContents read_model(const fbs::Model& root, const flatbuffers::Vector<std::uint8_t>& weights,
                         std::span<const std::byte> file, const std::string& path);

} // namespace overtake
