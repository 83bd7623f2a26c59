// SPDX-License-Identifier: MIT
#include "embedded/job.hpp"

#include <array>
#include <cstring>
#include <utility>

#include "refusal.hpp"

extern "C" {
#include "host/job_result.h"
}

namespace overtake {

namespace {

/// What the allocator takes at most for each piece of a job's memory, and the number of pieces.
constexpr std::size_t allocator_bytes = 32;
constexpr std::size_t pieces = 12;
constexpr std::size_t allocated_in_pages = 65536;

} // namespace

std::size_t bytes_of_job(const Job& job) {
    const std::size_t fixed = sizeof(EmbeddedJob) + sizeof(JobDeadlines::value_type) +
                              sizeof(JobsByTag::value_type) + 2 * sizeof(PrivateAllocation) +
                              pieces * allocator_bytes;
    const std::size_t fcs = job.fcs.size() * sizeof(ovt_fc);
    const std::size_t memory = (job.bindings.size() + 2) * sizeof(std::shared_ptr<Allocation>);
    // The stages of a group, and how many FCs each has: there are no more stages than FCs.
    const std::size_t group =
        job.parts.size() * sizeof(ovt_fw_part) + 2 * job.stages.size() * sizeof(u32);
    // A large array takes whole pages.
    return fixed + memory + group +
           (fcs < allocated_in_pages ? fcs : round_to_pages(fcs + allocator_bytes));
}

void prepare_nodes(EmbeddedJob& job) {
    JobDeadlines deadlines{{0, &job}};
    job.deadline_node = deadlines.extract(deadlines.begin());
    JobsByTag jobs;
    jobs.emplace(job.tag, nullptr);
    job.tag_node = jobs.extract(jobs.begin());
}

void make_group(EmbeddedJob& made, const Job& job, const ovt_fc* fcs) {
    made.stages.assign(job.stages.begin(), job.stages.end());
    made.stage_fcs.resize(group_of(job).stage_count);
    for (const u32 stage : made.stages)
        made.stage_fcs[stage]++;
    made.parts.resize(job.parts.size());
    std::size_t fc = 0;
    for (std::size_t i = 0; i < job.parts.size(); i++) {
        ovt_fw_part& part = made.parts[i];
        part.fcs = fcs + fc;
        part.stages = made.stages.data() + fc;
        part.fc_count = job.parts[i].fc_count;
        part.core = job.parts[i].core;
        fc += part.fc_count;
    }
    made.group_storage.parts = made.parts.data();
    made.group_storage.stage_fcs = made.stage_fcs.data();
    made.group_storage.part_count = static_cast<u32>(made.parts.size());
    made.group_storage.stage_count = static_cast<u32>(made.stage_fcs.size());
    made.group = &made.group_storage;
}

std::shared_ptr<EmbeddedJob> make_job(const Job& job, const JobBounds& bounds,
                                      const AddressSpace& addresses, ScratchMemory& scratch,
                                      JobCharge charge) {
    std::array<AddressSpace::Range, OVERTAKE_MAX_BINDINGS + 1> ranges; // the last: a group's record
    const ovt_verdict verdict =
        check_job(job, bounds, [&](std::size_t index, const overtake_binding& binding) {
            ranges[index] = addresses.find(binding.address, binding.length);
            return ranges[index].allocation ? OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE : 0;
        });
    if (verdict.reason != OVT_ACCEPTED)
        throw Error(refusal_code(verdict), refusal_text(verdict, job, bounds));

    std::optional<MemoryCharge> charged; // before anything is allocated
    if (charge == JobCharge::all)
        charged.emplace(scratch.account(), bytes_of_job(job));
    auto made = std::make_shared<EmbeddedJob>();
    if (charged)
        made->charge.emplace(std::move(*charged));
    made->tag = job.tag;
    prepare_nodes(*made);
    made->deadline_ns = static_cast<std::uint64_t>(job.deadline_ns);
    made->fc_storage.reserve(job.fcs.size());
    made->memory.reserve(job.bindings.size() + 2);
    for (const overtake_fc& fc : job.fcs)
        made->fc_storage.push_back({fc.first_insn, fc.insn_count});
    made->fcs = made->fc_storage.data();
    made->fc_count = static_cast<u32>(job.fcs.size());
    made->core = job.core;
    made->priority = job.priority;
    made->open_cores = job.cores;
    made->custom_id = job.custom_id;
    made->model = job.model;
    made->chosen_core = job.chosen_core;
    if (!job.parts.empty())
        make_group(*made, job, made->fcs);

    const auto bind = [&](unsigned region, std::shared_ptr<Allocation> allocation, std::byte* data,
                          std::uint64_t length, u32 flags) {
        made->regions[region] = {reinterpret_cast<u8*>(data), length, flags, 0};
        made->memory.push_back(std::move(allocation));
    };
    for (std::size_t i = 0; i < job.bindings.size(); i++) {
        const overtake_binding& binding = job.bindings[i];
        AddressSpace::Range& range = ranges[i];
        const u32 flags =
            OVT_REGION_READ | (binding.flags & OVERTAKE_MAP_WRITE ? OVT_REGION_WRITE : 0);
        bind(binding.region, std::move(range.allocation), range.data, binding.length, flags);
    }
    if (!job.parts.empty() && job.group_record != 0) {
        AddressSpace::Range& range = ranges[job.bindings.size()];
        made->group_record = range.data;
        made->memory.push_back(std::move(range.allocation));
    }
    if (job.scratch_bytes != 0) {
        std::shared_ptr<Allocation> memory = scratch.take(job.scratch_bytes);
        std::byte* data = memory->data();
        bind(OVERTAKE_REGION_SCRATCH, std::move(memory), data, job.scratch_bytes,
             OVT_REGION_READ | OVT_REGION_WRITE);
    }
    return made;
}

Completion completion_of(const EmbeddedJob& job) {
    // The device does not go away while it has queues.
    constexpr bool gone = false;
    return ovt_job_result(&job, job.tag, ovt_job_error(&job, job.cancel_error, gone));
}

void write_group_record(const EmbeddedJob& job) {
    if (!job.group_record)
        return;
    const overtake_group_record record = ovt_group_record(job.group);
    std::memcpy(job.group_record, &record, sizeof(record));
    std::byte* to = job.group_record + sizeof(record);
    for (u32 i = 0; i < job.group->part_count; i++, to += record.part_bytes) {
        const overtake_part_record part = ovt_part_record(&job.group->parts[i]);
        std::memcpy(to, &part, sizeof(part));
    }
}

} // namespace overtake
