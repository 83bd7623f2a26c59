// SPDX-License-Identifier: MIT
//
// overtake profile: measures how long the parts of a model take on this machine's processors.
#include <algorithm>
#include <bit>
#include <memory>
#include <set>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "device_facts.hpp"
#include "json_text.hpp"
#include "option_checks.hpp"
#include "output_file.hpp"
#include "overtake/engine.hpp"
#include "overtake/error.hpp"
#include "overtake/expected_times.hpp"
#include "overtake/model.hpp"
#include "printable.hpp"
#include "progress.hpp"

namespace overtake::command {
namespace {

using Json = nlohmann::ordered_json;

constexpr double ns_per_us = 1000;

struct ProfileOptions {
    std::string model;
    std::string name;
    std::string processors;
    std::string output;
    std::string device = "auto";
    std::string mode = "functional";
    EmbeddedOptions embedded;
    unsigned runs = 20;
    bool json = false;
};

/// Returns "0-2, 5".
std::string text_of_units(std::uint64_t units) {
    std::string text;
    while (units != 0) {
        const int first = std::countr_zero(units);
        const int count = std::countr_one(units >> first);
        text += fmt::format("{}{}", text.empty() ? "" : ", ", first);
        if (count > 1)
            text += fmt::format("-{}", first + count - 1);
        units &= count == 64 ? 0 : ~(((std::uint64_t{1} << count) - 1) << first);
    }
    return text;
}

void print_times(const std::vector<ExpectedTime>& times) {
    std::size_t width = std::string_view("class").size();
    for (const ExpectedTime& time : times)
        width = std::max(width, time.class_name.size());
    fmt::print("{:<{}}  {:<20}{:>12}\n", "class", width, "units", "us");
    for (const ExpectedTime& time : times)
        fmt::print("{:<{}}  {:<20}{:>12.1f}\n", printable(time.class_name), width,
                   text_of_units(time.units), static_cast<double>(time.time_ns) / ns_per_us);
}

Json to_json(const std::vector<ExpectedTime>& times) {
    Json list = Json::array();
    for (const ExpectedTime& time : times) {
        Json units = Json::array();
        for (std::uint64_t rest = time.units; rest != 0; rest &= rest - 1)
            units.push_back(std::countr_zero(rest));
        list.push_back({{"class", time.class_name}, {"units", units}, {"time_ns", time.time_ns}});
    }
    return list;
}

/// Warns of classes that ran nothing: their times are not known.
void warn_of_unmeasured(const Engine& engine, const std::vector<ExpectedTime>& times) {
    std::set<std::string> classes;
    for (const ProcessorState& state : engine.processors())
        classes.insert(state.class_name);
    for (const ExpectedTime& time : times)
        classes.erase(time.class_name);
    for (const std::string& name : classes)
        fmt::print(
            stderr,
            "overtake: class '{}' cannot run a unit of the model, or none was given to it, so it "
            "has no times\n",
            printable(name));
}

int run_profile(const ProfileOptions& options, const std::string& node) {
    check_output_file(options.output, {options.model});
    const auto model = Model::load(options.model, options.name);
    const auto device = open_device(options.device, options.embedded);
    if (device->info().manual_clock != 0)
        throw Error(EINVAL, fmt::format("{}: its clock is stepped by hand, so there is no time to "
                                        "measure; load the module without manual_clock",
                                        node));
    EngineOptions wanted;
    wanted.processors = parse_processors(options.processors, device);
    Engine engine(device, wanted);
    const auto loaded = engine.load(model);
    const DeviceFacts facts = facts_of(*device, node, options.embedded);
    ProgressBar bar;
    const ExpectedTimes times = ExpectedTimes::measure(
        engine, loaded, options.runs, [&](double done) { bar.show("measuring", done); });
    warn_of_unmeasured(engine, times.times());
    write_file(options.output, [&](std::ostream& file) { file << times.text(); });
    if (options.json) {
        const Json json = {{"device", to_json(facts)},
                           {"model", std::string(model->name())},
                           {"file", options.output},
                           {"runs", options.runs},
                           {"times", to_json(times.times())}};
        fmt::print("{}\n", text_of(json));
        return 0;
    }
    fmt::print("{}\n", one_line(facts));
    print_times(times.times());
    return 0;
}

} // namespace

void add_profile(CLI::App& app, int& status) {
    auto options = std::make_shared<ProfileOptions>();
    auto* command = app.add_subcommand(
        "profile", "Measure what runs of a model take on several processors, for --times");
    command->add_option("MODEL", options->model, "Compiled model (.ovm)")->required();
    command->add_option("--model-name", options->name, "Model to take from a pack");
    command
        ->add_option("--processors", options->processors,
                     "Processors to measure: NAME or NAME=1+2 (cores), cpu or NAME=x4 (CPU "
                     "workers), NAME@DEVICE, with commas between them")
        ->check(not_empty())
        ->required();
    command->add_option("-o,--output", options->output, "File to write, for --times")
        ->check(not_empty())
        ->required();
    command
        ->add_option("--device", options->device,
                     "auto, embedded, kernel, server, server:SOCKET or a path like "
                     "/dev/accel/accel0")
        ->capture_default_str();
    command
        ->add_option("--mode", options->mode,
                     "Embedded device: how cores execute FCs: functional, timed or both")
        ->check(one_of({"functional", "timed", "both"}))
        ->capture_default_str();
    command->add_option("--cores", options->embedded.cores, "Embedded device: number of cores")
        ->check(whole_number(1, 64))
        ->capture_default_str();
    command->add_option("--runs", options->runs, "Runs of each piece; the median counts")
        ->check(whole_number(1, 100000))
        ->capture_default_str();
    command->add_flag("--json", options->json, "Print JSON");
    command->callback([options, command, &status] {
        const std::string node = node_of(options->device);
        check_embedded_options(*command, node);
        options->embedded.mode = mode_number(options->mode);
        options->embedded.queue_timeout_ns = longest_run_ns;
        status = run_profile(*options, node);
    });
}

} // namespace overtake::command
