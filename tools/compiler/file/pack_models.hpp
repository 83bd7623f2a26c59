// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "overtake/model.hpp"

namespace overtake::compiler {

struct ModelPack {
    std::vector<std::uint8_t> file;
    std::uint64_t weights_before = 0; ///< bytes of all models' weights, each by itself
    std::uint64_t weights = 0;        ///< bytes in the pack, where equal weights are stored once
};

/// Makes one file with several models (fbs::ModelPack).  Throws CompileError if two have the same
/// name, or if the device would refuse a program.
ModelPack pack_models(const std::vector<std::shared_ptr<const Model>>& models);

} // namespace overtake::compiler
