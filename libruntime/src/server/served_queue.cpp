// SPDX-License-Identifier: MIT
#include "server/served_queue.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <tuple>

#include "refusal.hpp"

namespace overtake::server {

namespace {

const std::size_t area_bytes = round_to_pages(sizeof(QueueArea));
/// The memory of a context's tables, with the allocator's share.
constexpr std::size_t context_bytes = sizeof(EmbeddedContext) +
                                      2 * OVERTAKE_MAX_JOBS * sizeof(void*) +
                                      OVERTAKE_MAX_CORES * sizeof(ovt_fw_turn) + 1024;

/// If the last job took less than this from arrival to end, an answer waits briefly for the end of
/// its job.  `brief_call_bytes` limits the call, since the wait delays deliveries of other queues.
constexpr std::uint64_t brief_ns = 20'000;
constexpr std::uint32_t brief_call_bytes = 16'384;

} // namespace

ServedQueue::ServedQueue(FirmwareHost& host, Client& client, const QueueOptions& options)
    : host_(host), client_(client),
      charge_(client.memory, area_bytes + sizeof(*this) + sizeof(Completions) + context_bytes),
      come_(std::make_unique<Completions>()),
      recordings_(client.addresses, client.memory, JobCharge::all) {
    memory_ = make_shared_memory("overtake queue", area_bytes);
    mapping_ = std::make_unique<GuardedMapping>(memory_.get(), area_bytes, client.server_ends);
    area_ = new (mapping_->data()) QueueArea;
    std::tie(channel_, client_end_) = make_channel();
    news_.emplace(client.delivery, [this] { deliver(); });
    context_ = host_.open_context(options, client_.counts, this);
}

ServedQueue::~ServedQueue() {
    host_.close_context(*context_);
}

void ServedQueue::forget_client_descriptors() {
    memory_ = Descriptor();
    client_end_ = Descriptor();
}

/// Touches no memory of the client: one of its pages may take long to come.
void ServedQueue::completed(const Completion& completion,
                            const std::shared_ptr<EmbeddedJob>& job) noexcept {
    const std::uint32_t tail = come_tail_.load(std::memory_order_relaxed);
    // A client that has more jobs than there are entries loses its own completions.
    if (tail - delivered_.load() == completion_entries)
        return;
    come_->list[tail % completion_entries] = completion;
    if (job->group_record)
        come_->groups[tail % completion_entries] = job;
    is_brief_.store(completion.end_ns - completion.queued_ns < brief_ns, std::memory_order_relaxed);
    come_tail_.store(tail + 1);
    news_->post();
}

/// Delivers all completions that have come, with one wake-up.
void ServedQueue::deliver() noexcept {
    const std::uint32_t tail = come_tail_.load();
    for (std::uint32_t i = delivered_.load(std::memory_order_relaxed); i != tail; i++) {
        if (std::shared_ptr<EmbeddedJob>& group = come_->groups[i % completion_entries]) {
            write_group_record(*group);
            group.reset();
        }
        area_->completions[i % completion_entries] = come_->list[i % completion_entries];
    }
    delivered_.store(tail);
    area_->completion_tail.store(tail);
    if (area_->client_waits.exchange(0) != 0)
        client_.wake_ups.send(channel_.get());
}

void ServedQueue::answer() {
    const std::uint32_t calls = area_->calls.load();
    if (calls == answered_)
        return;
    if (calls != answered_ + 1)
        throw Violation("several calls at once");
    const std::uint32_t bytes = area_->job_bytes.load();
    if (bytes > job_area_bytes)
        throw Violation("a call longer than its area");
    std::optional<Delivery::StandIn> stand_in;
    const std::uint32_t ended = come_tail_.load();
    // All jobs have ended and are collected: perhaps the client has one job at a time.
    const bool is_idle = ended == taken_ && ended == area_->completion_head.load();
    if (is_idle && is_brief_.load() && bytes <= brief_call_bytes)
        stand_in.emplace(client_.delivery);
    take_call(bytes);
    // This thread delivers the end of a brief job with the answer, and wakes no other thread for
    // it.
    if (stand_in && taken_ == ended + 1)
        stand_in->deliver_briefly([&] { return delivered_.load() == taken_; });
    answered_ = calls;
    area_->answers.store(calls);
    client_.wake_ups.send(channel_.get());
}

void ServedQueue::take_call(std::uint32_t bytes) {
    std::span<std::byte> call;
    try {
        call = client_.call.take(client_.memory, bytes);
    } catch (const Error& refused) {
        return say(0, refused.code(), refused.what());
    } catch (const std::bad_alloc&) {
        return say(0, ENOMEM, "submit: no memory in the device server");
    }
    if (bytes != 0)
        std::memcpy(call.data(), area_->jobs.data(), bytes);
    take_jobs(call);
}

void ServedQueue::say(std::size_t accepted, int code, const char* text) {
    area_->accepted = static_cast<std::uint32_t>(accepted);
    area_->code = code;
    const std::size_t length = std::min(std::strlen(text), area_->text.size() - 1);
    std::memcpy(area_->text.data(), text, length);
    area_->text[length] = 0;
}

namespace {

/// Reads a job; its FCs, bindings, parts and stages stay in the call.
Job read_job(std::span<const std::byte> call, std::size_t& position, WireJob& wire) {
    read(call, position, &wire, 1);
    Job job;
    job.tag = wire.tag;
    job.fcs = view<overtake_fc>(call, position, wire.fc_count);
    job.bindings = view<overtake_binding>(call, position, wire.binding_count);
    job.scratch_bytes = wire.scratch_bytes;
    job.priority = wire.priority;
    job.custom_id = wire.custom_id;
    job.model = wire.model;
    job.core = wire.core;
    job.deadline_ns = wire.deadline_ns;
    job.cores = wire.cores;
    if (wire.part_count != 0) {
        job.parts = view<overtake_part>(call, position, wire.part_count);
        job.stages = view<std::uint32_t>(call, position, wire.stage_count);
        if (wire.stage_count % 2 != 0)
            view<std::uint32_t>(call, position, 1);
    }
    if (wire.part_count != 0 || wire.recording != 0)
        job.group_record = wire.group_record;
    return job;
}

/// Memory for the cores of a replay's parts.
using PartCores = std::array<unsigned, OVERTAKE_MAX_CORES>;

/// Returns `job` as a replay.
Replay replay_of(const Job& job, std::uint32_t recording, PartCores& cores) {
    if (job.parts.size() > cores.size() || !job.fcs.empty() || !job.stages.empty())
        throw Violation("a replay that is none");
    Replay replay = replay_from(job, recording);
    std::ranges::transform(job.parts, cores.begin(), &overtake_part::core);
    replay.part_cores = std::span(cores).first(job.parts.size());
    return replay;
}

} // namespace

std::shared_ptr<EmbeddedJob> ServedQueue::make(const Job& job, std::uint32_t recording,
                                               const JobBounds& bounds) {
    if (recording == 0)
        return make_job_of(client_, job, bounds);
    PartCores cores;
    return recordings_.replay(replay_of(job, recording, cores), bounds, [&] {
        // A completion is delivered before the host's thread that reports it has released its job.
        host_.submit(*context_, {});
        client_.disposal.drain();
    });
}

/// Takes the recording of a call; a call has only one.
void ServedQueue::take_recording(const Job& job, std::uint32_t instances, const JobBounds& bounds) {
    try {
        area_->chosen_cores[0] =
            make_with_room(client_, [&] { return recordings_.record(job, instances, bounds); });
        say(1, 0, "");
    } catch (const Error& refused) {
        say(0, refused.code(), refused.what());
    } catch (const std::bad_alloc&) {
        say(0, ENOMEM, "record: no memory in the device server");
    }
}

void ServedQueue::forget(std::uint32_t recording) {
    answer(); // takes replays of an earlier call
    recordings_.forget(recording);
}

void ServedQueue::take_jobs(std::span<const std::byte> bytes) {
    struct ClearAtEnd {
        std::vector<std::shared_ptr<EmbeddedJob>>& made;
        ~ClearAtEnd() { made.clear(); }
    } clear_at_end{made_};
    std::vector<std::shared_ptr<EmbeddedJob>>& made = made_;
    const JobBounds bounds{.cores = host_.core_count(),
                           .max_priority = context_->options.max_priority};
    std::size_t admitted = 0;
    int code = 0;
    std::string text;
    const auto refuse = [&](int with, const char* what) {
        code = with;
        text = what;
    };
    try {
        for (std::size_t position = 0; position < bytes.size();) {
            WireJob wire;
            Job job = read_job(bytes, position, wire);
            if (wire.instances != 0) {
                if (position != bytes.size() || !made.empty() || wire.recording != 0)
                    throw Violation("a recording that is not alone");
                return take_recording(job, wire.instances, bounds);
            }
            if (made.size() == chosen_cores_.size())
                throw Violation("more jobs in a call than a queue has room for");
            if (job.cores != 0)
                job.chosen_core = &chosen_cores_[made.size()];
            made.push_back(make(job, wire.recording, bounds));
            if (wire.room_refusal == 0)
                continue;
            if (wire.room_refusal != OVT_REFUSED_TAG && wire.room_refusal != OVT_REFUSED_QUEUE_FULL)
                throw Violation("a reason that is none");
            made.pop_back();
            const ovt_verdict verdict{static_cast<ovt_refusal>(wire.room_refusal), 0};
            throw Error(refusal_code(verdict), admission_text(verdict, wire.tag, wire.room_used));
        }
    } catch (const Error& refused) {
        refuse(refused.code(), refused.what());
    } catch (const std::bad_alloc&) {
        refuse(ENOMEM, "submit: no memory in the device server");
    }
    try {
        host_.submit(*context_, made, &admitted);
    } catch (const Error& refused) {
        refuse(refused.code(), refused.what());
    } catch (const std::bad_alloc&) {
        refuse(ENOMEM, "submit: no memory in the device server");
    }
    taken_ += static_cast<std::uint32_t>(admitted);
    for (std::size_t i = 0; i < admitted; i++)
        area_->chosen_cores[i] = chosen_cores_[i];
    say(admitted, code, text.c_str());
}

bool ServedQueue::cancel(std::uint64_t tag) {
    answer(); // takes jobs of an earlier call
    return host_.cancel(*context_, tag);
}

} // namespace overtake::server
