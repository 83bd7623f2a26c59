// SPDX-License-Identifier: MIT
//
// overtake sim: runs a scenario under virtual time.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "huge_pages.hpp"
#include "json_text.hpp"
#include "observe/timeline/perfetto.hpp"
#include "observe/timeline/png.hpp"
#include "option_checks.hpp"
#include "output_file.hpp"
#include "overtake/device.hpp"
#include "printable.hpp"
#include "progress.hpp"
#include "simulator/blame_report.hpp"
#include "simulator/bundled.hpp"
#include "simulator/experiment.hpp"
#include "simulator/pictures.hpp"
#include "simulator/processors/blame.hpp"
#include "simulator/processors/pictures.hpp"
#include "simulator/processors/recorder.hpp"
#include "simulator/processors/summary.hpp"
#include "simulator/recorder.hpp"
#include "simulator/shard_file.hpp"
#include "simulator/what_if.hpp"

namespace overtake::command {
namespace {

namespace fs = std::filesystem;

struct SimOptions {
    std::string scenario;
    bool list = false;
    std::string output;
    std::string svg;
    std::string png;
    std::string perfetto;
    std::uint64_t from = 0; ///< us
    std::optional<std::uint64_t> to;
    bool summary = false;
    simulator::Trim trim;
    bool json = false;
    std::optional<std::uint32_t> blame; ///< how many of each class
    std::vector<std::string> settings;
    std::vector<std::string> what_if;
    std::optional<std::uint64_t> seed;
    std::optional<std::string> sweep;
    std::vector<std::string> columns;
    std::optional<unsigned> repeat;
    std::optional<std::string> shard;
    std::optional<unsigned> threads;

    bool wants_pictures() const {
        return !svg.empty() || !png.empty() || !perfetto.empty() ||
               (!what_if.empty() && !output.empty());
    }
    bool wants_experiment() const { return sweep || repeat; }
    bool wants_summary() const { return summary || json; }
    unsigned thread_count() const {
        return threads.value_or(std::max(1u, std::thread::hardware_concurrency()));
    }
};

struct Source {
    nlohmann::json document;
    fs::path path;
};

/// Returns the value of an option, or throws an error of usage.
template <class Read>
auto as_usage(const std::string& option, Read read) {
    try {
        return read();
    } catch (const Error& error) {
        throw CLI::ValidationError(option.empty() ? error.what()
                                                  : fmt::format("{} {}", option, error.what()));
    }
}

Source read_source(const SimOptions& options) {
    Source source;
    source.path = simulator::find_scenario(options.scenario);
    source.document = simulator::read_json(source.path);
    for (const std::string& setting : options.settings)
        simulator::apply_setting(
            source.document, as_usage("--set", [&] { return simulator::parse_setting(setting); }));
    if (options.seed)
        simulator::apply_setting(source.document, {"seed", *options.seed});
    return source;
}

/// Returns the result of `work`, or throws an error that begins with the file's name.
template <class Work>
auto named(const Source& source, Work work) {
    try {
        return work();
    } catch (const Error& error) {
        throw Error(error.code(), fmt::format("{}: {}", source.path.string(), error.what()));
    }
}

int list_bundled() {
    for (const std::string& name : simulator::bundled_scenarios()) {
        const nlohmann::json document = simulator::read_json(simulator::find_scenario(name));
        fmt::print("{:<24} {}\n", name, document.value("description", ""));
    }
    return 0;
}

template <class Scenario>
std::string title_of(const Scenario& scenario, const Source& source) {
    const std::string name = scenario.name.empty() ? source.path.stem().string() : scenario.name;
    return scenario.description.empty() ? name : fmt::format("{}: {}", name, scenario.description);
}

simulator::Pictures::Options window_of_pictures(const SimOptions& options, std::uint64_t tick_ns) {
    return {.from = simulator::ticks(options.from, tick_ns),
            .to = simulator::ticks(options.to.value_or(~std::uint64_t{0}), tick_ns),
            .every_fc = !options.perfetto.empty()};
}

/// The observers of a run that the options want.
struct Observers {
    Observers(const SimOptions& options, const simulator::Scenario& scenario,
              const Source& source) {
        if (options.wants_summary())
            all.push_back(&accounts.emplace(
                scenario, simulator::window_of(scenario, scenario.seed, options.trim)));
        if (options.blame)
            all.push_back(
                &blame.emplace(scenario, *options.blame,
                               simulator::window_of(scenario, scenario.seed, options.trim)));
        if (!options.output.empty() ||
            (!options.wants_summary() && !options.blame && !options.wants_pictures()))
            all.push_back(&recorder.emplace(scenario));
        if (options.wants_pictures())
            all.push_back(&pictures.emplace(scenario, title_of(scenario, source),
                                            window_of_pictures(options, scenario.tick_ns)));
    }

