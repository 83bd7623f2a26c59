// SPDX-License-Identifier: MIT
//
// A device in a server process, as its clients use it.
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>

#include <fmt/format.h>

#include "embedded/memory.hpp"
#include "overtake/device.hpp"
#include "overtake/server.hpp"
#include "process_bound.hpp"
#include "recorded_job.hpp"
#include "refusal.hpp"
#include "server/client_channel.hpp"
#include "server/server_events.hpp"
#include "server/server_tasks.hpp"
#include "server/shared_memory.hpp"
#include "tag_set.hpp"

namespace overtake::server {

namespace {

class ServerBuffer final : public Buffer {
public:
    ServerBuffer(std::shared_ptr<const Connection> connection, std::size_t bytes)
        : connection_(std::move(connection)) {
        const Descriptor memory = make_shared_memory("overtake buffer", bytes);
        mapping_ = Mapping(memory.get(), bytes);
        address_ = connection_->call(Operation::create_buffer, 0, 0, memory.get()).values[0];
        data_ = mapping_.data();
        size_ = bytes;
    }
    ~ServerBuffer() override {
        try {
            connection_->call(Operation::destroy_buffer, address_);
        } catch (const Error&) { // it was removed with the server
        }
    }

private:
    std::shared_ptr<const Connection> connection_;
    Mapping mapping_;
};

class ServerQueue final : public Queue {
public:
    ServerQueue(std::shared_ptr<Device> device, std::shared_ptr<const Connection> connection,
                unsigned cores, const QueueOptions& options);
    ~ServerQueue() override;

    void submit(std::span<const Job> jobs) override { submit_all(jobs); }
    void replay(std::span<const Replay> replays) override { submit_all(replays); }
    std::uint32_t record(const Job& job, unsigned instances) override;
    void forget(std::uint32_t recording) override {
        connection_->call(Operation::forget, id_, recording);
    }
    std::size_t reap(std::span<Completion> out, std::int64_t deadline_ns) override;
    bool cancel(std::uint64_t tag) override;
    std::size_t in_flight() const noexcept override { return tags_.size(); }
    void interrupt() override { channel_->interrupt(); }

private:
    std::size_t take(std::span<Completion> out);
    void write(std::span<const std::byte> bytes);
    void write_job(const Job& job, const ovt_verdict& room, std::uint32_t instances = 0);
    void write_job(const Replay& replay, const ovt_verdict& room);
    bool fits(const Job& job) const;
    bool fits(const Replay& replay) const;
    JobBounds bounds() const { return {.cores = cores_, .max_priority = options_.max_priority}; }
    [[noreturn]] void refuse_here(const Job& job) const;
    [[noreturn]] void refuse_here(const Replay& replay) const;
    // An Item is a Job or a Replay.
    template <class Item>
    void submit_all(std::span<const Item> items);
    template <class Item>
    std::size_t call(std::span<const Item> items);
    void call();
    [[noreturn]] void refuse_as_answered() const;

    std::shared_ptr<Device> device_;
    std::shared_ptr<const Connection> connection_;
    const unsigned cores_;
    const QueueOptions options_;
    std::uint64_t id_;
    Mapping mapping_;
    QueueArea* area_;
    std::unique_ptr<ClientChannel> channel_;
    std::uint32_t head_ = 0;  ///< completions taken so far
    std::size_t written_ = 0; ///< bytes of the call that is being written
    TagSet tags_;
};

class ServerClock final : public ManualClock {
public:
    explicit ServerClock(const Connection& connection) : connection_(connection) {}
    std::uint64_t now_ns() const override {
        return connection_.call(Operation::clock_now).values[0];
    }
    void advance_to(std::uint64_t now_ns) override {
        connection_.call(Operation::clock_advance, now_ns);
    }

private:
    const Connection& connection_;
};

template <class Value>
std::vector<Value> values_of(std::span<const std::byte> payload) {
    std::vector<Value> values(payload.size() / sizeof(Value));
    if (!values.empty())
        std::memcpy(values.data(), payload.data(), values.size() * sizeof(Value));
    return values;
}

class ServerDevice final : public Device, public std::enable_shared_from_this<ServerDevice> {
public:
    explicit ServerDevice(const std::string& path)
        : connection_(std::make_shared<Connection>(path, call_patience)), clock_(*connection_),
          info_(info()) {}

