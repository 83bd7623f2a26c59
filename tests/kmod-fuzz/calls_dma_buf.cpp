// SPDX-License-Identifier: MIT
// Objects that leave a file: dma-bufs and syncobjs.
#include <cerrno>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/sync_file.h>
#include <linux/udmabuf.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "worker.hpp"

namespace overtake::fuzz {

namespace {

int dma_buf_fd(uint32_t slot) {
    return first_dma_buf_fd + static_cast<int>(slot);
}

// Moves the descriptor to the fixed number of the slot, so that a seed determines it.
void keep_fd(int fd, uint32_t slot) {
    if (fd >= 0) {
        dup3(fd, dma_buf_fd(slot), O_CLOEXEC);
        close(fd);
    }
}

} // namespace

void Worker::prime_export(File& file) {
    auto* prime = arguments<drm_prime_handle>();
    prime->handle = file.buffers[find_buffer(file, true, random_.one_in(2))].handle;
    prime->flags = random_.pick<uint32_t>({0, DRM_CLOEXEC, DRM_CLOEXEC | DRM_RDWR});
    prime->fd = -1;
    if (!make(file.fd(), {Kind::prime_export, DRM_IOCTL_PRIME_HANDLE_TO_FD, prime, sizeof(*prime)}))
        keep_fd(prime->fd, random_.below(dma_buf_slots));
}

// Imports into any file: the file that exported the buffer gets its own handle.
void Worker::prime_import(File& file) {
    const uint32_t slot =
        program_slots + data_slots + random_.below(buffer_count - program_slots - data_slots);
    const uint32_t source = random_.below(dma_buf_slots);
    Buffer& buffer = file.buffers[slot];
    if (fcntl(dma_buf_fd(source), F_GETFD) < 0)
        plainly([&] { prime_export(process_.world.files[random_.below(file_count)]); });
    auto* prime = arguments<drm_prime_handle>();
    const uint32_t first = random_.below(dma_buf_slots);
    prime->fd = dma_buf_fd(source);
    for (uint32_t i = 0; i < dma_buf_slots; i++)
        if (fcntl(dma_buf_fd((first + i) % dma_buf_slots), F_GETFD) >= 0)
            prime->fd = dma_buf_fd((first + i) % dma_buf_slots);
    if (make(file.fd(), {Kind::prime_import, DRM_IOCTL_PRIME_FD_TO_HANDLE, prime, sizeof(*prime)}))
        return;
    if (buffer.handle && buffer.handle != prime->handle)
        gem_close(file, slot);
    buffer.size = page_bytes;
    buffer.address = 0;
    buffer.handle = prime->handle;
}

// Calls for a dma-buf that need no ioctl of its driver.
void Worker::dma_buf(File& file) {
    const int fd = dma_buf_fd(random_.below(dma_buf_slots));
    const uint32_t what = random_.below(7);
    pollfd poll_for = {
        .fd = fd, .events = static_cast<short>(random_.pick<int>({POLLIN, POLLOUT})), .revents = 0};
    dma_buf_sync sync = {.flags = random_.below(8)};
    dma_buf_export_sync_file export_sync = {.flags = 1 + random_.below(3), .fd = -1};
    void* memory;
    int ret = -1;
    // Linux 6.12's udmabuf maps in the first direction it is asked for and unmaps in both, of which
    // checkers of the DMA API complain.
    if (sync.flags & DMA_BUF_SYNC_RW)
        sync.flags |= DMA_BUF_SYNC_RW;
    log(Kind::dma_buf, "fd %d, act %u, file %u", fd, what, file.index);
    switch (what) {
    case 0:
        ret = close(fd);
        break;
    case 1:
        ret = poll(&poll_for, 1, 1);
        break;
    case 2:
        ret = ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync);
        break;
    case 3:
        ret = ioctl(fd, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &export_sync);
        if (!ret)
            close(export_sync.fd);
        break;
    case 4:
        ret = lseek(fd, 0, SEEK_END) < 0 ? -1 : 0;
        break;
    case 5:
        return foreign_dma_buf(random_.below(dma_buf_slots));
    case 6:
        memory = mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        ret = memory == MAP_FAILED ? -1 : 0;
        if (!ret) {
            *static_cast<volatile uint8_t*>(memory) = 1;
            munmap(memory, page_bytes);
        }
        break;
    }
    outcome(Kind::dma_buf, ret < 0 ? errno : 0);
}

