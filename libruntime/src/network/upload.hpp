// SPDX-License-Identifier: MIT
//
// Upload: a model's program and weights in a device's memory.
#pragma once

#include <cstddef>
#include <memory>

#include "overtake/device.hpp"
#include "overtake/model.hpp"

namespace overtake {

/// Constant once made.
struct Upload {
    std::shared_ptr<Device> device;
    std::shared_ptr<const Model> model;
    std::shared_ptr<Buffer> program;
    std::shared_ptr<Buffer> weights; ///< shared by the models of a pack; null if the model has none
    std::size_t program_bytes = 0;   ///< bytes of the program; the buffer may have more
    std::size_t weights_bytes = 0;   ///< likewise
};

/// Uploads the program, and the weights unless those of the model's pack are uploaded already.
/// Throws Error ENOSPC or ENOMEM, and ENOTSUP if the device is too old for the model.  Thread safe.
Upload upload(const std::shared_ptr<Device>& device, const std::shared_ptr<const Model>& model);

/// Returns the number of buffers of weights that upload() remembers: those that live, and those
/// that have been freed since the last upload().  Thread safe.
std::size_t known_weights();

} // namespace overtake
