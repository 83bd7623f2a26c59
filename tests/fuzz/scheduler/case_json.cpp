// SPDX-License-Identifier: MIT
//
// Fuzz cases as JSON. The reader accepts only values that a host can carry out: otherwise a
// violation could come from the file instead of the accelerator.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "scheduler/case.hpp"
#include "scheduler/work.hpp"
#include "simulator/reader.hpp"

namespace overtake::fuzz {
namespace {

using simulator::Place;

constexpr std::array<std::string_view, 3> fc_kinds = {"good", "bad_instruction", "stuck"};
constexpr std::array<std::string_view, 9> command_types = {
    "submit", "cancel", "kill", "reset", "limit", "floor", "wait", "hold", "release"};
constexpr std::array<std::string_view, 3> modes = {"functional", "timed", "both"};
constexpr std::array<std::string_view, 2> levels = {"fc", "task"};

constexpr std::uint32_t u32_max = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t u64_max = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t longest_wait = u32_max; ///< ticks; no sum of them passes 64 bits
constexpr std::uint64_t most_processes = 1000;
constexpr std::uint64_t smallest_queue = 16;
constexpr std::uint64_t largest_queue = 65536;
constexpr std::uint64_t latest_interrupt = 1000; ///< ticks
constexpr std::uint64_t most_percent = 50;       ///< of interrupts
/// Greatest work of all submits together: a host stops after a number of wake-ups (host.cpp), and
/// reports a case without end.
constexpr std::uint64_t most_work = 50'000'000; ///< ticks
constexpr std::uint64_t most_steps = 2'000'000; ///< FCs and segments

std::uint32_t number(const Place& place, std::uint64_t from, std::uint64_t to) {
    return static_cast<std::uint32_t>(place.integer(from, std::min<std::uint64_t>(to, u32_max)));
}

/// Returns the index of the text in the list.
template <std::size_t size>
std::size_t index_of(const Place& place, const std::array<std::string_view, size>& names) {
    const std::string name = place.text();
    const auto found = std::ranges::find(names, name);
    if (found == names.end())
        place.fail(fmt::format("{} is none of {}", place.value().dump(), fmt::join(names, ", ")));
    return static_cast<std::size_t>(found - names.begin());
}

nlohmann::ordered_json to_json(const Segment& segment) {
    if (segment.fcs.empty() && segment.estimate != 0)
        return {{"cpu", segment.cpu}, {"estimate", segment.estimate}};
    if (segment.fcs.empty())
        return {{"cpu", segment.cpu}};
    auto fcs = nlohmann::ordered_json::array();
    for (const Fc& fc : segment.fcs) {
        if (fc.kind == FcKind::good)
            fcs.push_back(fc.duration);
        else
            fcs.push_back(fc_kinds[static_cast<std::size_t>(fc.kind)]);
    }
    return {{"bpu", fcs}};
}

nlohmann::ordered_json to_json(const Command& command) {
    nlohmann::ordered_json json = {{"after", command.after},
                                   {"do", command_types[static_cast<std::size_t>(command.type)]}};
    switch (command.type) {
    case CommandType::submit:
        json["model"] = command.model;
        json["priority"] = command.priority;
        json["custom_id"] = command.custom_id;
        json["slo"] = command.slo;
        json["core"] = command.core;
        json["process"] = command.process;
        break;
    case CommandType::cancel:
        json["submit"] = command.target;
        break;
    case CommandType::kill:
        json["process"] = command.process;
        break;
    case CommandType::limit:
    case CommandType::floor:
        json["value"] = command.value;
        [[fallthrough]];
    case CommandType::reset:
        json["core"] = command.core;
        break;
    case CommandType::wait:
    case CommandType::hold:
    case CommandType::release:
        break;
    }
    return json;
}

class Reader {
public:
    explicit Reader(const nlohmann::json& json) : top_(json) {}

