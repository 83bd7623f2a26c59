// SPDX-License-Identifier: MIT
#include "observe/watch/processor_table.hpp"

#include <algorithm>

namespace overtake::watch {

void ProcessorTable::add(const ProcessorEvent& event) {
    if (event.type != ProcessorEventType::processor)
        return;
    const Key key{event.pid, event.engine};
    auto engine = engines_.find(key);
    if (event.state == ProcessorState::gone) {
        if (engine != engines_.end())
            engines_.erase(engine);
        return;
    }
    if (engine == engines_.end()) {
        const auto of_process = std::distance(engines_.lower_bound({event.pid, 0}),
                                              engines_.upper_bound({event.pid, UINT64_MAX}));
        if (engines_.size() >= most_engines ||
            static_cast<std::size_t>(of_process) >= most_of_process) {
            refused_++;
            return;
        }
        engine = engines_.emplace(key, Engine{++numbers_[event.pid], {}}).first;
    }
    const auto [processor, is_new] = engine->second.processors.try_emplace(event.processor);
    Processor& of = processor->second;
    // The work before the processor was seen belongs to no interval. If a counter goes back,
    // another engine has this address now.
    if (is_new || event.busy_ns < of.busy_ns || event.runs < of.runs) {
        of.runs = event.runs;
        of.busy_ns = event.busy_ns;
    }
    of.last = event;
}

std::vector<ProcessorRow> ProcessorTable::take(std::uint64_t now_ns) {
    std::vector<ProcessorRow> rows;
    const auto interval = static_cast<double>(now_ns > taken_ns_ ? now_ns - taken_ns_ : 1);
    for (auto& [key, engine] : engines_)
        for (auto& [number, processor] : engine.processors) {
            const ProcessorEvent& last = processor.last;
            const double busy = static_cast<double>(last.busy_ns - processor.busy_ns) /
                                (interval * std::max(1u, last.workers));
            rows.push_back(
                {key.first, engine.number, last, std::min(busy, 1.0), last.runs - processor.runs});
            processor.runs = last.runs;
            processor.busy_ns = last.busy_ns;
        }
    taken_ns_ = now_ns;
    return rows;
}

std::string ProcessorTable::name_of(std::uint32_t pid, std::uint64_t engine,
                                    std::uint32_t processor) const {
    const auto found = engines_.find({pid, engine});
    if (found == engines_.end())
        return "";
    const auto of = found->second.processors.find(processor);
    return of == found->second.processors.end() ? "" : of->second.last.name;
}

std::vector<std::uint32_t> ProcessorTable::processes() const {
    std::vector<std::uint32_t> pids;
    for (const auto& [pid, last] : numbers_)
        pids.push_back(pid);
    return pids;
}

void ProcessorTable::forget(const std::set<std::uint32_t>& pids) {
    std::erase_if(engines_, [&](const auto& of) { return pids.contains(of.first.first); });
    std::erase_if(numbers_, [&](const auto& of) { return pids.contains(of.first); });
}

} // namespace overtake::watch
