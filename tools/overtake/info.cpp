// SPDX-License-Identifier: MIT
//
// overtake info: what a model file holds.
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "commands.hpp"
#include "overtake/model.hpp"
#include "report.hpp"
#include "report_files.hpp"
#include "summary.hpp"

namespace overtake::command {
namespace {

struct Options {
    std::string model;
    std::string report;
    bool json = false;
};

int run_info(const Options& options) {
    const auto model = Model::load(options.model);
    const nlohmann::ordered_json summary = summarise(model->file());
    if (!options.report.empty())
        write_report(options.report, std::filesystem::path(options.model).stem(), summary);
    else if (options.json)
        fmt::print("{}\n", summary.dump(2));
    else
        fmt::print("{}", report::text(summary));
    return 0;
}

} // namespace

void add_info(CLI::App& app, int& status) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("info", "What a model file holds: tensors, FCs, nodes");
    command->add_option("MODEL", options->model, "Compiled model (.ovm)")->required();
    command->add_flag("--json", options->json, "Print JSON");
    command->add_option("--report", options->report,
                        "Write FILE.html, FILE.json, FILE.txt, or all three into a directory");
    command->callback([options, &status] { status = run_info(*options); });
}

} // namespace overtake::command
