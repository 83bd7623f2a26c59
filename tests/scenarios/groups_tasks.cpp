// SPDX-License-Identifier: MIT
#include "groups_tasks.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace overtake::test {

using nlohmann::json;

bool GroupsTasks::Task::has_bpu_before() const {
    return std::any_of(segments.begin(), segments.begin() + static_cast<std::ptrdiff_t>(segment),
                       [](const Segment& before) { return before.is_bpu(); });
}

const GroupsTasks::Segment* GroupsTasks::Task::next_bpu() const {
    for (std::size_t next = segment + 1; next < segments.size(); next++)
        if (segments[next].is_bpu())
            return &segments[next];
    return nullptr;
}

bool GroupsTasks::Task::is_in_gap() const {
    return (state == State::waits_for_worker || state == State::on_worker) && has_bpu_before() &&
           next_bpu();
}

/// Whether a task below 255 is between the submission of its first BPU segment and the end of its
/// last, and has not given its slots up.
bool GroupsTasks::Task::holds_slots() const {
    return !is_high() && (state == State::on_cores || (is_in_gap() && !gave_slots_up));
}

GroupsTasks::GroupsTasks(const json& scenario)
    : scenario_(scenario), board_(board_settings(scenario)),
      sync_(scenario.value("sync", std::uint64_t{0})) {
    for (const json& entry : scenario.at("tasks")) {
        tasks_.push_back(read_task(entry));
        if (std::ranges::find(processes_, tasks_.back().process) == processes_.end())
            processes_.push_back(tasks_.back().process);
    }
}

GroupsTasks::Task GroupsTasks::read_task(const json& entry) const {
    Task task;
    task.id = entry.at("id");
    task.at = entry.at("at");
    task.process = entry.value("process", "");
    task.priority = entry.value("priority", 0u);
    task.custom_id = entry.value("custom_id", std::int64_t{0});
    if (const std::size_t core = entry.value("core", std::size_t{0}))
        task.named = core - 1;
    const json models = entry.contains("models") ? entry["models"] : json{entry.at("model")};
    for (const json& model : models)
        for (const json& segment :
             scenario_.at("models").at(model.get<std::string>()).at("segments")) {
            task.segments.push_back(read_segment(segment));
            task.width = std::max(task.width, task.segments.back().parts.size());
            task.bpu += task.segments.back().alone;
        }
    if (scenario_.contains("overdue")) {
        std::uint64_t estimates = 0;
        for (const Segment& segment : task.segments)
            estimates += segment.estimate;
        const json& overdue = scenario_["overdue"];
        task.allowance =
            2 * std::max<std::uint64_t>(4 * overdue.at("min_time").get<std::uint64_t>(),
                                        overdue.value("factor", 4u) * estimates);
    }
    return task;
}

GroupsTasks::Segment GroupsTasks::read_segment(const json& entry) const {
    Segment segment;
    if (entry.contains("cpu")) {
        segment.cpu = entry["cpu"];
        segment.estimate = entry.value("estimate", segment.cpu);
        return segment;
    }
    segment.is_group = entry.contains("parts");
    if (segment.is_group)
        for (const json& part : entry["parts"])
            segment.parts.push_back(part.at("stages").get<Stages>());
    else
        segment.parts.push_back({entry.at("bpu").get<std::vector<std::uint64_t>>()});
    segment.alone = time_alone(segment.parts);
    return segment;
}

std::uint64_t GroupsTasks::time_alone(const std::vector<Stages>& parts) const {
    std::uint64_t sum = 0;
    for (std::size_t stage = 0; stage < parts.front().size(); stage++) {
        std::uint64_t longest = 0;
        for (const Stages& part : parts) {
            if (part[stage].empty())
                continue;
            bool waits = stage != 0;
            if (waits && !part[stage - 1].empty())
                waits = std::ranges::count_if(parts, [&](const Stages& other) {
                            return !other[stage - 1].empty();
                        }) > 1;
            longest = std::max(longest, std::accumulate(part[stage].begin(), part[stage].end(),
                                                        waits ? sync_ : std::uint64_t{0}));
        }
        sum += longest;
    }
    return sum;
}

