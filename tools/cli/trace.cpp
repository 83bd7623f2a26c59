// SPDX-License-Identifier: MIT
//
// overtake trace: prints the events of a device, a line for each.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "device_facts.hpp"
#include "observe/record/recording.hpp"
#include "observe/timeline/perfetto.hpp"
#include "observe/timeline/timeline.hpp"
#include "observe/watch/filter.hpp"
#include "observe/watch/line.hpp"
#include "observe/watch/processor_lanes.hpp"
#include "observe/watch/processor_names.hpp"
#include "observe/watch/timeline_of.hpp"
#include "observe/watch/watching.hpp"
#include "option_checks.hpp"
#include "output_file.hpp"
#include "overtake/server.hpp"
#include "units.hpp"

namespace overtake::command {
namespace {

struct TraceOptions {
    std::string device = "auto";
    watch::Filter filter;
    double seconds = 0;
    std::string svg;
    std::string perfetto;
    std::string record;
    std::vector<std::string> libraries; ///< libraries whose engines' tasks are shown, too
    bool json = false;

    bool draws() const { return !svg.empty() || !perfetto.empty(); }
    bool prints() const { return !draws() && record.empty(); }
};

std::vector<std::string> event_types() {
    std::vector<std::string> names;
    for (std::size_t type = 0; type < event_type_count; type++)
        names.emplace_back(event_type_name(static_cast<EventType>(type)));
    for (std::size_t type = 0; type < watch::processor_event_count; type++)
        names.emplace_back(name_of(static_cast<watch::ProcessorEventType>(type)));
    return names;
}

void draw(const TraceOptions& options, timeline::Timeline& timeline) {
    watch::sort_by_start(timeline);
    timeline.title = fmt::format("{}: {} FCs", options.device, timeline.fcs.size());
    std::uint64_t first = UINT64_MAX, last = 0;
    for (const timeline::Fc& fc : timeline.fcs) {
        first = std::min(first, fc.start_ns);
        last = std::max(last, fc.end_ns);
    }
    if (timeline.fcs.empty())
        throw Error(ENODATA, "trace: no FC ended while it was watched: there is nothing to draw");
    timeline.origin_ns = first;
    // A request that had begun before is shown from the first event on.
    for (timeline::Request& request : timeline.requests)
        request.arrival_ns = std::max(request.arrival_ns, first);
    if (!options.svg.empty())
        write_file(options.svg,
                   [&](std::ostream& out) { out << timeline::to_svg(timeline, first, last); });
    if (!options.perfetto.empty())
        timeline::write_perfetto(timeline, options.perfetto);
}

/// Returns the rules of the device, which no event reports.
DeviceRules rules_of(const std::string& name, const Device& device) {
    constexpr std::string_view server_prefix = "server:";
    if (device.backend() != "server")
        return rules_of_node(node_of(name));
    const std::string socket =
        name.starts_with(server_prefix) ? name.substr(server_prefix.size()) : default_server_path();
    return {.fair = nlohmann::json::parse(server_status(socket)).value("fair", false)};
}

/// Returns the current settings: later changes of core limits are recorded.
record::Options settings_of(const TraceOptions& options, const watch::Watched& watched) {
    const std::string name = options.device == "auto" ? "kernel" : options.device;
    const auto device = watched.device ? watched.device : open_device(name);
    record::Options settings;
    settings.cores = device->info().core_count;
    for (const drm_overtake_core_info& core : device->cores())
        settings.core_limits.push_back(core.core_limit);
    DeviceRules rules = rules_of(name, *device);
    settings.fair = rules.fair;
    settings.normal_floors = std::move(rules.normal_floors);
    const std::size_t digits = name.find_last_not_of("0123456789") + 1;
    if (name.starts_with('/') && digits < name.size())
        settings.device = static_cast<std::uint32_t>(std::stoul(name.substr(digits)));
    settings.description = fmt::format("recorded on {}", options.device);
    settings.name = [](std::uint64_t, std::uint32_t pid, std::uint64_t model) {
        return watch::owner_name(model, pid);
    };
    return settings;
}

void write_recording(const TraceOptions& options, record::Recording& recording,
                     std::vector<Event>& events, std::uint64_t lost) {
    std::ranges::stable_sort(events, {}, &Event::time_ns);
    for (const Event& event : events)
        recording.add(event);
    recording.lost(lost);
    write_file(options.record, [&](std::ostream& out) { recording.write(out); });
    for (const std::string& note : recording.notes())
        fmt::print(stderr, "overtake: trace: {}\n", note);
    fmt::print("{}: {} jobs; replay them with overtake sim {}\n", options.record, recording.jobs(),
               options.record);
}

/// The events of engines with several processors, beside those of devices.
class EngineLines {
public:
    explicit EngineLines(const TraceOptions& options) : options_(options) {}

    void take(EventSource& source, std::uint64_t& origin_ns) {
        for (const watch::ProcessorEvent& event : watch::take_processor_events(source)) {
            const watch::ProcessorNames::About about = names_.follow(event);
            if (options_.draws() && is_of_wanted_process(event))
                lanes_.add(event);
            if (!options_.prints() || !options_.filter.takes(event, about.model, about.priority))
                continue;
            if (origin_ns == 0)
                origin_ns = event.time_ns;
            const std::uint64_t model = about.model.value_or(0);
            if (options_.json)
                fmt::print("{}\n", watch::to_json(event, model, about.processor).dump());
            else
                fmt::print("{}\n", watch::to_line(event, model, about.processor, origin_ns));
        }
        names_.forget(ended_.look([&] { return names_.processes(); }));
    }

