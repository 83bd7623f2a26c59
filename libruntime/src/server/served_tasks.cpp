// SPDX-License-Identifier: MIT
#include "server/served_tasks.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "refusal.hpp"

extern "C" {
#include "service/cost.h"
}

namespace overtake::server {

namespace {

const std::size_t task_area_bytes = round_to_pages(sizeof(TaskArea));
/// The most programs that have not run whose costs are kept; beyond it, all costs are computed
/// anew.
constexpr std::size_t costs_kept = 1024;
/// The memory of a queue of tasks besides its area: a cost is an entry, its links and its place.
constexpr std::size_t queue_bytes = sizeof(ServedTasks) + sizeof(EmbeddedContext) +
                                    2 * OVERTAKE_MAX_JOBS * sizeof(void*) + costs_kept * 64 +
                                    OVERTAKE_MAX_CORES * sizeof(ovt_sched_line) + 1024;
/// The memory of a task besides its segments: the allocator takes a piece for each part.
constexpr std::size_t task_bytes = sizeof(HostedTask) + 256;
/// The memory for each core that a task takes at once.
constexpr std::size_t core_bytes = sizeof(ovt_sched_gap) + sizeof(u32);
constexpr std::size_t segment_bytes = sizeof(ovt_sched_segment) + sizeof(u64) +
                                      sizeof(overtake_result) + sizeof(std::shared_ptr<void>);

/// The device address of the job's program.
std::uint64_t program_address(const Job& job) {
    for (const overtake_binding& binding : job.bindings)
        if (binding.region == OVERTAKE_REGION_PROGRAM)
            return binding.address;
    return 0;
}

} // namespace

ServedTasks::ServedTasks(FirmwareHost& host, Client& client, const QueueOptions& options,
                         std::uint32_t workers, std::shared_ptr<KeptPlaces> places)
    : host_(host), client_(client), charge_(client.memory, task_area_bytes + queue_bytes),
      place_(std::move(places)) {
    // This memory lets the client collect ends and report CPU segments even when all other memory
    // is used up.
    client.call.take(client.memory, 1);
    client.answer.take(client.memory, event_area_bytes);
    memory_ = make_shared_memory("overtake tasks", task_area_bytes);
    mapping_ = std::make_unique<GuardedMapping>(memory_.get(), task_area_bytes, client.server_ends);
    area_ = new (mapping_->data()) TaskArea;
    std::tie(channel_, client_end_) = make_channel();
    news_.emplace(client.delivery, [this] { deliver(); });
    context_ = host_.open_context(options, client_.counts);
    process_.context = context_.get();
    process_.wake = [this] { news_->post(); };
    try {
        host_.open_process(process_, workers, place_.is_held());
    } catch (...) {
        host_.close_context(*context_);
        throw;
    }
}

ServedTasks::~ServedTasks() {
    host_.close_process(process_);
}

void ServedTasks::forget_client_descriptors() {
    memory_ = Descriptor();
    client_end_ = Descriptor();
}

void ServedTasks::deliver() noexcept {
    area_->news.store(++delivered_);
    if (area_->client_waits.exchange(0) != 0)
        client_.wake_ups.send(channel_.get());
}

void ServedTasks::answer() {
    const std::uint32_t calls = area_->calls.load();
    if (calls == answered_)
        return;
    if (calls != answered_ + 1)
        throw Violation("several calls at once");
    const std::uint32_t operation = area_->operation.load();
    const std::uint32_t bytes = area_->call_bytes.load();
    if (bytes > job_area_bytes)
        throw Violation("a call longer than its area");
    area_->answer_bytes = 0;
    say(0, "");
    try {
        const std::span call = client_.call.take(client_.memory, bytes);
        if (bytes != 0)
            std::memcpy(call.data(), area_->call.data(), bytes);
        perform(operation, call);
    } catch (const Error& refused) {
        say(refused.code(), refused.what());
    } catch (const std::bad_alloc&) {
        say(ENOMEM, "task: no memory in the device server");
    }
    answered_ = calls;
    area_->answers.store(calls);
    client_.wake_ups.send(channel_.get());
}

void ServedTasks::say(std::int32_t code, const char* text) {
    area_->code = code;
    const std::size_t length = std::min(std::strlen(text), area_->text.size() - 1);
    std::memcpy(area_->text.data(), text, length);
    area_->text[length] = 0;
}

void ServedTasks::perform(std::uint32_t operation, std::span<const std::byte> bytes) {
    std::size_t position = 0;
    switch (static_cast<TaskCall>(operation)) {
    case TaskCall::submit:
        return submit(bytes);
    case TaskCall::events:
        return tell_events();
    case TaskCall::cpu_done: {
        WireCpuDone done;
        read(bytes, position, &done, 1);
        return cpu_done(done);
    }
    case TaskCall::cancel: {
        std::uint64_t tag;
        read(bytes, position, &tag, 1);
        const std::uint64_t was_there = host_.cancel_task(process_, tag);
        std::memcpy(area_->answer.data(), &was_there, sizeof(was_there));
        area_->answer_bytes = sizeof(was_there);
        return;
    }
    }
    throw Violation("a call for what is none");
}

void ServedTasks::submit(std::span<const std::byte> bytes) {
    WireTask wire;
    std::size_t position = 0;
    read(bytes, position, &wire, 1);
    if (wire.segment_count > bytes.size() / sizeof(WireSegment))
        throw Violation("a task that is none");
    check_service_task(
        wire.tag, wire.segment_count, wire.priority, wire.core,
        {.cores = host_.core_count(), .max_priority = context_->options.max_priority});
    if (wire.width != 0)
        check_task_width(wire.tag, wire.width, wire.core, host_.core_count());
    MemoryCharge charge = make_with_room(client_, [&] {
        return MemoryCharge(client_.memory, task_bytes + wire.segment_count * segment_bytes +
                                                wire.width * core_bytes);
    });
    auto task = std::make_unique<HostedTask>(wire.segment_count, wire.width);
    task->charge.emplace(std::move(charge));
    std::uint32_t most_parts = 0;
    for (std::size_t i = 0; i < wire.segment_count; i++)
        most_parts = std::max(most_parts, add_segment(*task, i, wire, bytes, position));
    if (position != bytes.size())
        throw Violation("more than a task");
    if (most_parts != wire.width)
        throw Violation("a width that is not that of its segments");
    task->tag = wire.tag;
    task->sched.segment_count = wire.segment_count;
    task->sched.priority = wire.priority;
    task->sched.core = wire.core;
    task->sched.custom_id = wire.custom_id;
    task->model = wire.model;
    task->sched.deadline = wire.deadline_ns;
    host_.submit_task(process_, std::move(task));
}

/// Adds a segment; returns the number of its parts.
std::uint32_t ServedTasks::add_segment(HostedTask& task, std::size_t index, const WireTask& wire,
                                       std::span<const std::byte> bytes, std::size_t& position) {
    WireSegment segment;
    read(bytes, position, &segment, 1);
    if (segment.reserved != 0)
        throw Violation("a segment that is none");
    if ((segment.part_count == 0) != (segment.stage_count == 0))
        throw Violation("parts without stages, or stages without parts");
    Job job;
    job.fcs = view<overtake_fc>(bytes, position, segment.fc_count);
    job.bindings = view<overtake_binding>(bytes, position, segment.binding_count);
    job.parts = view<overtake_part>(bytes, position, segment.part_count);
    job.stages = view<std::uint32_t>(bytes, position, segment.stage_count);
    if (segment.stage_count % 2 != 0)
        view<std::uint32_t>(bytes, position, 1);
    check_segment_parts(wire.tag, index, segment.fc_count != 0, job.parts, job.stages);
    if (segment.fc_count == 0) {
        check_cpu_segment(wire.tag, index, segment.binding_count, segment.scratch_bytes);
        task.segment_storage[index] = {segment.expected_ns, 0};
        task.key_storage[index] = ovt_record_key_of_cpu(segment.cpu_key);
        return 0;
    }
    job.tag = wire.tag;
    job.scratch_bytes = segment.scratch_bytes;
    job.priority = wire.priority;
    job.custom_id = wire.custom_id;
    job.model = wire.model;
    job.core = wire.core;
    add_job(task, index, job);
    return segment.part_count;
}

void ServedTasks::add_job(HostedTask& task, std::size_t index, const Job& job) {
    const JobBounds bounds{.cores = host_.core_count(),
                           .max_priority = context_->options.max_priority};
    std::shared_ptr<EmbeddedJob> made;
    try {
        made = make_job_of(client_, job, bounds);
    } catch (const Error& refused) {
        throw segment_refusal(job.tag, index, refused);
    }
    const auto fc_count = static_cast<u32>(job.fcs.size());
    const std::uint64_t key =
        made->group ? ovt_record_key_of_group(program_address(job), made->group)
                    : ovt_record_key_of_fcs(program_address(job), job.fcs.data(), fc_count);
    if (costs_.size() >= costs_kept)
        costs_.clear();
    const auto [cost, is_new] = costs_.try_emplace(key, 0);
    if (is_new)
        cost->second = made->group ? ovt_group_cost_ns(&host_.profile(), made->regions, made->group)
                                   : ovt_segment_cost_ns(&host_.profile(), made->regions,
                                                         job.fcs.data(), fc_count);
    task.segment_storage[index] = {cost->second, fc_count};
    task.key_storage[index] = key;
    task.jobs[index] = made;
}

void ServedTasks::tell_events() {
    // While the host is locked nothing is allocated and no memory of the client is touched.
    const std::span answer = client_.answer.take(client_.memory, event_area_bytes);
    std::size_t told = 0;
    const auto put = [&](const void* data, std::size_t bytes) {
        if (bytes != 0)
            std::memcpy(answer.data() + told, data, bytes);
        told += bytes;
    };
    host_.take_events(process_, [&](const ovt_service_task& task) {
        const overtake_task_event event = ovt_service_event_of(&task);
        const std::size_t results = event.result_count * sizeof(overtake_result);
        if (sizeof(event) + results > event_area_bytes - told)
            return false;
        put(&event, sizeof(event));
        put(task.results, results);
        return true;
    });
    if (told != 0)
        std::memcpy(area_->answer.data(), answer.data(), told);
    area_->answer_bytes = static_cast<std::uint32_t>(told);
}

void ServedTasks::cpu_done(const WireCpuDone& done) {
    const s32 error = host_.cpu_done(process_, done.tag, done.segment, done.status);
    if (error != 0)
        throw cpu_done_refusal(-error, done.tag, done.segment, done.status);
}

} // namespace overtake::server
