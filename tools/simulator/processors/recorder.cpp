// SPDX-License-Identifier: MIT
#include "simulator/processors/recorder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "simulator/json_lines.hpp"

namespace overtake::simulator::processors {
namespace {

std::string status_text(ovt_coord_status status) {
    switch (status) {
    case OVT_COORD_DONE:
        return "\"done\"";
    case OVT_COORD_FAILED:
        return "\"failed\"";
    case OVT_COORD_CANCELLED:
        return "\"cancelled\"";
    case OVT_COORD_DROPPED:
        return "\"dropped\"";
    case OVT_COORD_UNFINISHED:
        break;
    }
    return "null";
}

std::vector<int> units_of(std::uint64_t bits) {
    std::vector<int> units;
    for (; bits != 0; bits &= bits - 1)
        units.push_back(__builtin_ctzll(bits));
    return units;
}

} // namespace

ProcessorRecorder::ProcessorRecorder(const ProcessorScenario& scenario) : scenario_(scenario) {
    for (const Listed& listed : scenario.listed)
        tasks_.push_back({.id = listed.id, .arrival = listed.at});
}

void ProcessorRecorder::arrived(LiveTask& task, std::uint64_t time) {
    if (task.load == LiveTask::not_a_load) {
        task.record = task.number;
        return;
    }
    task.record = tasks_.size();
    tasks_.push_back(
        {.id = fmt::format("{}#{}", scenario_.loads[task.load].arrivals.id, task.number),
         .arrival = time});
}

void ProcessorRecorder::dispatched(LiveTask& task, LiveTask::Run& run, std::uint64_t time) {
    tasks_[task.record].dispatched = task.coord.dispatch_time;
    run.record = runs_.size();
    runs_.push_back({.task = task.record,
                     .number = run.run->number,
                     .units = run.run->units,
                     .processor = run.run->processor,
                     .dispatched = time,
                     .start = {}});
}

void ProcessorRecorder::fc_started(LiveTask&, LiveTask::Run& run, bool high, std::uint32_t index,
                                   std::uint64_t time) {
    run.fc_record = fcs_.size();
    fcs_.push_back(
        {run.record, index, scenario_.processors[run.run->processor].core, high, time, time});
}

void ProcessorRecorder::fc_ended(LiveTask&, LiveTask::Run& run, std::uint64_t time) {
    fcs_[run.fc_record].end = time;
}

void ProcessorRecorder::run_started(LiveTask&, LiveTask::Run& run, std::uint64_t time) {
    runs_[run.record].start = time;
}

void ProcessorRecorder::run_ended(LiveTask& task, LiveTask::Run& run, ovt_coord_status status,
                                  std::uint64_t time) {
    tasks_[task.record].retries = task.coord.retries;
    Run& record = runs_[run.record];
    record.end = time;
    record.status = status;
    if (scenario_.processors[record.processor].core != 0)
        record.preemptions = run.job.preemptions;
}

void ProcessorRecorder::ended(LiveTask& task, std::uint64_t time) {
    tasks_[task.record].end = time;
    tasks_[task.record].status = task.coord.status;
}

void ProcessorRecorder::write(std::ostream& out) {
    const auto core_of = [&](const Run& run) { return scenario_.processors[run.processor].core; };
    std::vector<const Run*> jobs;
    for (const Run& run : runs_)
        if (core_of(run) != 0)
            jobs.push_back(&run);
    out << "{\"version\": 1";
    write_list(out, "fcs", fcs_, [&](const Fc& fc) {
        const Run& run = runs_[fc.run];
        return fmt::format(
            R"({{"job": {}, "index": {}, "core": {}, "ring": "{}", "start": {}, "end": {}}})",
            json_text(fmt::format("{}.{}", tasks_[run.task].id, run.number)), fc.index, fc.core,
            fc.high ? "high" : "normal", fc.start, fc.end);
    });
    write_list(out, "jobs", jobs, [&](const Run* run) {
        return fmt::format(R"({{"id": {}, "core": {}, "arrival": {}, "start": {}, "end": {}, )"
                           R"("preemptions": {}, "cancelled": {}}})",
                           json_text(fmt::format("{}.{}", tasks_[run->task].id, run->number)),
                           core_of(*run), run->dispatched, or_null(run->start), run->end,
                           run->preemptions, run->status == OVT_COORD_CANCELLED);
    });
    write_list(out, "runs", runs_, [&](const Run& run) {
        return fmt::format(R"({{"task": {}, "run": {}, "units": [{}], "processor": {}, )"
                           R"("dispatched": {}, "start": {}, "end": {}, "status": {}}})",
                           json_text(tasks_[run.task].id), run.number,
                           fmt::join(units_of(run.units), ", "),
                           json_text(scenario_.processors[run.processor].name), run.dispatched,
                           or_null(run.start), run.end, status_text(run.status));
    });
    write_list(out, "tasks", tasks_, [&](const Task& task) {
        return fmt::format(R"({{"id": {}, "arrival": {}, "dispatched": {}, "end": {}, )"
                           R"("status": {}, "retries": {}}})",
                           json_text(task.id), task.arrival, or_null(task.dispatched),
                           or_null(task.end), status_text(task.status), task.retries);
    });
    out << "\n}\n";
}

} // namespace overtake::simulator::processors
