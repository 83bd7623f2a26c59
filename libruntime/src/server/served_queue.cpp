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

/// What a queue costs besides its jobs, charged to its client.
const std::size_t area_bytes = round_to_pages(sizeof(QueueArea));

} // namespace

ServedQueue::ServedQueue(FirmwareHost& host, Client& client, const QueueOptions& options)
    : host_(host), client_(client) {
    client_.memory->charge(area_bytes);
    try {
        memory_ = make_shared_memory("overtake queue", area_bytes);
        mapping_ = std::make_unique<GuardedMapping>(memory_.get(), area_bytes, client.server_ends);
        area_ = new (mapping_->data()) QueueArea;
        std::tie(channel_, client_end_) = make_channel();
        context_ = host_.open_context(options, client_.counts, this);
    } catch (...) {
        client_.memory->release(area_bytes);
        throw;
    }
}

ServedQueue::~ServedQueue() {
    host_.close_context(*context_);
    client_.memory->release(area_bytes);
}

void ServedQueue::forget_client_descriptors() {
    memory_ = Descriptor();
    client_end_ = Descriptor();
}

void ServedQueue::completed(const Completion& completion) noexcept {
    // Should a client have more jobs than there are entries, it loses its own.
    area_->completions[completion_tail_ % completion_entries] = completion;
    area_->completion_tail.store(++completion_tail_);
    if (area_->client_waits.exchange(0) != 0)
        send_wake_up(channel_.get());
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
    call_.resize(bytes);
    if (bytes != 0)
        std::memcpy(call_.data(), area_->jobs.data(), bytes);
    take_jobs(call_);
    answered_ = calls;
    area_->answers.store(calls);
    send_wake_up(channel_.get());
}

void ServedQueue::say(std::size_t accepted, int code, const char* text) {
    area_->accepted = static_cast<std::uint32_t>(accepted);
    area_->code = code;
    const std::size_t length = std::min(std::strlen(text), area_->text.size() - 1);
    std::memcpy(area_->text.data(), text, length);
    area_->text[length] = 0;
}

Job ServedQueue::read_job(std::span<const std::byte> bytes, std::size_t& position, WireJob& wire) {
    read(bytes, position, &wire, 1);
    if (wire.fc_count > bytes.size() / sizeof(overtake_fc) ||
        wire.binding_count > bytes.size() / sizeof(overtake_binding))
        throw Violation("a job is longer than its call");
    fcs_.resize(wire.fc_count);
    bindings_.resize(wire.binding_count);
    read(bytes, position, fcs_.data(), fcs_.size());
    read(bytes, position, bindings_.data(), bindings_.size());
    Job job;
    job.tag = wire.tag;
    job.fcs = fcs_;
    job.bindings = bindings_;
    job.scratch_bytes = wire.scratch_bytes;
    job.priority = wire.priority;
    job.custom_id = wire.custom_id;
    job.model = wire.model;
    job.core = wire.core;
    job.deadline_ns = wire.deadline_ns;
    job.cores = wire.cores;
    return job;
}

void ServedQueue::take_jobs(std::span<const std::byte> bytes) {
    std::vector<std::shared_ptr<EmbeddedJob>> made;
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
            if (made.size() == chosen_cores_.size())
                throw Violation("more jobs in a call than a queue has room for");
            if (job.cores != 0)
                job.chosen_core = &chosen_cores_[made.size()];
            made.push_back(make_job(job, bounds, *client_.addresses, client_.memory));
            made.back()->charge.emplace(client_.memory,
                                        sizeof(EmbeddedJob) + job.fcs.size() * sizeof(ovt_fc));
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
    for (std::size_t i = 0; i < admitted; i++)
        area_->chosen_cores[i] = chosen_cores_[i];
    say(admitted, code, text.c_str());
}

bool ServedQueue::cancel(std::uint64_t tag) {
    answer(); // what was submitted before
    return host_.cancel(*context_, tag);
}

} // namespace overtake::server