    Case read() {
        head();
        device();
        scheduler();
        host();
        for (const Place& model : top_.at("models").elements())
            case_.models.push_back(read_model(model));
        longest_fc_fits();
        // Unlike other lists, `commands` may be empty after shrinking.
        if (top_.at("commands").value() != nlohmann::json::array())
            for (const Place& command : top_.at("commands").elements())
                case_.commands.push_back(read_command(command));
        return std::move(case_);
    }

private:
    void head() {
        std::vector<std::string_view> keys = {
            "version",  "kind",          "level",       "mode",      "core_limits", "fair",
            "watchdog", "command_queue", "event_queue", "processes", "policy",      "service_mode",
            "host",     "models",        "commands",    "found"};
        for (u32 i = 0; const ovt_setting* setting = ovt_setting_at(i); i++)
            keys.emplace_back(setting->name);
        top_.expect_object(keys);
        if (top_.at("kind").text() != "fuzz")
            top_.at("kind").fail("not a fuzz case");
        if (top_.at("version").integer(0, u64_max) != 1)
            top_.at("version").fail("only version 1 is known");
        if (top_.has("found")) // for people only
            top_.at("found").expect_object({"seed", "commands", "commit", "violation"});
        case_.task_level = index_of(top_.at("level"), levels) == 1;
        case_.mode = static_cast<ovt_mode>(index_of(top_.at("mode"), modes));
    }

    void device() {
        const Place limits = top_.at("core_limits");
        for (const Place& limit : limits.elements())
            case_.core_limits.push_back(number(limit, 0, u32_max));
        if (case_.core_limits.size() > OVT_MAX_CORES)
            limits.fail(fmt::format("a device has at most {} cores", OVT_MAX_CORES));
        case_.fair = top_.at("fair").boolean();
        case_.watchdog = top_.at("watchdog").integer(1, most_work);
        case_.command_count = queue_size(top_.at("command_queue"));
        case_.event_count = queue_size(top_.at("event_queue"));
        case_.processes = number(top_.at("processes"), 1, most_processes);
    }

    static std::uint32_t queue_size(const Place& place) {
        const std::uint32_t size = number(place, smallest_queue, largest_queue);
        if (!std::has_single_bit(size))
            place.fail(fmt::format("{} is not a power of two", size));
        return size;
    }

    void scheduler() {
        case_.settings.policy = policy(top_.at("policy"));
        case_.service_mode = top_.at("service_mode").boolean();
        for (u32 i = 0; const ovt_setting* setting = ovt_setting_at(i); i++)
            ovt_setting_set(setting, &case_.settings, value_of(*setting, top_.at(setting->name)));
    }

    static std::uint64_t value_of(const ovt_setting& setting, const Place& place) {
        if (setting.unit == OVT_UNIT_SWITCH)
            return place.boolean() ? 1 : 0;
        return place.integer(setting.least, setting.unit == OVT_UNIT_TIME ? longest_wait : u32_max);
    }

    static const ovt_sched_policy* policy(const Place& place) {
        const std::string name = place.text();
        for (std::uint32_t i = 0; ovt_sched_policy_at(i) != nullptr; i++)
            if (name == ovt_sched_policy_at(i)->name)
                return ovt_sched_policy_at(i);
        place.fail(fmt::format("{} is no policy", place.value().dump()));
    }

    void host() {
        const Place host = top_.at("host");
        host.expect_object({"seed", "latency_max", "lost_percent", "duplicate_percent"});
        case_.faults.seed = host.at("seed").integer(0, u64_max);
        case_.faults.latency_max = number(host.at("latency_max"), 0, latest_interrupt);
        case_.faults.lost_percent = number(host.at("lost_percent"), 0, most_percent);
        case_.faults.duplicate_percent = number(host.at("duplicate_percent"), 0, most_percent);
    }

    Model read_model(const Place& place) const {
        Model model;
        for (const Place& segment : place.elements())
            model.segments.push_back(read_segment(segment));
        if (!case_.task_level && (model.segments.size() > 1 || model.segments.front().fcs.empty()))
            place.fail("at level fc a model is one segment of FCs");
        return model;
    }

    static Segment read_segment(const Place& place) {
        if (place.value().is_object() && place.has("cpu")) {
            place.expect_object({"cpu", "estimate"});
            Segment segment{{}, place.at("cpu").integer(1, most_work)};
            if (place.has("estimate"))
                segment.estimate = place.at("estimate").integer(1, u32_max);
            return segment;
        }
        place.expect_object({"bpu"});
        Segment segment{{}, 0};
        for (const Place& fc : place.at("bpu").elements()) {
            if (fc.value().is_string())
                segment.fcs.push_back({static_cast<FcKind>(index_of(fc, fc_kinds)), 1});
            else
                segment.fcs.push_back({FcKind::good, number(fc, 1, longest_fc)});
        }
        return segment;
    }

