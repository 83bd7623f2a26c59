// SPDX-License-Identifier: MIT
#include "session/upload.hpp"

#include <cstring>
#include <map>
#include <mutex>
#include <utility>

namespace overtake {

namespace {

std::unique_ptr<Buffer> filled_buffer(Device& device, std::span<const std::byte> bytes) {
    if (bytes.empty())
        return nullptr;
    std::unique_ptr<Buffer> buffer = device.create_buffer(bytes.size());
    std::memcpy(buffer->data(), bytes.data(), bytes.size());
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
    upload->weights = filled_buffer(*device, model->weights());
    known = upload;
    return upload;
}

} // namespace overtake