    std::string_view backend() const noexcept override { return "server"; }
    drm_overtake_device_info info() const override {
        const auto all =
            values_of<drm_overtake_device_info>(connection_->call(Operation::info).payload);
        if (all.size() != 1)
            connection_->fail_gone();
        return all.front();
    }
    std::vector<drm_overtake_core_info> cores() const override {
        return values_of<drm_overtake_core_info>(connection_->call(Operation::cores).payload);
    }
    std::vector<drm_overtake_core_profile> core_profiles() const override {
        return values_of<drm_overtake_core_profile>(
            connection_->call(Operation::core_profiles).payload);
    }
    std::unique_ptr<Buffer> create_buffer(std::size_t bytes) override {
        if (const auto refusal = buffer_refusal(bytes))
            throw *refusal;
        return std::make_unique<ServerBuffer>(connection_, round_to_pages(bytes));
    }
    std::unique_ptr<Queue> create_queue(const QueueOptions& options) override {
        if (const auto refusal = queue_refusal(options))
            throw *refusal;
        return std::make_unique<ServerQueue>(shared_from_this(), connection_, info_.core_count,
                                             options);
    }
    std::unique_ptr<ServiceQueue>
    create_service_queue(const ServiceQueueOptions& options) override {
        QueueOptions queue;
        queue.max_priority = options.max_priority;
        queue.core_limit = options.core_limit;
        if (const auto refusal = queue_refusal(queue))
            throw *refusal;
        if (const auto refusal = workers_refusal(options.workers))
            throw *refusal;
        return make_server_tasks(shared_from_this(), connection_, info_.core_count, options);
    }
    std::unique_ptr<EventSource> events(const EventOptions& options) override {
        return make_server_events(shared_from_this(), connection_, options);
    }
    ManualClock* manual_clock() noexcept override {
        return info_.manual_clock != 0 ? &clock_ : nullptr;
    }

private:
    std::shared_ptr<const Connection> connection_;
    ServerClock clock_;
    const drm_overtake_device_info info_; ///< as at the beginning; for fields that never change
};

ServerQueue::ServerQueue(std::shared_ptr<Device> device,
                         std::shared_ptr<const Connection> connection, unsigned cores,
                         const QueueOptions& options)
    : device_(std::move(device)), connection_(std::move(connection)), cores_(cores),
      options_(options) {
    auto answer =
        connection_->call(Operation::create_queue, options.max_priority, options.core_limit);
    id_ = answer.values[0];
    make_or_give_back(*connection_, Operation::destroy_queue, id_, [&] {
        mapping_ = Mapping(answer.descriptors[0].get(), round_to_pages(sizeof(QueueArea)));
        area_ = std::launder(reinterpret_cast<QueueArea*>(mapping_.data()));
        channel_ = std::make_unique<ClientChannel>(connection_, std::move(answer.descriptors[1]),
                                                   options.interruptible);
    });
}

ServerQueue::~ServerQueue() {
    try {
        connection_->call(Operation::destroy_queue, id_);
    } catch (const Error&) { // it was removed with the server
    }
}

// Submission

void ServerQueue::write(std::span<const std::byte> bytes) {
    if (!bytes.empty())
        std::memcpy(area_->jobs.data() + written_, bytes.data(), bytes.size());
    written_ += bytes.size();
}

std::size_t wire_bytes(const Job& job) {
    const std::size_t group =
        job.parts.empty() ? 0 : job.parts.size_bytes() + job.stages.size_bytes() + sizeof(u32);
    return sizeof(WireJob) + job.fcs.size_bytes() + job.bindings.size_bytes() + group;
}

void ServerQueue::write_job(const Job& job, const ovt_verdict& room, std::uint32_t instances) {
    const WireJob wire{
        .tag = job.tag,
        .cores = job.cores,
        .custom_id = job.custom_id,
        .model = job.model,
        .deadline_ns = job.deadline_ns,
        .priority = job.priority,
        .core = job.core,
        .scratch_bytes = job.scratch_bytes,
        .fc_count = static_cast<std::uint32_t>(job.fcs.size()),
        .binding_count = static_cast<std::uint32_t>(job.bindings.size()),
        .room_refusal = static_cast<std::uint32_t>(room.reason),
        .room_used = tags_.size(),
        .group_record = job.group_record,
        .part_count = static_cast<std::uint32_t>(job.parts.size()),
        .stage_count = static_cast<std::uint32_t>(job.parts.empty() ? 0 : job.stages.size()),
        .instances = instances,
        .recording = 0,
    };
    write(bytes_of(wire));
    write(std::as_bytes(job.fcs));
    write(std::as_bytes(job.bindings));
    if (job.parts.empty())
        return;
    write(std::as_bytes(job.parts));
    write(std::as_bytes(job.stages));
    if (job.stages.size() % 2 != 0)
        write(bytes_of(std::uint32_t{0}));
}

void ServerQueue::write_job(const Replay& replay, const ovt_verdict& room) {
    const WireJob wire{
        .tag = replay.tag,
        .cores = replay.cores,
        .custom_id = replay.custom_id,
        .model = replay.model,
        .deadline_ns = replay.deadline_ns,
        .priority = replay.priority,
        .core = replay.core,
        .scratch_bytes = 0,
        .fc_count = 0,
        .binding_count = static_cast<std::uint32_t>(replay.bindings.size()),
        .room_refusal = static_cast<std::uint32_t>(room.reason),
        .room_used = tags_.size(),
        .group_record = replay.group_record,
        .part_count = static_cast<std::uint32_t>(replay.part_cores.size()),
        .stage_count = 0,
        .instances = 0,
        .recording = replay.recording,
    };
    write(bytes_of(wire));
    write(std::as_bytes(replay.bindings));
    for (const unsigned core : replay.part_cores)
        write(bytes_of(overtake_part{.fc_count = 0, .core = core}));
}

bool ServerQueue::fits(const Replay& replay) const {
    return replay.recording != 0 && replay.bindings.size() <= OVERTAKE_MAX_BINDINGS &&
           replay.part_cores.size() <= OVERTAKE_MAX_CORES &&
           sizeof(WireJob) + replay.bindings.size_bytes() +
                   replay.part_cores.size() * sizeof(overtake_part) <=
               job_area_bytes - written_;
}

void ServerQueue::refuse_here(const Replay& replay) const {
    ovt_verdict verdict = check_replay(replay, bounds());
    if (verdict.reason == OVT_ACCEPTED)
        verdict.reason =
            replay.recording == 0 ? OVT_REFUSED_NO_RECORDING : OVT_REFUSED_PARTS_OF_RECORD;
    throw Error(refusal_code(verdict), replay_refusal_text(verdict, replay, nullptr, bounds()));
}

void ServerQueue::refuse_here(const Job& job) const {
    const ovt_verdict verdict = check_job(job, bounds(), [](std::size_t, const overtake_binding&) {
        return OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE;
    });
    throw Error(refusal_code(verdict), refusal_text(verdict, job, bounds()));
}

bool ServerQueue::fits(const Job& job) const {
    // In this order no sum overflows.
    return !is_group_without_parts(job) && job.fcs.size() <= OVERTAKE_MAX_FCS &&
           job.bindings.size() <= OVERTAKE_MAX_BINDINGS && job.parts.size() <= OVERTAKE_MAX_CORES &&
           job.stages.size() <= OVERTAKE_MAX_FCS && wire_bytes(job) <= job_area_bytes - written_;
}

template <class Item>
void ServerQueue::submit_all(std::span<const Item> items) {
    while (!items.empty())
        items = items.subspan(call(items));
}

/// Makes a call of the bytes that were written.
void ServerQueue::call() {
    const std::uint32_t number = area_->calls.load(std::memory_order_relaxed) + 1;
    area_->job_bytes.store(static_cast<std::uint32_t>(written_));
    area_->calls.store(number);
    channel_->call(area_->answers, number);
}

void ServerQueue::refuse_as_answered() const {
    std::array<char, sizeof(QueueArea::text)> text = area_->text;
    text.back() = 0;
    throw Error(area_->code, text.data());
}

std::uint32_t ServerQueue::record(const Job& job, unsigned instances) {
    const Job part = recorded_part(job);
    written_ = 0;
    // The server takes a job with 0 instances for no recording.
    if (instances == 0 || !fits(part)) {
        const ovt_verdict verdict =
            check_recording(job, instances, bounds(), [](std::size_t, const overtake_binding&) {
                return OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE;
            });
        throw Error(refusal_code(verdict),
                    recording_refusal_text(verdict, job, instances, bounds(), 0));
    }
    write_job(part, {OVT_ACCEPTED, 0}, instances);
    call();
    if (area_->code != 0)
        refuse_as_answered();
    return area_->chosen_cores[0];
}

/// Submits as many jobs as one call takes; returns their number.
template <class Item>
std::size_t ServerQueue::call(std::span<const Item> jobs) {
    written_ = 0;
    std::size_t count = 0;
    bool is_refused = false; // jobs after a refused one are not in flight
    try {
        for (; count < jobs.size() && count < OVERTAKE_MAX_JOBS && !is_refused; count++) {
            const Item& job = jobs[count];
            if (!fits(job)) {
                if (count == 0)
                    refuse_here(job);
                break;
            }
            ovt_verdict room =
                ovt_check_room(tags_.contains(job.tag), static_cast<u32>(tags_.size()), 0);
            if (room.reason == OVT_ACCEPTED)
                tags_.insert(job.tag);
            is_refused = room.reason != OVT_ACCEPTED;
            write_job(job, room);
        }
    } catch (const Error&) {
        if (count == 0)
            throw;
        // The job is the first of the next call, if there is one.
    } catch (const std::bad_alloc&) {
        for (const Item& job : jobs.first(count))
            tags_.erase(job.tag);
        throw;
    }
    call();
    const std::size_t accepted = std::min<std::size_t>(area_->accepted, count);
    for (std::size_t i = 0; i < accepted; i++)
        if (jobs[i].cores != 0 && jobs[i].chosen_core)
            *jobs[i].chosen_core = area_->chosen_cores[i];
    if (accepted == count && area_->code == 0)
        return count;
    // A tag that is refused as used belongs to another job.
    for (std::size_t i = accepted; i < count; i++)
        if (!(is_refused && i + 1 == count))
            tags_.erase(jobs[i].tag);
    refuse_as_answered();
}

// Completion

std::size_t ServerQueue::take(std::span<Completion> out) {
    std::size_t count = 0;
    const std::uint32_t tail = area_->completion_tail.load();
    for (; count < out.size() && head_ != tail; count++) {
        out[count] = area_->completions[head_ % completion_entries];
        tags_.erase(out[count].tag);
        head_++;
    }
    area_->completion_head.store(head_, std::memory_order_relaxed);
    return count;
}

std::size_t ServerQueue::reap(std::span<Completion> out, std::int64_t deadline_ns) {
    if (deadline_ns < 0)
        throw Error(EINVAL, "reap: negative deadline");
    for (;;) {
        const std::size_t count = take(out);
        const bool interrupted = channel_->take_interrupt();
        if (count != 0 || out.empty() || tags_.empty() || interrupted)
            return count;
        if (!channel_->wait(deadline_ns, area_->client_waits,
                            [&] { return area_->completion_tail.load() != head_; }))
            return count;
    }
}

bool ServerQueue::cancel(std::uint64_t tag) {
    return tags_.contains(tag) && connection_->call(Operation::cancel, id_, tag).values[0] != 0;
}

} // namespace

} // namespace overtake::server

