// SPDX-License-Identifier: MIT
#include "simulator/fuzz/case.hpp"

#include <array>
#include <cerrno>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "overtake/device.hpp"
#include "simulator/random.hpp"

namespace overtake::fuzz {
namespace {

using simulator::Random;

constexpr std::array<std::string_view, 3> fc_kinds = {"good", "bad_instruction", "stuck"};
constexpr std::array<std::string_view, 6> command_types = {"submit", "cancel", "kill",
                                                           "reset",  "limit",  "wait"};
constexpr std::array<std::string_view, 3> modes = {"functional", "timed", "both"};

/// Jobs longer than a ring has entries, so that rings are full.
constexpr std::uint32_t long_job = OVT_RING_ENTRIES + 30;

template <class List>
auto pick(Random& random, const List& list) {
    return list[random.below(std::size(list))];
}

class Draw {
public:
    Draw(std::uint64_t seed, unsigned commands) : random_(seed), commands_(commands) {}

    Case draw() {
        case_.task_level = random_.one_in(2);
        device();
        if (case_.task_level)
            scheduler();
        const std::uint64_t models = random_.between(2, 5);
        for (std::uint64_t i = 0; i < models; i++)
            case_.models.push_back(model());
        faults();
        for (unsigned i = 0; i < commands_; i++)
            case_.commands.push_back(command());
        return std::move(case_);
    }

private:
    void device() {
        case_.mode = random_.one_in(4) ? OVT_MODE_FUNCTIONAL
                                       : (random_.one_in(4) ? OVT_MODE_BOTH : OVT_MODE_TIMED);
        case_.core_limits.resize(pick(random_, std::array{1, 1, 1, 2, 2, 3, 4}));
        for (std::uint32_t& limit : case_.core_limits)
            limit = pick(random_, std::array{0u, 1u, 1u, 2u, 3u, 8u});
        case_.watchdog = random_.between(30, 200);
        case_.command_count = pick(random_, std::array{16u, 64u, 256u});
        if (case_.task_level && !random_.one_in(8))
            case_.command_count = 1024; // a full queue fails tasks
        case_.event_count = pick(random_, std::array{16u, 32u, 256u});
        case_.processes = static_cast<std::uint32_t>(random_.between(1, 3));
    }

    void scheduler() {
        case_.service_mode = random_.one_in(3);
        case_.slots = pick(random_, std::array{1u, 1u, 1u, 2u, 3u});
        case_.task_limit = pick(random_, std::array{1u, 2u, 3u, 8u, 8u, 8u});
        case_.workers = pick(random_, std::array{1u, 2u, 4u});
        case_.threshold_percent = pick(random_, std::array{0u, 10u, 50u, 100u, 100u, 200u});
        case_.insert_max_time = random_.one_in(3) ? random_.between(1, 30) : 0;
        case_.wait_dispatch_time = random_.one_in(3) ? random_.between(1, 30) : 1000;
    }

    std::uint32_t duration() { return static_cast<std::uint32_t>(random_.between(1, 12)); }

    Fc fc() {
        if (random_.one_in(60))
            return {FcKind::bad_instruction, 1};
        if (random_.one_in(150))
            return {FcKind::stuck, 1};
        return {FcKind::good, duration()};
    }

    Segment bpu(std::uint64_t fcs) {
        Segment segment{{}, 0};
        for (std::uint64_t i = 0; i < fcs; i++)
            segment.fcs.push_back(fc());
        return segment;
    }

    Model model() {
        if (random_.one_in(20))
            return {{bpu(random_.between(OVT_RING_ENTRIES, long_job))}};
        if (!case_.task_level)
            return {{bpu(random_.between(1, 6))}};
        Model model;
        const std::uint64_t segments = random_.between(1, 4);
        for (std::uint64_t i = 0; i < segments; i++) {
            if (random_.one_in(2))
                model.segments.push_back(bpu(random_.between(1, 3)));
            else
                model.segments.push_back({{}, random_.between(1, 20)});
        }
        return model;
    }

    void faults() {
        case_.faults.seed = random_.next();
        if (random_.one_in(3))
            return; // a host that is always in time, for what needs coincidences
        case_.faults.latency_max = pick(random_, std::array{0u, 1u, 3u, 10u, 50u});
        case_.faults.lost_percent = pick(random_, std::array{0u, 0u, 5u, 30u});
        case_.faults.duplicate_percent = pick(random_, std::array{0u, 0u, 5u, 30u});
    }

