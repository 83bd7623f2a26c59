// SPDX-License-Identifier: MIT
#include "fuzz.hpp"

#include <cstdio>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "json_text.hpp"
#include "output_file.hpp"
#include "overtake_commit.h"
#include "progress.hpp"
#include "simulator/fuzz/campaign.hpp"

namespace overtake::command {
namespace {

std::string plural(std::uint64_t count, std::string_view what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

void report(const FuzzOptions& options, const fuzz::Failure& failure) {
    const std::string path =
        options.output.empty() ? fmt::format("fuzz-{}.json", failure.seed) : options.output;
    nlohmann::ordered_json document = fuzz::to_json(failure.shrunk);
    document["found"] = {{"seed", failure.seed},
                         {"commands", options.commands},
                         {"commit", OVERTAKE_COMMIT},
                         {"violation", failure.shrunk_violation}};
    fmt::print(stderr, "seed {}, {} each, commit {}: {}\n", failure.seed,
               plural(options.commands, "command"), OVERTAKE_COMMIT, failure.violation);
    write_file(path, [&](std::ostream& out) { out << text_of(document) << "\n"; });
    fmt::print(stderr, "shrunk to {}: {}\nreplay: overtake sim {}\n",
               plural(failure.shrunk.commands.size(), "command"), failure.shrunk_violation, path);
}

} // namespace

int run_fuzz(const FuzzOptions& options) {
    ProgressBar bar;
    fuzz::CampaignOptions campaign;
    campaign.cases = options.cases;
    campaign.seed = options.seed;
    campaign.commands = options.commands;
    campaign.threads = options.threads;
    campaign.progress = [&](double done) { bar.show("fuzzing", done); };
    const fuzz::CampaignResult result = fuzz::campaign(campaign);
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

int replay_fuzz(const nlohmann::json& document) {
    const fuzz::Case replayed = fuzz::from_json(document);
    if (const auto violation = fuzz::violation_of(replayed)) {
        fmt::print(stderr, "{}\n", *violation);
        return 1;
    }
    fmt::print("clean: {}\n", plural(replayed.commands.size(), "command"));
    return 0;
}

} // namespace overtake::command
