// SPDX-License-Identifier: MIT
#include "groups_board.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

namespace overtake::test {

using nlohmann::json;

namespace {

/// Removes the element and returns it.
template <typename List, typename Iterator>
auto take_out(List& list, Iterator at) {
    const auto value = *at;
    list.erase(at);
    return value;
}

} // namespace

GroupsBoard::GroupsBoard(Settings settings)
    : settings_(std::move(settings)), cores_(settings_.limits.size()) {}

std::vector<std::size_t> GroupsBoard::all_cores() const {
    std::vector<std::size_t> all(cores_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
}

std::size_t GroupsBoard::unfinished(std::size_t number) const {
    const Core& core = cores_[number];
    return core.high.size() + core.normal.size() + core.committed.size() + (core.running ? 1 : 0);
}

std::vector<std::size_t> GroupsBoard::emptiest(std::size_t count,
                                               const std::vector<std::size_t>& allowed) const {
    std::vector<std::size_t> cores = allowed;
    std::ranges::sort(cores, {},
                      [&](std::size_t core) { return std::pair(unfinished(core), core); });
    cores.resize(std::min(count, cores.size()));
    return cores;
}

std::size_t GroupsBoard::submit(std::uint64_t now, const std::string& id, bool high, bool is_group,
                                std::vector<Part> parts) {
    const std::size_t number = jobs_.size();
    // All parts are placed before an FC of the job enters a core.
    const std::vector<std::size_t> free_places = emptiest(parts.size(), all_cores());
    const std::size_t stages = parts.front().stages.size();
    Job job{.id = id, .high = high, .is_group = is_group, .arrival = now, .parts = {}, .left = {}};
    job.left.assign(stages, 0);
    for (std::size_t p = 0; p < parts.size(); p++) {
        const Part& part = parts[p];
        PlacedPart placed{part.core.value_or(free_places[p]), {}, {}};
        placed.opens.resize(stages);
        placed.opens[0] = now;
        Core& core = cores_[placed.core];
        std::size_t index = 0;
        for (std::size_t stage = 0; stage < stages; stage++) {
            placed.fcs_in.push_back(part.stages[stage].size());
            job.left[stage] += part.stages[stage].size();
            for (const std::uint64_t duration : part.stages[stage])
                (high ? core.high : core.normal).push_back({number, p, index++, stage, duration});
        }
        job.parts.push_back(std::move(placed));
    }
    jobs_.push_back(std::move(job));
    return number;
}

bool GroupsBoard::runs(std::size_t job) const {
    return std::ranges::any_of(
        cores_, [&](const Core& core) { return core.running && core.running->job == job; });
}

void GroupsBoard::cancel(std::uint64_t now, std::size_t number) {
    Job& job = jobs_[number];
    if (job.is_over || job.is_cancelled)
        return;
    job.is_cancelled = true;
    for (Core& core : cores_)
        for (std::deque<Fc>* list : {&core.high, &core.normal, &core.committed})
            std::erase_if(*list, [&](const Fc& fc) { return fc.job == number; });
    if (!runs(number)) {
        job.is_over = true;
        job.end = now;
    }
}

std::vector<std::size_t> GroupsBoard::end_fcs(std::uint64_t now) {
    std::vector<std::size_t> concerned;
    for (Core& core : cores_)
        if (core.running && core.until == now) {
            concerned.push_back(core.running->job);
            const Fc fc = *core.running;
            core.running.reset();
            end_fc(now, fc);
        }
    return concerned;
}

void GroupsBoard::end_fc(std::uint64_t now, const Fc& fc) {
    Job& job = jobs_[fc.job];
    job.left[fc.stage]--;
    if (job.is_cancelled) {
        job.is_over = !runs(fc.job);
        job.end = now;
        return;
    }
    if (job.left[fc.stage] != 0)
        return;
    const std::size_t next = fc.stage + 1;
    if (next == job.left.size()) {
        job.is_over = true;
        job.end = now;
        return;
    }
    const auto parts_with_fcs = std::ranges::count_if(
        job.parts, [&](const PlacedPart& part) { return part.fcs_in[fc.stage] != 0; });
    for (PlacedPart& part : job.parts) {
        const bool was_alone = parts_with_fcs == 1 && part.fcs_in[fc.stage] != 0;
        part.opens[next] = now + (was_alone ? 0 : settings_.sync);
    }
}

bool GroupsBoard::is_ready(const Fc& fc, std::uint64_t now) const {
    const auto opens = jobs_[fc.job].parts[fc.part].opens[fc.stage];
    return opens && *opens <= now;
}

const GroupsBoard::Fc* GroupsBoard::next_of_normal(const Core& core, std::uint64_t now) const {
    const auto first =
        std::ranges::find_if(core.normal, [&](const Fc& fc) { return is_ready(fc, now); });
    return first == core.normal.end() ? nullptr : &*first;
}

void GroupsBoard::choose(std::uint64_t now) {
    for (std::size_t number = 0; number < cores_.size(); number++) {
        Core& core = cores_[number];
        if (core.running)
            continue;
        const std::optional<Fc> fc = take(core, number, now);
        if (!fc)
            continue;
        core.running = fc;
        core.until = now + fc->duration;
        started_.push_back({*fc, number, now, core.until});
    }
}

std::optional<GroupsBoard::Fc> GroupsBoard::take(Core& core, std::size_t number,
                                                 std::uint64_t now) {
    return settings_.limits[number] == 0 ? take_without_limit(core, now)
                                         : take_with_limit(core, number, now);
}

std::optional<GroupsBoard::Fc> GroupsBoard::take_without_limit(Core& core, std::uint64_t now) {
    const Fc* normal = next_of_normal(core, now);
    const bool high_is_ready = !core.high.empty() && is_ready(core.high.front(), now);
    if (high_is_ready && (!normal || core.high.front().job < normal->job))
        return take_out(core.high, core.high.begin());
    if (!normal)
        return {};
    return take_out(core.normal, std::ranges::find(core.normal, *normal));
}

std::optional<GroupsBoard::Fc> GroupsBoard::take_with_limit(Core& core, std::size_t number,
                                                            std::uint64_t now) {
    const auto take_next = [&]() -> std::optional<Fc> {
        const Fc* next = next_of_normal(core, now);
        if (!next)
            return {};
        core.count = 0;
        return take_out(core.normal, std::ranges::find(core.normal, *next));
    };
    if (!core.committed.empty()) {
        core.count = 0;
        return take_out(core.committed, core.committed.begin());
    }
    const bool normal_is_ready = next_of_normal(core, now) != nullptr;
    if (!core.high.empty()) {
        const std::uint64_t floor = settings_.floors[number];
        if (floor != 0 && core.count >= floor && normal_is_ready)
            return take_next();
        if (!is_ready(core.high.front(), now))
            return {};
        core.count = normal_is_ready ? core.count + 1 : 0;
        return take_out(core.high, core.high.begin());
    }
    const auto is_held = [&](const Fc& fc) { return !is_ready(fc, now); };
    if (core.normal.empty())
        return {};
    if (std::ranges::any_of(core.normal, is_held))
        return take_next();
    while (core.committed.size() < settings_.limits[number] && !core.normal.empty())
        core.committed.push_back(take_out(core.normal, core.normal.begin()));
    core.count = 0;
    return take_out(core.committed, core.committed.begin());
}

std::optional<std::uint64_t> GroupsBoard::next_instant(std::uint64_t now) const {
    std::optional<std::uint64_t> next;
    const auto consider = [&](std::uint64_t at) {
        if (at > now && (!next || at < *next))
            next = at;
    };
    for (const Core& core : cores_)
        if (core.running)
            consider(core.until);
    for (const Job& job : jobs_)
        for (const PlacedPart& part : job.parts)
            for (const auto& opens : part.opens)
                if (!job.is_over && opens)
                    consider(*opens);
    return next;
}

std::vector<GroupsBoard::Started> GroupsBoard::of_part(std::size_t job, std::size_t part) const {
    std::vector<Started> own;
    for (const Started& started : started_)
        if (started.fc.job == job && started.fc.part == part)
            own.push_back(started);
    return own;
}

std::size_t GroupsBoard::preemptions(const std::vector<Started>& fcs, bool high) const {
    std::size_t count = 0;
    for (std::size_t i = 1; i < fcs.size() && !high; i++)
        count += std::ranges::any_of(started_, [&](const Started& other) {
            return jobs_[other.fc.job].high && other.core == fcs[i].core &&
                   other.start >= fcs[i - 1].end && other.end <= fcs[i].start;
        });
    return count;
}

json GroupsBoard::entry_of(std::size_t number) const {
    const Job& job = jobs_[number];
    json entry = {{"id", job.id},
                  {"core", job.parts.front().core + 1},
                  {"arrival", job.arrival},
                  {"start", nullptr},
                  {"end", job.is_over ? json(job.end) : json(nullptr)},
                  {"cancelled", job.is_cancelled}};
    std::size_t sum = 0;
    json parts = json::array();
    for (std::size_t p = 0; p < job.parts.size(); p++) {
        const std::vector<Started> fcs = of_part(number, p);
        const std::size_t preempted = preemptions(fcs, job.high);
        sum += preempted;
        json part = {{"core", job.parts[p].core + 1},
                     {"start", nullptr},
                     {"end", nullptr},
                     {"preemptions", preempted}};
        if (!fcs.empty()) {
            part["start"] = fcs.front().start;
            part["end"] = fcs.back().end;
            if (entry["start"].is_null() || entry["start"] > part["start"])
                entry["start"] = part["start"];
        }
        parts.push_back(std::move(part));
    }
    entry["preemptions"] = sum;
    if (job.is_group)
        entry["parts"] = std::move(parts);
    return entry;
}

json GroupsBoard::timeline() const {
    json timeline = {{"fcs", json::array()}, {"jobs", json::array()}};
    std::vector<Started> sorted = started_;
    std::ranges::stable_sort(
        sorted, {}, [](const Started& started) { return std::tuple(started.start, started.core); });
    for (const Started& started : sorted) {
        const Job& job = jobs_[started.fc.job];
        json fc = {{"job", job.id},
                   {"index", started.fc.index},
                   {"core", started.core + 1},
                   {"ring", job.high ? "high" : "normal"},
                   {"start", started.start},
                   {"end", started.end}};
        if (job.is_group) {
            fc["part"] = started.fc.part;
            fc["stage"] = started.fc.stage;
        }
        timeline["fcs"].push_back(std::move(fc));
    }
    for (std::size_t job = 0; job < jobs_.size(); job++)
        timeline["jobs"].push_back(entry_of(job));
    return timeline;
}

} // namespace overtake::test