    std::uint64_t gap() {
        if (random_.one_in(100))
            return random_.between(200, 5000); // a jump of the clock
        return random_.one_in(2) ? 0 : random_.between(1, 15);
    }

    std::uint32_t any_core() {
        return static_cast<std::uint32_t>(random_.between(1, case_.cores()));
    }

    Command submit(Command command) {
        command.type = CommandType::submit;
        command.model = static_cast<std::uint32_t>(random_.below(case_.models.size()));
        command.priority = random_.one_in(3) ? 255 : pick(random_, std::array{0u, 5u, 5u, 254u});
        command.custom_id = pick(random_, std::array{-1, 0, 0, 7});
        command.core = random_.one_in(2) ? 0 : any_core();
        command.process = static_cast<std::uint32_t>(random_.below(case_.processes));
        submits_++;
        return command;
    }

    Command command() {
        Command command;
        command.after = gap();
        const std::uint64_t kind = random_.below(100);
        if (kind < 65 || submits_ == 0)
            return submit(command);
        if (kind < 85) {
            command.type = CommandType::cancel;
            // Mostly one that may still be there.
            const std::uint64_t back = random_.below(random_.one_in(4) ? submits_ : 8);
            command.target =
                static_cast<std::uint32_t>(submits_ - 1 - std::min(back, submits_ - 1));
        } else if (kind < 87) {
            command.type = CommandType::kill;
            command.process = static_cast<std::uint32_t>(random_.below(case_.processes));
        } else if (kind < 90) {
            command.type = CommandType::reset;
            command.core = any_core();
        } else if (kind < 92) {
            command.type = CommandType::limit;
            command.core = any_core();
            command.value = pick(random_, std::array{0u, 1u, 2u, 5u});
        }
        return command;
    }

