// SPDX-License-Identifier: MIT
#include "embedded/recordings.hpp"

#include <array>
#include <cerrno>
#include <new>
#include <utility>

#include <fmt/format.h>

namespace overtake {

namespace {

/// Room for a shared_ptr's control block with a deleter and an allocator, of any C++ library.
constexpr std::size_t control_block_bytes = 128;

} // namespace

/// A job of a recording, idle or in flight.
struct Instance {
    EmbeddedJob job;
    std::shared_ptr<Allocation> scratch;
    std::shared_ptr<Recording> recording; ///< while it is in flight
    alignas(std::max_align_t) std::array<std::byte, control_block_bytes> control_block;
};

class Recording : public std::enable_shared_from_this<Recording> {
public:
    Recording(const Job& job, unsigned count, const std::shared_ptr<MemoryAccount>& account,
              JobCharge charge)
        : recorded(job), scratch_bytes(job.scratch_bytes), model(job.model) {
        if (charge == JobCharge::all)
            charge_.emplace(account,
                            sizeof(*this) + bytes_of_job(job) + count * bytes_of_instance(job));
        fcs_.reserve(job.fcs.size());
        for (const overtake_fc& fc : job.fcs)
            fcs_.push_back({fc.first_insn, fc.insn_count});
        for (const overtake_part& part : job.parts)
            part_cores_.push_back(part.core);
        idle_.reserve(count);
        for (unsigned i = 0; i < count; i++)
            add_instance(job, account);
    }

    /// Binds a region that is the same in each replay.
    void bind(unsigned region, AddressSpace::Range range, std::uint64_t length, u32 flags) {
        fixed_.push_back(std::move(range.allocation));
        for (const auto& instance : instances_)
            instance->job.regions[region] = {reinterpret_cast<u8*>(range.data), length, flags, 0};
    }

    /// Takes an idle instance; null: all are in flight.
    Instance* take() {
        const std::lock_guard lock(mutex_);
        if (idle_.empty())
            return nullptr;
        Instance* const instance = idle_.back();
        idle_.pop_back();
        return instance;
    }
    /// Called from any thread, under any lock.
    void give_back(Instance* instance) noexcept {
        const std::lock_guard lock(mutex_);
        idle_.push_back(instance); // the vector has room
    }

    const RecordedJob recorded;
    const std::uint32_t scratch_bytes;
    const std::uint64_t model;

    std::span<const u32> part_cores() const noexcept { return part_cores_; }

private:
    /// Returns the bytes of an instance: a job without FCs, with room for all memory that a replay
    /// may bind.
    static std::size_t bytes_of_instance(const Job& job) {
        Job one = job;
        one.fcs = {};
        return sizeof(Instance) + bytes_of_job(one) +
               OVERTAKE_MAX_BINDINGS * sizeof(std::shared_ptr<Allocation>);
    }

    void add_instance(const Job& job, const std::shared_ptr<MemoryAccount>& account) {
        Instance& made = *instances_.emplace_back(std::make_unique<Instance>());
        made.job.is_recorded = true;
        prepare_nodes(made.job);
        made.job.memory.reserve(OVERTAKE_MAX_BINDINGS + 2);
        made.job.fcs = fcs_.data();
        made.job.fc_count = static_cast<u32>(fcs_.size());
        if (!job.parts.empty())
            make_group(made.job, job, fcs_.data());
        if (scratch_bytes != 0) {
            made.scratch = std::make_shared<PrivateAllocation>(account, scratch_bytes);
            made.job.regions[OVERTAKE_REGION_SCRATCH] = {
                reinterpret_cast<u8*>(made.scratch->data()), scratch_bytes,
                OVT_REGION_READ | OVT_REGION_WRITE, 0};
        }
        idle_.push_back(&made);
    }

    std::optional<MemoryCharge> charge_;
    std::vector<ovt_fc> fcs_;
    std::vector<u32> part_cores_; ///< as recorded
    std::vector<std::shared_ptr<Allocation>> fixed_;
    std::vector<std::unique_ptr<Instance>> instances_;
    std::mutex mutex_;
    std::vector<Instance*> idle_;
};

namespace {

/// Allocates a control block in an instance; freeing the block makes the instance idle.
template <class Value>
struct InInstance {
    using value_type = Value;

    explicit InInstance(Instance* in) noexcept : instance(in) {}
    template <class Other>
    InInstance(const InInstance<Other>& other) noexcept : instance(other.instance) {}

    Value* allocate(std::size_t count) {
        static_assert(sizeof(Value) <= control_block_bytes);
        static_assert(alignof(Value) <= alignof(std::max_align_t));
        if (count != 1)
            throw std::bad_alloc();
        return reinterpret_cast<Value*>(instance->control_block.data());
    }
    void deallocate(Value*, std::size_t) noexcept {
        instance->job.memory.clear(); // the client's buffers of this replay
        // Dropping this reference may destroy the recording, and with it the instance.
        const std::shared_ptr<Recording> recording = std::move(instance->recording);
        recording->give_back(instance);
    }
    bool operator==(const InInstance&) const = default;

