// SPDX-License-Identifier: MIT
#include "observe/blame/task_queue.hpp"

#include <algorithm>

namespace overtake::blame {

void TaskQueue::Line::count(std::uint64_t time) {
    if (time > since && !tasks.empty()) {
        first.add(first_key, time - since);
        if (tasks.size() > 1)
            others.add(others_key, time - since);
    }
    since = time;
}

/// Whoever is in it stands where the old rules have put him.
void TaskQueue::set_rules(std::uint32_t slots, std::uint32_t task_limit, bool share) {
    rules_.slots = slots;
    rules_.task_limit = task_limit;
    if (empty())
        rules_.share = share;
}

void TaskQueue::see_core(std::uint16_t core) {
    rules_.cores = std::max<std::uint32_t>(rules_.cores, core);
}

TaskQueue::LineKey TaskQueue::key_of(const QueuedTask& task) const {
    return {rules_.share ? task.client : 0, task.line_core, task.ready};
}

/// What `task` has waited for as the first, or not the first, that it was until now.
void TaskQueue::collect(const Line& line, QueuedTask& task) {
    const Meter& meter = task.first ? line.first : line.others;
    meter.since(task.snapshot, [&](std::uint32_t key, std::uint64_t ns) {
        task.parts.add(key, ns);
        task.waited += ns;
    });
}

/// Its first task may have become one, and the second have been one.
void TaskQueue::look_at_first(Line& line) {
    std::size_t at = 0;
    for (auto i = line.tasks.begin(); i != line.tasks.end() && at < 2; ++i, ++at) {
        QueuedTask& task = **i;
        if (task.first == (at == 0))
            continue;
        collect(line, task);
        task.first = at == 0;
        task.snapshot = task.first ? line.first.now() : line.others.now();
    }
}

void TaskQueue::join(QueuedTask& task, std::uint16_t core, bool ready, std::uint64_t time) {
    task.waits = true;
    task.ready = ready;
    task.line_core = core;
    task.joined = time;
    task.waited = 0;
    Line& line = lines_[key_of(task)];
    line.count(time);
    line.tasks.insert(&task);
    task.first = *line.tasks.begin() == &task;
    task.snapshot = task.first ? line.first.now() : line.others.now();
    look_at_first(line);
    if (!ready)
        change_waiting(task.client, 1);
    settle(time);
}

void TaskQueue::leave(QueuedTask& task, std::uint64_t time) {
    const auto found = lines_.find(key_of(task));
    Line& line = found->second;
    line.count(time);
    collect(line, task);
    task.parts.add(part_key(Cause::host), time - task.joined - task.waited);
    task.waits = false;
    task.snapshot = {};
    line.tasks.erase(&task);
    if (line.tasks.empty())
        lines_.erase(found);
    else
        look_at_first(line);
    if (!task.ready)
        change_waiting(task.client, -1);
    settle(time);
}

/// A client that waits and has no place has one kept.
bool TaskQueue::place_kept(std::uint64_t client) const {
    return waiting_of_.contains(client) && !counted_of_.contains(client);
}

void TaskQueue::change_waiting(std::uint64_t client, int by) {
    places_kept_ -= place_kept(client);
    const auto found = waiting_of_.try_emplace(client, 0).first;
    found->second += static_cast<std::uint32_t>(by);
    if (found->second == 0)
        waiting_of_.erase(found);
    places_kept_ += place_kept(client);
}

void TaskQueue::change_counted(std::uint64_t client, int by) {
    places_kept_ -= place_kept(client);
    const auto found = counted_of_.try_emplace(client, 0).first;
    found->second += static_cast<std::uint32_t>(by);
    if (found->second == 0)
        counted_of_.erase(found);
    places_kept_ += place_kept(client);
}

void TaskQueue::count(QueuedTask& task, std::uint64_t time) {
    if (task.counted != 0)
        return;
    task.counted = next_++;
    counted_.emplace(task.counted, &task);
    change_counted(task.client, 1);
    settle(time);
}

void TaskQueue::discount(QueuedTask& task, std::uint64_t time) {
    if (task.counted == 0)
        return;
    counted_.erase(task.counted);
    task.counted = 0;
    change_counted(task.client, -1);
    settle(time);
}

void TaskQueue::take_slot(QueuedTask& task, std::uint16_t core, std::uint64_t time) {
    if (task.holds != 0)
        return;
    task.holds = next_++;
    task.slot_core = core;
    task.in_gap = false;
    holders_[core].active.emplace(task.holds, &task);
    settle(time);
}

void TaskQueue::set_gap(QueuedTask& task, std::uint32_t segment, bool running, std::uint64_t time) {
    if (task.holds == 0)
        return;
    Holders& holders = holders_[task.slot_core];
    holders.active.erase(task.holds);
    holders.in_gap.emplace(task.holds, &task);
    task.in_gap = true;
    task.gap_segment = segment;
    task.gap_running_since = running ? std::optional(time) : std::nullopt;
    settle(time);
}

void TaskQueue::end_gap(QueuedTask& task, std::uint64_t time) {
    if (task.holds == 0 || !task.in_gap)
        return;
    Holders& holders = holders_[task.slot_core];
    holders.in_gap.erase(task.holds);
    holders.active.emplace(task.holds, &task);
    task.in_gap = false;
    settle(time);
}

void TaskQueue::give_slot(QueuedTask& task, std::uint64_t time) {
    if (task.holds == 0)
        return;
    const auto found = holders_.find(task.slot_core);
    (task.in_gap ? found->second.in_gap : found->second.active).erase(task.holds);
    if (found->second.active.empty() && found->second.in_gap.empty())
        holders_.erase(found);
    task.holds = 0;
    settle(time);
}

bool TaskQueue::has_room(const LineKey& key) const {
    if (key.ready)
        return true;
    const std::size_t taken = counted_.size();
    if (taken >= rules_.task_limit)
        return false;
    return !rules_.share || !counted_of_.contains(key.client) ||
           taken + places_kept_ < rules_.task_limit;
}

/// Whoever has had a place of the limit for longest.
std::uint32_t TaskQueue::limit_key() const {
    return counted_.empty() ? part_key(Cause::host)
                            : part_key(Cause::task_limit, counted_.begin()->second->owner);
}

/// Whoever has had a slot for longest of those that are not in a gap, or else of those whose gap
/// is closed to `task`. A gap that is closed does not open again before its next segment.
std::uint32_t TaskQueue::slot_key(std::uint16_t core, const QueuedTask& task,
                                  std::uint64_t time) const {
    const auto found = holders_.find(core);
    if (found == holders_.end() ||
        found->second.active.size() + found->second.in_gap.size() < rules_.slots)
        return part_key(Cause::host);
    const auto& [active, in_gap] = found->second;
    if (!active.empty())
        return part_key(Cause::slot, active.begin()->second->owner);
    for (const auto& [number, holder] : in_gap)
        if (rules_.in_the_way && rules_.in_the_way({holder->tag, task.tag, holder->gap_segment,
                                                    holder->gap_running_since, time}))
            return part_key(Cause::slot, holder->owner);
    return part_key(Cause::slot, in_gap.begin()->second->owner);
}

TaskQueue::Heads TaskQueue::heads() const {
    Heads heads;
    for (const auto& [key, line] : lines_) {
        if (!has_room(key))
            continue;
        const QueuedTask*& head = heads[key.core];
        const QueuedTask* first = *line.tasks.begin();
        if (head == nullptr || first->order() < head->order())
            head = first;
    }
    return heads;
}

std::uint32_t TaskQueue::key_of_first(const QueuedTask& task, std::uint16_t core,
                                      const Heads& heads, std::uint64_t time) const {
    const QueuedTask* best = &task;
    for (const std::uint16_t of : {core, std::uint16_t{0}})
        if (const auto found = heads.find(of);
            found != heads.end() && found->second->order() < best->order())
            best = found->second;
    return best == &task ? slot_key(core, task, time) : part_key(Cause::barred, best->owner);
}

/// It waits for the lowest core that is not barred, or else for the best placed that bars one.
std::uint32_t TaskQueue::key_of_first_of_any(const QueuedTask& task, const Heads& heads,
                                             std::uint64_t time) const {
    const QueuedTask* head = heads.at(0);
    if (head != &task)
        return part_key(Cause::barred, head->owner);
    const QueuedTask* best = nullptr;
    for (std::uint16_t core = 1; core <= rules_.cores; core++) {
        const auto found = heads.find(core);
        if (found == heads.end() || task.order() < found->second->order())
            return slot_key(core, task, time);
        if (best == nullptr || found->second->order() < best->order())
            best = found->second;
    }
    return best == nullptr ? part_key(Cause::host) : part_key(Cause::barred, best->owner);
}

/// What everybody waits for from now on.
void TaskQueue::settle(std::uint64_t time) {
    const Heads heads = this->heads();
    for (auto& [key, line] : lines_) {
        steps_++;
        std::uint32_t first_key = limit_key();
        std::uint32_t others_key = first_key;
        if (has_room(key)) {
            const QueuedTask& first = **line.tasks.begin();
            const bool any = key.core == 0;
            first_key = any ? key_of_first_of_any(first, heads, time)
                            : key_of_first(first, key.core, heads, time);
            // Whom the first lets go ahead bars the others, too; else it bars them itself.
            const QueuedTask* best = heads.at(key.core);
            if (const auto of_any = heads.find(0);
                of_any != heads.end() && of_any->second->order() < best->order())
                best = of_any->second;
            others_key = part_key(Cause::barred, best->owner);
        }
        if (first_key == line.first_key && others_key == line.others_key)
            continue;
        line.count(time);
        line.first_key = first_key;
        line.others_key = others_key;
    }
}

} // namespace overtake::blame
