// SPDX-License-Identifier: MIT
#include "processors_board.hpp"

#include <algorithm>
#include <utility>

namespace overtake::test::processors {

Board::Board(const Scenario& scenario)
    : scenario_(scenario), records_(scenario), processors_(scenario.processors.size()),
      tasks_(scenario.tasks.size()) {
    for (std::size_t i = 0; i < processors_.size(); i++) {
        const Processor& processor = scenario.processors[i];
        ProcessorState& state = processors_[i];
        if (processor.pool) {
            auto pool = std::make_unique<PoolExecutor>(processor.workers);
            state.pool = pool.get();
            state.executor = std::move(pool);
        } else {
            auto core = std::make_unique<CoreExecutor>(i, processor.core_limit, fcs_);
            state.core = core.get();
            state.executor = std::move(core);
        }
    }
    for (std::size_t i = 0; i < tasks_.size(); i++)
        tasks_[i].run_of.resize(scenario.model_of(scenario.tasks[i]).units.size());
}

void Board::forget_ratios(Time now) {
    for (std::size_t i = 0; i < processors_.size(); i++)
        if (records_.throttled(i) && unfinished_on(i).empty() &&
            now - processors_[i].idle_since >= scenario_.retry_after)
            records_.forget_ratio(i);
}

void Board::end_executions(Time now) {
    std::vector<RunNumber> over;
    for (const ProcessorState& processor : processors_)
        for (const RunNumber run : processor.executor->end(now))
            over.push_back(run);
    std::ranges::sort(over);
    for (const RunNumber run : over)
        run_is_over(now, run);
}

void Board::run_is_over(Time now, RunNumber number) {
    const Run& run = runs_[number];
    TaskState& task = tasks_[run.task];
    if (task.closing) {
        end_run(now, number, Status::cancelled);
        end_task_if_closed(now, run.task);
        return;
    }
    const Time executed = processors_[run.processor].executor->executed(number, now);
    records_.put(scenario_.tasks[run.task].model, run.units, run.processor, executed - run.lead);
    end_run(now, number, Status::done);
    bool all_finished = true;
    for (std::size_t unit = 0; unit < task.run_of.size(); unit++)
        all_finished = all_finished && finished(run.task, unit);
    if (all_finished)
        end_task(now, run.task, Status::done);
}

void Board::end_run(Time now, RunNumber number, Status status) {
    Run& run = runs_[number];
    run.start = processors_[run.processor].executor->start_of(number);
    run.end = now;
    run.status = status;
    if (unfinished_on(run.processor).empty())
        processors_[run.processor].idle_since = now;
    changed_ = true;
}

void Board::end_task(Time now, std::size_t number, Status status) {
    TaskState& task = tasks_[number];
    task.end = now;
    task.status = status;
    task.reservation.reset();
    changed_ = true;
}

void Board::end_task_if_closed(Time now, std::size_t number) {
    const TaskState& task = tasks_[number];
    if (task.closing && !task.end && unfinished_of(number).empty())
        end_task(now, number, *task.closing);
}

/// The runs of the processor fail; the processor is tried again later.
void Board::fail(Time now, std::size_t number) {
    ProcessorState& processor = processors_[number];
    processor.works = false;
    if (!processor.in_use)
        return;
    processor.in_use = false;
    processor.interval = scenario_.retry_after;
    processor.trial = now + processor.interval;
    changed_ = true;
    processor.executor->stop(now);
    for (const RunNumber run : unfinished_on(number)) {
        end_run(now, run, Status::failed);
        TaskState& task = tasks_[runs_[run].task];
        for (const std::size_t unit : runs_[run].units)
            task.run_of[unit].reset();
        if (runs_[run].start)
            task.retries++;
        end_task_if_closed(now, runs_[run].task);
    }
    for (std::size_t task = 0; task < tasks_.size(); task++)
        if (tasks_[task].retries > 3)
            close(now, task, Status::failed);
}

void Board::try_failed_processors(Time now) {
    for (ProcessorState& processor : processors_) {
        if (processor.in_use || processor.trial != now)
            continue;
        if (processor.works) {
            processor.in_use = true;
            changed_ = true;
        } else {
            processor.interval = std::min(2 * processor.interval, 16 * scenario_.retry_after);
            processor.trial = now + processor.interval;
        }
    }
}

void Board::arrive(std::size_t task) {
    tasks_[task].arrived = true;
    changed_ = true;
}

void Board::close(Time now, std::size_t number, Status status) {
    TaskState& task = tasks_[number];
    if (task.end || task.closing)
        return;
    task.closing = status;
    for (const RunNumber run : unfinished_of(number))
        if (!processors_[runs_[run].processor].executor->leave(run))
            end_run(now, run, Status::cancelled);
    end_task_if_closed(now, number);
}

void Board::dispatch(Time now, std::size_t number, const std::vector<std::size_t>& units,
                     std::size_t processor) {
    TaskState& task = tasks_[number];
    const RunNumber run_number = runs_.size();
    const bool high = scenario_.tasks[number].priority == 255;
    Run run;
    run.task = number;
    run.number = task.runs++;
    run.units = units;
    run.processor = processor;
    run.dispatched = now;
    run.lead = lead(number, units.front(), processor);
    run.expected = run.lead + expected(number, units, processor);
    run.due = now + run.expected + std::ranges::min(free_times(now, high)[processor]);
    processors_[processor].executor->enter({run_number, high, run.lead, file_times(run)});
    for (const std::size_t unit : units)
        task.run_of[unit] = run_number;
    if (!task.dispatched)
        task.dispatched = now;
    runs_.push_back(run);
}

void Board::reserve(std::size_t task, std::optional<Reservation> reservation) {
    tasks_[task].reservation = reservation;
}

void Board::choose(Time now) {
    for (const ProcessorState& processor : processors_)
        processor.executor->choose(now, processor.factor);
}

bool Board::take_changed() {
    return std::exchange(changed_, false);
}

std::optional<Time> Board::next_end() const {
    std::optional<Time> next;
    for (const ProcessorState& processor : processors_) {
        const std::optional<Time> end = processor.executor->next_end();
        if (end && (!next || *end < *next))
            next = end;
    }
    return next;
}

std::optional<Time> Board::next_trial(Time now) const {
    std::optional<Time> next;
    for (std::size_t i = 0; i < processors_.size(); i++) {
        const ProcessorState& processor = processors_[i];
        const bool will_work = std::ranges::any_of(scenario_.events, [&](const Event& event) {
            return event.processor == i && event.kind == Event::Kind::recover && event.at > now;
        });
        if (!processor.in_use && (processor.works || will_work) &&
            (!next || processor.trial < *next))
            next = processor.trial;
    }
    return next;
}

bool Board::idle(std::size_t number) const {
    const Processor& processor = scenario_.processors[number];
    if (!in_use(number))
        return false;
    const std::vector<RunNumber> runs = unfinished_on(number);
    if (processor.pool)
        return runs.size() < processor.workers;
    const auto below =
        std::ranges::count_if(runs, [&](RunNumber run) { return !high(runs_[run]); });
    return static_cast<std::size_t>(below) < processor.depth;
}

bool Board::waits(std::size_t number) const {
    const TaskState& task = tasks_[number];
    if (!task.arrived || task.end || task.closing)
        return false;
    const std::vector<Unit>& units = scenario_.model_of(scenario_.tasks[number]).units;
    for (std::size_t unit = 0; unit < units.size(); unit++)
        if (!task.run_of[unit] &&
            std::ranges::all_of(units[unit].predecessors,
                                [&](std::size_t before) { return finished(number, before); }))
            return true;
    return false;
}

bool Board::has_unfinished_run(std::size_t task) const {
    return !unfinished_of(task).empty();
}

bool Board::all_left(std::size_t task) const {
    return std::ranges::none_of(tasks_[task].run_of,
                                [](const auto& run) { return run.has_value(); });
}

bool Board::finished(std::size_t task, std::size_t unit) const {
    const std::optional<RunNumber> run = tasks_[task].run_of[unit];
    return run && runs_[*run].status == Status::done;
}

bool Board::can_run(std::size_t task, std::size_t unit, std::size_t processor) const {
    return in_use(processor) && scenario_.can_run(scenario_.tasks[task], unit, processor);
}

Time Board::lead(std::size_t number, std::size_t first_unit, std::size_t processor) const {
    const Model& model = scenario_.model_of(scenario_.tasks[number]);
    Time lead = scenario_.processors[processor].overhead;
    for (const std::size_t before : model.units[first_unit].predecessors)
        lead += scenario_.move(model.units[before], runs_[*tasks_[number].run_of[before]].processor,
                               processor);
    return lead;
}

Time Board::expected(std::size_t task, const std::vector<std::size_t>& units,
                     std::size_t processor) const {
    return records_.expected(scenario_.tasks[task].model, units, processor);
}

/// Returns the times of the file: for a core its FCs, for a pool one for each unit.
std::vector<Time> Board::file_times(const Run& run) const {
    const Model& model = scenario_.model_of(scenario_.tasks[run.task]);
    std::vector<Time> times;
    for (const std::size_t unit : run.units)
        for (const Time time :
             model.units[unit].time.at(scenario_.processors[run.processor].class_name))
            times.push_back(time);
    return times;
}

std::vector<RunNumber> Board::unfinished_on(std::size_t processor) const {
    std::vector<RunNumber> runs;
    for (RunNumber run = 0; run < runs_.size(); run++)
        if (runs_[run].processor == processor && !runs_[run].status)
            runs.push_back(run);
    return runs;
}

std::vector<RunNumber> Board::unfinished_of(std::size_t task) const {
    std::vector<RunNumber> runs;
    for (RunNumber run = 0; run < runs_.size(); run++)
        if (runs_[run].task == task && !runs_[run].status)
            runs.push_back(run);
    return runs;
}

std::vector<std::vector<Time>> Board::free_times(Time now, bool high) const {
    std::vector<std::vector<Time>> free_times(processors_.size());
    for (std::size_t i = 0; i < processors_.size(); i++) {
        if (!in_use(i))
            continue;
        if (processors_[i].pool != nullptr)
            free_times[i] = free_times_of_pool(now, i, high);
        else
            free_times[i] = {free_time_of_core(now, i, high)};
    }
    return free_times;
}

Time Board::free_time_of_core(Time now, std::size_t processor, bool high) const {
    const std::vector<RunNumber> runs = unfinished_on(processor);
    Time sum = 0;
    for (const RunNumber run : runs)
        sum += runs_[run].expected - processors_[processor].core->executed(run, now);
    sum = std::max<Time>(sum, 0);
    const std::size_t limit = scenario_.processors[processor].core_limit;
    if (!high || limit == 0)
        return sum;
    __int128 most = 0;
    for (const RunNumber run : runs)
        if (this->high(runs_[run]))
            most += runs_[run].expected;
    const auto below =
        std::ranges::find_if(runs, [&](RunNumber run) { return !this->high(runs_[run]); });
    if (below != runs.end())
        most += static_cast<__int128>(limit) * std::ranges::max(file_times(runs_[*below]));
    return static_cast<Time>(std::min<__int128>(sum, most));
}

std::vector<Time> Board::free_times_of_pool(Time now, std::size_t processor, bool high) const {
    const PoolExecutor& pool = *processors_[processor].pool;
    std::vector<RunNumber> waiting = pool.waiting(high);
    std::vector<Time> free_times;
    for (const std::optional<RunNumber> run : pool.executing()) {
        Time time = 0;
        if (run) {
            time = std::max<Time>(runs_[*run].expected - pool.executed(*run, now), 0);
        } else if (!waiting.empty()) {
            time = runs_[waiting.front()].expected;
            waiting.erase(waiting.begin());
        }
        free_times.push_back(time);
    }
    Time sum = 0;
    for (const RunNumber run : waiting)
        sum += runs_[run].expected;
    for (Time& time : free_times)
        time += sum / static_cast<Time>(free_times.size());
    return free_times;
}

Time Board::reserved_by_others(std::size_t task, std::size_t processor) const {
    Time sum = 0;
    for (std::size_t other = 0; other < tasks_.size(); other++) {
        const std::optional<Reservation>& reservation = tasks_[other].reservation;
        if (other != task && reservation && reservation->processor == processor)
            sum += reservation->time;
    }
    return sum;
}

Situation Board::situation(Time now, std::size_t number,
                           std::vector<std::vector<Time>> free_times) const {
    const Model& model = scenario_.model_of(scenario_.tasks[number]);
    Situation situation{
        .model = model,
        .left = {},
        .finished = {},
        .where = {},
        .available = {},
        .can_run = [this, number](std::size_t unit,
                                  std::size_t q) { return can_run(number, unit, q); },
        .expected = [this, number](const std::vector<std::size_t>& units,
                                   std::size_t q) { return expected(number, units, q); },
        .move = [this,
                 &model](std::size_t unit, std::size_t from,
                         std::size_t to) { return scenario_.move(model.units[unit], from, to); },
        .overheads = {},
        .free_times = std::move(free_times),
        .latest_due = 0,
    };
    for (const Processor& processor : scenario_.processors)
        situation.overheads.push_back(processor.overhead);
    for (std::size_t unit = 0; unit < model.units.size(); unit++) {
        const std::optional<RunNumber> run = tasks_[number].run_of[unit];
        const bool is_finished = finished(number, unit);
        situation.left.push_back(!run);
        situation.finished.push_back(is_finished);
        situation.where.push_back(run ? std::optional(runs_[*run].processor) : std::nullopt);
        situation.available.push_back(
            !run || is_finished ? 0 : std::max<Time>(0, runs_[*run].due - now));
    }
    for (const RunNumber run : unfinished_of(number))
        situation.latest_due = std::max(situation.latest_due, runs_[run].due - now);
    return situation;
}

} // namespace overtake::test::processors
