// SPDX-License-Identifier: MIT
#include "reference_client.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include <overtake_accel.h>

#include "program.h"
#include "random.hpp"

namespace overtake::fuzz {

namespace {

constexpr uint64_t data_bytes = 128 << 10;
constexpr uint64_t result_at = data_bytes; // in the data buffer, behind what jobs may write

struct ReferenceBuffer {
    uint32_t handle;
    uint64_t address;
    uint8_t* bytes;
};

struct ReferenceClient {
    uint64_t seed;
    int fd;
    uint32_t context;
    ReferenceBuffer program;
    ReferenceBuffer data;
};

[[noreturn]] void wrong(const ReferenceClient& client, uint64_t number, const char* what,
                        long value) {
    std::fprintf(stderr, "reference job %llu is wrong: %s is %ld (seed %llu)\n",
                 static_cast<unsigned long long>(number), what, value,
                 static_cast<unsigned long long>(client.seed));
    std::exit(1);
}

// Makes a call of this client, which must not be refused.
void must(const ReferenceClient& client, uint64_t number, unsigned long request, void* arguments,
          const char* name) {
    while (ioctl(client.fd, request, arguments) < 0)
        if (errno != EINTR)
            wrong(client, number, name, errno);
}

ReferenceBuffer make_buffer(const ReferenceClient& client, uint64_t size, uint32_t flags) {
    drm_overtake_bo_create create = {.size = size, .flags = 0, .handle = 0};
    must(client, 0, DRM_IOCTL_OVERTAKE_BO_CREATE, &create, "BO_CREATE");
    drm_overtake_bo_map map = {.handle = create.handle, .flags = flags, .address = 0};
    must(client, 0, DRM_IOCTL_OVERTAKE_BO_MAP, &map, "BO_MAP");
    drm_overtake_bo_mmap_offset offset = {.handle = create.handle, .pad = 0, .offset = 0};
    must(client, 0, DRM_IOCTL_OVERTAKE_BO_MMAP_OFFSET, &offset, "BO_MMAP_OFFSET");
    void* bytes = mmap(nullptr, create.size, PROT_READ | PROT_WRITE, MAP_SHARED, client.fd,
                       static_cast<off_t>(offset.offset));
    if (bytes == MAP_FAILED)
        wrong(client, 0, "mmap", errno);
    return {create.handle, map.address, static_cast<uint8_t*>(bytes)};
}

ReferenceClient make_client(const Options& options) {
    ReferenceClient client = {};
    client.seed = options.seed;
    client.fd = open(options.device, O_RDWR | O_CLOEXEC);
    if (client.fd < 0)
        wrong(client, 0, options.device, errno);
    drm_overtake_context_create create = {
        .max_priority = OVERTAKE_PRIORITY_HIGH, .core_limit = 0, .flags = 0, .context_id = 0};
    must(client, 0, DRM_IOCTL_OVERTAKE_CONTEXT_CREATE, &create, "CONTEXT_CREATE");
    client.context = create.context_id;
    client.program = make_buffer(client, 4096, OVERTAKE_MAP_READ);
    client.data = make_buffer(client, result_at + 4096, OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE);
    return client;
}

overtake_result submit_and_wait(const ReferenceClient& client, uint64_t number) {
    overtake_fc fc = {.first_insn = 0, .insn_count = 1};
    overtake_binding bindings[2] = {
        {client.program.address, 4096, OVERTAKE_REGION_PROGRAM, OVERTAKE_MAP_READ},
        {client.data.address, data_bytes, OVERTAKE_REGION_IO,
         OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE},
    };
    drm_overtake_submit submit = {};
    submit.fcs = reinterpret_cast<uint64_t>(&fc);
    submit.bindings = reinterpret_cast<uint64_t>(bindings);
    submit.result = client.data.address + result_at;
    submit.tag = number;
    submit.deadline_ns = OVERTAKE_DEADLINE_NEVER;
    submit.context_id = client.context;
    submit.fc_count = 1;
    submit.binding_count = 2;
    submit.priority = OVERTAKE_PRIORITY_HIGH;
    must(client, number, DRM_IOCTL_OVERTAKE_SUBMIT, &submit, "SUBMIT");

    drm_overtake_wait wait = {};
    wait.tag = number;
    wait.deadline_ns = OVERTAKE_DEADLINE_NEVER;
    wait.context_id = client.context;
    must(client, number, DRM_IOCTL_OVERTAKE_WAIT, &wait, "WAIT");
    return wait.result;
}

// Prints the differences of a wrong buffer, which show whether a sum is wrong or another client
// wrote to it.
void check_bytes(const ReferenceClient& client, uint64_t number, const overtake_insn& insn,
                 const std::vector<uint8_t>& expected) {
    uint64_t first = data_bytes, last = 0, count = 0;
    for (uint64_t i = 0; i < data_bytes; i++) {
        if (client.data.bytes[i] == expected[i])
            continue;
        first = std::min(first, i);
        last = i;
        count++;
    }
    if (!count)
        return;
    std::fprintf(stderr, "opcode %u: %llu bytes of %llu..%llu differ; the output is at %llu\n",
                 insn.opcode, static_cast<unsigned long long>(count),
                 static_cast<unsigned long long>(first), static_cast<unsigned long long>(last),
                 static_cast<unsigned long long>(insn.out.offset));
    for (uint64_t i = first; i < std::min(first + 32, data_bytes); i++)
        std::fprintf(stderr, "%02x %02x%c", client.data.bytes[i], expected[i],
                     i % 8 == 7 ? '\n' : ' ');
    wrong(client, number, "first wrong byte", static_cast<long>(first));
}

// Returns whether a planned fault of the device may have caused the status.
bool is_hit_by_fault(int32_t status) {
    return status == -EIO || status == -ETIMEDOUT || status == -ENOEXEC;
}

// Runs a job again, a few times, if the queue timeout ended it before it began: others may have
// queued more than an emulated device does in that time. A job that a planned fault hit runs
// again, too.
void run_job(const ReferenceClient& client, uint64_t number, uint16_t opcode, bool has_faults) {
    static std::vector<uint8_t> expected(data_bytes);
    overtake_result result;
    overtake_insn insn = {};
    uint32_t attempts = has_faults ? 100 : 10;
    bool again;
    do {
        if (!fuzz_reference(mix({client.seed, number}) | 1, opcode, &insn, client.data.bytes,
                            expected.data(), data_bytes))
            wrong(client, number, "no such job: opcode", opcode);
        std::memcpy(client.program.bytes, &insn, sizeof(insn));
        result = submit_and_wait(client, number);
        again = result.status == -ETIME || (has_faults && is_hit_by_fault(result.status));
    } while (again && --attempts);

    if (result.status)
        wrong(client, number, "status", result.status);
    if (result.fcs_done != 1 || result.tag != number)
        wrong(client, number, "number of FCs done", result.fcs_done);
    if (std::memcmp(client.data.bytes + result_at, &result, sizeof(result)))
        wrong(client, number, "result record, not what WAIT says: status", result.status);
    check_bytes(client, number, insn, expected);
}

} // namespace

void reference_client(const Options& options, Shared& shared, int request_fd) {
    const ReferenceClient client = make_client(options);
    uint64_t token, number = 0;
    while (read(request_fd, &token, sizeof(token)) == sizeof(token) && !shared.stop) {
        for (uint16_t opcode = 1; opcode < OVERTAKE_OP_COUNT; opcode++)
            if (opcode != OVERTAKE_OP_DELAY && opcode != OVERTAKE_OP_JUMP)
                run_job(client, number++, opcode, options.inject);
        shared.references_right++;
    }
}

} // namespace overtake::fuzz