// Makes a buffer of another driver, if the kernel has udmabuf.
void Worker::foreign_dma_buf(uint32_t slot) {
    const int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
    const int memory = memfd_create("fuzz", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    udmabuf_create create = {};
    create.memfd = static_cast<uint32_t>(memory);
    create.size = page_bytes * (1 + random_.below(32));
    if (device >= 0 && memory >= 0 && !ftruncate(memory, static_cast<off_t>(create.size)) &&
        !fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK)) {
        const int fd = ioctl(device, UDMABUF_CREATE, &create);
        // The first access maps the buffer, in Linux 6.12 without a lock, so it comes before other
        // threads can access it.
        for (const uint64_t edge : {DMA_BUF_SYNC_START, DMA_BUF_SYNC_END}) {
            dma_buf_sync sync = {.flags = edge | DMA_BUF_SYNC_RW};
            ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync);
        }
        keep_fd(fd, slot);
    }
    close(device);
    close(memory);
}

void Worker::syncobj_create(File& file) {
    const uint32_t slot = random_.below(syncobj_slots);
    auto* create = arguments<drm_syncobj_create>();
    create->flags = random_.below(2) ? DRM_SYNCOBJ_CREATE_SIGNALED : 0;
    if (!make(file.fd(), {Kind::syncobj_create, DRM_IOCTL_SYNCOBJ_CREATE, create, sizeof(*create)}))
        file.syncobjs[slot] = create->handle;
}

// Two syncobjs of the file and two points, in the table of a call.
struct SyncobjTable {
    uint32_t handles[2];
    uint64_t points[2];
};

static SyncobjTable* syncobj_table(File& file, uint32_t thread, Random& random) {
    auto* table = reinterpret_cast<SyncobjTable*>(binding_table(thread) + 2048);
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t first = random.below(syncobj_slots);
        table->handles[i] = file.syncobjs[first];
        for (uint32_t n = 0; n < syncobj_slots && !table->handles[i]; n++)
            table->handles[i] = file.syncobjs[(first + n) % syncobj_slots];
        table->points[i] = random.below(8);
    }
    return table;
}

// Returns a chain of one extension, or 0: the fences before and after a job. Now and then the chain
// is too long, or is a circle.
uint64_t Worker::sync_extension(File& file) {
    struct Chain {
        overtake_extension_sync extension;
        overtake_sync in, out;
    };
    const SyncobjTable table = *syncobj_table(file, thread_, random_);
    auto* chain = reinterpret_cast<Chain*>(binding_table(thread_) + 3072);
    if (!table.handles[0])
        return 0;
    *chain = Chain{};
    chain->extension.base.type = OVERTAKE_EXTENSION_SYNC;
    chain->in = {.handle = table.handles[0], .flags = 0, .point = 0};
    chain->out = {
        .handle = table.handles[1], .flags = 0, .point = random_.below(2) * table.points[1]};
    chain->extension.in = reinterpret_cast<uint64_t>(&chain->in);
    chain->extension.out = reinterpret_cast<uint64_t>(&chain->out);
    chain->extension.in_count = random_.one_in(3);
    chain->extension.out_count = 1;
    if (mutates() && random_.one_in(2))
        mutate_bytes(reinterpret_cast<uint8_t*>(chain), sizeof(*chain));
    if (mutates() && random_.one_in(8))
        chain->extension.base.next = reinterpret_cast<uint64_t>(chain);
    return reinterpret_cast<uint64_t>(chain);
}

// Puts the model of a job or a task in front of the chain; now and then a wrong one.
uint64_t Worker::model_extension(uint64_t next) {
    auto* extension = reinterpret_cast<overtake_extension_model*>(binding_table(thread_) + 3840);
    *extension = {};
    extension->base.next = next;
    extension->base.type = OVERTAKE_EXTENSION_MODEL;
    extension->model = random_.next();
    if (mutates() && random_.one_in(4))
        mutate_bytes(reinterpret_cast<uint8_t*>(extension), sizeof(*extension));
    return reinterpret_cast<uint64_t>(extension);
}

