// SPDX-License-Identifier: MIT
//
// Checks whether a file is a well-formed FlatBuffer of the model schema.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "model_generated.h"

namespace overtake {

/// Returns the root of a file after checking every offset and size; `path` is for messages.  Throws
/// Error EINVAL naming the offset of the broken part.
const fbs::Model& verified_root(std::span<const std::byte> file, const std::string& path);

/// Does the same for a file of several models.
const fbs::ModelPack& verified_pack(std::span<const std::byte> file, const std::string& path);

/// Whether the file declares itself as one of several models.
bool is_pack(std::span<const std::byte> file);

} // namespace overtake
