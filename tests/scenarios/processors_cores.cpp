// SPDX-License-Identifier: MIT
#include "processors_cores.hpp"

#include <algorithm>

namespace overtake::test::processors {

namespace {

/// Returns the time when throttled to `factor` percent, rounded up.
Time throttled_time(Time time, Time factor) {
    return ceil_div(time * factor, 100);
}

} // namespace

std::optional<Time> Executor::start_of(RunNumber run) const {
    const auto start = starts_.find(run);
    return start == starts_.end() ? std::nullopt : std::optional(start->second);
}

void CoreExecutor::enter(const Work& work) {
    for (std::size_t index = 0; index < work.times.size(); index++)
        (work.high ? high_ : normal_)
            .push_back({work.run, index, work.high, index == 0 ? work.lead : 0, work.times[index]});
}

std::optional<Time> CoreExecutor::next_end() const {
    return running_ ? std::optional(records_[*running_].end) : std::nullopt;
}

std::vector<RunNumber> CoreExecutor::end(Time now) {
    if (next_end() != now)
        return {};
    const RunNumber run = records_[*running_].run;
    running_.reset();
    return has_fcs(run) ? std::vector<RunNumber>{} : std::vector{run};
}

bool CoreExecutor::has_fcs(RunNumber run) const {
    const auto is_of_run = [&](const Fc& fc) { return fc.run == run; };
    return std::ranges::any_of(high_, is_of_run) || std::ranges::any_of(normal_, is_of_run) ||
           std::ranges::any_of(committed_, is_of_run);
}

void CoreExecutor::choose(Time now, Time factor) {
    if (running_)
        return;
    std::deque<Fc>* const from = next_list();
    if (from == nullptr)
        return;
    const Fc fc = from->front();
    from->pop_front();
    starts_.emplace(fc.run, now);
    running_ = records_.size();
    const Time duration = fc.lead + throttled_time(fc.time, factor);
    records_.push_back({fc.run, fc.index, processor_, fc.high, now, now + duration});
}

/// Returns the list whose head runs next; commits a batch first if a new one begins.
std::deque<CoreExecutor::Fc>* CoreExecutor::next_list() {
    if (core_limit_ == 0) {
        if (high_.empty() && normal_.empty())
            return nullptr;
        if (high_.empty() || normal_.empty())
            return high_.empty() ? &normal_ : &high_;
        // Jobs arrive in the order of dispatch.
        return high_.front().run < normal_.front().run ? &high_ : &normal_;
    }
    if (!committed_.empty())
        return &committed_;
    if (!high_.empty())
        return &high_;
    while (committed_.size() < core_limit_ && !normal_.empty()) {
        committed_.push_back(normal_.front());
        normal_.pop_front();
    }
    return committed_.empty() ? nullptr : &committed_;
}

bool CoreExecutor::leave(RunNumber run) {
    for (std::deque<Fc>* list : {&high_, &normal_, &committed_})
        std::erase_if(*list, [&](const Fc& fc) { return fc.run == run; });
    return running_ && records_[*running_].run == run;
}

void CoreExecutor::stop(Time now) {
    if (running_)
        records_[*running_].end = now;
    running_.reset();
    high_.clear();
    normal_.clear();
    committed_.clear();
}

Time CoreExecutor::executed(RunNumber run, Time now) const {
    Time sum = 0;
    for (const FcRecord& record : records_)
        if (record.run == run)
            sum += std::min(now, record.end) - record.start;
    return sum;
}

void PoolExecutor::enter(const Work& work) {
    // Runs of priority 255 wait before the others.
    const auto place =
        std::ranges::find_if(waiting_, [&](const Work& other) { return work.high && !other.high; });
    waiting_.insert(place, work);
}

std::optional<Time> PoolExecutor::next_end() const {
    std::optional<Time> next;
    for (const auto& worker : workers_)
        if (worker && (!next || worker->end < *next))
            next = worker->end;
    return next;
}

std::vector<RunNumber> PoolExecutor::end(Time now) {
    std::vector<RunNumber> over;
    for (auto& worker : workers_) {
        if (!worker || worker->end != now)
            continue;
        over.push_back(worker->run);
        executed_[worker->run] = now - starts_.at(worker->run);
        worker.reset();
    }
    return over;
}

void PoolExecutor::choose(Time now, Time factor) {
    for (auto& worker : workers_) {
        if (worker || waiting_.empty())
            continue;
        const Work work = waiting_.front();
        waiting_.erase(waiting_.begin());
        Time duration = work.lead;
        for (const Time time : work.times)
            duration += throttled_time(time, factor);
        starts_[work.run] = now;
        worker = Execution{work.run, now + duration};
    }
}

bool PoolExecutor::leave(RunNumber run) {
    std::erase_if(waiting_, [&](const Work& work) { return work.run == run; });
    return std::ranges::any_of(workers_,
                               [&](const auto& worker) { return worker && worker->run == run; });
}

void PoolExecutor::stop(Time) {
    for (auto& worker : workers_)
        worker.reset();
    waiting_.clear();
}

Time PoolExecutor::executed(RunNumber run, Time now) const {
    const auto over = executed_.find(run);
    if (over != executed_.end())
        return over->second;
    const std::optional<Time> start = start_of(run);
    return start ? now - *start : 0;
}

std::vector<std::optional<RunNumber>> PoolExecutor::executing() const {
    std::vector<std::optional<RunNumber>> runs;
    for (const auto& worker : workers_)
        runs.push_back(worker ? std::optional(worker->run) : std::nullopt);
    return runs;
}

std::vector<RunNumber> PoolExecutor::waiting(bool only_high) const {
    std::vector<RunNumber> runs;
    for (const Work& work : waiting_)
        if (work.high || !only_high)
            runs.push_back(work.run);
    return runs;
}

} // namespace overtake::test::processors
