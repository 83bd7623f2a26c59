// SPDX-License-Identifier: MIT
#include "observe/watch/jobs.hpp"

#include <cstddef>
#include <fstream>
#include <string_view>

#include <fmt/format.h>

#include "drop_oldest.hpp"
#include "printable.hpp"

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
    return printable(name);
}

} // namespace

const Job* Jobs::follow(const Event& event) {
    if (over_)
        jobs_.erase(*over_);
    over_.reset();
    if (event.type == EventType::ctx_destroy) // no more events of the context come
        jobs_.erase(jobs_.lower_bound({event.client, event.context, 0}),
                    jobs_.upper_bound({event.client, event.context, UINT64_MAX}));
    if (!is_about_job(event.type))
        return nullptr;
    const Key key{event.client, event.context, event.tag};
    // Older drivers report fc_submit alone.
    if (event.type == EventType::job_queue ||
        (event.type == EventType::fc_submit && !jobs_.contains(key))) {
        if (jobs_.size() >= most_jobs)
            dropped_ += drop_oldest(jobs_, [](const auto& of) { return of.second.queued_ns; });
        jobs_[key] = {.queued_ns = event.time_ns,
                      .model = event.model,
                      .priority = event.priority,
                      .pid = event.pid};
    }
    const auto found = jobs_.find(key);
    if (found == jobs_.end())
        return nullptr;
    Job& job = found->second;
    job.has_parts |= event.part != 0;
    if (event.type == EventType::fc_start && job.start_ns == 0) {
        job.start_ns = event.time_ns;
        // A device that lags may start a job a little before the time at which the host's clock has
        // it queued.
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

std::vector<std::uint32_t> Jobs::processes() const {
    std::set<std::uint32_t> pids;
    for (const auto& [key, job] : jobs_)
        pids.insert(job.pid);
    return {pids.begin(), pids.end()};
}

void Jobs::forget(const std::set<std::uint32_t>& pids) {
    std::erase_if(jobs_, [&](const auto& of) { return pids.contains(of.second.pid); });
}

std::string model_name(std::uint64_t model) {
    std::string name;
    for (std::uint64_t rest = model; rest != 0; rest >>= 8)
        name += static_cast<char>(rest & 0xff);
    for (std::size_t at = 0; at < name.size();) {
        const Utf8Character next = first_character(std::string_view(name).substr(at));
        if (next.cut_off && at != 0) {
            name.resize(at);
            break;
        }
        if (next.bytes == 0 || is_control_or_format(next.value))
            return fmt::format("{:#x}", model);
        at += next.bytes;
    }
    return name;
}

std::string owner_name(std::uint64_t model, std::uint32_t pid) {
    std::string name = model != 0 ? model_name(model) : process_name(pid);
    return name.empty() ? fmt::format("pid {}", pid) : fmt::format("{} (pid {})", name, pid);
}

} // namespace overtake::watch
