// SPDX-License-Identifier: MIT
#include "observe/record/recording.hpp"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <ostream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "overtake/device.hpp"

namespace overtake::record {
namespace {

using Json = nlohmann::ordered_json;

std::string job_id(std::size_t number) {
    return fmt::format("job {}", number);
}

std::string default_name(std::uint64_t client, std::uint32_t pid, std::uint64_t model) {
    if (model != 0)
        return fmt::format("model {}", model);
    return pid != 0 ? fmt::format("pid {}", pid) : fmt::format("client {}", client);
}

/// One value for all if they are alike.
Json of_each_core(const std::vector<std::uint32_t>& values) {
    const bool alike = std::ranges::adjacent_find(values, std::not_equal_to<>{}) == values.end();
    return alike ? Json(values.empty() ? 0 : values.front()) : Json(values);
}

} // namespace

Recording::Recording(Options options) : options_(std::move(options)) {
    if (!options_.name)
        options_.name = default_name;
}

void Recording::fail(const Event& event, const std::string& what) {
    throw Error(EINVAL, fmt::format("job {} of client {} at {} ns: {}; were events lost?",
                                    event.tag, event.client, event.time_ns, what));
}

Recording::Identity Recording::identity_of(const Event& event) {
    return {event.client, event.context, event.tag};
}

Recording::Job* Recording::find(const Event& event) {
    const auto found = live_.find(identity_of(event));
    if (found != live_.end())
        return &jobs_[found->second];
    unknown_.insert(identity_of(event));
    return nullptr;
}

void Recording::add(const Event& event) {
    if (event.device != options_.device)
        return;
    if (!origin_)
        origin_ = event.time_ns;
    if (event.time_ns < last_)
        fail(event, fmt::format("it comes after an event at {} ns", last_));
    last_ = event.time_ns;
    if (event.part != 0)
        fail(event, "its job has parts on several cores: such jobs cannot be recorded yet");
    switch (event.type) {
    case EventType::job_queue:
        models_[identity_of(event)] = event.model;
        break;
    case EventType::fc_submit:
        submit(event);
        break;
    case EventType::fc_start:
        started_[event.core] = event.time_ns;
        if (Job* job = find(event)) {
            if (job->running_since)
                fail(event, "an FC starts before the one before it has ended");
            if (event.fc_index != job->fcs.size())
                fail(event, fmt::format("FC {} starts, but {} have ended", event.fc_index,
                                        job->fcs.size()));
            job->running_since = event.time_ns;
        }
        break;
    case EventType::fc_done:
        if (Job* job = find(event))
            end_fc(*job, event);
        break;
    case EventType::job_done:
        models_.erase(identity_of(event)); // of one that never reached a core
        if (Job* job = find(event)) {
            end_job(*job, event);
            live_.erase(identity_of(event));
        } else {
            unknown_.erase(identity_of(event));
            unknown_jobs_++;
        }
        break;
    case EventType::core_limit:
        limits_.push_back(event);
        break;
    default:
        break;
    }
}

void Recording::submit(const Event& event) {
    if (event.core == 0 || event.core > options_.cores)
        fail(event, fmt::format("core {}, but the device has {}", event.core, options_.cores));
    if (event.fc_count == 0)
        fail(event, "it has no FCs");
    if (!live_.try_emplace(identity_of(event), jobs_.size()).second)
        fail(event, "another of that tag has not ended");
    Job job;
    job.submit = event;
    // The core chose before it came, but at the same instant: to the simulator that is later.
    const auto started = started_.find(event.core);
    const bool is_too_late = started != started_.end() && started->second == event.time_ns;
    job.arrival = event.time_ns + (is_too_late ? 1 : 0);
    if (const auto model = models_.find(identity_of(event)); model != models_.end()) {
        job.model = model->second;
        models_.erase(model);
    }
    jobs_.push_back(std::move(job));
}

void Recording::end_fc(Job& job, const Event& event) {
    if (!job.running_since)
        fail(event, "an FC ends that has not started");
    const std::uint64_t time = event.time_ns - *job.running_since;
    if (time == 0)
        fail(event, "an FC took no time: only a device that keeps a timeline can be recorded");
    job.fcs.push_back(time);
    job.running_since.reset();
}

/// One that was stopped, cancelled or failed: in a replay, it is cancelled.
void Recording::end_job(Job& job, const Event& event) {
    if (job.running_since && event.time_ns > *job.running_since)
        job.fcs.push_back(event.time_ns - *job.running_since);
    job.running_since.reset();
    job.over = true;
    if (event.executed > job.fcs.size())
        fail(event,
             fmt::format("{} FCs have run, but {} are recorded", event.executed, job.fcs.size()));
    if (job.fcs.size() < job.submit.fc_count) {
        if (event.status == 0)
            fail(event, fmt::format("it has {} FCs, but {} are recorded", job.submit.fc_count,
                                    job.fcs.size()));
        job.cut = event.time_ns;
    } else if (event.status != 0 && job.fcs.back() > 1) {
        // Cancelled while its last FC ran.
        job.cut = event.time_ns - 1;
    }
    if (job.cut)
        job.cut = std::max(*job.cut, job.arrival);
}

/// With those that still live, which end with the recording.
std::vector<Recording::Job> Recording::finished() const {
    std::vector<Job> jobs = jobs_;
    for (Job& job : jobs) {
        if (job.over)
            continue;
        if (job.running_since && last_ > *job.running_since)
            job.fcs.push_back(last_ - *job.running_since);
        job.cut = std::max(last_, job.arrival);
    }
    return jobs;
}

Json Recording::head() const {
    std::vector<std::uint32_t> limits = options_.core_limits;
    limits.resize(options_.cores);
    Json head = {{"version", 1},
                 {"kind", "fc"},
                 {"time_unit", "ns"},
                 {"cores", options_.cores},
                 {"core_limit", of_each_core(limits)}};
    if (std::ranges::any_of(options_.normal_floors, [](auto floor) { return floor != 0; })) {
        std::vector<std::uint32_t> floors = options_.normal_floors;
        floors.resize(options_.cores);
        head["normal_floor"] = of_each_core(floors);
    }
    if (options_.fair)
        head["fair"] = true;
    if (!options_.description.empty())
        head["description"] = options_.description;
    for (const Event& change : limits_)
        head["limits"].push_back(
            {{"at", change.time_ns - *origin_}, {"core", change.core}, {"limit", change.limit}});
    return head;
}

Json Recording::job_json(const Job& job, std::size_t number) const {
    Json fcs = job.fcs;
    // Those that never ran: how long they would have taken makes no difference.
    while (fcs.size() < job.submit.fc_count)
        fcs.push_back(1);
    return {{"id", job_id(number)},
            {"at", job.arrival - *origin_},
            {"core", job.submit.core},
            {"priority", job.submit.priority},
            {"custom_id", job.submit.custom_id},
            {"context", fmt::format("{}.{}", job.submit.client, job.submit.context)},
            {"class", options_.name(job.submit.client, job.submit.pid, job.model)},
            {"fcs", std::move(fcs)}};
}

Json Recording::document() const {
    if (lost_ != 0)
        throw Error(EINVAL, fmt::format("{} events were lost, so the recording is not whole; "
                                        "record for a shorter time or with a larger buffer",
                                        lost_));
    if (jobs_.empty())
        throw Error(EINVAL, "no job reached a core while it was recorded");
    const std::vector<Job> jobs = finished();
    Json document = head();
    Json cancels = Json::array();
    document["jobs"] = Json::array();
    for (std::size_t i = 0; i < jobs.size(); i++) {
        document["jobs"].push_back(job_json(jobs[i], i));
        if (jobs[i].cut)
            cancels.push_back({{"id", job_id(i)}, {"at", *jobs[i].cut - *origin_}});
    }
    if (!cancels.empty())
        document["cancels"] = std::move(cancels);
    return document;
}

void Recording::write(std::ostream& out) const {
    const Json document = this->document();
    const char* separator = "{";
    for (const auto& [key, value] : document.items()) {
        out << separator << Json(key).dump() << ": ";
        separator = ",\n ";
        if (!value.is_array() || !value.front().is_object()) {
            out << value.dump(-1, ' ', false, Json::error_handler_t::replace);
            continue;
        }
        const char* between = "[\n  ";
        for (const Json& item : value)
            out << std::exchange(between, ",\n  ")
                << item.dump(-1, ' ', false, Json::error_handler_t::replace);
        out << "]";
    }
    out << "}\n";
}

std::vector<std::string> Recording::notes() const {
    std::vector<std::string> notes;
    const std::uint64_t before = unknown_jobs_ + unknown_.size();
    if (before != 0)
        notes.push_back(
            fmt::format("{} jobs had begun before the recording and are left out: until "
                        "they had ended, a replay may differ",
                        before));
    const auto live = static_cast<std::uint64_t>(
        std::ranges::count_if(jobs_, [](const Job& job) { return !job.over; }));
    if (live != 0)
        notes.push_back(fmt::format("{} jobs had not ended with the recording: they are cancelled "
                                    "at its end",
                                    live));
    return notes;
}

} // namespace overtake::record
