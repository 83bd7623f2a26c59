// SPDX-License-Identifier: MIT
#include "observe/blame/cores.hpp"

#include <algorithm>

namespace overtake::blame {

void Cores::Core::count(std::uint64_t time) {
    if (runs && time > counted)
        busy.add(key, time - counted);
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

void Cores::add_since(Place place, const Meter::Snapshot& before, std::uint64_t begin,
                      std::uint64_t time, Parts& parts) {
    Core& core = cores_[place];
    core.count(time);
    std::uint64_t idle = time - begin;
    core.busy.since(before, [&](std::uint32_t key, std::uint64_t ns) {
        ns = std::min(ns, idle); // where events are missing, two may seem to run at once
        parts.add(key, ns);
        idle -= ns;
    });
    parts.add(part_key(Cause::host), idle);
}

std::uint64_t Cores::steps() const {
    std::uint64_t steps = 0;
    for (const auto& [place, core] : cores_)
        steps += core.busy.steps();
    return steps;
}

} // namespace overtake::blame
