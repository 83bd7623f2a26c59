// SPDX-License-Identifier: MIT
#include "watch/jobs.hpp"

#include <cstddef>
#include <fstream>
#include <string_view>

#include <fmt/format.h>

namespace overtake::watch {

namespace {

bool is_about_job(EventType type) {
    switch (type) {
    case EventType::job_queue:
    case EventType::fc_submit:
    case EventType::fc_start:
    case EventType::fc_preempt:
    case EventType::fc_resume:
    case EventType::fc_done:
    case EventType::fc_timeout:
    case EventType::job_done:
        return true;
    default:
        return false;
    }
}

constexpr std::size_t cut_off = SIZE_MAX;

/// Of the UTF-8 character that `text` begins with; 0 if that is none, or one that tells a terminal
/// what to do: names are those of strangers.
std::size_t character_bytes(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = byte(0);
    if (lead < 0x80)
        return lead >= 0x20 && lead != 0x7f ? 1 : 0;
    if (lead < 0xc2 || lead > 0xf4)
        return 0;
    const std::size_t bytes = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    for (std::size_t i = 1; i < bytes; i++) {
        if (i == text.size())
            return cut_off;
        if ((byte(i) & 0xc0) != 0x80)
            return 0;
    }
    // Longer than it need be, half of a pair of UTF-16, or behind the last character.
    const bool is_none = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xed && byte(1) > 0x9f) ||
                         (lead == 0xf0 && byte(1) < 0x90) || (lead == 0xf4 && byte(1) > 0x8f);
    return is_none || (lead == 0xc2 && byte(1) < 0xa0) ? 0 : bytes;
}

std::string process_name(std::uint32_t pid) {
    std::ifstream file(fmt::format("/proc/{}/comm", pid));
    std::string name;
    std::getline(file, name);
    for (std::size_t at = 0; at < name.size();) {
        const std::size_t bytes = character_bytes(std::string_view(name).substr(at));
        const bool is_printed = bytes != 0 && bytes != cut_off;
        if (!is_printed)
            name[at] = '?';
        at += is_printed ? bytes : 1;
    }
    return name;
}

} // namespace

const Job* Jobs::follow(const Event& event) {
    if (over_)
        jobs_.erase(*over_);
    over_.reset();
    if (!is_about_job(event.type))
        return nullptr;
    const Key key{event.client, event.context, event.tag};
    // Older drivers tell of the submission alone.
    if (event.type == EventType::job_queue ||
        (event.type == EventType::fc_submit && !jobs_.contains(key)))
        jobs_[key] = {.queued_ns = event.time_ns,
                      .model = event.model,
                      .priority = event.priority,
                      .pid = event.pid};
    const auto found = jobs_.find(key);
    if (found == jobs_.end())
        return nullptr;
    Job& job = found->second;
    if (event.type == EventType::fc_start && job.start_ns == 0) {
        job.start_ns = event.time_ns;
        // A device that lags takes what arrives a little earlier than the host's clock says.
        job.queued_ns = std::min(job.queued_ns, job.start_ns);
    }
    if (event.type == EventType::job_done) {
        job.end_ns = event.time_ns;
        job.preemptions = event.preemptions;
        job.status = event.status;
        over_ = key;
    }
    return &job;
}

std::string model_name(std::uint64_t model) {
    std::string name;
    for (std::uint64_t rest = model; rest != 0; rest >>= 8)
        name += static_cast<char>(rest & 0xff);
    for (std::size_t at = 0; at < name.size();) {
        const std::size_t bytes = character_bytes(std::string_view(name).substr(at));
        if (bytes == 0 || (bytes == cut_off && at == 0))
            return fmt::format("{:#x}", model);
        if (bytes == cut_off)
            name.resize(at);
        at += bytes == cut_off ? 0 : bytes;
    }
    return name;
}

std::string owner_name(std::uint64_t model, std::uint32_t pid) {
    std::string name = model != 0 ? model_name(model) : process_name(pid);
    return name.empty() ? fmt::format("pid {}", pid) : fmt::format("{} (pid {})", name, pid);
}

} // namespace overtake::watch