namespace overtake {

std::shared_ptr<Device> open_server(const std::string& path) {
    return bind_to_process(
        std::make_shared<server::ServerDevice>(path.empty() ? default_server_path() : path));
}

namespace {

/// Returns all pages of the status as one text.
std::string status_of(const server::Connection& connection) {
    constexpr std::size_t end_bytes = 2; // "]}"
    std::string text;
    for (std::uint64_t after = 0;;) {
        const auto answer = connection.call(server::Operation::status, after);
        const std::string page(reinterpret_cast<const char*>(answer.payload.data()),
                               answer.payload.size());
        const auto [last, clients_begin] = answer.values;
        if (after == 0)
            text = page;
        else if (clients_begin + end_bytes < page.size())
            text.replace(text.size() - end_bytes, end_bytes, ", " + page.substr(clients_begin));
        if (last <= after)
            return text;
        after = last;
    }
}

} // namespace

std::string server_status(const std::string& path) {
    return status_of(server::Connection(path.empty() ? default_server_path() : path));
}

ServerReport server_report(const std::string& path, std::chrono::milliseconds patience) {
    const server::Connection connection(path.empty() ? default_server_path() : path, patience);
    std::string status = status_of(connection);
    const auto cores = connection.call(server::Operation::cores);
    return {.status = std::move(status),
            .cores = server::values_of<drm_overtake_core_info>(cores.payload)};
}

} // namespace overtake
