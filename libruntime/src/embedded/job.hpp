// SPDX-License-Identifier: MIT
//
// What an embedded device keeps of a job and of a context.
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

/// Jobs by when they end at the latest.
using JobDeadlines = std::set<std::pair<std::uint64_t, EmbeddedJob*>>;
using JobsByTag = std::unordered_map<std::uint64_t, std::shared_ptr<EmbeddedJob>>;

/// Private to the submitting thread until FirmwareHost::submit(), then under the host's lock.
struct EmbeddedJob : ovt_fw_job {
    EmbeddedContext* owner = nullptr;
    std::uint64_t tag = 0;
    std::uint64_t deadline_ns = 0; ///< as asked for; in flight device time, OVT_TIME_NEVER if none
    bool ended = false;
    bool cancel_requested = false; ///< the firmware takes one CANCEL a job
    std::int64_t custom_id = 0;    ///< for events, like model
    std::uint64_t model = 0;
    s32 cancel_error = 0;                    ///< ... for which reason; 0 without one
    std::uint64_t open_cores = 0;            ///< Job::cores
    unsigned* chosen_core = nullptr;         ///< until it is submitted
    EmbeddedJob* completed_behind = nullptr; ///< of the queue's
    HostedTask* task = nullptr;              ///< whose it is, in service mode
    JobDeadlines::node_type deadline_node;   ///< while it is not in flight, like tag_node
    JobsByTag::node_type tag_node;           ///< with them nothing is allocated under the lock
    EmbeddedJob* next_to_free = nullptr;     ///< of the client's
    bool is_recorded = false;                ///< an instance of a recording: its memory stays
    std::optional<MemoryCharge> charge;      ///< for what it takes besides its scratch
    std::vector<ovt_fc> fc_storage;
    ovt_fw_group group_storage{}; ///< of a group, like all that follows
    std::vector<ovt_fw_part> parts;
    std::vector<u32> stages, stage_fcs;
    std::byte* group_record = nullptr;               ///< in `memory`; null: its client wants none
    std::vector<std::shared_ptr<Allocation>> memory; ///< behind the regions
    /// The firmware's references: to the job until ENDED, to its CANCEL until CANCELLED.
    std::shared_ptr<EmbeddedJob> held_until_ended;
    std::shared_ptr<EmbeddedJob> held_until_cancelled;
    std::shared_ptr<EmbeddedJob> held_until_freed; ///< the client's Disposal's
};

/// Device time of FCs, ns, by core and ring.
using BusyTimes = std::array<std::array<std::uint64_t, OVT_RING_COUNT>, OVERTAKE_MAX_CORES>;

/// Of whom what is open is counted together: a process, or a client of a server.  Under the host's
/// lock.
struct EmbeddedClient {
    std::uint64_t id = 1; ///< among the host's, constant, like pid
    std::uint32_t pid = 0;
    std::uint32_t next_context = 1;
    unsigned contexts = 0;
    unsigned jobs = 0;                                         ///< not yet reaped
    std::array<ovt_coarse_rest, OVERTAKE_MAX_CORES> unshown{}; ///< by core: of its counters
    BusyTimes busy{};                                          ///< of FCs that have ended
    Disposal* disposal = nullptr; ///< of its ended jobs; null: they are freed where they end
};

/// Takes completions as they come.  Called with the host's lock held: it must be quick.
class CompletionSink {
public:
    virtual ~CompletionSink() = default;
    /// The record of a group is not written yet: the sink does that, before its client is woken.
    virtual void completed(const Completion& completion,
                           const std::shared_ptr<EmbeddedJob>& job) noexcept = 0;
};

/// A queue's side of the device; everything but the options under the host's lock.
struct EmbeddedContext : ovt_fw_context {
    QueueOptions options;
    EmbeddedClient* client = nullptr;        ///< outlives it
    std::uint32_t id = 0;                    ///< in the client, from 1
    CompletionSink* sink = nullptr;          ///< then there is nothing to reap
    std::vector<ovt_fw_turn> turns_on_cores; ///< empty: the device is not fair
    JobsByTag jobs;                          ///< not yet reaped
    std::size_t in_flight = 0;               ///< of these: not yet ended
    EmbeddedJob* first_completed = nullptr;  ///< of these: ended, in that order
    EmbeddedJob* last_completed = nullptr;
    std::condition_variable changed; ///< one has completed, or gone became true
    bool closing = false;            ///< its KILL is queued: no CANCEL comes behind it
    bool gone = false;               ///< the firmware has let go of it
    bool interrupted = false;        ///< the next reap does not wait
};

/// Its entries in the tables of jobs in flight are made.
void prepare_nodes(EmbeddedJob& job);
/// Its group has the stages and parts of `job`, which is one, and the FCs of `fcs`.
void make_group(EmbeddedJob& made, const Job& job, const ovt_fc* fcs);
/// What is kept of a job besides its scratch.
std::size_t bytes_of_job(const Job& job);

/// What of a job is charged to the account.
enum class JobCharge { scratch, all };

/// Checks, copies and resolves everything of a job that does not depend on what is in flight;
/// throws Error.
std::shared_ptr<EmbeddedJob> make_job(const Job& job, const JobBounds& bounds,
                                      const AddressSpace& addresses,
                                      const std::shared_ptr<MemoryAccount>& account,
                                      JobCharge charge = JobCharge::scratch);

/// The result record of an ended job.
Completion completion_of(const EmbeddedJob& job);
/// Puts the record of an ended group where its client wants it, if it does.
void write_group_record(const EmbeddedJob& job);

} // namespace overtake
