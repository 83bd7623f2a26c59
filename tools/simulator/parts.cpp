// SPDX-License-Identifier: MIT
#include "simulator/parts.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "simulator/simulator.hpp"

namespace overtake::simulator {
namespace {

class PartsReader {
public:
    PartsReader(const Place& place, const PartsDevice& device) : place_(place), device_(device) {}

    Chain::Segment read() {
        const std::vector<Place> list = place_.elements();
        if (list.size() > device_.cores)
            place_.fail(fmt::format("{} parts, but the device has {}", list.size(), cores()));
        stages_.resize(list.front().at("stages").elements().size());
        for (const Place& part : list)
            read_part(part, parts_.list.size());
        for (std::size_t i = 0; i < stages_.size(); i++)
            finish_stage(list.front(), i);
        segment_.time = parts_.work = 0;
        for (const std::uint64_t fc : segment_.fcs)
            add_work(fc);
        for (const Stage& stage : stages_) {
            add_work(device_.sync);
            segment_.time += stage.longest;
        }
        segment_.parts = std::make_shared<const Parts>(std::move(parts_));
        return std::move(segment_);
    }

private:
    struct Stage {
        std::vector<std::uint64_t> times{}; ///< of the parts that have FCs in the stage
        std::vector<std::size_t> parts{};
        std::uint64_t longest = 0;
    };

    std::string cores() const {
        return fmt::format("{} core{}", device_.cores, device_.cores == 1 ? "" : "s");
    }

    void read_part(const Place& place, std::size_t number) {
        if (device_.parts_name_cores)
            place.expect_object({"core", "stages"});
        else
            place.expect_object({"stages"});
        Parts::Part part{
            .core = core_of(place, number), .first = segment_.fcs.size(), .stages = {}};
        const std::vector<Place> stages = place.at("stages").elements();
        if (stages.size() != stages_.size())
            place.at("stages").fail(
                fmt::format("{} stages, but the first part has {}", stages.size(), stages_.size()));
        for (std::size_t i = 0; i < stages.size(); i++)
            read_fcs(stages[i], i, number, part);
        if (part.stages.empty())
            place.at("stages").fail("no FC in any stage: leave the part out");
        parts_.list.push_back(std::move(part));
    }

    std::uint32_t core_of(const Place& place, std::size_t number) const {
        std::uint32_t core = 0;
        if (place.has("core"))
            core = static_cast<std::uint32_t>(
                std::min<std::uint64_t>(place.at("core").time(), ~std::uint32_t{0}));
        if (core > device_.cores)
            place.at("core").fail(
                fmt::format("{}, but the device has {}", place.at("core").value().dump(), cores()));
        if (number == 0)
            return core;
        if ((core != 0) != (parts_.list.front().core != 0))
            place.fail(core != 0 ? "names a core, but the first part does not: all or none"
                                 : "names no core, but the first part does: all or none");
        const auto same = std::ranges::find(parts_.list, core, &Parts::Part::core);
        if (core != 0 && same != parts_.list.end())
            place.at("core").fail(
                fmt::format("{}, but parts[{}] is on that core", core, same - parts_.list.begin()));
        return core;
    }

    void read_fcs(const Place& place, std::size_t stage, std::size_t number, Parts::Part& part) {
        std::uint64_t time = 0;
        for (const Place& fc : place.elements_if_any()) {
            segment_.fcs.push_back(fc.duration());
            part.stages.push_back(static_cast<std::uint32_t>(stage));
            if (segment_.fcs.back() > time_limit - time)
                fail_sum();
            time += segment_.fcs.back();
        }
        if (time == 0)
            return;
        stages_[stage].parts.push_back(number);
        stages_[stage].times.push_back(time);
    }

    /// Sets a stage's number of FCs, and its time alone.
    void finish_stage(const Place& first, std::size_t number) {
        Stage& stage = stages_[number];
        if (stage.parts.empty())
            first.at("stages").elements()[number].fail(
                "no part has an FC in this stage: leave it out of all");
        std::uint32_t fcs = 0;
        for (const Parts::Part& part : parts_.list)
            fcs += static_cast<std::uint32_t>(
                std::ranges::count(part.stages, static_cast<std::uint32_t>(number)));
        parts_.stage_fcs.push_back(fcs);
        for (std::size_t i = 0; i < stage.parts.size(); i++) {
            const bool waits = number != 0 && (stages_[number - 1].parts.size() > 1 ||
                                               stages_[number - 1].parts[0] != stage.parts[i]);
            if (waits && device_.sync > time_limit - stage.times[i])
                fail_sum();
            stage.longest = std::max(stage.longest, stage.times[i] + (waits ? device_.sync : 0));
        }
    }

    void add_work(std::uint64_t time) {
        if (time > time_limit - parts_.work)
            fail_sum();
        parts_.work += time;
    }

    [[noreturn]] void fail_sum() const { place_.fail("the sum of all times passes 2^63"); }

    Place place_;
    PartsDevice device_;
    Chain::Segment segment_{};
    Parts parts_;
    std::vector<Stage> stages_;
};

WideTask& wide_of(LiveTask& task) {
    if (!task.wide)
        task.wide = std::make_unique<WideTask>();
    return *task.wide;
}

} // namespace

Chain::Segment parts_segment(const Place& place, const PartsDevice& device) {
    return PartsReader(place, device).read();
}

void set_group(LiveTask& task, const Chain::Segment& segment, const ovt_fc* program,
               std::uint32_t core) {
    if (task.wide)
        task.wide->parts.clear();
    if (!segment.parts)
        return;
    const Parts& parts = *segment.parts;
    WideTask& wide = wide_of(task);
    for (const Parts::Part& of : parts.list) {
        ovt_fw_part& part = wide.parts.emplace_back();
        part.fcs = program;
        part.stages = of.stages.data();
        part.fc_count = static_cast<u32>(of.stages.size());
        part.core = of.core != 0         ? of.core
                    : wide.cores.empty() ? core
                                         : wide.cores[wide.parts.size() - 1];
    }
    wide.group = {};
    wide.group.parts = wide.parts.data();
    wide.group.part_count = static_cast<u32>(wide.parts.size());
    wide.group.stage_fcs = parts.stage_fcs.data();
    wide.group.stage_count = static_cast<u32>(parts.stage_fcs.size());
    task.job.group = &wide.group;
}

std::uint64_t settle_cores(LiveTask& task, const ovt_fw& device, const ovt_fw_context& context,
                           std::uint64_t cores) {
    std::vector<std::uint32_t>& of = task.wide->cores;
    std::uint64_t taken = 0;
    do {
        of.push_back(ovt_fw_place(&device, &context, cores & ~taken));
        taken |= std::uint64_t{1} << (of.back() - 1);
    } while (of.size() < task.kind->chain->width);
    return taken;
}

void set_span(LiveTask& task, const Chain& chain) {
    task.sched.span = nullptr;
    if (task.wide)
        task.wide->cores.clear();
    if (chain.width < 2)
        return;
    WideTask& wide = wide_of(task);
    wide.gaps.resize(chain.width);
    wide.span = {.width = chain.width, .gaps = wide.gaps.data(), .cores = 0};
    task.sched.span = &wide.span;
}

} // namespace overtake::simulator