std::uint64_t GroupsTasks::setting(const char* name, std::uint64_t otherwise) const {
    return scenario_.value("env", json::object()).value(name, otherwise);
}

json GroupsTasks::run() {
    while (const auto next = next_instant()) {
        now_ = next;
        at_instant();
    }
    return timeline();
}

std::optional<std::uint64_t> GroupsTasks::next_instant() const {
    std::optional<std::uint64_t> next;
    const auto consider = [&](std::uint64_t at) {
        if ((!now_ || at > *now_) && (!next || at < *next))
            next = at;
    };
    for (const Task& task : tasks_) {
        consider(task.at);
        if (task.state == State::on_worker)
            consider(task.cpu_end);
        if (task.late_at)
            consider(*task.late_at);
    }
    for (const json& cancel : scenario_.value("cancels", json::array()))
        consider(cancel.at("at"));
    if (now_)
        if (const auto device = board_.next_instant(*now_))
            consider(*device);
    return next;
}

/// Takes the steps of one instant in the contract's order.
void GroupsTasks::at_instant() {
    end_segments();
    for (Task& task : tasks_)
        if (task.at == *now_)
            task.state = State::waiting;
    for (const json& entry : scenario_.value("cancels", json::array()))
        if (entry.at("at") == *now_)
            cancel(*std::ranges::find(tasks_, entry.at("id").get<std::string>(), &Task::id));
    find_overdue();
    if (scenario_.value("service_mode", false))
        dispatch(tasks_.front());
    else
        for (const std::string& process : processes_)
            dispatch(*std::ranges::find(tasks_, process, &Task::process));
    for (const std::string& process : processes_)
        give_to_workers(process);
    board_.choose(*now_);
}

bool GroupsTasks::one_queue(const Task& a, const Task& b) const {
    return scenario_.value("service_mode", false) || a.process == b.process;
}

void GroupsTasks::end_segments() {
    const std::vector<std::size_t> jobs = board_.end_fcs(*now_);
    std::vector<Task*> ended;
    for (Task& task : tasks_) {
        const bool on_worker = task.state == State::on_worker && task.cpu_end == *now_;
        const bool on_cores = task.state == State::on_cores &&
                              std::ranges::find(jobs, task.job) != jobs.end() &&
                              board_.is_over(task.job);
        if (on_worker || on_cores)
            ended.push_back(&task);
    }
    std::ranges::sort(ended, {}, [](const Task* task) { return task->dispatch_number; });
    for (Task* task : ended)
        next_segment(*task);
}

/// Starts the allowed time of the current CPU segment, or of its wait for a worker.
void GroupsTasks::watch(Task& task) const {
    if (!scenario_.contains("overdue") || task.is_late)
        return;
    const json& overdue = scenario_["overdue"];
    const std::uint64_t limit =
        std::max<std::uint64_t>(overdue.at("min_time").get<std::uint64_t>(),
                                overdue.value("factor", 4u) * task.current().estimate);
    task.watched_since = *now_;
    task.late_at = *now_ + std::min(limit, task.allowance);
}

void GroupsTasks::stop_watching(Task& task) const {
    if (!task.late_at)
        return;
    task.late_at.reset();
    task.allowance -= std::min(task.allowance, *now_ - task.watched_since);
}

void GroupsTasks::find_overdue() {
    for (Task& task : tasks_)
        if (task.late_at && *task.late_at <= *now_) {
            stop_watching(task);
            task.is_late = task.was_late = task.gave_slots_up = true;
        }
}

void GroupsTasks::next_segment(Task& task) {
    if (!task.current().is_bpu()) {
        stop_watching(task);
        task.is_late = false;
    }
    if (task.is_cancelled || task.segment + 1 == task.segments.size())
        return end(task);
    task.segment++;
    enter(task);
}

