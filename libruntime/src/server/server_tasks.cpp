// SPDX-License-Identifier: MIT
#include "server/server_tasks.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "embedded/memory.hpp"
#include "refusal.hpp"
#include "server/client_channel.hpp"
#include "server/read_wire.hpp"
#include "server/shared_memory.hpp"
#include "service_event.hpp"

namespace overtake::server {

namespace {

class ServerTasks final : public ServiceQueue {
public:
    ServerTasks(std::shared_ptr<Device> device, std::shared_ptr<const Connection> connection,
                unsigned cores, const ServiceQueueOptions& options);
    ~ServerTasks() override;

    const ServiceSettings& settings() const noexcept override { return settings_; }
    void submit(const ServiceTask& task) override;
    std::vector<ServiceEvent> reap(std::int64_t deadline_ns) override;
    void cpu_done(std::uint64_t tag, std::uint32_t segment, std::int32_t status) override;
    bool cancel(std::uint64_t tag) override;
    std::size_t live() const noexcept override { return live_; }
    void interrupt() override { channel_->interrupt(); }

private:
    /// Writes a part of a call; parts follow each other.  Throws Error E2BIG.
    void write(std::span<const std::byte> bytes);
    void write_segment(const ServiceTask& task, std::size_t index);
    /// Makes the call and returns its answer.  Throws Error: the server's, or ENODEV if it has
    /// ended.
    std::span<const std::byte> call(TaskCall operation);
    std::vector<ServiceEvent> take();

