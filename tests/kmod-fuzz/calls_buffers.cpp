// SPDX-License-Identifier: MIT
// Buffers: handles, device addresses, memory seen by the CPU.
#include <cerrno>
#include <sys/mman.h>

#include "worker.hpp"

namespace overtake::fuzz {

// Returns a slot whose buffer exists or not, and is mapped or not; any slot if there is none.
uint32_t Worker::find_buffer(File& file, bool exists, bool mapped) {
    const uint32_t first = random_.below(buffer_count);
    for (uint32_t i = 0; i < buffer_count; i++) {
        const uint32_t slot = (first + i) % buffer_count;
        const Buffer& buffer = file.buffers[slot];
        if ((buffer.handle != 0) == exists && (buffer.address != 0) == mapped)
            return slot;
    }
    return first;
}

void Worker::bo_create(File& file, uint32_t slot) {
    Buffer& buffer = file.buffers[slot];
    if (buffer.handle)
        gem_close(file, slot);
    auto* create = arguments<drm_overtake_bo_create>();
    // Programs and data have room for the generator; other buffers have any size.
    create->size = slot < program_slots + data_slots
                       ? 128 << 10
                       : 1 + random_.below(static_cast<uint32_t>(window_bytes));
    if (make(file.fd(), {Kind::bo_create, DRM_IOCTL_OVERTAKE_BO_CREATE, create, sizeof(*create)}))
        return;
    buffer.size = create->size;
    buffer.address = 0;
    buffer.insns = 0;
    buffer.handle = create->handle;
}

void Worker::bo_map(File& file, uint32_t slot, uint32_t flags) {
    Buffer& buffer = file.buffers[slot];
    if (!buffer.handle)
        bo_create(file, slot);
    auto* map = arguments<drm_overtake_bo_map>();
    map->handle = buffer.handle;
    map->flags = flags;
    if (make(file.fd(), {Kind::bo_map, DRM_IOCTL_OVERTAKE_BO_MAP, map, sizeof(*map)}))
        return;
    buffer.flags = map->flags;
    buffer.address = map->address;
}

void Worker::bo_unmap(File& file, uint32_t slot) {
    auto* unmap = arguments<drm_overtake_bo_unmap>();
    unmap->address = file.buffers[slot].address;
    if (!make(file.fd(), {Kind::bo_unmap, DRM_IOCTL_OVERTAKE_BO_UNMAP, unmap, sizeof(*unmap)}))
        file.buffers[slot].address = 0;
}

// Asks for the offset at which the buffer can be mapped, and maps it into its window.
void Worker::bo_show(File& file, uint32_t slot) {
    Buffer& buffer = file.buffers[slot];
    auto* offset = arguments<drm_overtake_bo_mmap_offset>();
    offset->handle = buffer.handle;
    if (make(file.fd(),
             {Kind::bo_mmap_offset, DRM_IOCTL_OVERTAKE_BO_MMAP_OFFSET, offset, sizeof(*offset)}))
        return;
    uint64_t bytes = buffer.size;
    uint64_t at = offset->offset;
    int flags = MAP_SHARED;
    if (mutates()) {
        switch (random_.below(4)) {
        case 0:
            bytes = page_bytes * (1 + random_.below(window_bytes / page_bytes));
            break;
        case 1:
            at = page_bytes * (random_.boundary() >> 13);
            break;
        case 2:
            flags = MAP_PRIVATE;
            break;
        default:
            flags |= random_.pick<int>({MAP_POPULATE, MAP_LOCKED, MAP_32BIT});
        }
    }
    if (bytes > window_bytes)
        bytes = window_bytes;
    // The offset of a buffer depends on earlier buffers, so the log does not have it.
    const uint64_t known_at = at == offset->offset ? 0 : at;
    log(Kind::mmap, "fd %d slot %u: %llu bytes from %llx, flags %x", file.fd(), slot,
        static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(known_at), flags);
    const int error = show_buffer(file, slot, bytes, at, flags);
    outcome(Kind::mmap, error);
    if (!error)
        buffer.visible = bytes;
}

void Worker::bo_hide(File& file, uint32_t slot) {
    log(Kind::munmap, "fd %d slot %u", file.fd(), slot);
    outcome(Kind::munmap, show_memory(file, slot));
    file.buffers[slot].visible = 0;
}

void Worker::bo_wait(File& file) {
    const Buffer& buffer = file.buffers[find_buffer(file, true, true)];
    auto* wait = arguments<drm_overtake_bo_wait>();
    wait->handle = buffer.handle;
    wait->flags = OVERTAKE_MAP_READ | (random_.one_in(2) ? OVERTAKE_MAP_WRITE : 0);
    wait->deadline_ns =
        random_.pick<int64_t>({1, 1000000, 50000000, 500000000, OVERTAKE_DEADLINE_NEVER});
    make(file.fd(), {Kind::bo_wait, DRM_IOCTL_OVERTAKE_BO_WAIT, wait, sizeof(*wait),
                     offsetof(drm_overtake_bo_wait, deadline_ns)});
}

void Worker::gem_close(File& file, uint32_t slot) {
    auto* close = arguments<drm_gem_close>();
    close->handle = file.buffers[slot].handle;
    if (make(file.fd(), {Kind::gem_close, DRM_IOCTL_GEM_CLOSE, close, sizeof(*close)}))
        return;
    // A mapping outlives its handle, and only the end of the file would remove it.
    const uint64_t address = file.buffers[slot].address.exchange(0);
    file.buffers[slot].handle = 0;
    file.buffers[slot].visible = 0; // from now on the window shows another buffer
    file.buffers[slot].insns = 0;
    if (address && !random_.one_in(4)) {
        auto* unmap = arguments<drm_overtake_bo_unmap>();
        unmap->address = address;
        make(file.fd(), {Kind::bo_unmap, DRM_IOCTL_OVERTAKE_BO_UNMAP, unmap, sizeof(*unmap)});
    }
}

// Makes the slot usable for a job, without mutations.
void Worker::make_ready(File& file, uint32_t slot, uint32_t flags) {
    Buffer& buffer = file.buffers[slot];
    plainly([&] {
        if (!buffer.handle)
            bo_create(file, slot);
        if (!buffer.address)
            bo_map(file, slot, flags);
        if (!buffer.visible)
            bo_show(file, slot);
    });
}

// Writes over programs and data that jobs may use, and over tables that the call of another thread
// may read.
void Worker::scribble(File& file) {
    uint8_t* place = window(file, random_.below(buffer_count));
    uint32_t limit = 128 << 10;
    if (random_.one_in(4)) {
        place = fc_table(random_.below(process_.options.threads));
        limit = (768 << 10) - (64 << 10) + page_bytes; // and the bindings
    }
    log(Kind::scribble, "at %p", static_cast<void*>(place));
    for (uint32_t i = random_.pick<uint32_t>({1, 2, 64}); i--;) {
        const uint32_t at = random_.one_in(2) ? random_.below(4096) : random_.below(limit);
        place[at] = static_cast<uint8_t>(random_.next());
    }
    outcome(Kind::scribble, 0);
}

} // namespace overtake::fuzz
