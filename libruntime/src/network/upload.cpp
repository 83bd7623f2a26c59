// SPDX-License-Identifier: MIT
#include "network/upload.hpp"

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "fork_origin.hpp"
#include "overtake/error.hpp"
#include "overtake/model_contents.hpp"

namespace overtake {

namespace {

/// The weights that have been uploaded and may still live.
struct KnownWeights {
    std::mutex mutex;
    // Weights keep their device, so the device's address identifies the device.  The address of a
    // model may be used again while its weights live, so a number identifies the file.
    std::map<std::pair<const Device*, std::uint64_t>, std::weak_ptr<Buffer>> buffers;
};

KnownWeights& weights_of_process() {
    static OnePerProcess<KnownWeights> known;
    return known.get();
}

std::shared_ptr<Buffer> filled_buffer(Device& device, std::span<const std::byte> bytes) {
    if (bytes.empty())
        return nullptr;
    std::shared_ptr<Buffer> buffer = device.create_buffer(bytes.size());
    std::memcpy(buffer->data(), bytes.data(), bytes.size());
    return buffer;
}

// Uploads weights once for the models of one pack.
std::shared_ptr<Buffer> shared_weights(Device& device, const Model& model) {
    KnownWeights& known = weights_of_process();
    const std::lock_guard lock(known.mutex);
    std::erase_if(known.buffers, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<Buffer>& entry = known.buffers[{&device, ModelContents::of(model).file_number}];
    std::shared_ptr<Buffer> buffer = entry.lock();
    if (!buffer)
        entry = buffer = filled_buffer(device, model.weights());
    return buffer;
}

void require_instruction_set(const Device& device, const Model& model) {
    const std::uint32_t needed = ModelContents::of(model).isa_version;
    const std::uint32_t known = device.info().isa_version;
    if (known < needed)
        throw Error(ENOTSUP,
                    fmt::format("model '{}' needs instruction set {}, and the device ({}) runs {}; "
                                "update its driver or server, or compile the model without int16",
                                model.name(), isa_version_text(needed), device.backend(),
                                isa_version_text(known)));
}

} // namespace

Upload upload(const std::shared_ptr<Device>& device, const std::shared_ptr<const Model>& model) {
    require_instruction_set(*device, *model);
    return {device,
            model,
            filled_buffer(*device, model->program()),
            shared_weights(*device, *model),
            model->program().size(),
            model->weights().size()};
}

std::size_t known_weights() {
    KnownWeights& known = weights_of_process();
    const std::lock_guard lock(known.mutex);
    return known.buffers.size();
}

} // namespace overtake