void GroupsTasks::enter(Task& task) {
    if (!task.current().is_bpu()) {
        task.state = State::waits_for_worker;
        watch(task);
    } else if (task.has_bpu_before() && (!task.gave_slots_up || task.is_high()))
        submit(task);
    else
        task.state = State::ready;
}

void GroupsTasks::submit(Task& task) {
    std::vector<GroupsBoard::Part> parts;
    for (std::size_t i = 0; i < task.current().parts.size(); i++)
        parts.push_back({task.current().parts[i], task.cores.at(i)});
    task.job = board_.submit(*now_, task.id + "." + std::to_string(task.segment), task.is_high(),
                             task.current().is_group, std::move(parts));
    task.state = State::on_cores;
    task.gave_slots_up = false;
}

void GroupsTasks::end(Task& task) {
    task.state = State::over;
    task.late_at.reset();
    task.end = now_;
}

/// A task that waits ends at once; another task ends when its running CPU segment or FC ends.
void GroupsTasks::cancel(Task& task) {
    if (task.state == State::over || task.is_cancelled)
        return;
    task.is_cancelled = true;
    if (task.state == State::on_cores) {
        board_.cancel(*now_, task.job);
        if (board_.is_over(task.job))
            end(task);
    } else if (task.state != State::on_worker) {
        end(task);
    }
}

/// Lets the first task of the queue that may go go on, until no task may.
void GroupsTasks::dispatch(const Task& of_queue) {
    while (true) {
        std::vector<Task*> waiting;
        for (Task& task : tasks_)
            if (one_queue(task, of_queue) &&
                (task.state == State::waiting || task.state == State::ready))
                waiting.push_back(&task);
        std::ranges::sort(waiting, {}, [&](const Task* task) { return place(*task); });
        if (std::ranges::none_of(waiting, [&](Task* task) { return go(*task); }))
            return;
    }
}

/// Returns whether the task may go on; if so, its segment is submitted or waits for a worker.
bool GroupsTasks::go(Task& task) {
    if (task.state == State::waiting && !task.is_high() && !has_room(task))
        return false;
    if (task.current().is_bpu()) {
        const std::vector<std::size_t> allowed =
            task.is_high() && !task.named ? board_.all_cores() : allowed_cores(task);
        if (allowed.size() < task.width)
            return false;
        if (task.cores.empty())
            task.cores = board_.emptiest(task.width, allowed);
    }
    if (task.state == State::waiting) {
        task.dispatched = now_;
        task.dispatch_number = dispatches_++;
    }
    if (task.current().is_bpu())
        submit(task);
    else
        enter(task);
    return true;
}

bool GroupsTasks::has_room(const Task& task) const {
    const auto taken = std::ranges::count_if(tasks_, [&](const Task& other) {
        return one_queue(task, other) && !other.is_high() && other.dispatched && !other.was_late &&
               other.state != State::over;
    });
    return static_cast<std::uint64_t>(taken) < setting("HB_MAX_TASK_NUM", 8);
}

bool GroupsTasks::waits_for_slots(const Task& task) const {
    if (task.is_high())
        return false;
    return task.state == State::ready ||
           (task.state == State::waiting && task.current().is_bpu() && has_room(task));
}

/// Whether the task may take this core. A task that has had cores takes only these; a task that
/// names a core takes only that one; another task takes any core.
bool GroupsTasks::wants(const Task& task, std::size_t core) {
    if (!task.cores.empty())
        return std::ranges::find(task.cores, core) != task.cores.end();
    return !task.named || *task.named == core;
}

std::vector<std::size_t> GroupsTasks::allowed_cores(const Task& task) const {
    std::vector<std::size_t> allowed = board_.all_cores();
    std::erase_if(allowed, [&](std::size_t core) {
        if (!wants(task, core))
            return true;
        return !task.is_high() && (is_barred(task, core) || !has_free_slot(task, core));
    });
    return allowed;
}

