// SPDX-License-Identifier: MIT
//
// The job and the context of an embedded device.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "embedded/memory.hpp"
#include "embedded/scratch_memory.hpp"
#include "overtake/device.hpp"
#include "refusal.hpp"

#include <ovt_port.h>

extern "C" {
#include "fw/fw.h"
#include "host/coarse.h"
#include "host/core_profile.h"
}

namespace overtake {

class Disposal;
struct EmbeddedContext;
struct EmbeddedJob;
struct HostedTask;

/// Jobs in flight by their deadlines.
using JobDeadlines = std::set<std::pair<std::uint64_t, EmbeddedJob*>>;
using JobsByTag = std::unordered_map<std::uint64_t, std::shared_ptr<EmbeddedJob>>;

/// Belongs to the submitting thread until FirmwareHost::submit(), then protected by the host's
/// lock.
struct EmbeddedJob : ovt_fw_job {
    EmbeddedContext* owner = nullptr;
    std::uint64_t tag = 0;
    std::uint64_t deadline_ns = 0; ///< as asked for; in flight: device time, OVT_TIME_NEVER if none
    bool ended = false;
    bool cancel_requested = false; ///< the firmware takes one CANCEL a job
    std::int64_t custom_id = 0;    ///< for events, as is model
    std::uint64_t model = 0;
    s32 cancel_error = 0;                    ///< the reason of the cancel; 0: there is none
    std::uint64_t open_cores = 0;            ///< Job::cores
    unsigned* chosen_core = nullptr;         ///< answered when it is submitted
    EmbeddedJob* completed_behind = nullptr; ///< in the list of its queue
    HostedTask* task = nullptr;              ///< the task that it belongs to, in service mode
    JobDeadlines::node_type deadline_node;   ///< while it is not in flight, like tag_node
    JobsByTag::node_type tag_node;           ///< so that nothing is allocated under the lock
    EmbeddedJob* next_to_free = nullptr;     ///< in the list of its client's Disposal
    bool is_recorded = false;                ///< an instance of a recording: its memory stays
    std::optional<MemoryCharge> charge;      ///< for what it takes besides its scratch
    std::vector<ovt_fc> fc_storage;
    ovt_fw_group group_storage{}; ///< for a group, as is all that follows
    std::vector<ovt_fw_part> parts;
    std::vector<u32> stages, stage_fcs;
    std::byte* group_record = nullptr;               ///< in `memory`; null: not wanted
    std::vector<std::shared_ptr<Allocation>> memory; ///< keeps the regions alive
    /// The firmware's references: to the job until ENDED, to its CANCEL until CANCELLED.
    std::shared_ptr<EmbeddedJob> held_until_ended;
    std::shared_ptr<EmbeddedJob> held_until_cancelled;
    std::shared_ptr<EmbeddedJob> held_until_freed; ///< the reference of the client's Disposal
};

/// Device time of FCs in ns, by core and ring.
using BusyTimes = std::array<std::array<std::uint64_t, OVT_RING_COUNT>, OVERTAKE_MAX_CORES>;

/// A process, or a client of a server: its jobs and contexts are counted together.  Protected by
/// the host's lock.
struct EmbeddedClient {
    std::uint64_t id = 1; ///< unique in the host, constant, as is pid
    std::uint32_t pid = 0;
    std::uint32_t next_context = 1;
    unsigned contexts = 0;
    unsigned jobs = 0;                                         ///< by core: rests of counters
    std::array<ovt_coarse_rest, OVERTAKE_MAX_CORES> unshown{}; ///< by core: of its counters
    BusyTimes busy{};                                          ///< of FCs that have ended
    Disposal* disposal = nullptr; ///< for its ended jobs; null: they are freed where they end
};

/// Takes completions as they come.  Called with the host's lock held: it must be quick.
class CompletionSink {
public:
    virtual ~CompletionSink() = default;
    /// The sink writes the record of a group, which is not written yet, before its client is woken.
    virtual void completed(const Completion& completion,
                           const std::shared_ptr<EmbeddedJob>& job) noexcept = 0;
};

/// A queue on the device's side; protected by the host's lock, except for the options.
struct EmbeddedContext : ovt_fw_context {
    QueueOptions options;
    EmbeddedClient* client = nullptr;        ///< outlives the context
    std::uint32_t id = 0;                    ///< in the client, from 1
    CompletionSink* sink = nullptr;          ///< not null: there is nothing to reap
    std::vector<ovt_fw_turn> turns_on_cores; ///< empty: the device is not fair
    JobsByTag jobs;                          ///< not yet reaped
    std::size_t in_flight = 0;               ///< jobs of the table that have not ended
    EmbeddedJob* first_completed = nullptr;  ///< jobs of the table that have ended, in that order
    EmbeddedJob* last_completed = nullptr;
    std::condition_variable changed; ///< a job has completed, or gone became true
    bool closing = false;            ///< its KILL is queued: no CANCEL may follow it
    bool gone = false;               ///< the firmware has released it
    bool interrupted = false;        ///< the next reap does not wait
};

/// Makes the job's entries for the tables of jobs in flight.
void prepare_nodes(EmbeddedJob& job);
/// Gives `made` a group with the stages and parts of `job`, which is one, and the FCs of `fcs`.
void make_group(EmbeddedJob& made, const Job& job, const ovt_fc* fcs);
/// Returns the bytes that are kept for a job besides its scratch.
std::size_t bytes_of_job(const Job& job);

/// The part of a job that is charged to the account.
enum class JobCharge { scratch, all };

/// Checks, copies and resolves everything of a job that does not depend on what is in flight.
/// Throws Error.
std::shared_ptr<EmbeddedJob> make_job(const Job& job, const JobBounds& bounds,
                                      const AddressSpace& addresses, ScratchMemory& scratch,
                                      JobCharge charge = JobCharge::scratch);

/// Returns the result record of an ended job.
Completion completion_of(const EmbeddedJob& job);
/// Writes the record of an ended group where its client wants it, if the client wants one.
void write_group_record(const EmbeddedJob& job);

} // namespace overtake
