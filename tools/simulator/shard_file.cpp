// SPDX-License-Identifier: MIT
#include "simulator/shard_file.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "overtake/device.hpp"

/// Writes an optional value as JSON: null if it is empty.
template <class Value>
struct nlohmann::adl_serializer<std::optional<Value>> {
    static void to_json(json& to, const std::optional<Value>& from) {
        to = from ? json(*from) : json(nullptr);
    }
    static void from_json(const json& from, std::optional<Value>& to) {
        to = from.is_null() ? std::optional<Value>() : from.get<Value>();
    }
};

namespace overtake::simulator {

// All figures of runs on one device are written; the table chooses its columns after the merge.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Percentiles, p50, p90, p99, p99_9, max, mean, exact, samples)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ClassSummary, name, tasks, cancelled, dropped, preemptions,
                                   latency, slo, slo_met, slo_missed, throughput, turnaround,
                                   latency_sum, queued, worker, cpu, running, blocked_by,
                                   preempted_by, over, tick_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PrioritySummary, priority, tasks, latency)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CoreSummary, utilisation, fcs_high, fcs_normal, gap, gap_filled)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Summary, from, to, fcs, antt, stp, classes, priorities, cores,
                                   tick_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Presentation, json, columns)

namespace {

using nlohmann::json;

constexpr unsigned format_version = 2;

/// Returns the description of the experiment, which all shards must have in common.
json identity_of(const Experiment& experiment, const std::string& version) {
    return {{"program", version},
            {"scenario", experiment.document},
            {"grid", experiment.grid != nullptr ? experiment.grid->to_json() : json(nullptr)},
            {"repeat", experiment.repeat},
            {"warm_up_us", experiment.trim.warm_up},
            {"drain_us", experiment.trim.drain},
            {"files", digest_of_files(experiment)}};
}

/// A file of a shard that has been read.
struct ShardPart {
    std::string name;
    Shard shard;
    json experiment;
    Presentation presentation;
    std::vector<std::vector<Summary>> runs; ///< of the shard's points
};

[[noreturn]] void fail(const std::string& name, const std::string& what) {
    throw Error(EINVAL, fmt::format("{}: {}", name, what));
}

ShardPart read_shard(const NamedText& file) {
    try {
        const json document = json::parse(file.text);
        if (!document.is_object() || !document.contains("overtake_shard"))
            fail(file.name, "is not a shard; name files that overtake sim --shard has written");
        if (document.at("overtake_shard") != format_version)
            fail(file.name,
                 "is a shard of another version of overtake; run it again with this one");
        if (!document.at("experiment").is_object())
            fail(file.name, "is not a shard, or damaged; run that shard again");
        return {file.name,
                {document.at("shard").get<unsigned>(), document.at("of").get<unsigned>()},
                document.at("experiment"),
                document.at("presentation").get<Presentation>(),
                document.at("points").get<std::vector<std::vector<Summary>>>()};
    } catch (const json::exception&) {
        fail(file.name, "is not a shard, or damaged; run that shard again");
    }
}

std::string name_of(const Shard& shard) {
    return fmt::format("shard {}/{}", shard.number, shard.of);
}

/// Checks that `part` and `first` belong to one experiment.
void check_same(const ShardPart& first, const ShardPart& part) {
    // "files" is last, because the files differ wherever the grid does.
    for (const char* key :
         {"program", "scenario", "grid", "repeat", "warm_up_us", "drain_us", "files"})
        if (part.experiment.value(key, json()) != first.experiment.value(key, json()))
            fail(part.name,
                 fmt::format("is of another experiment than {}: another {}", first.name,
                             key == std::string_view("files") ? "content of the files it names"
                                                              : key));
    if (part.presentation != first.presentation)
        fail(part.name, fmt::format("has other --columns or --json than {}", first.name));
    if (part.shard.of != first.shard.of)
        fail(part.name, fmt::format("is {}, but {} is one of {}", name_of(part.shard), first.name,
                                    first.shard.of));
}

/// Checks that the shard has as many points as the grid gives it, and that all have their runs.
void check_whole(const ShardPart& part, std::size_t own, std::size_t repeat) {
    const bool is_whole = part.runs.size() == own && std::ranges::all_of(part.runs, [&](auto& of) {
                              return of.size() == repeat;
                          });
    if (!is_whole)
        fail(part.name, "is damaged: not all of its points are there; run that shard again");
}

/// Checks that each shard is there once, and that none is missing.
void check_complete(const std::vector<ShardPart>& parts) {
    const unsigned of = parts.front().shard.of;
    std::unordered_map<unsigned, std::string> names;
    for (const ShardPart& part : parts) {
        if (part.shard.number < 1 || part.shard.number > of)
            fail(part.name, "is not a shard, or damaged; run that shard again");
        const auto [at, is_new] = names.emplace(part.shard.number, part.name);
        if (!is_new)
            fail(part.name, fmt::format("is {}, and so is {}; name one of them",
                                        name_of(part.shard), at->second));
    }
    std::vector<std::string> missing;
    for (unsigned number = 1; number <= of; number++)
        if (!names.contains(number))
            missing.push_back(name_of({number, of}));
    if (!missing.empty())
        throw Error(EINVAL,
                    fmt::format("{} {} missing; run what is missing with --shard",
                                fmt::join(missing, ", "), missing.size() == 1 ? "is" : "are"));
}

} // namespace

std::string shard_text(const Experiment& experiment, const std::vector<Point>& points,
                       const Presentation& presentation, const std::string& version) {
    json document = {
        {"overtake_shard", format_version}, {"shard", experiment.shard.number},
        {"of", experiment.shard.of},        {"experiment", identity_of(experiment, version)},
        {"presentation", presentation},     {"points", json::array()}};
    for (const std::size_t i : experiment.shard.points(points.size()))
        document["points"].push_back(points[i].runs);
    try {
        return document.dump() + "\n";
    } catch (const json::exception&) {
        throw Error(EINVAL, "a shard's file is UTF-8, but a name or a setting is not");
    }
}

Merged merge_shards(const std::vector<NamedText>& shards) {
    std::vector<ShardPart> parts;
    for (const NamedText& file : shards) {
        parts.push_back(read_shard(file));
        check_same(parts.front(), parts.back());
    }
    if (parts.empty())
        throw Error(EINVAL, "no shard was named");
    check_complete(parts);
    const ShardPart& first = parts.front();
    std::optional<Grid> grid;
    std::size_t repeat = 0;
    try {
        if (const json& list = first.experiment.at("grid"); !list.is_null())
            grid = Grid::from_json(list);
        repeat = first.experiment.at("repeat");
    } catch (const json::exception&) {
        fail(first.name, "is not a shard, or damaged; run that shard again");
    }
    Merged merged = {points_of(grid ? &*grid : nullptr), first.presentation};
    for (ShardPart& part : parts) {
        const std::vector<std::size_t> own = part.shard.points(merged.points.size());
        check_whole(part, own.size(), repeat);
        for (std::size_t i = 0; i < own.size(); i++)
            merged.points[own[i]].runs = std::move(part.runs[i]);
    }
    return merged;
}

} // namespace overtake::simulator