    const std::shared_ptr<Device> device_;
    const std::shared_ptr<const Connection> connection_;
    const unsigned cores_;
    const ServiceQueueOptions options_;
    ServiceSettings settings_{};
    std::uint64_t id_;
    Mapping mapping_;
    TaskArea* area_;
    std::unique_ptr<ClientChannel> channel_;
    std::size_t written_ = 0; ///< bytes of the call so far
    std::uint32_t seen_ = 0;  ///< the value of TaskArea::news
    std::size_t live_ = 0;
    bool events_lost_ = false;
};

ServerTasks::ServerTasks(std::shared_ptr<Device> device,
                         std::shared_ptr<const Connection> connection, unsigned cores,
                         const ServiceQueueOptions& options)
    : device_(std::move(device)), connection_(std::move(connection)), cores_(cores),
      options_(options) {
    auto answer = connection_->call(Operation::create_tasks, options.max_priority,
                                    options.core_limit | std::uint64_t{options.workers} << 32);
    if (answer.payload.size() != sizeof(settings_))
        connection_->fail_gone();
    std::memcpy(&settings_, answer.payload.data(), sizeof(settings_));
    id_ = answer.values[0];
    make_or_give_back(*connection_, Operation::destroy_tasks, id_, [&] {
        mapping_ = Mapping(answer.descriptors[0].get(), round_to_pages(sizeof(TaskArea)));
        area_ = std::launder(reinterpret_cast<TaskArea*>(mapping_.data()));
        channel_ = std::make_unique<ClientChannel>(connection_, std::move(answer.descriptors[1]),
                                                   options.interruptible);
    });
}

ServerTasks::~ServerTasks() {
    try {
        connection_->call(Operation::destroy_tasks, id_);
    } catch (const Error&) { // it was removed with the server
    }
}

// Calls

void ServerTasks::write(std::span<const std::byte> bytes) {
    if (bytes.size() > job_area_bytes - written_)
        throw Error(E2BIG, fmt::format("task: its FCs and bindings are more than {} bytes: make "
                                       "several tasks of it",
                                       job_area_bytes));
    if (!bytes.empty())
        std::memcpy(area_->call.data() + written_, bytes.data(), bytes.size());
    written_ += bytes.size();
}

std::span<const std::byte> ServerTasks::call(TaskCall operation) {
    const std::uint32_t number = area_->calls.load(std::memory_order_relaxed) + 1;
    area_->operation.store(static_cast<std::uint32_t>(operation));
    area_->call_bytes.store(static_cast<std::uint32_t>(written_));
    area_->calls.store(number);
    channel_->call(area_->answers, number);
    if (area_->code != 0) {
        std::array<char, sizeof(TaskArea::text)> text = area_->text;
        text.back() = 0;
        throw Error(area_->code, text.data());
    }
    return std::span(area_->answer)
        .first(std::min<std::size_t>(area_->answer_bytes, event_area_bytes));
}

void ServerTasks::submit(const ServiceTask& task) {
    written_ = 0;
    check_service_task(task.tag, task.segments.size(), task.priority, task.core,
                       {.cores = cores_, .max_priority = options_.max_priority});
    const std::size_t width = width_of(task);
    if (width != 0)
        check_task_width(task.tag, width, task.core, cores_);
    const WireTask wire{
        .tag = task.tag,
        .custom_id = task.custom_id,
        .model = task.model,
        .deadline_ns = task.deadline_ns,
        .priority = task.priority,
        .core = task.core,
        .segment_count = static_cast<std::uint32_t>(task.segments.size()),
        .width = static_cast<std::uint32_t>(width),
    };
    write(bytes_of(wire));
    for (std::size_t i = 0; i < task.segments.size(); i++)
        write_segment(task, i);
    call(TaskCall::submit);
    live_++;
}

void ServerTasks::write_segment(const ServiceTask& task, std::size_t index) {
    const ServiceSegment& segment = task.segments[index];
    // A number that does not fit is cut to one that is refused as well.
    const auto cut = [](std::size_t count) {
        return static_cast<std::uint32_t>(std::min<std::size_t>(count, UINT32_MAX));
    };
    check_segment_parts(task.tag, index, !segment.fcs.empty(), segment.parts, segment.stages);
    if (segment.parts.empty() != segment.stages.empty()) {
        const Job job = job_of(task, segment);
        const JobBounds bounds{.cores = cores_, .max_priority = options_.max_priority};
        const ovt_verdict verdict =
            check_job(job, bounds, [](std::size_t, const overtake_binding&) {
                return OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE;
            });
        throw segment_refusal(task.tag, index,
                              {refusal_code(verdict), refusal_text(verdict, job, bounds)});
    }
    const WireSegment wire{
        .cpu_key = segment.cpu_key,
        .expected_ns = segment.expected_ns,
        .fc_count = cut(segment.fcs.size()),
        .binding_count = cut(segment.bindings.size()),
        .scratch_bytes = segment.scratch_bytes,
        .part_count = cut(segment.parts.size()),
        .stage_count = cut(segment.stages.size()),
        .reserved = 0,
    };
    write(bytes_of(wire));
    write(std::as_bytes(segment.fcs));
    write(std::as_bytes(segment.bindings));
    write(std::as_bytes(segment.parts));
    write(std::as_bytes(segment.stages));
    if (segment.stages.size() % 2 != 0)
        write(bytes_of(std::uint32_t{0}));
}

void ServerTasks::cpu_done(std::uint64_t tag, std::uint32_t segment, std::int32_t status) {
    written_ = 0;
    const WireCpuDone done{.tag = tag, .segment = segment, .status = status};
    write(bytes_of(done));
    call(TaskCall::cpu_done);
}

bool ServerTasks::cancel(std::uint64_t tag) {
    written_ = 0;
    write(bytes_of(tag));
    std::uint64_t was_there = 0;
    std::size_t position = 0;
    read(call(TaskCall::cancel), position, &was_there, 1);
    return was_there != 0;
}

// Events

std::vector<ServiceEvent> ServerTasks::take() {
    std::vector<ServiceEvent> events;
    std::vector<Completion> results;
    written_ = 0;
    const std::span<const std::byte> bytes = call(TaskCall::events);
    events_lost_ = true; // until the loop has passed them on
    for (std::size_t position = 0; position < bytes.size();) {
        overtake_task_event told;
        read(bytes, position, &told, 1);
        if (told.result_count > OVERTAKE_MAX_SEGMENTS)
            connection_->fail_gone();
        results.resize(told.result_count);
        read(bytes, position, results.data(), results.size());
        events.push_back(make_service_event(told, results));
        live_ -= events.back().type == ServiceEvent::Type::ended;
    }
    events_lost_ = false;
    return events;
}

std::vector<ServiceEvent> ServerTasks::reap(std::int64_t deadline_ns) {
    if (deadline_ns < 0)
        throw Error(EINVAL, "reap: negative deadline");
    if (events_lost_)
        throw Error(ENOMEM, "events: some were lost for want of memory: make a new queue");
    for (;;) {
        const std::uint32_t news = area_->news.load();
        std::vector<ServiceEvent> events;
        if (news != seen_) {
            events = take();
            // Events that may not have fitted come with the next call.
            if (area_->answer_bytes <= event_area_bytes - longest_event_bytes)
                seen_ = news;
        }
        const bool interrupted = channel_->take_interrupt();
        if (!events.empty() || live_ == 0 || interrupted)
            return events;
        if (news == seen_ && !channel_->wait(deadline_ns, area_->client_waits,
                                             [&] { return area_->news.load() != seen_; }))
            return events;
    }
}

} // namespace

std::unique_ptr<ServiceQueue> make_server_tasks(std::shared_ptr<Device> device,
                                                std::shared_ptr<const Connection> connection,
                                                unsigned cores,
                                                const ServiceQueueOptions& options) {
    return std::make_unique<ServerTasks>(std::move(device), std::move(connection), cores, options);
}

} // namespace overtake::server