    /// Checks that the watchdog does not end an FC that should end by itself.
    void longest_fc_fits() const {
        for (const Model& model : case_.models)
            for (const Segment& segment : model.segments)
                for (const Fc& fc : segment.fcs)
                    if (fc.duration > case_.watchdog)
                        top_.at("watchdog")
                            .fail(fmt::format("{}, but there is an FC of {}", case_.watchdog,
                                              fc.duration));
    }

    Command read_command(const Place& place) {
        if (!place.value().is_object())
            place.expect_object({});
        Command command;
        command.type = static_cast<CommandType>(index_of(place.at("do"), command_types));
        command.after = place.at("after").integer(0, longest_wait);
        switch (command.type) {
        case CommandType::submit:
            read_submit(place, command);
            break;
        case CommandType::cancel:
            place.expect_object({"after", "do", "submit"});
            if (submits_ == 0)
                place.fail("there is no submit before it");
            command.target = number(place.at("submit"), 0, submits_ - 1);
            break;
        case CommandType::kill:
            place.expect_object({"after", "do", "process"});
            command.process = number(place.at("process"), 0, case_.processes - 1);
            break;
        case CommandType::reset:
            place.expect_object({"after", "do", "core"});
            command.core = number(place.at("core"), 1, case_.cores());
            break;
        case CommandType::limit:
        case CommandType::floor:
            place.expect_object({"after", "do", "core", "value"});
            command.core = number(place.at("core"), 1, case_.cores());
            command.value = number(place.at("value"), 0, u32_max);
            break;
        case CommandType::wait:
        case CommandType::hold:
        case CommandType::release:
            place.expect_object({"after", "do"});
            break;
        }
        return command;
    }

    void read_submit(const Place& place, Command& command) {
        place.expect_object(
            {"after", "do", "model", "priority", "custom_id", "slo", "core", "process"});
        command.model = number(place.at("model"), 0, case_.models.size() - 1);
        command.priority = number(place.at("priority"), 0, 255);
        command.custom_id = place.at("custom_id").any_integer();
        command.slo = place.at("slo").integer(0, longest_wait);
        command.core = number(place.at("core"), 0, case_.cores());
        command.process = number(place.at("process"), 0, case_.processes - 1);
        submits_++;
        for (const Segment& segment : case_.models[command.model].segments)
            add(place, segment);
    }

    void add(const Place& place, const Segment& segment) {
        work_.add(segment, case_.watchdog);
        if (work_.ticks > most_work)
            place.fail(fmt::format("more than {} ticks of work up to here", most_work));
        if (work_.steps > most_steps)
            place.fail(fmt::format("more than {} FCs and segments up to here", most_steps));
    }

    const Place top_;
    Case case_;
    std::uint64_t submits_ = 0;
    Work work_;
};

} // namespace

nlohmann::ordered_json to_json(const Case& of) {
    nlohmann::ordered_json json = {{"version", 1},
                                   {"kind", "fuzz"},
                                   {"level", of.task_level ? "task" : "fc"},
                                   {"mode", modes[of.mode]},
                                   {"core_limits", of.core_limits},
                                   {"fair", of.fair},
                                   {"watchdog", of.watchdog},
                                   {"command_queue", of.command_count},
                                   {"event_queue", of.event_count},
                                   {"processes", of.processes},
                                   {"policy", of.settings.policy->name},
                                   {"service_mode", of.service_mode}};
    for (u32 i = 0; const ovt_setting* setting = ovt_setting_at(i); i++) {
        const std::uint64_t value = ovt_setting_get(setting, &of.settings);
        if (setting->unit == OVT_UNIT_SWITCH)
            json[setting->name] = value != 0;
        else
            json[setting->name] = value;
    }
    json["host"] = {{"seed", of.faults.seed},
                    {"latency_max", of.faults.latency_max},
                    {"lost_percent", of.faults.lost_percent},
                    {"duplicate_percent", of.faults.duplicate_percent}};
    json["models"] = nlohmann::ordered_json::array();
    json["commands"] = nlohmann::ordered_json::array();
    for (const Model& model : of.models) {
        auto segments = nlohmann::ordered_json::array();
        for (const Segment& segment : model.segments)
            segments.push_back(to_json(segment));
        json["models"].push_back(segments);
    }
    for (const Command& command : of.commands)
        json["commands"].push_back(to_json(command));
    return json;
}

Case from_json(const nlohmann::json& json) {
    return Reader(json).read();
}

} // namespace overtake::fuzz