    Random random_;
    unsigned commands_;
    Case case_;
    std::uint64_t submits_ = 0;
};

template <std::size_t size>
std::size_t index_of(const std::array<std::string_view, size>& names, const std::string& name) {
    for (std::size_t i = 0; i < size; i++)
        if (names[i] == name)
            return i;
    throw Error(EINVAL, fmt::format("a fuzz case knows no \"{}\"", name));
}

nlohmann::ordered_json to_json(const Segment& segment) {
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

Segment segment_from(const nlohmann::json& json) {
    if (json.contains("cpu"))
        return {{}, json.at("cpu")};
    Segment segment{{}, 0};
    for (const auto& fc : json.at("bpu")) {
        if (fc.is_string())
            segment.fcs.push_back(
                {static_cast<FcKind>(index_of(fc_kinds, fc.get<std::string>())), 1});
        else
            segment.fcs.push_back({FcKind::good, fc.get<std::uint32_t>()});
    }
    return segment;
}

nlohmann::ordered_json to_json(const Command& command) {
    nlohmann::ordered_json json = {{"after", command.after},
                                   {"do", command_types[static_cast<std::size_t>(command.type)]}};
    switch (command.type) {
    case CommandType::submit:
        json["model"] = command.model;
        json["priority"] = command.priority;
        json["custom_id"] = command.custom_id;
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
        json["value"] = command.value;
        [[fallthrough]];
    case CommandType::reset:
        json["core"] = command.core;
        break;
    case CommandType::wait:
        break;
    }
    return json;
}

Command command_from(const nlohmann::json& json) {
    Command command;
    command.after = json.at("after");
    command.type =
        static_cast<CommandType>(index_of(command_types, json.at("do").get<std::string>()));
    command.model = json.value("model", 0u);
    command.priority = json.value("priority", 0u);
    command.custom_id = json.value("custom_id", std::int64_t{0});
    command.core = json.value("core", 0u);
    command.process = json.value("process", 0u);
    command.target = json.value("submit", 0u);
    command.value = json.value("value", 0u);
    return command;
}

/// What would make the host of a case touch what is not there.
void check(const Case& of) {
    const auto demand = [](bool good, const char* what) {
        if (!good)
            throw Error(EINVAL, fmt::format("not a fuzz case: {}", what));
    };
    demand(of.cores() >= 1 && of.cores() <= OVT_MAX_CORES, "core_limits");
    demand(of.processes >= 1 && of.processes <= 1000, "processes");
    demand(of.slots >= 1 && of.task_limit >= 1 && of.workers >= 1, "a limit of 0");
    for (const std::uint32_t count : {of.command_count, of.event_count})
        demand(count >= 16 && count <= 65536 && (count & (count - 1)) == 0, "queue sizes");
    for (const Model& model : of.models) {
        demand(!model.segments.empty(), "an empty model");
        for (const Segment& segment : model.segments)
            demand(!segment.fcs.empty() || segment.cpu != 0, "an empty segment");
        for (const Segment& segment : model.segments)
            for (const Fc& fc : segment.fcs)
                demand(fc.duration >= 1 && fc.duration <= longest_fc, "the time of an FC");
        demand(of.task_level || !model.segments.front().fcs.empty(), "a job without FCs");
    }
    for (const Command& command : of.commands) {
        demand(command.type != CommandType::submit || command.model < of.models.size(), "model");
        demand(command.process < of.processes, "process");
        demand(command.core <= of.cores(), "core");
        demand(command.core >= 1 ||
                   (command.type != CommandType::reset && command.type != CommandType::limit),
               "core");
        demand(command.priority <= 255, "priority");
    }
}

} // namespace

Case draw(std::uint64_t seed, unsigned commands) {
    return Draw(seed, commands).draw();
}

nlohmann::ordered_json to_json(const Case& of) {
    nlohmann::ordered_json json = {{"version", 1},
                                   {"kind", "fuzz"},
                                   {"level", of.task_level ? "task" : "fc"},
                                   {"mode", modes[of.mode]},
                                   {"core_limits", of.core_limits},
                                   {"watchdog", of.watchdog},
                                   {"command_queue", of.command_count},
                                   {"event_queue", of.event_count},
                                   {"processes", of.processes},
                                   {"service_mode", of.service_mode},
                                   {"slots", of.slots},
                                   {"task_limit", of.task_limit},
                                   {"workers", of.workers},
                                   {"threshold_percent", of.threshold_percent},
                                   {"insert_max_time", of.insert_max_time},
                                   {"wait_dispatch_time", of.wait_dispatch_time},
                                   {"host",
                                    {{"seed", of.faults.seed},
                                     {"latency_max", of.faults.latency_max},
                                     {"lost_percent", of.faults.lost_percent},
                                     {"duplicate_percent", of.faults.duplicate_percent}}},
                                   {"models", nlohmann::ordered_json::array()},
                                   {"commands", nlohmann::ordered_json::array()}};
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
    Case of;
    try {
        if (json.at("version") != 1 || json.at("kind") != "fuzz")
            throw Error(EINVAL, "not a fuzz case of version 1");
        of.task_level = json.at("level") == "task";
        of.mode = static_cast<ovt_mode>(index_of(modes, json.at("mode").get<std::string>()));
        of.core_limits = json.at("core_limits").get<std::vector<std::uint32_t>>();
        of.watchdog = json.at("watchdog");
        of.command_count = json.at("command_queue");
        of.event_count = json.at("event_queue");
        of.processes = json.at("processes");
        of.service_mode = json.at("service_mode");
        of.slots = json.at("slots");
        of.task_limit = json.at("task_limit");
        of.workers = json.at("workers");
        of.threshold_percent = json.at("threshold_percent");
        of.insert_max_time = json.at("insert_max_time");
        of.wait_dispatch_time = json.at("wait_dispatch_time");
        const auto& host = json.at("host");
        of.faults = {host.at("seed"), host.at("latency_max"), host.at("lost_percent"),
                     host.at("duplicate_percent")};
        for (const auto& segments : json.at("models")) {
            of.models.emplace_back();
            for (const auto& segment : segments)
                of.models.back().segments.push_back(segment_from(segment));
        }
        for (const auto& command : json.at("commands"))
            of.commands.push_back(command_from(command));
    } catch (const nlohmann::json::exception& error) {
        throw Error(EINVAL, fmt::format("not a fuzz case: {}", error.what()));
    }
    check(of);
    return of;
}

} // namespace overtake::fuzz
