// SPDX-License-Identifier: MIT
#include "watch/jobs.hpp"

#include <algorithm>
#include <fstream>

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

std::string process_name(std::uint32_t pid) {
    std::ifstream file(fmt::format("/proc/{}/comm", pid));
    std::string name;
    std::getline(file, name);
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
    const bool is_text = std::ranges::all_of(
        name, [](char c) { return (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f); });
    return is_text ? name : fmt::format("{:#x}", model);
}

std::string owner_name(std::uint64_t model, std::uint32_t pid) {
    std::string name = model != 0 ? model_name(model) : process_name(pid);
    return name.empty() ? fmt::format("pid {}", pid) : fmt::format("{} (pid {})", name, pid);
}

} // namespace overtake::watch
