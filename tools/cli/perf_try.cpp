// SPDX-License-Identifier: MIT
#include "perf_try.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cpu/program.hpp"
#include "load/statistics.hpp"
#include "overtake/error.hpp"
#include "overtake/model_contents.hpp"
#include "progress.hpp"

namespace overtake::command {

namespace {

using Json = nlohmann::ordered_json;

/// A setting is recommended only if its ratio to the default is below this.
constexpr double worth_while = 0.98;

const char* name_of(CpuLayout layout) {
    switch (layout) {
    case CpuLayout::planes:
        return "planes";
    case CpuLayout::blocked:
        return "blocked";
    case CpuLayout::automatic:
        break;
    }
    return "auto";
}

/// A setting that runs, and the times of its turns.
struct Tried {
    TrySetting setting;
    std::vector<load::Load> load; ///< one load
    std::vector<std::uint64_t> times{};
    std::vector<double> medians{}; ///< by turn
    double ratio = 1;              ///< to the default
    bool is_faster = false;        ///< than the default, by a worthwhile part and in each turn
};

template <class Number>
Number median(std::vector<Number> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

bool is_default(const TrySetting& setting) {
    return setting.layout == CpuLayout::automatic && setting.record == 0;
}

/// Returns the layouts of each operator of the CPU, in all segments.
std::vector<std::vector<cpu::LayoutNumber>> layouts_of_operators(const Model& model,
                                                                 CpuLayout layout) {
    const ModelContents& contents = ModelContents::of(model);
    const std::span<const Tensor> tensors =
        std::span(contents.tensors).first(contents.segment_tensors);
    const std::vector<bool> is_internal = internal_tensors(contents, tensors);
    std::vector<std::vector<cpu::LayoutNumber>> all;
    for (const Segment& segment : contents.segments) {
        if (segment.on_bpu())
            continue;
        const CpuProgram program = make_cpu_program(segment.cpu_ops, tensors, is_internal, layout);
        all.insert(all.end(), program.layouts.begin(), program.layouts.end());
    }
    return all;
}

/// Returns the default layout, and those that differ from it and from each other.
std::vector<CpuLayout> layouts_to_try(const Model& model, Json& notes) {
    std::vector<CpuLayout> layouts;
    std::vector<std::vector<std::vector<cpu::LayoutNumber>>> known;
    for (const CpuLayout layout : {CpuLayout::automatic, CpuLayout::planes, CpuLayout::blocked}) {
        auto of_operators = layouts_of_operators(model, layout);
        const auto same = std::ranges::find(known, of_operators);
        if (same == known.end()) {
            known.push_back(std::move(of_operators));
            layouts.push_back(layout);
            continue;
        }
        notes.push_back(
            fmt::format("layout {} is the same as {} in this model", name_of(layout),
                        name_of(layouts[static_cast<std::size_t>(same - known.begin())])));
    }
    return layouts;
}

/// Returns the settings, the default first. `notes` gets the reasons for settings that are left
/// out.
std::vector<TrySetting> settings_for(const Model& model, const Device& device, Json& notes) {
    const auto& segments = ModelContents::of(model).segments;
    const bool has_device = std::ranges::any_of(segments, &Segment::on_bpu);
    const bool has_cpu = !std::ranges::all_of(segments, &Segment::on_bpu);
    std::vector<CpuLayout> layouts{CpuLayout::automatic};
    if (has_cpu)
        layouts = layouts_to_try(model, notes);
    else
        notes.push_back("the model has no operators on the CPU, so it has no layouts to try");
    std::vector<unsigned> levels{0};
    if (!device.records()) {
        notes.push_back("the driver is older than recordings (version 1.3), so level 0 alone is "
                        "tried");
    } else if (has_device) {
        levels = {0, 1, 2};
    } else {
        levels = {0, 2};
        notes.push_back("the model has nothing on the device, so level 1 is the same as level 0");
    }
    std::vector<TrySetting> settings;
    for (const CpuLayout layout : layouts)
        for (const unsigned level : levels)
            settings.push_back({layout, level});
    return settings;
}

void measure(Tried& tried, const std::atomic<bool>& stop) {
    const std::vector<load::Outcome> outcomes = load::run(tried.load, stop);
    const std::vector<load::Request>& requests = outcomes.front().requests;
    const auto failed =
        std::ranges::find_if(requests, [](const load::Request& each) { return each.status != 0; });
    if (failed != requests.end())
        throw Error(-failed->status,
                    fmt::format("--cpu-layout {} --record-level {}: a request "
                                "failed: {}",
                                name_of(tried.setting.layout), tried.setting.record,
                                load::why_it_failed(*failed)));
    const std::vector<std::uint64_t> times = load::response_times(requests);
    if (times.empty()) // the run was stopped
        return;
    tried.medians.push_back(static_cast<double>(load::percentile(times, 50)));
    tried.times.insert(tried.times.end(), times.begin(), times.end());
}

/// Computes the median ratio over the turns that both had.
void compare(Tried& tried, const Tried& usual) {
    std::vector<double> ratios;
    for (std::size_t turn = 0; turn < std::min(tried.medians.size(), usual.medians.size()); turn++)
        ratios.push_back(tried.medians[turn] / usual.medians[turn]);
    if (ratios.empty())
        return;
    tried.ratio = median(ratios);
    tried.is_faster = tried.ratio < worth_while &&
                      std::ranges::all_of(ratios, [](double ratio) { return ratio < 1; });
}

/// Each turn begins with another setting, so that no setting always follows the same one.
void take_turns(std::vector<Tried>& all, const std::atomic<bool>& stop) {
    ProgressBar bar;
    const std::uint64_t requests = all.front().load.front().options.requests;
    for (std::size_t turn = 0; turn < try_turns; turn++)
        for (std::size_t i = 0; i < all.size() && !stop; i++) {
            Tried& tried = all[(turn + i) % all.size()];
            load::Options& options = tried.load.front().options;
            options.requests = requests / try_turns + (turn < requests % try_turns ? 1 : 0);
            measure(tried, stop);
            options.warm_up = 1;
            bar.show("trying", static_cast<double>(turn * all.size() + i + 1) /
                                   static_cast<double>(try_turns * all.size()));
        }
}

Json best_of(const std::vector<Tried>& all) {
    double least = 1;
    for (const Tried& tried : all)
        if (tried.is_faster)
            least = std::min(least, tried.ratio);
    const auto faster = std::ranges::find_if(all, [&](const Tried& tried) {
        // The first one that is about as good as the best.
        return tried.is_faster && tried.ratio * worth_while <= least;
    });
    const Tried* const best = faster == all.end() ? &all.front() : &*faster;
    const char* const layout = name_of(best->setting.layout);
    const unsigned level = best->setting.record;
    constexpr const char* enumerators[] = {"automatic", "planes", "blocked"};
    return {{"cpu_layout", layout},
            {"record_level", level},
            {"is_default", best == &all.front()},
            {"options", fmt::format("--cpu-layout {} --record-level {}", layout, level)},
            {"session_options",
             fmt::format("cpu_layout = CpuLayout::{}, record = {}",
                         enumerators[static_cast<std::size_t>(best->setting.layout)], level)},
            {"environment",
             fmt::format("OVERTAKE_CPU_LAYOUT={} OVERTAKE_RECORD_LEVEL={}", layout, level)}};
}

double ms(double ns) {
    return ns / 1e6;
}

Json to_json(Tried& tried) {
    std::ranges::sort(tried.times);
    const auto at = [&](double percent) {
        return ms(static_cast<double>(load::percentile(tried.times, percent)));
    };
    Json json = {{"cpu_layout", name_of(tried.setting.layout)},
                 {"record_level", tried.setting.record},
                 {"requests", tried.times.size()}};
    if (tried.times.empty())
        return json;
    json.update({{"p50_ms", at(50)}, {"p99_ms", at(99)}, {"ratio", tried.ratio}});
    return json;
}

} // namespace

Json try_settings(const Model& model, const Device& device,
                  const std::function<load::Load(const TrySetting&)>& make,
                  const std::function<void()>& made, const std::atomic<bool>& stop) {
    Json notes = Json::array();
    Json refused = Json::array();
    std::vector<Tried> all;
    for (const TrySetting& setting : settings_for(model, device, notes))
        try {
            std::vector<load::Load> loads;
            loads.push_back(make(setting));
            all.push_back({setting, std::move(loads)});
        } catch (const Error& error) {
            if (is_default(setting))
                throw;
            refused.push_back({{"cpu_layout", name_of(setting.layout)},
                               {"record_level", setting.record},
                               {"why", error.what()}});
        }
    made();
    take_turns(all, stop);
    for (Tried& tried : all)
        compare(tried, all.front());
    Json json = {{"model", model.name()}, {"turns", try_turns}, {"settings", Json::array()}};
    for (Tried& tried : all)
        json["settings"].push_back(to_json(tried));
    json["refused"] = refused;
    json["notes"] = notes;
    json["best"] = best_of(all);
    return json;
}

void print_try(const Json& json) {
    fmt::print("{}: each setting in {} turns; ratio to the default, the median over the turns\n",
               json["model"].get<std::string>(), json["turns"].get<std::size_t>());
    fmt::print("layout   level  requests    p50 ms    p99 ms  ratio\n");
    for (const Json& each : json["settings"]) {
        fmt::print("{:<9}{:>5}{:>10}", each["cpu_layout"].get<std::string>(),
                   each["record_level"].get<unsigned>(), each["requests"].get<std::size_t>());
        if (each.contains("ratio"))
            fmt::print("{:>10.3f}{:>10.3f}{:>7.2f}\n", each["p50_ms"].get<double>(),
                       each["p99_ms"].get<double>(), each["ratio"].get<double>());
        else
            fmt::print("\n");
    }
    for (const Json& each : json["refused"])
        fmt::print("{:<9}{:>5}  not tried: {}\n", each["cpu_layout"].get<std::string>(),
                   each["record_level"].get<unsigned>(), each["why"].get<std::string>());
    for (const Json& note : json["notes"])
        fmt::print("{}\n", note.get<std::string>());
    const Json& best = json["best"];
    fmt::print("use         {}{}\n", best["options"].get<std::string>(),
               best["is_default"].get<bool>()
                   ? fmt::format(": the default, since no other takes {:.0f} % less time and is "
                                 "faster in each turn",
                                 100 * (1 - worth_while))
                   : "");
    fmt::print("            SessionOptions, EngineOptions: {}\n",
               best["session_options"].get<std::string>());
    fmt::print("            board programs: {}\n", best["environment"].get<std::string>());
}

} // namespace overtake::command
