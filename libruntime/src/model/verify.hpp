// SPDX-License-Identifier: MIT
//
// Is a file a well-formed FlatBuffer of the model schema?
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "model_generated.h"

namespace overtake {

/// The root of a file in which every offset and size has been checked; `path` is for messages.
/// Throws Error EINVAL naming the offset of what is broken.
const fbs::Model& verified_root(std::span<const std::byte> file, const std::string& path);

/// The same for a file of several models.
const fbs::ModelPack& verified_pack(std::span<const std::byte> file, const std::string& path);

/// Whether the file says that it is one of several models.
bool is_pack(std::span<const std::byte> file);

} // namespace overtake
