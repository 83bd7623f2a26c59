// SPDX-License-Identifier: MIT
#include "simulator/models.hpp"

#include <cerrno>

#include <fmt/format.h>

#include "overtake/device.hpp"
#include "overtake/model.hpp"

namespace overtake::simulator {
namespace {

/// The most FCs of a model: more would be a mistake and would not fit the memory.
constexpr std::uint64_t fcs_max = 10'000'000;

Chain::Segment segment_of(const Place& place, std::vector<std::uint64_t> fcs) {
    Chain::Segment segment{std::move(fcs), 0};
    for (const std::uint64_t fc : segment.fcs) {
        if (fc > time_limit - segment.time)
            place.fail("the sum of all times passes 2^63");
        segment.time += fc;
    }
    return segment;
}

/// The split of FCs that are too long: into equal parts, each with a cost beyond its share.
struct Split {
    std::uint64_t max_time = 0; ///< 0: none
    std::uint64_t overhead = 0;
};

Split split_of(const Place& model) {
    Split split;
    if (model.has("max_time_per_fc"))
        split.max_time = model.at("max_time_per_fc").time();
    if (model.has("fc_overhead"))
        split.overhead = model.at("fc_overhead").time();
    return split;
}

std::uint64_t part_count(std::uint64_t time, std::uint64_t most) {
    return time / most + (time % most != 0 ? 1 : 0);
}

std::vector<std::uint64_t> apply(const Place& place, const Split& split,
                                 const std::vector<std::uint64_t>& fcs) {
    if (split.max_time == 0)
        return fcs;
    std::vector<std::uint64_t> parts;
    for (const std::uint64_t fc : fcs) {
        const std::uint64_t count = part_count(fc, split.max_time);
        if (count > fcs_max - parts.size())
            place.fail(fmt::format("max_time_per_fc makes more than {} FCs", fcs_max));
        for (const std::uint64_t part : equal_parts(fc, split.max_time))
            parts.push_back(part + (count > 1 ? split.overhead : 0));
    }
    return parts;
}

std::vector<std::uint64_t> durations(const Place& place) {
    std::vector<std::uint64_t> fcs;
    for (const Place& fc : place.elements())
        fcs.push_back(fc.duration());
    return fcs;
}

Chain::Segment written_segment(const Place& place, const Split& split, const PartsDevice& device) {
    place.expect_object({"bpu", "cpu", "parts", "estimate"});
    if (place.has("parts") && (place.has("bpu") || place.has("cpu")))
        place.fail(place.has("bpu") ? "both bpu and parts" : "both cpu and parts");
    if (!place.has("parts") && place.has("bpu") == place.has("cpu"))
        place.fail(place.has("bpu") ? "both bpu and cpu" : "neither bpu nor cpu");
    if (place.has("cpu")) {
        Chain::Segment segment{{}, place.at("cpu").duration()};
        if (place.has("estimate"))
            segment.estimate = place.at("estimate").duration();
        return segment;
    }
    if (place.has("estimate"))
        place.fail("estimate is for CPU segments: the device measures the others");
    if (place.has("parts")) {
        if (split.max_time != 0)
            place.at("parts").fail("max_time_per_fc does not cut parts: write their FCs out");
        return parts_segment(place.at("parts"), device);
    }
    return segment_of(place, apply(place, split, durations(place.at("bpu"))));
}

/// Returns a segment that has parts in a plan for cores of one kind.
Chain::Segment group_segment(const CorePlan& plan, const CoreSegment& segment,
                             std::uint64_t tick_ns, const PartsDevice& device) {
    nlohmann::json parts = nlohmann::json::array();
    std::size_t next = 0;
    for (const overtake_part& part : segment.parts) {
        ovt_profile profile{};
        profile.clock_khz = plan.clocks_khz[part.core - 1];
        std::vector<std::uint64_t> ns;
        for (std::uint32_t fc = 0; fc < part.fc_count; fc++)
            ns.push_back(ovt_cycles_to_ns(&profile, segment.fc_cycles[next + fc]));
        std::vector<nlohmann::json> stages(segment.stage_count, nlohmann::json::array());
        for (const std::uint64_t time : whole_ticks(ns, tick_ns))
            stages[segment.stages[next++]].push_back(time);
        parts.push_back({{"stages", stages}});
    }
    const nlohmann::json document = {{"parts", parts}};
    return parts_segment(Place(document).at("parts"), device);
}

/// Adds the segments of a compiled model. `plan` is null, or has segments of the BPU in parts.
void add_segments(const Place& place, Kind kind, const Split& split, const Model& model,
                  const CorePlan* plan, std::uint64_t tick_ns, const PartsDevice& device,
                  Chain& chain) {
    const std::vector<overtake::Segment>& segments = overtake::ModelContents::of(model).segments;
    for (std::size_t index = 0; index < segments.size(); index++) {
        const overtake::Segment& segment = segments[index];
        if (segment.on_bpu() && plan)
            chain.add(group_segment(*plan, plan->segments[index], tick_ns, device));
        else if (segment.on_bpu())
            chain.add(segment_of(
                place, apply(place, split, whole_ticks(modelled_ns(model, segment), tick_ns))));
        else if (kind == Kind::task && !place.has("cpu"))
            place.fail("the file has CPU segments: say with cpu how long one takes");
        else if (kind == Kind::task)
            chain.add({{}, place.at("cpu").duration()});
    }
    if (kind == Kind::fc && chain.segments.size() != 1)
        place.fail(fmt::format("{} BPU segments, but a job has one: use kind task",
                               chain.segments.size()));
}

/// Reads a compiled model. Its plan for several cores is used if these cores are alike, the device
/// has that many, and `split` has no limit.
std::shared_ptr<const Chain> compiled(const Place& place, Kind kind, const Split& split,
                                      const std::filesystem::path& path, std::uint64_t tick_ns,
                                      const PartsDevice& device) {
    std::shared_ptr<const Model> model;
    try {
        model = Model::load(path.string());
    } catch (const Error& error) {
        place.at("file").fail(error.what());
    }
    auto chain = std::make_shared<Chain>();
    add_segments(place, kind, split, *model, nullptr, tick_ns, device, *chain);
    const auto& plan = overtake::ModelContents::of(*model).core_plan;
    if (!plan || !plan->are_alike || plan->profiles.size() > device.cores || split.max_time != 0)
        return chain;
    auto on_several = std::make_shared<Chain>();
    add_segments(place, kind, split, *model, &*plan, tick_ns, device, *on_several);
    on_several->on_one_core = std::move(chain);
    return on_several;
}

std::shared_ptr<const Chain> read_model(const Place& place, Kind kind,
                                        const std::filesystem::path& directory,
                                        std::uint64_t tick_ns, const PartsDevice& device) {
    if (kind == Kind::fc)
        place.expect_object({"fcs", "file", "max_time_per_fc", "fc_overhead"});
    else
        place.expect_object({"segments", "file", "cpu", "max_time_per_fc", "fc_overhead"});
    const char* written = kind == Kind::fc ? "fcs" : "segments";
    const Split split = split_of(place);
    auto chain = std::make_shared<Chain>();
    if (place.has("file")) {
        if (place.has(written))
            place.fail(fmt::format("both file and {}", written));
        return compiled(place, kind, split, directory / place.at("file").name(), tick_ns, device);
    }
    if (place.has("cpu"))
        place.fail("cpu is for models from a file");
    if (kind == Kind::fc) {
        chain->add(segment_of(place, apply(place, split, durations(place.at("fcs")))));
        return chain;
    }
    for (const Place& segment : place.at("segments").elements()) {
        Chain::Segment next = written_segment(segment, split, device);
        if (next.work() > time_limit - chain->work)
            segment.fail("the sum of all times passes 2^63");
        chain->add(std::move(next));
    }
    return chain;
}

} // namespace

std::vector<std::uint64_t> equal_parts(std::uint64_t time, std::uint64_t most) {
    const std::uint64_t count = part_count(time, most);
    if (count > fcs_max)
        throw Error(EINVAL, fmt::format("max_time_per_fc makes more than {} FCs", fcs_max));
    std::vector<std::uint64_t> parts;
    for (std::uint64_t i = 0; i < count; i++)
        parts.push_back(time / count + (i < time % count ? 1 : 0));
    return parts;
}

Chain::Segment bpu_segment(const Place& fcs) {
    return segment_of(fcs, durations(fcs));
}

Models read_models(const Place& place, Kind kind, const std::filesystem::path& directory,
                   std::uint64_t tick_ns, const PartsDevice& device) {
    if (!place.value().is_object())
        place.fail("not an object");
    if (place.value().empty())
        place.fail("no model");
    Models models;
    for (const auto& [name, model] : place.value().items())
        models[name] = read_model(place.at(name), kind, directory, tick_ns, device);
    return models;
}

std::shared_ptr<const Chain> joined_chain(const Place& place,
                                          const std::vector<std::shared_ptr<const Chain>>& models) {
    auto all = std::make_shared<Chain>(), on_one_core = std::make_shared<Chain>();
    bool has_plan = false;
    for (const auto& model : models) {
        if (model->work > time_limit - all->work)
            place.fail("the sum of all times passes 2^63");
        for (const Chain::Segment& segment : model->segments)
            all->add(segment);
        has_plan = has_plan || model->on_one_core;
        for (const Chain::Segment& segment :
             (model->on_one_core ? model->on_one_core : model)->segments)
            on_one_core->add(segment);
    }
    if (has_plan)
        all->on_one_core = std::move(on_one_core);
    return all;
}

std::vector<std::uint64_t> modelled_ns(const Model& model, const overtake::Segment& segment) {
    return modelled_ns(model.clock_khz(), segment);
}

std::vector<std::uint64_t> modelled_ns(std::uint32_t clock_khz, const overtake::Segment& segment) {
    ovt_profile profile{};
    profile.clock_khz = clock_khz;
    std::vector<std::uint64_t> times;
    for (const std::uint64_t cycles : segment.fc_cycles)
        times.push_back(ovt_cycles_to_ns(&profile, cycles));
    return times;
}

std::vector<std::uint64_t> whole_ticks(const std::vector<std::uint64_t>& ns,
                                       std::uint64_t tick_ns) {
    std::vector<std::uint64_t> times;
    std::uint64_t sum_ns = 0;
    std::uint64_t sum_ticks = 0;
    for (const std::uint64_t one : ns) {
        sum_ns += one;
        const std::uint64_t end = (sum_ns + tick_ns / 2) / tick_ns;
        times.push_back(end > sum_ticks ? end - sum_ticks : 1);
        sum_ticks += times.back();
    }
    return times;
}

} // namespace overtake::simulator
