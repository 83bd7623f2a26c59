// SPDX-License-Identifier: MIT
// Tasks of service mode, through ioctl and io_uring.
#include <cstddef>

#include "worker.hpp"

namespace overtake::fuzz {

namespace {

constexpr uint32_t most_segments = 6;
constexpr uint32_t event_room = 16;
constexpr uint32_t workers = 64; // most never report their end

} // namespace

// Returns the context of the file that takes tasks; makes it if there is none.
uint32_t Worker::task_context(File& file) {
    if (!file.tasks) {
        auto* create = arguments<drm_overtake_context_create>();
        create->max_priority = random_.pick<uint32_t>({255, 254});
        create->flags = workers;
        plainly([&] {
            if (!make(file.fd(), {Kind::context_create, DRM_IOCTL_OVERTAKE_CONTEXT_CREATE, create,
                                  sizeof(*create)}))
                file.tasks = create->context_id;
        });
    }
    return file.tasks;
}

// Makes some or all segments on the device groups, now and then with an error.  Returns the address
// of the extension, which the task's other extensions follow.
uint64_t Worker::task_parts_extension(const drm_overtake_submit& job,
                                      drm_overtake_task_submit* task) {
    struct TaskGroups {
        overtake_extension_task_parts extension;
        overtake_segment_parts segments[most_segments];
    };
    auto* groups = reinterpret_cast<TaskGroups*>(task_group_table(thread_));
    const auto* segments = reinterpret_cast<overtake_task_segment*>(segment_table(thread_));
    drm_overtake_submit as_group = job;
    parts_extension(&as_group, 0);
    const auto* group = reinterpret_cast<overtake_extension_parts*>(group_table(thread_));
    auto* parts = reinterpret_cast<overtake_part*>(group_table(thread_) + sizeof(*group));
    if (!random_.one_in(16))
        parts[0].core = parts[1].core = OVERTAKE_CORE_ANY;
    *groups = {};
    for (uint32_t i = 0; i < task->segment_count; i++) {
        if (!segments[i].fc_count || random_.one_in(3))
            continue;
        groups->segments[i].parts = group->parts;
        groups->segments[i].stages = group->stages;
        groups->segments[i].part_count = group->part_count;
        groups->segments[i].stage_count = group->stage_count;
        groups->extension.width = group->part_count;
    }
    groups->extension.base.next = task->extensions;
    groups->extension.base.type = OVERTAKE_EXTENSION_TASK_PARTS;
    groups->extension.segments = reinterpret_cast<uint64_t>(groups->segments);
    task->core = OVERTAKE_CORE_ANY;
    if (mutates() && random_.one_in(2))
        mutate_bytes(reinterpret_cast<uint8_t*>(groups), sizeof(*groups));
    return reinterpret_cast<uint64_t>(groups);
}

// Segments on the device share the tables of one job. A task of only such segments ends by itself.
drm_overtake_task_submit Worker::fill_task(File& file, bool begins_on_cpu) {
    drm_overtake_submit job = {};
    fill_submit(file, &job, false);
    auto* segments = reinterpret_cast<overtake_task_segment*>(segment_table(thread_));
    const uint32_t count = 1 + random_.below(most_segments);
    const bool has_cpu = begins_on_cpu || random_.one_in(2);
    for (uint32_t i = 0; i < count; i++) {
        segments[i] = {};
        if (has_cpu && ((begins_on_cpu && i == 0) || random_.one_in(2))) {
            segments[i].cpu_key = random_.below(8);
            segments[i].expected_ns = random_.pick<uint64_t>({0, 1000, 1'000'000, ~0ull});
            continue;
        }
        segments[i].fcs = job.fcs;
        segments[i].bindings = job.bindings;
        segments[i].fc_count = job.fc_count;
        segments[i].binding_count = job.binding_count;
        segments[i].scratch_bytes = job.scratch_bytes;
    }
    drm_overtake_task_submit task = {};
    task.segments = reinterpret_cast<uint64_t>(segments);
    task.tag = file.next_tag++;
    task.custom_id = static_cast<int64_t>(task.tag);
    task.deadline_ns = ~0ull;
    task.context_id = task_context(file);
    task.segment_count = count;
    task.core = random_.below(3);
    if (random_.one_in(4))
        task.extensions = model_extension(0);
    task.priority = static_cast<uint16_t>(random_.pick<uint32_t>({0, 10, 200, 254}));
    if (random_.one_in(3))
        task.extensions = task_parts_extension(job, &task);
    if (mutates() && random_.one_in(2)) {
        mutate_bytes(reinterpret_cast<uint8_t*>(segments), count * sizeof(*segments));
        for (uint32_t i = 0; i < count; i++)
            segments[i].scratch_bytes %= window_bytes; // not all of the machine's memory
    }
    return task;
}

void Worker::submit_task(File& file, const drm_overtake_task_submit& task) {
    auto* submit = arguments<drm_overtake_task_submit>();
    *submit = task;
    make(file.fd(), {Kind::task_submit, DRM_IOCTL_OVERTAKE_TASK_SUBMIT, submit, sizeof(*submit)});
}

void Worker::task_submit(File& file) {
    const drm_overtake_task_submit task = fill_task(file, false);
    if (random_.one_in(4))
        return ring_issue(Kind::uring_task, file, OVERTAKE_URING_TASK_SUBMIT, &task, sizeof(task),
                          task_mark | task.tag);
    submit_task(file, task);
}

void Worker::task_events(File& file) {
    const uint32_t context = task_context(file);
    auto* events = arguments<drm_overtake_task_events>();
    events->context_id = context;
    if (random_.one_in(8)) {
        events->flags = OVERTAKE_TASK_EVENTS_WAKE;
    } else {
        events->events = reinterpret_cast<uint64_t>(event_table(thread_));
        events->results = reinterpret_cast<uint64_t>(task_result_table(thread_));
        events->deadline_ns = random_.pick<int64_t>({0, 1, 1000000, 20000000});
        events->event_count = 1 + random_.below(event_room);
        events->result_count = OVERTAKE_MAX_SEGMENTS;
    }
    if (random_.one_in(4)) {
        drm_overtake_task_events payload[2] = {*events, {}};
        if (!random_.one_in(4))
            payload[0].deadline_ns = 0; // the driver refuses any other
        return ring_issue(Kind::uring_task, file, OVERTAKE_URING_TASK_EVENTS, payload,
                          OVERTAKE_URING_PAYLOAD_BYTES, task_mark);
    }
    make(file.fd(), {Kind::task_events, DRM_IOCTL_OVERTAKE_TASK_EVENTS, events, sizeof(*events),
                     offsetof(drm_overtake_task_events, deadline_ns)});
}

// Reports the end of a segment of a task that probably has to run its first segment.
void Worker::task_cpu_done(File& file) {
    drm_overtake_task_submit task;
    plainly([&] {
        task = fill_task(file, true);
        submit_task(file, task);
        task_events(file);
    });
    drm_overtake_task_cpu_done done[4] = {};
    done[0].context_id = task.context_id;
    done[0].tag = task.tag;
    done[0].segment = random_.one_in(8) ? random_.below(3) : 0;
    done[0].status = random_.pick<int32_t>({0, 0, 0, -5});
    if (random_.one_in(4))
        return ring_issue(Kind::uring_task, file, OVERTAKE_URING_TASK_CPU_DONE, done,
                          OVERTAKE_URING_PAYLOAD_BYTES, task_mark | done[0].tag);
    auto* said = arguments<drm_overtake_task_cpu_done>();
    *said = done[0];
    make(file.fd(), {Kind::task_cpu_done, DRM_IOCTL_OVERTAKE_TASK_CPU_DONE, said, sizeof(*said)});
}

void Worker::task_cancel(File& file) {
    drm_overtake_task_submit task;
    plainly([&] {
        task = fill_task(file, random_.one_in(2));
        submit_task(file, task);
    });
    drm_overtake_task_cancel cancel[5] = {};
    cancel[0].context_id = task.context_id;
    cancel[0].tag = task.tag;
    if (random_.one_in(4))
        return ring_issue(Kind::uring_task, file, OVERTAKE_URING_TASK_CANCEL, cancel,
                          sizeof(cancel), task_mark | cancel[0].tag);
    auto* said = arguments<drm_overtake_task_cancel>();
    *said = cancel[0];
    make(file.fd(), {Kind::task_cancel, DRM_IOCTL_OVERTAKE_TASK_CANCEL, said, sizeof(*said)});
}

} // namespace overtake::fuzz
