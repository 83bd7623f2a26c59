// SPDX-License-Identifier: MIT
#include "recorded_job.hpp"

#include <array>

#include <fmt/format.h>

#include "cut.hpp"
#include "user_pointer.hpp"

namespace overtake {

namespace {

/// Returns the binding for the group's record.
overtake_binding record_binding(const Replay& replay, std::size_t parts) {
    overtake_binding record{};
    record.address = replay.group_record;
    record.length = ovt_group_record_bytes(static_cast<u32>(parts));
    record.flags = OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE;
    return record;
}

ovt_verdict check_parts(const RecordedJob& recorded, const Replay& replay,
                        const JobBounds& bounds) {
    const overtake_extension_replay_parts said = parts_of(replay, recorded);
    const auto count = static_cast<u32>(recorded.part_fcs.size());
    const ovt_verdict verdict = ovt_check_replay_parts(&said, count);
    if (verdict.reason != OVT_ACCEPTED || replay.part_cores.empty())
        return verdict;
    std::array<overtake_part, OVERTAKE_MAX_CORES> parts{};
    for (std::size_t i = 0; i < count; i++)
        parts[i] = {.fc_count = recorded.part_fcs[i], .core = replay.part_cores[i]};
    return ovt_check_parts(parts.data(), count, recorded.fc_count, bounds.cores);
}

} // namespace

RecordedJob::RecordedJob(const Job& job) : fc_count(static_cast<std::uint32_t>(job.fcs.size())) {
    for (const overtake_binding& binding : job.bindings)
        bound |= 1u << binding.region;
    for (const overtake_part& part : job.parts)
        part_fcs.push_back(part.fc_count);
}

Job recorded_part(const Job& job) {
    Job part;
    part.fcs = job.fcs;
    part.bindings = job.bindings;
    part.scratch_bytes = job.scratch_bytes;
    part.model = job.model;
    part.parts = job.parts;
    part.stages = job.stages;
    return part;
}

Job job_of(const Replay& replay) {
    Job job;
    job.tag = replay.tag;
    job.bindings = replay.bindings;
    job.priority = replay.priority;
    job.custom_id = replay.custom_id;
    job.core = replay.core;
    job.deadline_ns = replay.deadline_ns;
    job.cores = replay.cores;
    job.model = replay.model;
    job.group_record = replay.group_record;
    return job;
}

Replay replay_from(const Job& job, std::uint32_t recording) {
    Replay replay;
    replay.recording = recording;
    replay.tag = job.tag;
    replay.bindings = job.bindings;
    replay.priority = job.priority;
    replay.custom_id = job.custom_id;
    replay.core = job.core;
    replay.deadline_ns = job.deadline_ns;
    replay.cores = job.cores;
    replay.chosen_core = job.chosen_core;
    replay.model = job.model;
    replay.group_record = job.group_record;
    return replay;
}

drm_overtake_replay replay_of(const Replay& replay) {
    drm_overtake_replay wire{};
    wire.bindings = user_pointer(replay.bindings.data());
    wire.tag = replay.tag;
    wire.custom_id = replay.custom_id;
    wire.deadline_ns = replay.deadline_ns;
    wire.record_id = replay.recording;
    wire.binding_count = cut<std::uint32_t>(replay.bindings.size());
    wire.core = replay.core;
    wire.priority = cut<std::uint16_t>(replay.priority);
    return wire;
}

drm_overtake_record record_of(const Job& job, unsigned instances) {
    const drm_overtake_submit submit = submission(job);
    drm_overtake_record wire{};
    wire.fcs = submit.fcs;
    wire.bindings = submit.bindings;
    wire.fc_count = submit.fc_count;
    wire.binding_count = submit.binding_count;
    wire.scratch_bytes = submit.scratch_bytes;
    wire.instances = instances;
    return wire;
}

bool says_parts(const Replay& replay) {
    return !replay.part_cores.empty() || replay.group_record != 0;
}

overtake_extension_replay_parts parts_of(const Replay& replay, const RecordedJob& recorded) {
    overtake_extension_replay_parts parts{};
    parts.base.type = OVERTAKE_EXTENSION_REPLAY_PARTS;
    parts.cores = user_pointer(replay.part_cores.data());
    parts.record = replay.group_record;
    const std::size_t parts_said = replay.part_cores.size();
    parts.part_count = cut<std::uint32_t>(parts_said != 0 ? parts_said : recorded.part_fcs.size());
    return parts;
}

ovt_verdict check_recording(const Job& job, unsigned instances, const JobBounds& bounds,
                            const FindMemory& find_memory) {
    const drm_overtake_record wire = record_of(job, instances);
    const ovt_verdict verdict = ovt_check_record(&wire, bounds.cores);
    return verdict.reason != OVT_ACCEPTED ? verdict
                                          : check_job(recorded_part(job), bounds, find_memory);
}

ovt_verdict check_replay(const Replay& replay, const JobBounds& bounds) {
    const drm_overtake_replay wire = replay_of(replay);
    const ovt_verdict verdict = ovt_check_replay(&wire, bounds.cores);
    if (verdict.reason != OVT_ACCEPTED)
        return verdict;
    const drm_overtake_submit submit = ovt_submit_of_replay(&wire);
    return ovt_check_right(&submit, bounds.max_priority);
}

ovt_verdict check_replay_of(const RecordedJob& recorded, const Replay& replay,
                            const JobBounds& bounds, const FindMemory& find_memory) {
    const drm_overtake_replay wire = replay_of(replay);
    const drm_overtake_submit submit = ovt_submit_of_replay(&wire);
    ovt_verdict verdict = check_bindings(replay.bindings, recorded.bound, find_memory);
    if (verdict.reason == OVT_ACCEPTED && replay.cores != 0)
        verdict = ovt_check_placement(&submit, replay.cores, bounds.cores);
    if (verdict.reason == OVT_ACCEPTED && says_parts(replay))
        verdict = check_parts(recorded, replay, bounds);
    if (verdict.reason == OVT_ACCEPTED && replay.group_record != 0)
        verdict = ovt_check_result(
            find_memory(replay.bindings.size(), record_binding(replay, recorded.part_fcs.size())));
    if (verdict.reason == OVT_ACCEPTED)
        verdict =
            ovt_check_replay_cores(&wire, static_cast<u32>(recorded.part_fcs.size()), replay.cores);
    return verdict;
}

std::string recording_refusal_text(const ovt_verdict& verdict, const Job& job, unsigned instances,
                                   const JobBounds& bounds, std::uint64_t used) {
    const auto with_limit = [&](std::string text) {
        const std::uint32_t limit = ovt_refusal_limit(verdict.reason);
        return "recording: " + text + "; " + limit_text(limit, ovt_limit_value(limit), used);
    };
    switch (verdict.reason) {
    case OVT_REFUSED_NO_INSTANCE:
        return "recording: no instance";
    case OVT_REFUSED_INSTANCES:
        return with_limit(fmt::format("{} instances", instances));
    case OVT_REFUSED_RECORDINGS:
        return with_limit("no room");
    default:
        return "recording: " + refusal_text(verdict, recorded_part(job), bounds);
    }
}

std::string replay_refusal_text(const ovt_verdict& verdict, const Replay& replay,
                                const RecordedJob* recorded, const JobBounds& bounds) {
    const std::string job = fmt::format("job {}: ", replay.tag);
    switch (verdict.reason) {
    case OVT_REFUSED_NO_RECORDING:
        return job + fmt::format("its queue has no recording {}", replay.recording);
    case OVT_REFUSED_BUSY:
        return job + fmt::format("all instances of recording {} are in flight: reap first",
                                 replay.recording);
    case OVT_REFUSED_PARTS_OF_RECORD:
        return job + fmt::format("{} part_cores, but recording {} has {} parts",
                                 replay.part_cores.size(), replay.recording,
                                 recorded ? recorded->part_fcs.size() : 0);
    default:
        break;
    }
    // Its parts get the numbers of the recorded parts.
    std::vector<overtake_part> parts;
    for (std::size_t i = 0; recorded && i < recorded->part_fcs.size(); i++)
        parts.push_back({.fc_count = recorded->part_fcs[i],
                         .core = i < replay.part_cores.size() ? replay.part_cores[i] : 0});
    Job said = job_of(replay);
    said.parts = parts;
    return refusal_text(verdict, said, bounds);
}

} // namespace overtake
