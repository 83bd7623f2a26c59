// SPDX-License-Identifier: MIT
#include "observe/watch/filter.hpp"

#include <algorithm>

namespace overtake::watch {

namespace {

template <class List, class Value>
bool contains(const List& list, const Value& value) {
    return std::ranges::find(list, value) != list.end();
}

} // namespace

bool Filter::takes(const Event& event, const Job* job) const {
    const bool is_task = event_type_name(event.type).starts_with("task_");
    if (!types.empty() && !contains(types, event_type_name(event.type)))
        return false;
    if (!pids.empty() && !contains(pids, event.pid) &&
        !(event.by_pid != 0 && contains(pids, event.by_pid)))
        return false;
    if (!cores.empty() && !contains(cores, unsigned{event.core}))
        return false;
    if (!priorities.empty() && !(job ? contains(priorities, job->priority)
                                     : is_task && contains(priorities, event.priority)))
        return false;
    const std::uint64_t model = job ? job->model : event.model;
    return models.empty() || std::ranges::any_of(models, [&](const std::string& name) {
               return model != 0 && model_id(name) == model;
           });
}

bool Filter::takes(const ProcessorEvent& event, std::optional<std::uint64_t> model,
                   std::optional<std::uint32_t> priority) const {
    if (!cores.empty() || (!types.empty() && !contains(types, name_of(event.type))) ||
        (!pids.empty() && !contains(pids, event.pid)))
        return false;
    if (!priorities.empty() && !(priority && contains(priorities, *priority)))
        return false;
    return models.empty() || std::ranges::any_of(models, [&](const std::string& name) {
               return model && *model != 0 && model_id(name) == *model;
           });
}

} // namespace overtake::watch
