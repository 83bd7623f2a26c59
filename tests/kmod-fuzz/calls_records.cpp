// SPDX-License-Identifier: MIT
// Jobs that are recorded once and replayed, through ioctl and io_uring.
#include <cstring>

#include "worker.hpp"

namespace overtake::fuzz {

// Records a job: the first binding, the program, is the same in each replay.
void Worker::record(File& file, uint32_t slot) {
    drm_overtake_submit submit = {};
    fill_submit(file, &submit, false);
    // A recording may have two extensions, a group and a model, each in front of the chain.
    if (!random_.one_in(4))
        submit.extensions = random_.one_in(3) ? parts_extension(&submit, 0) : 0;
    auto* recording = arguments<drm_overtake_record>();
    recording->fcs = submit.fcs;
    recording->bindings = submit.bindings;
    recording->extensions = submit.extensions;
    recording->context_id = submit.context_id;
    recording->fc_count = submit.fc_count;
    recording->binding_count = 1;
    recording->scratch_bytes = submit.scratch_bytes;
    recording->instances = 1 + random_.below(4);
    if (submit.extensions) {
        auto* parts = reinterpret_cast<overtake_extension_parts*>(submit.extensions);
        if (parts->base.type == OVERTAKE_EXTENSION_PARTS)
            parts->base.next = 0;
    }
    if (make(file.fd(), {Kind::record, DRM_IOCTL_OVERTAKE_RECORD, recording, sizeof(*recording)}))
        return;
    file.recordings[slot] = recording->record_id;
    file.recording_contexts[slot] = recording->context_id;
}

drm_overtake_replay Worker::fill_replay(File& file) {
    const uint32_t slot = random_.below(recording_slots);
    const auto lives = [&](uint32_t context) {
        for (const auto& each : file.contexts)
            if (each == context)
                return context != 0;
        return false;
    };
    if (!file.recordings[slot] || !lives(file.recording_contexts[slot]))
        plainly([&] { record(file, slot); });
    drm_overtake_submit submit = {};
    fill_submit(file, &submit, false);
    drm_overtake_replay replay = {};
    // The bindings behind that of the program.
    replay.bindings = submit.bindings + sizeof(overtake_binding);
    replay.binding_count = submit.binding_count - 1;
    replay.result = submit.result;
    replay.tag = submit.tag;
    replay.custom_id = submit.custom_id;
    replay.deadline_ns = submit.deadline_ns;
    replay.core = submit.core;
    replay.priority = random_.pick<uint16_t>({0, 5, 10});
    replay.context_id = file.recording_contexts[slot];
    replay.record_id = file.recordings[slot];
    auto* parts = reinterpret_cast<overtake_extension_replay_parts*>(group_table(thread_) + 1024);
    auto* cores = reinterpret_cast<uint32_t*>(parts + 1);
    if (random_.one_in(4)) {
        replay.extensions = sync_extension(file);
    } else if (random_.one_in(8)) {
        cores[0] = 1 + random_.below(2);
        cores[1] = 3 - cores[0];
        *parts = {};
        parts->base.type = OVERTAKE_EXTENSION_REPLAY_PARTS;
        parts->cores = random_.one_in(2) ? reinterpret_cast<uint64_t>(cores) : 0;
        parts->record = random_.one_in(3) ? replay.result : 0;
        parts->part_count = 1 + random_.below(2);
        replay.core = OVERTAKE_CORE_ANY;
        replay.extensions = reinterpret_cast<uint64_t>(parts);
        if (mutates() && random_.one_in(2))
            mutate_bytes(reinterpret_cast<uint8_t*>(parts), sizeof(*parts) + 8);
    }
    return replay;
}

void Worker::replay(File& file) {
    const drm_overtake_replay filled = fill_replay(file);
    auto* replay = arguments<drm_overtake_replay>();
    *replay = filled;
    make(file.fd(), {Kind::replay, DRM_IOCTL_OVERTAKE_REPLAY, replay, sizeof(*replay),
                     offsetof(drm_overtake_replay, deadline_ns)});
}

void Worker::ring_replay(File& file) {
    struct {
        drm_overtake_replay replay;
        uint64_t rest;
    } payload = {};
    payload.replay = fill_replay(file);
    payload.replay.deadline_ns = 0;
    ring_issue(Kind::uring_replay, file, OVERTAKE_URING_REPLAY, &payload, sizeof(payload),
               replay_mark | payload.replay.tag);
}

void Worker::forget_recording(File& file) {
    const uint32_t slot = random_.below(recording_slots);
    auto* args = arguments<drm_overtake_forget>();
    args->context_id = file.recording_contexts[slot];
    args->record_id = file.recordings[slot].exchange(0);
    make(file.fd(), {Kind::forget, DRM_IOCTL_OVERTAKE_FORGET, args, sizeof(*args)});
}

} // namespace overtake::fuzz
