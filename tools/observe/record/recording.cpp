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

/// Returns one value if the values of all cores are equal, otherwise the list.
Json of_each_core(const std::vector<std::uint32_t>& values) {
    const bool alike = std::ranges::adjacent_find(values, std::not_equal_to<>{}) == values.end();
    return alike ? Json(values.empty() ? 0 : values.front()) : Json(values);
}

/// Returns the durations of the FCs. FCs that never ran get 1 ns: their durations make no
/// difference.
template <typename Fcs>
Json durations(const Fcs& fcs, std::size_t count) {
    Json list = Json::array();
    for (const auto& fc : fcs)
        list.push_back(fc.end - fc.start);
    while (list.size() < count)
        list.push_back(1);
    return list;
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

void Recording::Part::end(std::uint64_t time) {
    if (running_since && time > *running_since)
        fcs.push_back({*running_since, time, stage});
    running_since.reset();
}

std::size_t Recording::Job::ran() const {
    std::size_t ran = 0;
    for (const Part& part : parts)
        ran += part.fcs.size();
    return ran;
}

std::size_t Recording::Job::planned() const {
    std::size_t planned = 0;
    for (const Part& part : parts)
        planned += part.fc_count;
    return planned;
}

std::uint32_t Recording::Job::last_stage() const {
    std::uint32_t last = 0;
    for (const Part& part : parts)
        if (!part.fcs.empty())
            last = std::max(last, part.fcs.back().stage);
    return last;
}

/// Returns whether the core started an FC at the instant of the job's arrival, just before the job.
/// In the scenario, such a job arrives 1 ns later.
bool Recording::has_chosen(const Event& event) const {
    const auto started = started_.find(event.core);
    return started != started_.end() && started->second == event.time_ns;
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
    switch (event.type) {
    case EventType::job_queue:
        models_[identity_of(event)] = event.model;
        break;
    case EventType::fc_submit:
        if (event.part == 0)
            submit(event);
        else
            submit_part(event);
        break;
    case EventType::fc_start:
        started_[event.core] = event.time_ns;
        if (Job* job = find(event))
            start_fc(*job, event);
        break;
    case EventType::fc_done:
        if (Job* job = find(event))
            end_fc(*job, event);
        break;
    case EventType::job_done:
        models_.erase(identity_of(event)); // the job never reached a core
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
    job.parts.push_back(
        {.core = event.core, .fc_count = event.fc_count, .fcs = {}, .running_since = {}});
    job.arrival = event.time_ns + (has_chosen(event) ? 1 : 0);
    if (const auto model = models_.find(identity_of(event)); model != models_.end()) {
        job.model = model->second;
        models_.erase(model);
    }
    jobs_.push_back(std::move(job));
}

/// Adds a part of a group. The parts come one after the other, before other events of the job.
void Recording::submit_part(const Event& event) {
    Job* const job = find(event);
    if (!job)
        return; // the first part arrived before the recording
    if (event.core == 0 || event.core > options_.cores)
        fail(event, fmt::format("core {}, but the device has {}", event.core, options_.cores));
    if (event.part != job->parts.size() || event.fc_count == 0)
        fail(event, fmt::format("part {} with {} FCs comes after {} parts", event.part,
                                event.fc_count, job->parts.size()));
    job->parts.push_back(
        {.core = event.core, .fc_count = event.fc_count, .fcs = {}, .running_since = {}});
    if (has_chosen(event))
        job->arrival = event.time_ns + 1;
}

Recording::Part& Recording::part_of(Job& job, const Event& event) {
    if (event.part >= job.parts.size())
        fail(event, fmt::format("part {}, but it has {}", event.part, job.parts.size()));
    return job.parts[event.part];
}

void Recording::start_fc(Job& job, const Event& event) {
    Part& part = part_of(job, event);
    if (part.running_since)
        fail(event, "an FC starts before the one before it has ended");
    if (event.fc_index != part.fcs.size())
        fail(event,
             fmt::format("FC {} starts, but {} have ended", event.fc_index, part.fcs.size()));
    if (event.stage >= job.planned() || (!part.fcs.empty() && event.stage < part.fcs.back().stage))
        fail(event, fmt::format("an FC of stage {} starts", event.stage));
    part.running_since = event.time_ns;
    part.stage = event.stage;
}

void Recording::end_fc(Job& job, const Event& event) {
    Part& part = part_of(job, event);
    if (!part.running_since)
        fail(event, "an FC ends that has not started");
    if (event.time_ns == *part.running_since)
        fail(event, "an FC took no time: only a device that keeps a timeline can be recorded");
    part.end(event.time_ns);
}

/// Ends a job. A replay cancels each job that was stopped, cancelled or failed.
void Recording::end_job(Job& job, const Event& event) {
    for (Part& part : job.parts)
        part.end(event.time_ns);
    job.over = true;
    const std::size_t ran = job.ran();
    if (event.executed > ran)
        fail(event, fmt::format("{} FCs have run, but {} are recorded", event.executed, ran));
    if (ran < job.planned()) {
        if (event.status == 0)
            fail(event, fmt::format("it has {} FCs, but {} are recorded", job.planned(), ran));
        job.cut = event.time_ns;
    } else if (event.status != 0) {
        // The job was cancelled while its last FC ran.
        for (const Part& part : job.parts)
            if (part.fcs.back().end == event.time_ns && part.fcs.back().start + 1 < event.time_ns)
                job.cut = event.time_ns - 1;
    }
    if (job.cut)
        job.cut = std::max(*job.cut, job.arrival);
}

/// Returns all jobs. Those that still live end with the recording.
std::vector<Recording::Job> Recording::finished() const {
    std::vector<Job> jobs = jobs_;
    for (Job& job : jobs) {
        if (job.over)
            continue;
        for (Part& part : job.parts)
            part.end(last_);
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
    Json json = {{"id", job_id(number)}, {"at", job.arrival - *origin_}};
    // A group may have one part, which goes through its stages alone.
    const bool is_group = job.parts.size() > 1 || job.last_stage() != 0;
    if (!is_group)
        json["core"] = job.submit.core;
    json["priority"] = job.submit.priority;
    json["custom_id"] = job.submit.custom_id;
    json["context"] = fmt::format("{}.{}", job.submit.client, job.submit.context);
    json["class"] = options_.name(job.submit.client, job.submit.pid, job.model);
    if (!is_group)
        json["fcs"] = durations(job.parts.front().fcs, job.parts.front().fc_count);
    else
        json["parts"] = parts_json(job);
    return json;
}

/// Returns the parts of a group. If the group was cut, all FCs that never ran get one further
/// stage: the events do not report their stages.
Json Recording::parts_json(const Job& job) {
    const bool is_whole = job.ran() == job.planned();
    const std::uint32_t stages = job.ran() == 0 ? 1 : job.last_stage() + (is_whole ? 1 : 2);
    Json parts = Json::array();
    for (const Part& part : job.parts) {
        std::vector<std::vector<std::uint64_t>> times(stages);
        for (const Fc& fc : part.fcs)
            times[fc.stage].push_back(fc.end - fc.start);
        times.back().resize(times.back().size() + part.fc_count - part.fcs.size(), 1);
        parts.push_back({{"core", part.core}, {"stages", std::move(times)}});
    }
    return parts;
}

/// Takes as the sync the shortest time from the end of a stage to the next stage's first FC in a
/// part that had to wait.
void Recording::see_sync(const Job& job, std::optional<std::uint64_t>& sync) {
    if (job.parts.size() < 2 || job.ran() == 0)
        return;
    struct Stage {
        std::uint64_t end = 0;
        std::size_t parts = 0; ///< parts that had FCs in the stage
        std::size_t part = 0;  ///< the last of these parts
    };
    std::vector<Stage> stages(job.last_stage() + 1);
    const auto each_first = [&](const auto& call) {
        for (std::size_t i = 0; i < job.parts.size(); i++)
            for (const Fc& fc : job.parts[i].fcs)
                if (&fc == job.parts[i].fcs.data() || (&fc)[-1].stage != fc.stage)
                    call(i, fc);
    };
    for (const Part& part : job.parts)
        for (const Fc& fc : part.fcs)
            stages[fc.stage].end = std::max(stages[fc.stage].end, fc.end);
    each_first([&](std::size_t part, const Fc& fc) {
        stages[fc.stage].parts++;
        stages[fc.stage].part = part;
    });
    each_first([&](std::size_t part, const Fc& fc) {
        if (fc.stage == 0)
            return;
        const Stage& before = stages[fc.stage - 1];
        if (fc.start >= before.end && (before.parts != 1 || before.part != part))
            sync = std::min(sync.value_or(UINT64_MAX), fc.start - before.end);
    });
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
    std::optional<std::uint64_t> sync;
    for (const Job& job : jobs)
        see_sync(job, sync);
    if (sync && *sync != 0)
        document["sync"] = *sync;
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
            fmt::format("{} jobs had begun before the recording and are left out. A load that "
                        "submits a job when another ends has fewer jobs in a replay, to its end: "
                        "begin the recording before the load",
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