void Worker::syncobj_wait(Kind kind, File& file) {
    SyncobjTable* table = syncobj_table(file, thread_, random_);
    const uint32_t flags = random_.below(8);
    const int64_t deadline = random_.pick<int64_t>({1, 1000000, 20000000});
    if (kind == Kind::syncobj_wait) {
        auto* wait = arguments<drm_syncobj_wait>();
        wait->handles = reinterpret_cast<uint64_t>(table->handles);
        wait->count_handles = 1 + random_.below(2);
        wait->flags = flags & 3;
        wait->timeout_nsec = deadline;
        make(file.fd(), {kind, DRM_IOCTL_SYNCOBJ_WAIT, wait, sizeof(*wait),
                         offsetof(drm_syncobj_wait, timeout_nsec)});
    } else {
        auto* wait = arguments<drm_syncobj_timeline_wait>();
        wait->handles = reinterpret_cast<uint64_t>(table->handles);
        wait->points = reinterpret_cast<uint64_t>(table->points);
        wait->count_handles = 1 + random_.below(2);
        wait->flags = flags;
        wait->timeout_nsec = deadline;
        make(file.fd(), {kind, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, wait, sizeof(*wait),
                         offsetof(drm_syncobj_timeline_wait, timeout_nsec)});
    }
}

void Worker::syncobj_array(Kind kind, File& file) {
    SyncobjTable* table = syncobj_table(file, thread_, random_);
    if (kind == Kind::syncobj_reset || kind == Kind::syncobj_signal) {
        auto* array = arguments<drm_syncobj_array>();
        array->handles = reinterpret_cast<uint64_t>(table->handles);
        array->count_handles = 1 + random_.below(2);
        make(file.fd(),
             {kind,
              kind == Kind::syncobj_reset ? DRM_IOCTL_SYNCOBJ_RESET : DRM_IOCTL_SYNCOBJ_SIGNAL,
              array, sizeof(*array)});
    } else {
        auto* array = arguments<drm_syncobj_timeline_array>();
        array->handles = reinterpret_cast<uint64_t>(table->handles);
        array->points = reinterpret_cast<uint64_t>(table->points);
        array->count_handles = 1 + random_.below(2);
        array->flags = kind == Kind::syncobj_query ? random_.below(2) : 0;
        make(file.fd(), {kind,
                         kind == Kind::syncobj_query ? DRM_IOCTL_SYNCOBJ_QUERY
                                                     : DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL,
                         array, sizeof(*array)});
    }
}

void Worker::syncobj(Kind kind, File& file) {
    if (!file.syncobjs[random_.below(syncobj_slots)])
        plainly([&] { syncobj_create(file); });
    const SyncobjTable table = *syncobj_table(file, thread_, random_);
    switch (kind) {
    case Kind::syncobj_destroy: {
        auto* destroy = arguments<drm_syncobj_destroy>();
        destroy->handle = table.handles[0];
        if (!make(file.fd(), {kind, DRM_IOCTL_SYNCOBJ_DESTROY, destroy, sizeof(*destroy)}))
            for (auto& slot : file.syncobjs)
                if (slot == table.handles[0])
                    slot = 0;
        return;
    }
    case Kind::syncobj_export: {
        auto* share = arguments<drm_syncobj_handle>();
        share->handle = table.handles[0];
        share->flags = random_.below(2);
        share->fd = -1;
        if (!make(file.fd(), {kind, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, share, sizeof(*share)}))
            keep_fd(share->fd, random_.below(dma_buf_slots));
        return;
    }
    case Kind::syncobj_import: {
        auto* share = arguments<drm_syncobj_handle>();
        share->flags = random_.below(2);
        share->handle = share->flags ? table.handles[0] : 0;
        share->fd = dma_buf_fd(random_.below(dma_buf_slots));
        if (!make(file.fd(), {kind, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, share, sizeof(*share)}) &&
            !share->flags)
            file.syncobjs[random_.below(syncobj_slots)] = share->handle;
        return;
    }
    case Kind::syncobj_transfer: {
        auto* transfer = arguments<drm_syncobj_transfer>();
        transfer->src_handle = table.handles[0];
        transfer->dst_handle = table.handles[1];
        transfer->src_point = table.points[0];
        transfer->dst_point = table.points[1];
        make(file.fd(), {kind, DRM_IOCTL_SYNCOBJ_TRANSFER, transfer, sizeof(*transfer)});
        return;
    }
    case Kind::syncobj_wait:
    case Kind::syncobj_timeline_wait:
        return syncobj_wait(kind, file);
    case Kind::syncobj_create:
        return syncobj_create(file);
    default:
        return syncobj_array(kind, file);
    }
}

} // namespace overtake::fuzz
