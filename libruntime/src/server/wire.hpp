// SPDX-License-Identifier: MIT
//
// The messages of a device server and its clients, which have the same version (hello).
//
// A client has one connection, a SOCK_SEQPACKET socket: it sends a Request and gets a Reply, one at
// a time.  Each of its queues has a channel, another such socket, for wake-ups alone, and an area
// of shared memory, QueueArea.  Buffers are memory that the client makes and the server maps.
//
// The server believes nothing that it reads: it copies first and checks the copy.  Wake-ups are
// sent and received without waiting, and one that finds the socket full is not missed, since
// another one is waiting in it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "overtake_accel.h"

#include <ovt_port.h>

extern "C" {
#include "service/service.h"
}

namespace overtake::server {

/// The version of everything in this file; a server and a client of different versions do not talk.
constexpr std::uint32_t protocol_version = 7;

enum class Operation : std::uint32_t {
    hello = 1,      ///< version -> version, cores; drm_overtake_device_info
    info,           ///< -> drm_overtake_device_info
    cores,          ///< -> drm_overtake_core_info of each core
    create_buffer,  ///< with the memory's descriptor -> address, bytes
    destroy_buffer, ///< address ->
    create_queue,  ///< max_priority, core_limit -> id; with the area's and the channel's descriptor
    destroy_queue, ///< id ->
    cancel,        ///< id, tag -> whether there was such a job
    clock_now,     ///< -> device time
    clock_advance, ///< device time ->
    /// last client of the page before, or 0 -> last client, beginning of the clients in the page;
    /// page of the status (JSON)
    status,
    /// max_priority, core_limit + 2^32 * workers -> id, ServiceSettings; with the area's and the
    /// channel's descriptor
    create_tasks,
    destroy_tasks, ///< id ->
    /// room for so many -> id, room (a power of two); with the ring's (EventArea) and the channel's
    /// descriptor
    create_events,
    destroy_events, ///< id ->
    core_profiles,  ///< -> drm_overtake_core_profile of each core
    forget,         ///< id of a queue, recording ->
};

struct Request {
    Operation operation;
    std::uint32_t reserved;
    std::array<std::uint64_t, 2> arguments;
};

/// The operation's payload follows; if code is not 0, the error's text follows instead.
struct Reply {
    std::int32_t code;   ///< 0, or the errno of an Error
    std::uint32_t bytes; ///< of the payload or the text
    std::array<std::uint64_t, 2> values;
};

constexpr std::size_t reply_payload_bytes = 32768;

/// A job in QueueArea::jobs; its FCs follow, then its bindings.  A group's parts and the stages of
/// its FCs follow, an even number of stages.  A recording is a call of its own, whose answer is its
/// number in QueueArea::chosen_cores.  A replay has no FCs, and parts only to name their cores.
struct WireJob {
    std::uint64_t tag;
    std::uint64_t cores;
    std::int64_t custom_id;
    std::uint64_t model;
    std::int64_t deadline_ns;
    std::uint32_t priority;
    std::uint32_t core;
    std::uint32_t scratch_bytes;
    std::uint32_t fc_count;
    std::uint32_t binding_count;
    /// OVT_REFUSED_*: the reason why the client has no room for the job, or 0.  The server reports
    /// it, unless something else about the job is wrong.
    std::uint32_t room_refusal;
    std::uint64_t room_used;
    std::uint64_t group_record;
    std::uint32_t part_count;  ///< 0: no group
    std::uint32_t stage_count; ///< of the stages that follow: one for each FC
    std::uint32_t instances;   ///< of a recording; 0: the job is not recorded
    std::uint32_t recording;   ///< the one to replay; 0: none
};

constexpr std::uint32_t completion_entries = OVERTAKE_MAX_JOBS;
static_assert((completion_entries & (completion_entries - 1)) == 0);

/// The largest job alone fits, with its FCs, bindings, parts and stages.
constexpr std::size_t job_area_bytes = std::size_t{1} << 20;
static_assert(job_area_bytes >
              sizeof(WireJob) + OVERTAKE_MAX_FCS * (sizeof(overtake_fc) + sizeof(std::uint32_t)) +
                  OVERTAKE_MAX_BINDINGS * sizeof(overtake_binding) +
                  OVERTAKE_MAX_CORES * sizeof(overtake_part));

/// The memory that a queue shares with its client.  Submission is a call: the client writes jobs,
/// counts `calls` up and waits until `answers` says the same.  Completions are a ring.
struct QueueArea {
    std::atomic<std::uint32_t> calls;     ///< the client's
    std::atomic<std::uint32_t> job_bytes; ///< the client's: of `jobs` in this call
    std::atomic<std::uint32_t> answers;   ///< the server's
    std::uint32_t accepted;               ///< the server's: jobs of the call, from its first
    std::int32_t code;                    ///< errno of the job that was refused
    std::array<char, 492> text;           ///< the reason, ending in 0
    alignas(64) std::atomic<std::uint32_t> completion_head; ///< the client's: taken so far
    std::atomic<std::uint32_t> client_waits;                ///< it wants to be woken
    alignas(64) std::atomic<std::uint32_t> completion_tail; ///< the server's: come so far
    alignas(64) std::array<overtake_result, completion_entries> completions;
    std::array<std::uint32_t, OVERTAKE_MAX_JOBS>
        chosen_cores; ///< of the jobs of the call; see WireJob
    alignas(64) std::array<std::byte, job_area_bytes> jobs;
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

/// The calls of a queue of service mode, and the contents of TaskArea::call.
enum class TaskCall : std::uint32_t {
    /// WireTask, then of each segment WireSegment, its FCs, its bindings; of a group then its
    /// parts, and the stages of its FCs, an even number of them
    submit = 1,
    events,   ///< -> of each event overtake_task_event and its results
    cpu_done, ///< WireCpuDone
    cancel,   ///< tag -> whether there was such a task
};

struct WireTask {
    std::uint64_t tag;
    std::int64_t custom_id;
    std::uint64_t model;
    std::uint64_t deadline_ns;
    std::uint32_t priority;
    std::uint32_t core;
    std::uint32_t segment_count;
    std::uint32_t width; ///< the most parts that a segment has; 0: none has any
};

struct WireSegment {
    std::uint64_t cpu_key;
    std::uint64_t expected_ns;
    std::uint32_t fc_count; ///< 0: on the CPU
    std::uint32_t binding_count;
    std::uint32_t scratch_bytes;
    std::uint32_t part_count;  ///< 0: no group
    std::uint32_t stage_count; ///< of the stages that follow: one for each FC
    std::uint32_t reserved;
};

struct WireCpuDone {
    std::uint64_t tag;
    std::uint32_t segment;
    std::int32_t status;
};

/// The longest event alone fits.
constexpr std::size_t event_area_bytes = std::size_t{128} << 10;
constexpr std::size_t longest_event_bytes =
    sizeof(overtake_task_event) + OVT_SERVICE_MAX_SEGMENTS * sizeof(overtake_result);
static_assert(event_area_bytes > longest_event_bytes);

/// The memory that a queue of service mode shares with its client.  Everything is a call, as
/// submission is in QueueArea; a wake-up without an answer says that there are events.
struct TaskArea {
    std::atomic<std::uint32_t> calls;               ///< the client's
    std::atomic<std::uint32_t> operation;           ///< the client's: a TaskCall
    std::atomic<std::uint32_t> call_bytes;          ///< the client's: of `call`
    std::atomic<std::uint32_t> client_waits;        ///< the client wants to be woken for events
    alignas(64) std::atomic<std::uint32_t> answers; ///< the server's
    std::int32_t code;                              ///< 0, or the errno of an Error
    std::uint32_t answer_bytes;                     ///< of `answer`
    std::array<char, 492> text;                     ///< of the error, ending in 0
    alignas(64) std::atomic<std::uint32_t> news;    ///< the server's: changes when events come
    alignas(64) std::array<std::byte, event_area_bytes> answer;
    alignas(64) std::array<std::byte, job_area_bytes> call;
};

} // namespace overtake::server
