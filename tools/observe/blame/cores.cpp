// SPDX-License-Identifier: MIT
#include "observe/blame/cores.hpp"

#include <algorithm>

namespace overtake::blame {

void Cores::Core::count(std::uint64_t time) {
    if (time > counted && runs)
        busy.add(key, time - counted);
    else if (time > counted && !high.empty())
        busy.add(part_key(Cause::held, high.begin()->second.owner), time - counted);
    counted = time;
}

void Cores::start(Place place, std::uint32_t owner, bool high, std::uint64_t time) {
    Core& core = cores_[place];
    core.count(time);
    core.runs = true;
    core.key = part_key(high ? Cause::behind_high : Cause::behind_normal, owner);
}

void Cores::stop(Place place, std::uint64_t time) {
    Core& core = cores_[place];
    core.count(time);
    core.runs = false;
}

Meter::Snapshot Cores::snapshot(Place place, std::uint64_t time) {
    Core& core = cores_[place];
    core.count(time);
    return core.busy.now();
}

void Cores::Core::note_first() {
    if (high.empty())
        return;
    High& first = high.begin()->second;
    first.since = counted;
    first.before = busy.now();
}

void Cores::add_of_group(Place place, const Meter::Snapshot& before, std::uint64_t begin,
                         std::uint64_t time, Parts& parts, Cause idle,
                         std::optional<std::uint64_t> number) {
    Core& core = cores_[place];
    core.count(time);
    // The time for which the core was held for this part itself.
    std::uint32_t own_key = 0;
    std::uint64_t own = 0;
    if (number && core.high.begin()->first == *number) {
        const High& first = core.high.begin()->second;
        own_key = part_key(Cause::held, first.owner);
        core.busy.since(first.since > begin ? first.before : before,
                        [&](std::uint32_t key, std::uint64_t ns) {
                            if (key == own_key)
                                own = ns;
                        });
    }
    std::uint64_t left = time - begin;
    core.busy.since(before, [&](std::uint32_t key, std::uint64_t ns) {
        if (key == own_key)
            ns -= std::min(ns, own);
        ns = std::min(ns, left); // where events are missing, two FCs may seem to run at once
        parts.add(key, ns);
        left -= ns;
    });
    parts.add(part_key(idle), left);
}

void Cores::add_since(Place place, const Meter::Snapshot& before, std::uint64_t begin,
                      std::uint64_t time, Parts& parts) {
    add_of_group(place, before, begin, time, parts, Cause::host, {});
}

std::uint64_t Cores::enter_high(Place place, std::uint32_t owner, std::uint64_t time) {
    Core& core = cores_[place];
    core.count(time);
    core.high.emplace(++next_, High{.owner = owner, .since = 0, .before = {}});
    if (core.high.size() == 1)
        core.note_first();
    return next_;
}

void Cores::leave_high(Place place, std::uint64_t number, std::uint64_t time) {
    Core& core = cores_[place];
    core.count(time);
    const bool was_first = core.high.begin()->first == number;
    core.high.erase(number);
    if (was_first)
        core.note_first();
}

std::uint64_t Cores::steps() const {
    std::uint64_t steps = steps_;
    for (const auto& [place, core] : cores_)
        steps += core.busy.steps();
    return steps;
}

} // namespace overtake::blame
