// SPDX-License-Identifier: MIT
//
// A model's program and weights in a device's memory.
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
};

/// The one upload of this pair that lives, or a new one.  Thread safe.
std::shared_ptr<const Upload> upload_once(const std::shared_ptr<Device>& device,
                                          const std::shared_ptr<const Model>& model);

/// How many upload_once() remembers.
struct KnownUploads {
    std::size_t uploads;
    std::size_t weights;
};

/// Those that live, and those that have gone since the last upload_once().  Thread safe.
KnownUploads known_uploads();

} // namespace overtake