    std::optional<simulator::Accounts> accounts;
    std::optional<simulator::BlameReport> blame;
    std::optional<simulator::Recorder> recorder;
    std::optional<simulator::Pictures> pictures;
    std::vector<simulator::Observer*> all;
};

template <class Pictures>
void write_pictures(const SimOptions& options, const Source& source, const Pictures& pictures) {
    named(source, [&] { pictures.demand_content(); });
    const std::string svg = pictures.svg();
    if (!options.svg.empty())
        write_file(options.svg, [&](std::ostream& out) { out << svg; });
    if (!options.png.empty())
        timeline::write_png(svg, options.png);
    if (!options.perfetto.empty())
        timeline::write_perfetto(pictures.timeline(), options.perfetto);
}

/// Prints the summary, and the causes of delays.
void print_report(const SimOptions& options, const simulator::Scenario& scenario,
                  const Observers& observers) {
    if (options.json) {
        auto json = simulator::to_json(simulator::summarise(scenario, *observers.accounts));
        if (observers.blame)
            observers.blame->add_to(json);
        fmt::print("{}\n", text_of(json));
        return;
    }
    if (observers.accounts)
        fmt::print(
            "{}", printable(simulator::to_text(simulator::summarise(scenario, *observers.accounts)),
                            true));
    if (!observers.blame)
        return;
    const std::string queued = observers.accounts ? observers.blame->queued_text() : "";
    const std::string blamed = (queued.empty() ? "" : queued + "\n") + observers.blame->text();
    fmt::print("{}{}", observers.accounts ? "\n" : "", printable(blamed, true));
}

/// Runs networks of units on several processors: prints the timeline, or a summary.
int run_processors(const SimOptions& options, const Source& source) {
    using namespace simulator::processors;
    const auto scenario = named(source, [&] {
        return parse_processor_scenario(source.document, source.path.parent_path());
    });
    ProcessorRecorder recorder(scenario);
    const simulator::Window window =
        named(source, [&] { return window_of(scenario, scenario.seed, options.trim); });
    Tally tally(scenario, window);
    const bool to_stdout = !options.wants_summary() && !options.wants_pictures() && !options.blame;
    std::vector<Observer*> observers = {&tally};
    std::optional<ProcessorBlame> blame;
    if (options.blame)
        observers.push_back(&blame.emplace(scenario, *options.blame, window));
    if (!options.output.empty() || to_stdout)
        observers.push_back(&recorder);
    std::optional<ProcessorPictures> pictures;
    if (options.wants_pictures())
        observers.push_back(&pictures.emplace(scenario, title_of(scenario, source),
                                              window_of_pictures(options, scenario.tick_ns)));
    named(source, [&] { ProcessorSimulator(scenario, scenario.seed, observers).run(); });
    if (!options.output.empty())
        write_file(options.output, [&](std::ostream& out) { recorder.write(out); });
    else if (to_stdout)
        recorder.write(std::cout);
    if (pictures)
        write_pictures(options, source, *pictures);
    if (options.json) {
        nlohmann::ordered_json json = tally.json();
        if (blame)
            blame->add_to(json);
        fmt::print("{}\n", text_of(json));
        return 0;
    }
    if (options.summary)
        fmt::print("{}", printable(tally.text(), true));
    if (blame)
        fmt::print("{}{}", options.summary ? "\n" : "", printable(blame->text(), true));
    return 0;
}

int run_once(const SimOptions& options, const Source& source) {
    const auto scenario = named(source, [&] {
        return simulator::parse_scenario(source.document, source.path.parent_path());
    });
    const auto made =
        named(source, [&] { return std::make_unique<Observers>(options, scenario, source); });
    Observers& observers = *made;
    named(source, [&] { simulator::Simulator(scenario, scenario.seed, observers.all).run(); });
    if (observers.recorder) {
        if (options.output.empty())
            observers.recorder->write(std::cout);
        else
            write_file(options.output, [&](std::ostream& out) { observers.recorder->write(out); });
    }
    if (observers.pictures)
        write_pictures(options, source, *observers.pictures);
    print_report(options, scenario, observers);
    return 0;
}

/// The result of one of the two scenarios of --what-if.
struct Outcome {
    simulator::Summary summary;
    std::string svg; ///< empty: not wanted
};

Outcome outcome_of_processors(const SimOptions& options, const Source& source,
                              const std::string& title) {
    using namespace simulator::processors;
    const auto scenario = parse_processor_scenario(source.document, source.path.parent_path());
    Tally tally(scenario, window_of(scenario, scenario.seed, options.trim));
    std::vector<Observer*> observers = {&tally};
    std::optional<ProcessorPictures> pictures;
    if (!options.output.empty())
        observers.push_back(&pictures.emplace(scenario,
                                              title.empty() ? title_of(scenario, source) : title,
                                              window_of_pictures(options, scenario.tick_ns)));
    ProcessorSimulator(scenario, scenario.seed, observers).run();
    if (pictures)
        pictures->demand_content();
    return {tally.summary(), pictures ? pictures->svg() : ""};
}

/// Runs one of the two scenarios. `title` is for the picture; empty: the scenario's own.
Outcome outcome_of(const SimOptions& options, const Source& source, const std::string& title = "") {
    if (simulator::processors::has_processors(source.document))
        return named(source, [&] { return outcome_of_processors(options, source, title); });
    return named(source, [&] {
        const auto scenario = simulator::parse_scenario(source.document, source.path.parent_path());
        simulator::Accounts accounts(scenario,
                                     simulator::window_of(scenario, scenario.seed, options.trim));
        std::vector<simulator::Observer*> observers = {&accounts};
        std::optional<simulator::Pictures> pictures;
        if (!options.output.empty())
            observers.push_back(
                &pictures.emplace(scenario, title.empty() ? title_of(scenario, source) : title,
                                  window_of_pictures(options, scenario.tick_ns)));
        simulator::Simulator(scenario, scenario.seed, observers).run();
        if (pictures)
            pictures->demand_content();
        return Outcome{simulator::summarise(scenario, accounts), pictures ? pictures->svg() : ""};
    });
}

void write_both(const SimOptions& options, const Outcome& before, const Outcome& after) {
    std::error_code error;
    fs::create_directories(options.output, error);
    if (error)
        throw Error(error.value(), fmt::format("{}: {}; name a directory with -o", options.output,
                                               error.message()));
    for (const auto& [name, outcome] :
         {std::pair("before.svg", &before), std::pair("after.svg", &after)})
        write_file((fs::path(options.output) / name).string(),
                   [&](std::ostream& out) { out << outcome->svg; });
}

int run_what_if(const SimOptions& options, const Source& source) {
    Source changed = source;
    for (const std::string& text : options.what_if) {
        const auto setting = as_usage("--what-if", [&] { return simulator::parse_setting(text); });
        named(source, [&] { simulator::apply_what_if(changed.document, setting); });
    }
    const Outcome before = outcome_of(options, source);
    const Outcome after = outcome_of(
        options, changed,
        fmt::format("{} with {}", source.path.stem().string(), fmt::join(options.what_if, ", ")));
    if (!options.output.empty())
        write_both(options, before, after);
    if (options.json)
        fmt::print("{}\n", text_of(simulator::what_if_json(before.summary, after.summary)));
    else
        fmt::print("{}", printable(simulator::what_if_text(before.summary, after.summary), true));
    return 0;
}

int run_experiment(const SimOptions& options, const Source& source) {
    std::optional<simulator::Grid> grid;
    if (options.sweep)
        as_usage("", [&] { return &grid.emplace(*options.sweep); });
    simulator::Shard shard;
    if (options.shard)
        shard = as_usage("--shard", [&] { return simulator::parse_shard(*options.shard); });
    ProgressBar bar;
    simulator::Experiment experiment;
    experiment.document = source.document;
    experiment.directory = source.path.parent_path();
    experiment.grid = grid ? &*grid : nullptr;
    experiment.repeat = options.repeat.value_or(1);
    experiment.shard = shard;
    experiment.trim = options.trim;
    experiment.threads = options.thread_count();
    experiment.columns = options.columns;
    experiment.progress = [&](double done) { bar.show("simulating", done); };
    const auto points = named(source, [&] { return simulator::run_experiment(experiment); });
    if (options.shard) {
        const std::string text = named(source, [&] {
            return simulator::shard_text(experiment, points, {options.json, options.columns},
                                         OVERTAKE_VERSION);
        });
        write_file(options.output, [&](std::ostream& out) { out << text; });
        return 0;
    }
    if (options.json)
        fmt::print("{}\n", text_of(simulator::to_json(points, options.columns)));
    else
        fmt::print("{}", printable(simulator::to_text(points, options.columns), true));
    return 0;
}

/// Parses a time in us, from a number with or without a unit. No picture goes beyond 2^53 us, 285
/// years.
std::uint64_t parse_time(const char* option, const std::string& text) {
    static const std::map<std::string, double> units = {{"", 1},    {"us", 1},    {"ms", 1e3},
                                                        {"s", 1e6}, {"min", 6e7}, {"h", 3.6e9}};
    double number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    const auto unit = units.find(std::string(stop, end));
    if (error != std::errc() || unit == units.end() || !(number >= 0) ||
        number * unit->second > 0x1p53)
        throw CLI::ValidationError(option, text + " is not a time, as 5ms, 1.5s or 200");
    return static_cast<std::uint64_t>(std::llround(number * unit->second));
}

int run_sim(const SimOptions& options) {
    if (options.list)
        return list_bundled();
    if ((options.from != 0 || options.to) && !options.wants_pictures())
        throw CLI::RequiresError(options.to ? "--to" : "--from", "--svg, --png or --perfetto");
    if (!options.columns.empty() && !options.wants_experiment())
        throw CLI::RequiresError("--columns", "--sweep or --repeat");
    for (const auto& [option, time] :
         {std::pair("--warm-up", options.trim.warm_up), std::pair("--drain", options.trim.drain)})
        if (time != 0 && !options.wants_summary() && !options.blame && options.what_if.empty() &&
            !options.wants_experiment())
            throw CLI::RequiresError(option,
                                     "--summary, --json, --blame, --what-if, --sweep or --repeat");
    if (options.wants_experiment() && !options.output.empty() && !options.shard)
        throw CLI::ExcludesError("--output", options.sweep ? "--sweep" : "--repeat");
    if (options.shard && options.output.empty())
        throw CLI::RequiresError("--shard", "--output");
    if (options.threads && !options.wants_experiment())
        throw CLI::RequiresError("--threads", "--sweep or --repeat");
    if (options.to && *options.to <= options.from)
        throw CLI::ValidationError("--to", "must be later than --from");
    if (options.scenario.empty())
        throw CLI::RequiredError("SCENARIO");
    const Source source = read_source(options);
    if (!options.what_if.empty())
        return run_what_if(options, source);
    for (const std::string& path : {options.output, options.svg, options.png, options.perfetto})
        if (!path.empty())
            check_output_file(path, {source.path.string()});
    if (options.wants_experiment())
        return run_experiment(options, source);
    if (simulator::processors::has_processors(source.document))
        return run_processors(options, source);
    return run_once(options, source);
}

using SharedOptions = std::shared_ptr<SimOptions>;

void add_outputs(CLI::App* command, const SharedOptions& options) {
    command->add_option("SCENARIO", options->scenario,
                        "A JSON file, or the name of a bundled scenario");
    command->add_flag("--list", options->list, "List the bundled scenarios");
    command->add_option("-o,--output", options->output,
                        "Write the timeline (JSON) here; default, without --summary: stdout");
    command->add_option("--svg", options->svg, "Draw the run: its FCs, or their density");
    command->add_option("--png", options->png, "The same as PNG, using rsvg-convert");
    command->add_option("--perfetto", options->perfetto, "Write a trace for ui.perfetto.dev");
    command->add_option_function<std::string>(
        "--from",
        [options](const std::string& text) { options->from = parse_time("--from", text); },
        "Pictures and trace: begin at this time (5ms, 1.5s; us without a unit)");
    command->add_option_function<std::string>(
        "--to", [options](const std::string& text) { options->to = parse_time("--to", text); },
        "Pictures and trace: end at this time");
    command->add_flag("--summary", options->summary, "Print latencies and where the time went");
    command->add_flag("--json", options->json, "Print the summary, or the table, as JSON");
    command
        ->add_option("--blame", options->blame,
                     "Say who made the N slowest tasks of each class late; default: 5")
        ->expected(0, 1)
        ->default_str("5")
        ->check(whole_number(1, 1000000000));
    command->add_option_function<std::string>(
        "--warm-up",
        [options](const std::string& text) {
            options->trim.warm_up = parse_time("--warm-up", text);
        },
        "Leave out the first part of the run, from the first arrival (5ms, 1.5s; us without a "
        "unit)");
    command->add_option_function<std::string>(
        "--drain",
        [options](const std::string& text) { options->trim.drain = parse_time("--drain", text); },
        "Leave out the last part of the run, before the last end");
}

void add_changes(CLI::App* command, const SharedOptions& options) {
    command
        ->add_option("--set", options->settings, "KEY=VALUE: change the scenario before it is read")
        ->take_all()
        ->expected(1);
    command
        ->add_option("--what-if", options->what_if,
                     "KEY=VALUE: run with and without it, and show the difference; pictures of "
                     "both go to the directory of -o")
        ->take_all()
        ->expected(1);
    command->add_option("--seed", options->seed, "Seed of everything random")
        ->check(whole_number(0, ~std::uint64_t{0}));
    command->add_option("--sweep", options->sweep,
                        "KEY=A..B[:STEP][,KEY=V|V...]: a row for each combination");
    command
        ->add_option("--repeat", options->repeat,
                     "Run with N seeds; show means with 95 % confidence intervals")
        ->check(whole_number(1, 1000000));
    command
        ->add_option("--threads", options->threads, "For --sweep and --repeat; default: all CPUs")
        ->check(whole_number(1, 1024));
    command
        ->add_option("--shard", options->shard,
                     "I/N: run the I-th of N parts, into the file of --output, for sweep-merge")
        ->needs(command->get_option("--sweep"));
    command
        ->add_option("--columns", options->columns,
                     "Columns to show with --sweep and --repeat: detector,large p99,ANTT; or all")
        ->delimiter(',');
}

/// Makes an option exclude other options, with which it has no meaning.
void exclude(CLI::App* command, const char* one, std::initializer_list<const char*> others) {
    for (const char* other : others)
        command->get_option(one)->excludes(command->get_option(other));
}

void add_exclusions(CLI::App* command) {
    for (const char* experiment : {"--sweep", "--repeat"})
        exclude(command, experiment, {"--svg", "--png", "--perfetto", "--summary", "--blame"});
    exclude(command, "--what-if",
            {"--svg", "--png", "--perfetto", "--summary", "--blame", "--sweep", "--repeat"});
}

} // namespace

void add_sim(CLI::App& app, int& status) {
    auto options = std::make_shared<SimOptions>();
    auto* command = app.add_subcommand("sim", "Simulate a scenario under virtual time");
    add_outputs(command, options);
    add_changes(command, options);
    add_exclusions(command);
    command->callback([options, &status] {
        use_huge_pages();
        status = run_sim(*options);
    });
}

} // namespace overtake::command