    Instance* instance;
};

/// Removes the traces of the last replay: the fields that the firmware and the host have written,
/// and the replay's regions.
void reset(EmbeddedJob& job, const RecordedJob& recorded, std::span<const u32> part_cores) {
    ovt_fw_job fresh{};
    fresh.fcs = job.fcs;
    fresh.fc_count = job.fc_count;
    fresh.group = job.group;
    for (unsigned region = 0; region < OVERTAKE_MAX_REGIONS; region++)
        if (region == OVERTAKE_REGION_SCRATCH || (recorded.bound & (1u << region)) != 0)
            fresh.regions[region] = job.regions[region];
    static_cast<ovt_fw_job&>(job) = fresh;
    for (std::size_t i = 0; i < job.parts.size(); i++) {
        ovt_fw_part part{};
        part.fcs = job.parts[i].fcs;
        part.stages = job.parts[i].stages;
        part.fc_count = job.parts[i].fc_count;
        part.core = part_cores[i];
        job.parts[i] = part;
    }
    job.memory.clear();
    job.owner = nullptr;
    job.ended = false;
    job.cancel_requested = false;
    job.cancel_error = 0;
    job.completed_behind = nullptr;
    job.next_to_free = nullptr;
    job.group_record = nullptr;
}

} // namespace

std::uint32_t Recordings::record(const Job& job, unsigned instances, const JobBounds& bounds) {
    std::array<AddressSpace::Range, OVERTAKE_MAX_BINDINGS> ranges;
    ovt_verdict verdict = check_recording(
        job, instances, bounds, [&](std::size_t index, const overtake_binding& binding) {
            ranges[index] = addresses_->find(binding.address, binding.length);
            return ranges[index].allocation ? OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE : 0;
        });
    if (verdict.reason == OVT_ACCEPTED && recordings_.size() >= OVERTAKE_MAX_RECORDINGS)
        verdict = {OVT_REFUSED_RECORDINGS, 0};
    if (verdict.reason != OVT_ACCEPTED)
        throw Error(refusal_code(verdict),
                    recording_refusal_text(verdict, job, instances, bounds, recordings_.size()));
    const Job part = recorded_part(job);
    auto made = std::make_shared<Recording>(part, instances, account_, charge_);
    for (std::size_t i = 0; i < part.bindings.size(); i++) {
        const overtake_binding& binding = part.bindings[i];
        made->bind(binding.region, std::move(ranges[i]), binding.length,
                   OVT_REGION_READ | (binding.flags & OVERTAKE_MAP_WRITE ? OVT_REGION_WRITE : 0));
    }
    while (next_ == 0 || recordings_.contains(next_))
        next_++;
    recordings_.emplace(next_, std::move(made));
    return next_++;
}

Recording& Recordings::find(const Replay& replay, const JobBounds& bounds) const {
    ovt_verdict verdict = check_replay(replay, bounds);
    const auto found = recordings_.find(replay.recording);
    if (verdict.reason == OVT_ACCEPTED && found == recordings_.end())
        verdict = {OVT_REFUSED_NO_RECORDING, 0};
    if (verdict.reason != OVT_ACCEPTED)
        throw Error(refusal_code(verdict), replay_refusal_text(verdict, replay, nullptr, bounds));
    return *found->second;
}

std::shared_ptr<EmbeddedJob> Recordings::take(Recording& recording) {
    Instance* const instance = recording.take();
    if (!instance)
        return nullptr;
    instance->recording = recording.shared_from_this();
    return {&instance->job, [](EmbeddedJob*) {}, InInstance<EmbeddedJob>(instance)};
}

void Recordings::fill(EmbeddedJob* job, const Recording& recording, const Replay& replay,
                      const JobBounds& bounds) const {
    std::array<AddressSpace::Range, OVERTAKE_MAX_BINDINGS + 1> ranges; // the last: a group's record
    ovt_verdict verdict{OVT_REFUSED_BUSY, 0};
    if (job)
        verdict = check_replay_of(
            recording.recorded, replay, bounds,
            [&](std::size_t index, const overtake_binding& binding) {
                ranges[index] = addresses_->find(binding.address, binding.length);
                return ranges[index].allocation ? OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE : 0;
            });
    if (verdict.reason != OVT_ACCEPTED)
        throw Error(refusal_code(verdict),
                    replay_refusal_text(verdict, replay, &recording.recorded, bounds));
    reset(*job, recording.recorded,
          replay.part_cores.empty() ? recording.part_cores() : replay.part_cores);
    job->tag = replay.tag;
    job->tag_node.key() = replay.tag;
    job->deadline_ns = static_cast<std::uint64_t>(replay.deadline_ns);
    job->core = replay.core;
    job->priority = replay.priority;
    job->open_cores = replay.cores;
    job->custom_id = replay.custom_id;
    job->model = replay.model != 0 ? replay.model : recording.model;
    job->chosen_core = replay.chosen_core;
    for (std::size_t i = 0; i < replay.bindings.size(); i++) {
        const overtake_binding& binding = replay.bindings[i];
        const u32 flags =
            OVT_REGION_READ | (binding.flags & OVERTAKE_MAP_WRITE ? OVT_REGION_WRITE : 0);
        job->regions[binding.region] = {reinterpret_cast<u8*>(ranges[i].data), binding.length,
                                        flags, 0};
        job->memory.push_back(std::move(ranges[i].allocation));
    }
    if (replay.group_record != 0) {
        AddressSpace::Range& range = ranges[replay.bindings.size()];
        job->group_record = range.data;
        job->memory.push_back(std::move(range.allocation));
    }
}

void Recordings::forget(std::uint32_t recording) {
    if (recordings_.erase(recording) == 0)
        throw Error(ENOENT, fmt::format("forget: the queue has no recording {}", recording));
}

} // namespace overtake
