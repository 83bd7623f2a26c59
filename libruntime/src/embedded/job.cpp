// SPDX-License-Identifier: MIT
#include "embedded/job.hpp"

#include <cerrno>

#include <fmt/format.h>

namespace overtake {

namespace {

[[noreturn]] void refuse(int code, const Job& job, const std::string& what) {
    throw Error(code, fmt::format("job {}: {}", job.tag, what));
}

void check_fcs(const Job& job) {
    if (job.fcs.empty())
        refuse(EINVAL, job, "has no FC");
    if (job.fcs.size() > OVERTAKE_MAX_FCS)
        refuse(E2BIG, job, fmt::format("{} FCs, at most {}", job.fcs.size(), OVERTAKE_MAX_FCS));
    for (std::size_t i = 0; i < job.fcs.size(); i++)
        if (job.fcs[i].insn_count == 0)
            refuse(EINVAL, job, fmt::format("fcs[{}] has no instruction", i));
}

void check_bindings(const Job& job) {
    if (job.bindings.empty())
        refuse(EINVAL, job, "has no binding");
    if (job.bindings.size() > OVERTAKE_MAX_BINDINGS)
        refuse(E2BIG, job,
               fmt::format("{} bindings, at most {}", job.bindings.size(), OVERTAKE_MAX_BINDINGS));
    unsigned seen = 1u << OVERTAKE_REGION_SCRATCH;
    for (std::size_t i = 0; i < job.bindings.size(); i++) {
        const overtake_binding& binding = job.bindings[i];
        if (binding.region >= OVERTAKE_MAX_REGIONS)
            refuse(EINVAL, job,
                   fmt::format("bindings[{}].region: no region {}", i, binding.region));
        if (seen & (1u << binding.region))
            refuse(EINVAL, job,
                   fmt::format("bindings[{}].region: {} is scratch or bound twice", i,
                               binding.region));
        seen |= 1u << binding.region;
        if (binding.length == 0)
            refuse(EINVAL, job, fmt::format("bindings[{}].length is 0", i));
        if ((binding.flags | OVERTAKE_MAP_WRITE) != (OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE))
            refuse(EINVAL, job, fmt::format("bindings[{}].flags: {:#x}", i, binding.flags));
    }
}

std::int32_t status_of(const EmbeddedJob& job) {
    switch (job.status) {
    case OVT_JOB_OK:
        return 0;
    case OVT_JOB_CANCELLED:
    case OVT_JOB_STOPPED:
        return job.timed_out ? -ETIME : -ECANCELED;
    case OVT_JOB_FAULTED:
        return -ENOEXEC;
    case OVT_JOB_HUNG:
        return -ETIMEDOUT;
    case OVT_JOB_RESET:
        return -EIO;
    }
    return -EIO;
}

} // namespace

void check_job(const Job& job, const QueueOptions& options, unsigned core_count) {
    check_fcs(job);
    check_bindings(job);
    if (job.scratch_bytes > OVERTAKE_MAX_SCRATCH_BYTES)
        refuse(E2BIG, job,
               fmt::format("{} bytes of scratch, at most {}", job.scratch_bytes,
                           OVERTAKE_MAX_SCRATCH_BYTES));
    if (job.core > core_count)
        refuse(EINVAL, job, fmt::format("core {}, but the device has {}", job.core, core_count));
    if (job.priority > OVERTAKE_PRIORITY_HIGH)
        refuse(EINVAL, job, fmt::format("priority {}, at most 255", job.priority));
    if (job.priority > options.max_priority)
        refuse(EPERM, job,
               fmt::format("priority {}, but its queue was created for at most {}", job.priority,
                           options.max_priority));
    if (job.deadline_ns < 0)
        refuse(EINVAL, job, "negative deadline");
}

std::shared_ptr<EmbeddedJob> make_job(const Job& job, const AddressSpace& addresses,
                                      const std::shared_ptr<MemoryAccount>& account) {
    auto made = std::make_shared<EmbeddedJob>();
    made->tag = job.tag;
    made->deadline_ns = static_cast<std::uint64_t>(job.deadline_ns);
    made->fc_storage.reserve(job.fcs.size());
    for (const overtake_fc& fc : job.fcs)
        made->fc_storage.push_back({fc.first_insn, fc.insn_count});
    made->fcs = made->fc_storage.data();
    made->fc_count = static_cast<u32>(job.fcs.size());
    made->core = job.core;
    made->priority = job.priority;

    const auto bind = [&](unsigned region, std::shared_ptr<Allocation> allocation, std::byte* data,
                          std::uint64_t length, u32 flags) {
        made->regions[region] = {reinterpret_cast<u8*>(data), length, flags, 0};
        made->memory.push_back(std::move(allocation));
    };
    for (const overtake_binding& binding : job.bindings) {
        AddressSpace::Range range = addresses.resolve(binding.address, binding.length);
        const u32 flags =
            OVT_REGION_READ | (binding.flags & OVERTAKE_MAP_WRITE ? OVT_REGION_WRITE : 0);
        bind(binding.region, std::move(range.allocation), range.data, binding.length, flags);
    }
    if (job.scratch_bytes != 0) {
        auto scratch = std::make_shared<Allocation>(account, job.scratch_bytes);
        std::byte* data = scratch->data();
        bind(OVERTAKE_REGION_SCRATCH, std::move(scratch), data, job.scratch_bytes,
             OVT_REGION_READ | OVT_REGION_WRITE);
    }
    return made;
}

Completion completion_of(const EmbeddedJob& job) {
    Completion completion{};
    completion.tag = job.tag;
    completion.queued_ns = job.arrival_ns;
    completion.start_ns = job.started != 0 ? job.start_ns : 0;
    completion.end_ns = job.end_ns;
    completion.executed_ns = job.executed_ns;
    completion.preemptions = job.preemptions;
    completion.fcs_done = job.done;
    completion.core = job.placed_core;
    completion.status = status_of(job);
    completion.fault = job.fault;
    completion.fault_insn = job.fault_insn;
    return completion;
}

} // namespace overtake
