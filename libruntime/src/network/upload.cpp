// SPDX-License-Identifier: MIT
#include "network/upload.hpp"

#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "fork_origin.hpp"

namespace overtake {

namespace {

/// What has been uploaded and may still live.
struct Known {
    std::mutex mutex;
    // An upload keeps its device and model alive, so the addresses of a live entry are unique.
    std::map<std::pair<const Device*, const Model*>, std::weak_ptr<const Upload>> uploads;
    std::map<std::pair<const Device*, const std::byte*>, std::weak_ptr<Buffer>> weights;
};

Known& known() {
    static OnePerProcess<Known> known;
    return known.get();
}

std::shared_ptr<Buffer> filled_buffer(Device& device, std::span<const std::byte> bytes) {
    if (bytes.empty())
        return nullptr;
    std::shared_ptr<Buffer> buffer = device.create_buffer(bytes.size());
    std::memcpy(buffer->data(), bytes.data(), bytes.size());
    return buffer;
}

// Weights that lie at the same place, of models of one pack, are uploaded once.
std::shared_ptr<Buffer> shared_weights(Known& known, Device& device,
                                       std::span<const std::byte> weights) {
    std::erase_if(known.weights, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<Buffer>& entry = known.weights[{&device, weights.data()}];
    std::shared_ptr<Buffer> buffer = entry.lock();
    if (!buffer)
        entry = buffer = filled_buffer(device, weights);
    return buffer;
}

} // namespace

std::shared_ptr<const Upload> upload_once(const std::shared_ptr<Device>& device,
                                          const std::shared_ptr<const Model>& model) {
    const std::lock_guard lock(known().mutex);
    std::erase_if(known().uploads, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<const Upload>& entry = known().uploads[{device.get(), model.get()}];
    if (std::shared_ptr<const Upload> upload = entry.lock())
        return upload;
    auto upload = std::make_shared<Upload>();
    upload->device = device;
    upload->model = model;
    upload->program = filled_buffer(*device, model->program());
    upload->weights = shared_weights(known(), *device, model->weights());
    entry = upload;
    return upload;
}

KnownUploads known_uploads() {
    const std::lock_guard lock(known().mutex);
    return {.uploads = known().uploads.size(), .weights = known().weights.size()};
}

} // namespace overtake