    /// Cores of the device have rows of their own only if there are other rows.
    void add_to(timeline::Timeline& timeline) const {
        unsigned cores = 0;
        for (const timeline::Fc& fc : timeline.fcs)
            cores = std::max(cores, fc.core);
        if (!lanes_.empty())
            lanes_.add_to(timeline, cores);
    }

private:
    bool is_of_wanted_process(const watch::ProcessorEvent& event) const {
        const auto& pids = options_.filter.pids;
        return pids.empty() || std::ranges::find(pids, event.pid) != pids.end();
    }

    const TraceOptions& options_;
    watch::ProcessorNames names_;
    watch::ProcessorLanes lanes_;
    watch::EndedNowAndThen ended_;
};

int trace(const TraceOptions& options) {
    for (const std::string& path : {options.svg, options.perfetto, options.record})
        if (!path.empty())
            check_output_file(path);
    watch::raise_descriptor_limit();
    watch::stop_on_signals();
    const watch::Watched watched = watch::watch_device(
        options.device,
        {.wanted = options.prints(), .runs = options.draws(), .libraries = options.libraries});
    if (const std::string left_out = watch::engines_left_out(*watched.events); !left_out.empty())
        fmt::print(stderr, "overtake: trace: {}\n", left_out);
    watch::Jobs jobs;
    watch::Expiry expiry(
        watched, [&] { return jobs.processes(); },
        [&](const std::set<std::uint32_t>& pids) { jobs.forget(pids); });
    timeline::Timeline timeline;
    EngineLines engines(options);
    std::optional<record::Recording> recording;
    std::vector<Event> recorded;
    if (!options.record.empty())
        recording.emplace(settings_of(options, watched));
    std::uint64_t origin_ns = 0;
    watch::watch(
        *watched.events, options.seconds,
        [&](const Event& event) {
            const watch::Job* job = jobs.follow(event);
            if (!options.filter.takes(event, job))
                return true;
            if (origin_ns == 0)
                origin_ns = event.time_ns;
            if (options.draws())
                watch::add_to(timeline, event, job);
            if (recording)
                recorded.push_back(event);
            if (options.json)
                fmt::print("{}\n", watch::to_json_line(event));
            else if (options.prints())
                fmt::print("{}\n", watch::to_line(event, job, origin_ns));
            return std::ferror(stdout) == 0;
        },
        [&] {
            engines.take(*watched.events, origin_ns);
            std::fflush(stdout);
            expiry.rest();
        });
    engines.take(*watched.events, origin_ns);
    if (const std::uint64_t lost = watched.events->lost(); lost != 0)
        fmt::print(stderr, "overtake: trace: {} events were lost: what is shown has gaps\n", lost);
    if (const std::uint64_t dropped = jobs.dropped() + watch::dropped_of_engines(*watched.events);
        dropped != 0)
        fmt::print(stderr,
                   "overtake: trace: {} jobs and tasks were dropped, the oldest first, since "
                   "memory for them is bounded\n",
                   dropped);
    if (options.draws()) {
        engines.add_to(timeline);
        draw(options, timeline);
    }
    if (recording)
        write_recording(options, *recording, recorded, watched.events->lost());
    return 0;
}

} // namespace

void add_trace(CLI::App& app, int& status) {
    auto options = std::make_shared<TraceOptions>();
    auto* command = app.add_subcommand("trace", "Show what happens on a device, event by event");
    command
        ->add_option("--device", options->device,
                     "Device: auto, kernel, server, server:SOCKET, /dev/accel/accelN, or "
                     "engines: those with several processors alone")
        ->capture_default_str();
    watch::Filter& filter = options->filter;
    command->add_option("--pid", filter.pids, "Of this process; may be repeated")
        ->check(whole_number(1, UINT32_MAX));
    command->add_option("--core", filter.cores, "On this core; may be repeated")
        ->check(whole_number(1, OVERTAKE_MAX_CORES));
    command
        ->add_option("--priority", filter.priorities, "Of jobs of this priority; may be repeated")
        ->check(whole_number(0, priority_high));
    command->add_option("--model", filter.models, "Of jobs of the model called so; may be repeated")
        ->check(not_empty());
    command->add_option("--type", filter.types, "Events of this type; may be repeated")
        ->check(one_of(event_types()));
    command
        ->add_option("--duration", options->seconds,
                     "Seconds, or with a unit (5min); without it, until it is interrupted")
        ->transform(duration(TimeUnit::second, 0.001, 1e7));
    command->add_option("--svg", options->svg, "Draw the FCs into FILE, instead of lines")
        ->check(not_empty());
    command
        ->add_option("--perfetto", options->perfetto,
                     "Write FILE for ui.perfetto.dev, instead of lines")
        ->check(not_empty());
    command
        ->add_option("--record", options->record,
                     "Write FILE, a scenario that overtake sim replays, instead of lines")
        ->check(not_empty());
    command
        ->add_option("--library", options->libraries,
                     "Show the tasks of engines in this libovertake.so, too; may be repeated")
        ->check(not_empty());
    command->add_flag("--json", options->json, "A JSON object for each event");
    command->callback([options, &status] { status = trace(*options); });
}

} // namespace overtake::command