bool GroupsTasks::is_barred(const Task& task, std::size_t core) const {
    return std::ranges::any_of(tasks_, [&](const Task& better) {
        return one_queue(task, better) && place(better) < place(task) && waits_for_slots(better) &&
               wants(better, core);
    });
}

bool GroupsTasks::has_free_slot(const Task& task, std::size_t core) const {
    const auto in_the_way = std::ranges::count_if(tasks_, [&](const Task& holder) {
        return one_queue(task, holder) && holder.holds_slots() &&
               std::ranges::find(holder.cores, core) != holder.cores.end() &&
               !gives_way(holder, task);
    });
    return static_cast<std::uint64_t>(in_the_way) < scenario_.value("slots", std::uint64_t{1});
}

/// Whether the gap of `holder` is open to the task `to`.
bool GroupsTasks::gives_way(const Task& holder, const Task& to) const {
    if (!holder.is_in_gap())
        return false;
    using Wide = __int128;
    const Wide whole = holder.current().estimate;
    Wide remaining = whole;
    if (holder.state == State::on_worker) // it began `cpu` before `cpu_end`
        remaining -= Wide{*now_} - (Wide{holder.cpu_end} - holder.current().cpu);
    remaining = std::max(remaining, Wide{0});
    const Wide next = holder.next_bpu()->alone;
    return (Wide{to.bpu} - remaining) * 100 < next * setting("HB_DNN_BPU_SCHEDULE_THRESHOLD", 10) ||
           Wide{to.bpu} < Wide{setting("HB_DNN_SCHEDULE_INSERT_FC_MAX_TIME", 1000)} * 1000 ||
           whole > Wide{setting("HB_DNN_SCHEDULE_WAIT_DISPATCH_TIME", 20)} * 1000;
}

void GroupsTasks::give_to_workers(const std::string& process) {
    const auto is_of = [&](const Task& task) { return task.process == process; };
    while (true) {
        const auto busy = std::ranges::count_if(tasks_, [&](const Task& task) {
            return is_of(task) && task.state == State::on_worker;
        });
        if (static_cast<std::uint64_t>(busy) >= setting("HB_MAX_THREAD_NUM", 4))
            return;
        Task* first = nullptr;
        const auto order = [](const Task& task) {
            return std::tuple(-static_cast<int>(task.priority), task.custom_id,
                              task.dispatch_number);
        };
        for (Task& task : tasks_)
            if (is_of(task) && task.state == State::waits_for_worker &&
                (!first || order(task) < order(*first)))
                first = &task;
        if (!first)
            return;
        first->state = State::on_worker;
        first->cpu_end = *now_ + first->current().cpu;
        stop_watching(*first);
        watch(*first);
        cpu_.push_back({static_cast<std::size_t>(first - tasks_.data()), first->segment, *now_,
                        first->cpu_end});
    }
}

json GroupsTasks::timeline() const {
    json timeline = board_.timeline();
    std::vector<CpuRun> runs = cpu_;
    std::ranges::stable_sort(runs, {},
                             [](const CpuRun& run) { return std::pair(run.start, run.task); });
    timeline["cpu"] = json::array();
    for (const CpuRun& run : runs)
        timeline["cpu"].push_back({{"task", tasks_[run.task].id},
                                   {"segment", run.segment},
                                   {"start", run.start},
                                   {"end", run.end}});
    timeline["tasks"] = json::array();
    const auto or_null = [](const std::optional<std::uint64_t>& time) {
        return time ? json(*time) : json(nullptr);
    };
    for (const Task& task : tasks_) {
        const std::size_t core = !task.cores.empty() ? task.cores.front() + 1
                                 : task.named        ? *task.named + 1
                                                     : 0;
        timeline["tasks"].push_back({{"id", task.id},
                                     {"core", core},
                                     {"arrival", task.at},
                                     {"dispatched", or_null(task.dispatched)},
                                     {"end", or_null(task.end)},
                                     {"cancelled", task.is_cancelled}});
    }
    return timeline;
}

} // namespace overtake::test
