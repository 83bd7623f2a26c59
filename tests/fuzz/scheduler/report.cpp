// SPDX-License-Identifier: MIT
#include "scheduler/report.hpp"

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "overtake/device.hpp"
#include "processors/campaign.hpp"
#include "scheduler/campaign.hpp"
#include "simulator/processors/scenario.hpp"

namespace overtake::fuzz {
namespace {

std::string plural(std::uint64_t count, std::string_view what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

void write(const std::string& path, const nlohmann::ordered_json& document) {
    std::ofstream file(path);
    file << document.dump(2) << "\n";
    file.close();
    if (!file)
        throw Error(EIO, fmt::format("{}: cannot be written", path));
}

nlohmann::json read(const std::string& path) {
    std::ifstream file(path);
    if (!file)
        throw Error(ENOENT, fmt::format("{}: cannot be read", path));
    try {
        return nlohmann::json::parse(file);
    } catch (const nlohmann::json::parse_error& error) {
        throw Error(EINVAL, fmt::format("{}: {}", path, error.what()));
    }
}

void report(const ProgramOptions& options, const Failure& failure) {
    const std::string path =
        options.output.empty() ? fmt::format("fuzz-{}.json", failure.seed) : options.output;
    nlohmann::ordered_json document = to_json(failure.shrunk);
    document["found"] = {{"seed", failure.seed},
                         {"commands", options.commands},
                         {"commit", options.commit},
                         {"violation", failure.shrunk_violation}};
    fmt::print(stderr, "seed {}, {} each, commit {}: {}\n", failure.seed,
               plural(options.commands, "command"), options.commit, failure.violation);
    write(path, document);
    fmt::print(stderr, "shrunk to {}: {}\nreplay: fuzz_scheduler {}\n",
               plural(failure.shrunk.commands.size(), "command"), failure.shrunk_violation, path);
}

int run_scenarios(const ProgramOptions& options) {
    const ProcessorCampaignResult result = processor_campaign({.cases = options.cases,
                                                               .seed = options.seed,
                                                               .threads = options.threads,
                                                               .progress = options.progress});
    if (const auto& failure = result.failure) {
        const std::string path =
            options.output.empty() ? fmt::format("fuzz-{}.json", failure->seed) : options.output;
        fmt::print(stderr, "seed {}, commit {}: {}\n", failure->seed, options.commit,
                   failure->violation);
        write(path, failure->shrunk);
        fmt::print(stderr, "shrunk to {}: {}\nreplay: fuzz_scheduler {}\n",
                   plural(failure->shrunk["tasks"].size(), "task"), failure->shrunk_violation,
                   path);
        return 1;
    }
    const ProcessorTotals& totals = result.totals;
    fmt::print("{} clean: {}, {} of them cancelled, {} dropped, {}, {} of them failed\n",
               plural(result.cases, "scenario"), plural(totals.tasks, "task"), totals.cancelled,
               totals.dropped, plural(totals.runs, "run"), totals.failed);
    return 0;
}

int replay_scenario(const nlohmann::json& scenario) {
    ProcessorTotals totals;
    if (const auto violation = processor_violation(scenario, &totals)) {
        fmt::print(stderr, "{}\n", *violation);
        return 1;
    }
    fmt::print("clean: {}\n", plural(totals.tasks, "task"));
    return 0;
}

} // namespace

int run_cases(const ProgramOptions& options) {
    if (options.processors)
        return run_scenarios(options);
    CampaignOptions campaign_options;
    campaign_options.cases = options.cases;
    campaign_options.seed = options.seed;
    campaign_options.commands = options.commands;
    campaign_options.threads = options.threads;
    campaign_options.progress = options.progress;
    const CampaignResult result = campaign(campaign_options);
    if (result.failure) {
        report(options, *result.failure);
        return 1;
    }
    fmt::print("{} clean: {}, {} refused by a full queue, {}, {}, {}\n",
               plural(result.cases, "case"), plural(result.totals.commands, "command"),
               result.totals.refused, plural(result.totals.tasks, "task"),
               plural(result.totals.jobs, "job"), plural(result.totals.fcs, "FC"));
    return 0;
}

int replay(const std::string& path) {
    const nlohmann::json document = read(path);
    Case replayed;
    try {
        if (simulator::processors::has_processors(document))
            return replay_scenario(document);
        replayed = from_json(document);
    } catch (const Error& error) {
        throw Error(error.code(), fmt::format("{}: {}", path, error.what()));
    }
    if (const auto violation = violation_of(replayed)) {
        fmt::print(stderr, "{}\n", *violation);
        return 1;
    }
    fmt::print("clean: {}\n", plural(replayed.commands.size(), "command"));
    return 0;
}

} // namespace overtake::fuzz
