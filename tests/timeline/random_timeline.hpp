// SPDX-License-Identifier: MIT
#pragma once

#include <random>

#include <fmt/format.h>

#include "observe/timeline/timeline.hpp"

namespace overtake::timeline {

struct Shape {
    unsigned cores = 1;
    unsigned fcs_per_core = 100;
    unsigned tasks = 3;
    std::uint64_t start_ns = 0;
    bool cpu = false;
};

/// Returns NORMAL jobs of up to 8 FCs back to back. Now and then two HIGH FCs go ahead; every such
/// preemption has its tag. Every job has a tag of its own.
inline Timeline random_timeline(const Shape& shape, unsigned seed) {
    std::mt19937 random(seed);
    Timeline timeline;
    timeline.title = "random";
    std::uint64_t last_tag = 0;
    for (unsigned core = 1; core <= shape.cores; core++) {
        std::uint64_t now = shape.start_ns;
        for (unsigned made = 0; made < shape.fcs_per_core;) {
            const std::string task = fmt::format("task {}", random() % shape.tasks);
            const std::uint64_t tag = ++last_tag;
            const unsigned length = 1 + random() % 8;
            for (unsigned index = 0; index < length && made < shape.fcs_per_core; index++, made++) {
                const std::uint64_t cost = 1000 + random() % 900'000;
                timeline.fcs.push_back({task, tag, index, core, false, now, now + cost});
                now += cost;
                if (random() % 4 != 0 || index + 1 == length || made + 3 >= shape.fcs_per_core)
                    continue;
                timeline.preemptions.push_back({core, now, tag});
                ++last_tag;
                for (unsigned high = 0; high < 2; high++, made++) {
                    timeline.fcs.push_back({"urgent", last_tag, high, core, true, now, now + 2000});
                    now += 2000;
                }
            }
            if (shape.cpu)
                timeline.cpu.push_back({task, tag, 1, now, now + 1000 + random() % 2'000'000});
            now += random() % 3 == 0 ? random() % 500'000 : 0;
        }
    }
    return timeline;
}

inline std::uint64_t end_of(const Timeline& timeline) {
    std::uint64_t end = 0;
    for (const Fc& fc : timeline.fcs)
        end = std::max(end, fc.end_ns);
    return end;
}

} // namespace overtake::timeline
