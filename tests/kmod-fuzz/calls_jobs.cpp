// SPDX-License-Identifier: MIT
// Contexts and jobs, through ioctl.
#include <cstdlib>
#include <cstring>

#include "program.h"
#include "worker.hpp"

namespace overtake::fuzz {

namespace {

constexpr uint32_t program_insns = 16;
constexpr uint32_t lasting_fcs = 1000;

} // namespace

void Worker::context_create(File& file) {
    const uint32_t slot = random_.below(context_slots);
    if (file.contexts[slot])
        context_destroy(file);
    auto* create = arguments<drm_overtake_context_create>();
    create->max_priority = random_.pick<uint32_t>({255, 254, 10});
    create->core_limit = create->max_priority == OVERTAKE_PRIORITY_HIGH ? random_.below(4) : 0;
    if (make(file.fd(),
             {Kind::context_create, DRM_IOCTL_OVERTAKE_CONTEXT_CREATE, create, sizeof(*create)}))
        return;
    file.priorities[slot] = create->max_priority;
    file.contexts[slot] = create->context_id;
}

void Worker::context_destroy(File& file) {
    const uint32_t first = random_.below(context_slots);
    uint32_t slot = first;
    for (uint32_t i = 0; i < context_slots && !file.contexts[slot]; i++)
        slot = (first + i) % context_slots;
    auto* destroy = arguments<drm_overtake_context_destroy>();
    if (file.tasks && random_.one_in(4)) {
        destroy->context_id = file.tasks;
        file.tasks = 0;
        make(file.fd(), {Kind::context_destroy, DRM_IOCTL_OVERTAKE_CONTEXT_DESTROY, destroy,
                         sizeof(*destroy)});
        return;
    }
    destroy->context_id = file.contexts[slot];
    if (!make(file.fd(), {Kind::context_destroy, DRM_IOCTL_OVERTAKE_CONTEXT_DESTROY, destroy,
                          sizeof(*destroy)}))
        file.contexts[slot] = 0;
}

// Another thread may have unmapped the buffer meanwhile; then the window is ordinary memory.
void Worker::write_program(File& file, uint32_t program, uint32_t data) {
    auto* insns = reinterpret_cast<overtake_insn*>(window(file, program));
    const uint32_t count = fuzz_program(random_.next() | 1, insns, program_insns,
                                        window(file, data), file.buffers[data].size.load());
    if (!count)
        return; // a buffer too small for data
    // Writes a loop that only the watchdog ends, or an instruction with one or two wrong fields.
    if (random_.one_in(8)) {
        insns[count - 1] = overtake_insn{};
        insns[count - 1].opcode = OVERTAKE_OP_JUMP;
        insns[count - 1].jump_target = random_.below(count);
    }
    if (random_.one_in(8))
        mutate_bytes(reinterpret_cast<uint8_t*>(&insns[random_.below(count)]),
                     sizeof(overtake_insn));
    file.buffers[program].insns = count;
}

// Makes a job a group of one or two parts, now and then a wrong one.  Returns the address of the
// extension, which the job's other extensions follow.
// @record: address for its record, or 0.
uint64_t Worker::parts_extension(drm_overtake_submit* submit, uint64_t record) {
    struct Group {
        overtake_extension_parts extension;
        overtake_part parts[2];
    };
    auto* group = reinterpret_cast<Group*>(group_table(thread_));
    auto* stages = reinterpret_cast<uint32_t*>(stage_table(thread_));
    const uint32_t part_count = submit->fc_count < 2 ? 1 : 1 + random_.below(2);
    const uint32_t first =
        part_count == 1 ? submit->fc_count : 1 + random_.below(submit->fc_count - 1);
    const uint32_t stage_count = 1 + random_.below(first);
    const uint32_t core = random_.below(3); // of the first part, or of none
    *group = {};
    group->parts[0] = {.fc_count = first, .core = core};
    group->parts[1] = {.fc_count = submit->fc_count - first, .core = core ? 3 - core : 0};
    for (uint32_t i = 0; i < submit->fc_count; i++)
        stages[i] = i < first ? i * stage_count / first
                              : (i - first) * stage_count / (submit->fc_count - first);
    group->extension.base.next = submit->extensions;
    group->extension.base.type = OVERTAKE_EXTENSION_PARTS;
    group->extension.parts = reinterpret_cast<uint64_t>(group->parts);
    group->extension.stages = reinterpret_cast<uint64_t>(stages);
    group->extension.record = record;
    group->extension.part_count = part_count;
    group->extension.stage_count = stage_count;
    submit->core = OVERTAKE_CORE_ANY;
    if (mutates() && random_.one_in(2))
        mutate_bytes(reinterpret_cast<uint8_t*>(group), sizeof(*group));
    if (mutates() && random_.one_in(4))
        mutate_bytes(reinterpret_cast<uint8_t*>(stages), submit->fc_count * sizeof(*stages));
    if (mutates() && random_.one_in(8))
        group->extension.stages = reinterpret_cast<uint64_t>(missing_page(thread_)) - 4;
    return reinterpret_cast<uint64_t>(group);
}

// Makes a valid job with tables in the arena of the thread, which are mutated if the call is to be
// mutated.  @lasting: the job has so many FCs that it still runs a moment later.
void Worker::fill_submit(File& file, drm_overtake_submit* submit, bool lasting) {
    const uint32_t program = random_.below(program_slots);
    const uint32_t data = program_slots + random_.below(data_slots);
    const uint32_t context = random_.below(context_slots);
    make_ready(file, program, OVERTAKE_MAP_READ);
    make_ready(file, data, OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE);
    if (!file.contexts[context])
        plainly([&] { context_create(file); });
    if (!file.buffers[program].insns || random_.one_in(3))
        write_program(file, program, data);

    const uint32_t insns = file.buffers[program].insns;
    auto* fcs = reinterpret_cast<overtake_fc*>(fc_table(thread_));
    const uint32_t fc_count = lasting ? lasting_fcs : 1 + random_.below(8);
    for (uint32_t i = 0; i < fc_count; i++) {
        fcs[i].first_insn = random_.below(insns + 1) % (insns ? insns : 1);
        fcs[i].insn_count = 1;
    }
    if (!lasting && random_.one_in(2)) {
        fcs[0] = {.first_insn = 0, .insn_count = insns ? insns : 1};
    }

    auto* bindings = reinterpret_cast<overtake_binding*>(binding_table(thread_));
    bindings[0] = {.address = file.buffers[program].address,
                   .length = file.buffers[program].size,
                   .region = OVERTAKE_REGION_PROGRAM,
                   .flags = OVERTAKE_MAP_READ};
    bindings[1] = {.address = file.buffers[data].address,
                   .length = file.buffers[data].size,
                   .region = OVERTAKE_REGION_IO,
                   .flags = OVERTAKE_MAP_READ | (file.buffers[data].flags & OVERTAKE_MAP_WRITE)};
    uint32_t binding_count = 2;
    for (; binding_count < 5 && random_.one_in(3); binding_count++) {
        const Buffer& more = file.buffers[find_buffer(file, true, true)];
        if (!more.address)
            break;
        bindings[binding_count] = {.address = more.address,
                                   .length = 1 + random_.next() % (more.size + 1),
                                   .region = OVERTAKE_REGION_IO + binding_count,
                                   .flags = OVERTAKE_MAP_READ};
        if (bindings[binding_count].length > more.size)
            bindings[binding_count].length = more.size;
    }

    submit->fcs = reinterpret_cast<uint64_t>(fcs);
    submit->bindings = reinterpret_cast<uint64_t>(bindings);
    submit->tag = file.next_tag++;
    submit->custom_id = static_cast<int64_t>(submit->tag);
    submit->context_id = file.contexts[context];
    if (!submit->context_id)
        for (const auto& other : file.contexts)
            if (other)
                submit->context_id = other;
    submit->fc_count = fc_count;
    submit->binding_count = binding_count;
    submit->core = random_.below(3);
    submit->scratch_bytes = random_.one_in(4) ? random_.below(window_bytes) : 0;
    submit->priority =
        static_cast<uint16_t>(random_.pick<uint32_t>({0, 5, 10, file.priorities[context]}));
    if (random_.one_in(3) && (file.buffers[data].flags & OVERTAKE_MAP_WRITE))
        submit->result = file.buffers[data].address + file.buffers[data].size - result_bytes;
    if (random_.one_in(8))
        submit->deadline_ns = random_.pick<int64_t>({1, 5000000, OVERTAKE_DEADLINE_NEVER});

    if (random_.one_in(4))
        submit->extensions = sync_extension(file);
    if (random_.one_in(4))
        submit->extensions = model_extension(submit->extensions);

    if (random_.one_in(3)) {
        const bool writable = file.buffers[data].flags & OVERTAKE_MAP_WRITE;
        submit->extensions = parts_extension(
            submit, writable && random_.one_in(2) ? file.buffers[data].address.load() : 0);
    }

    if (mutates() && random_.one_in(3))
        mutate_bytes(reinterpret_cast<uint8_t*>(bindings), binding_count * sizeof(*bindings));
    if (mutates() && random_.one_in(3))
        mutate_bytes(reinterpret_cast<uint8_t*>(fcs), fc_count * sizeof(*fcs));
}

// Submits a job; returns its arguments, also if it was refused.
drm_overtake_submit Worker::submit(File& file, bool lasting) {
    drm_overtake_submit filled = {};
    fill_submit(file, &filled, lasting);
    auto* submit = arguments<drm_overtake_submit>();
    *submit = filled;
    make(file.fd(), {Kind::submit, DRM_IOCTL_OVERTAKE_SUBMIT, submit, sizeof(*submit),
                     offsetof(drm_overtake_submit, deadline_ns)});
    return *submit;
}

// Cancels a job that probably still runs.
void Worker::cancel(File& file) {
    drm_overtake_submit submitted;
    plainly([&] { submitted = submit(file, true); });
    auto* cancel = arguments<drm_overtake_cancel>();
    cancel->tag = submitted.tag;
    cancel->context_id = submitted.context_id;
    make(file.fd(), {Kind::cancel, DRM_IOCTL_OVERTAKE_CANCEL, cancel, sizeof(*cancel)});
}

void Worker::wait(File& file) {
    drm_overtake_submit submitted = {};
    if (random_.one_in(2))
        plainly([&] { submitted = submit(file, false); });
    auto* wait = arguments<drm_overtake_wait>();
    wait->context_id = submitted.context_id;
    const uint32_t first = random_.below(context_slots);
    for (uint32_t i = 0; i < context_slots && !wait->context_id; i++)
        wait->context_id = file.contexts[(first + i) % context_slots];
    if (random_.one_in(2))
        wait->tag = submitted.tag;
    else
        wait->flags = OVERTAKE_WAIT_ANY;
    wait->deadline_ns =
        random_.pick<int64_t>({1, 1000000, 50000000, 500000000, OVERTAKE_DEADLINE_NEVER});
    if (!make(file.fd(), {Kind::wait, DRM_IOCTL_OVERTAKE_WAIT, wait, sizeof(*wait),
                          offsetof(drm_overtake_wait, deadline_ns)}))
        collected(wait->result.status);
}

// Counts the status of a job: 0 or a negative errno.
void Worker::collected(int32_t status) {
    const auto index = static_cast<uint32_t>(std::abs(static_cast<long>(status)));
    process_.shared.jobs[index < error_count ? index : error_count - 1]++;
}

} // namespace overtake::fuzz
