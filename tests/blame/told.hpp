// SPDX-License-Identifier: MIT
//
// Events written by hand, and the reports of blame about them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "observe/blame/blame.hpp"

namespace overtake::blame {

inline constexpr std::uint64_t ms = 1'000'000;

struct Told {
    explicit Told(Blame::Options options = {})
        : blame(std::move(options), [this](const Report& report) { reports.push_back(report); }) {}

    void add(EventType type, std::uint64_t time, std::uint64_t client, std::uint64_t tag,
             const std::function<void(Event&)>& change = {}) {
        Event event;
        event.type = type;
        event.time_ns = time;
        event.client = client;
        event.pid = static_cast<std::uint32_t>(100 + client);
        event.tag = tag;
        event.core = 1;
        if (change)
            change(event);
        blame.add(event);
    }
    /// Adds a job that enters its core at once.
    void queue(std::uint64_t time, std::uint64_t client, std::uint64_t tag, std::uint32_t fcs,
               std::uint64_t model = 0, std::uint64_t task = 0, std::uint32_t segment = 0) {
        const auto set = [&](Event& event) {
            event.fc_count = fcs;
            event.model = model;
            event.task = task;
            event.segment = segment;
        };
        add(EventType::job_queue, time, client, tag, set);
        add(EventType::fc_submit, time, client, tag, set);
    }
    void run(std::uint64_t from, std::uint64_t to, std::uint64_t client, std::uint64_t tag,
             std::uint32_t index = 0, bool high = false) {
        const auto set = [&](Event& event) {
            event.fc_index = index;
            event.high = high;
        };
        add(EventType::fc_start, from, client, tag, set);
        add(EventType::fc_done, to, client, tag, set);
    }
    void done(std::uint64_t time, std::uint64_t client, std::uint64_t tag) {
        add(EventType::job_done, time, client, tag);
    }
    std::map<Cause, std::uint64_t> causes(std::size_t report) const {
        std::map<Cause, std::uint64_t> causes;
        for (const Part& part : reports.at(report).parts)
            causes[part.cause] += part.ns;
        return causes;
    }

    std::vector<Report> reports;
    Blame blame;
};

using Causes = std::map<Cause, std::uint64_t>;

} // namespace overtake::blame
