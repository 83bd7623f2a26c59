// SPDX-License-Identifier: MIT
#include "observe/watch/processor_names.hpp"

namespace overtake::watch {

ProcessorNames::About ProcessorNames::follow(const ProcessorEvent& event) {
    About about;
    if (event.type == ProcessorEventType::processor) {
        table_.add(event);
        about.processor = event.name;
        return about;
    }
    const std::pair key{event.pid, event.task};
    if (event.type == ProcessorEventType::request_arrive &&
        (requests_.size() < most_requests || requests_.contains(key)))
        requests_[key] = {event.model, event.priority};
    if (const auto request = requests_.find(key); request != requests_.end()) {
        about.model = request->second.model;
        about.priority = request->second.priority;
        if (event.type == ProcessorEventType::request_end)
            requests_.erase(request);
    }
    if (event.units != 0)
        about.processor = table_.name_of(event.pid, event.engine, event.processor);
    return about;
}

void ProcessorNames::forget(const std::set<std::uint32_t>& pids) {
    table_.forget(pids);
    std::erase_if(requests_, [&](const auto& of) { return pids.contains(of.first.first); });
}

} // namespace overtake::watch
