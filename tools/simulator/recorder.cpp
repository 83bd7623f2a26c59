// SPDX-License-Identifier: MIT
#include "simulator/recorder.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>

#include <fmt/format.h>

#include "simulator/json_lines.hpp"

namespace overtake::simulator {

Recorder::Recorder(const Scenario& scenario) : scenario_(scenario) {
    tasks_.reserve(scenario.listed.size());
    for (const Listed& listed : scenario.listed)
        tasks_.push_back({.id = listed.id,
                          .task_class = listed.kind.task_class,
                          .core = listed.kind.core,
                          .arrival = listed.at,
                          .dispatched = {},
                          .end = 0,
                          .cancelled = false});
}

std::string Recorder::job_name(const Job& job) const {
    const std::string& id = tasks_[job.task].id;
    return scenario_.kind == Kind::fc ? id : fmt::format("{}.{}", id, job.segment);
}

void Recorder::arrived(LiveTask& task, std::uint64_t time) {
    if (task.load == LiveTask::not_a_load) {
        task.record = task.number;
        return;
    }
    task.record = tasks_.size();
    tasks_.push_back({.id = fmt::format("{}#{}", scenario_.loads[task.load].id, task.number),
                      .task_class = task.kind->task_class,
                      .core = task.kind->core,
                      .arrival = time,
                      .dispatched = {},
                      .end = 0,
                      .cancelled = false});
}

void Recorder::cpu_started(LiveTask& task, std::uint32_t segment, std::uint64_t time,
                           std::uint64_t end) {
    task.segment_record = cpu_.size();
    cpu_.push_back({task.record, segment, time, end});
}

void Recorder::abandoned(LiveTask& task, std::uint64_t time) {
    if (!cpu_.empty() && task.segment_record < cpu_.size()) {
        Cpu& cpu = cpu_[task.segment_record];
        if (cpu.task == task.record && cpu.segment == task.sched.segment)
            cpu.end = std::min(cpu.end, time);
    }
}

void Recorder::submitted(LiveTask& task, std::uint32_t segment, std::uint64_t time) {
    task.segment_record = jobs_.size();
    jobs_.push_back({.task = task.record,
                     .segment = segment,
                     .core = 0,
                     .arrival = time,
                     .start = {},
                     .end = 0,
                     .preemptions = 0,
                     .cancelled = false,
                     .parts = std::vector<Part>(task.parts().size())});
}

void Recorder::fc_started(LiveTask& task, unsigned core, bool high, std::uint32_t index,
                          std::uint64_t time, std::uint64_t end) {
    Job& job = jobs_[task.segment_record];
    fcs_.push_back(
        {task.segment_record, index, task.fc_part, task.fc_stage, core, high, time, end});
    if (!job.start)
        job.start = time;
    if (job.parts.empty())
        return;
    Part& part = job.parts[task.fc_part];
    if (!part.start)
        part.start = time;
    part.end = end;
}

void Recorder::preempted(LiveTask& task, unsigned core, std::uint64_t time) {
    preemptions_.push_back({task.segment_record, core, time});
}

void Recorder::job_ended(LiveTask& task, std::uint64_t time) {
    Job& job = jobs_[task.segment_record];
    job.core = task.job.placed_core;
    job.end = time;
    job.preemptions = task.job.preemptions;
    job.cancelled = task.job.status == OVT_JOB_CANCELLED;
    for (std::size_t i = 0; i < job.parts.size(); i++) {
        job.parts[i].core = task.parts()[i].placed_core;
        job.parts[i].preemptions = task.parts()[i].preemptions;
    }
}

void Recorder::ended(LiveTask& task, std::uint64_t time) {
    Task& record = tasks_[task.record];
    record.end = time;
    record.cancelled = task.cancelled;
    if (scenario_.kind == Kind::fc) {
        record.core = task.job.placed_core;
        return;
    }
    if (task.sched.placed_core != 0)
        record.core = task.sched.placed_core;
    if (task.sched.dispatch_sequence != 0)
        record.dispatched = task.sched.dispatch_time;
}

void Recorder::sort() {
    std::ranges::stable_sort(cpu_, {},
                             [](const Cpu& cpu) { return std::tuple(cpu.start, cpu.task); });
}

std::string Recorder::part_text(const Fc& fc) const {
    if (jobs_[fc.job].parts.empty())
        return "";
    return fmt::format(R"(, "part": {}, "stage": {})", fc.part, fc.stage);
}

std::string Recorder::parts_text(const Job& job) {
    std::string text;
    for (const Part& part : job.parts)
        text += fmt::format(R"({}{{"core": {}, "start": {}, "end": {}, "preemptions": {}}})",
                            text.empty() ? R"(, "parts": [)" : ", ", part.core, or_null(part.start),
                            or_null(part.end), part.preemptions);
    return text.empty() ? text : text + "]";
}

void Recorder::write(std::ostream& out) {
    sort();
    out << "{\"version\": 1";
    write_list(out, "fcs", fcs_, [&](const Fc& fc) {
        return fmt::format(
            R"({{"job": {}, "index": {}, "core": {}, "ring": "{}", "start": {}, "end": {}{}}})",
            json_text(job_name(jobs_[fc.job])), fc.index, fc.core, fc.high ? "high" : "normal",
            fc.start, fc.end, part_text(fc));
    });
    write_list(out, "jobs", jobs_, [&](const Job& job) {
        return fmt::format(R"({{"id": {}, "core": {}, "arrival": {}, "start": {}, "end": {}, )"
                           R"("preemptions": {}, "cancelled": {}{}}})",
                           json_text(job_name(job)), job.core, job.arrival, or_null(job.start),
                           job.end, job.preemptions, job.cancelled, parts_text(job));
    });
    if (scenario_.kind == Kind::task) {
        write_list(out, "cpu", cpu_, [&](const Cpu& cpu) {
            return fmt::format(R"({{"task": {}, "segment": {}, "start": {}, "end": {}}})",
                               json_text(tasks_[cpu.task].id), cpu.segment, cpu.start, cpu.end);
        });
        write_list(out, "tasks", tasks_, [&](const Task& task) {
            return fmt::format(R"({{"id": {}, "core": {}, "arrival": {}, "dispatched": {}, )"
                               R"("end": {}, "cancelled": {}}})",
                               json_text(task.id), task.core, task.arrival,
                               or_null(task.dispatched), task.end, task.cancelled);
        });
    }
    out << "\n}\n";
}

} // namespace overtake::simulator
