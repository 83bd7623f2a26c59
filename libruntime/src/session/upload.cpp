// SPDX-License-Identifier: MIT
#include "session/upload.hpp"

#include <cstring>
#include <map>
#include <mutex>
#include <utility>

namespace overtake {

namespace {

std::shared_ptr<Buffer> filled_buffer(Device& device, std::span<const std::byte> bytes) {
    if (bytes.empty())
        return nullptr;
    std::shared_ptr<Buffer> buffer = device.create_buffer(bytes.size());
    std::memcpy(buffer->data(), bytes.data(), bytes.size());
    return buffer;
}

// Weights that lie at the same place, of models of one pack, are uploaded once.
std::shared_ptr<Buffer> shared_weights(Device& device, std::span<const std::byte> weights) {
    using Key = std::pair<const Device*, const std::byte*>;
    static std::map<Key, std::weak_ptr<Buffer>> buffers;

    std::erase_if(buffers, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<Buffer>& known = buffers[Key(&device, weights.data())];
    std::shared_ptr<Buffer> buffer = known.lock();
    if (!buffer)
        known = buffer = filled_buffer(device, weights);
    return buffer;
}

} // namespace

std::shared_ptr<const Upload> upload_once(const std::shared_ptr<Device>& device,
                                          const std::shared_ptr<const Model>& model) {
    // An upload keeps its device and model alive, so the addresses of a live entry are unique.
    using Key = std::pair<const Device*, const Model*>;
    static std::mutex mutex;
    static std::map<Key, std::weak_ptr<const Upload>> uploads;

    const std::lock_guard lock(mutex);
    std::erase_if(uploads, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<const Upload>& known = uploads[Key(device.get(), model.get())];
    if (std::shared_ptr<const Upload> upload = known.lock())
        return upload;
    auto upload = std::make_shared<Upload>();
    upload->device = device;
    upload->model = model;
    upload->program = filled_buffer(*device, model->program());
    upload->weights = shared_weights(*device, model->weights()); // under the same lock
    known = upload;
    return upload;
}

} // namespace overtake
