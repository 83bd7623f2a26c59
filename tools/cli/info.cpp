// SPDX-License-Identifier: MIT
//
// overtake info: prints the contents of a model file.
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "commands.hpp"
#include "cpu_layout_summary.hpp"
#include "json_text.hpp"
#include "observe/report/report.hpp"
#include "overtake/model.hpp"
#include "report_files.hpp"
#include "summary.hpp"

namespace overtake::command {
namespace {

struct InfoOptions {
    std::string model;
    std::string name;
    std::string report;
    bool json = false;
};

int run_info(const InfoOptions& options) {
    if (!options.report.empty())
        check_report(options.report, std::filesystem::path(options.model).stem());
    auto models = Model::load_all(options.model);
    if (!options.name.empty())
        models = {Model::load(options.model, options.name)};
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const auto& model : models) {
        list.push_back(summarise(*model));
        add_cpu_layouts(list.back(), *model);
    }
    if (!options.report.empty()) {
        OutputFiles files;
        if (models.size() == 1)
            add_report(files, options.report, std::filesystem::path(options.model).stem(), list[0]);
        else
            add_reports(files, options.report, list);
        files.commit();
    }
    if (options.json) {
        fmt::print("{}\n", text_of(list.size() == 1 ? list[0] : list));
    } else if (options.report.empty()) {
        for (std::size_t index = 0; index < list.size(); ++index)
            fmt::print("{}{}", index == 0 ? "" : "\n\n", report::text(list[index]));
    }
    return 0;
}

} // namespace

void add_info(CLI::App& app, int& status) {
    auto options = std::make_shared<InfoOptions>();
    auto* command =
        app.add_subcommand("info", "Show what a model file contains: tensors, FCs, nodes");
    command->add_option("MODEL", options->model, "Compiled model (.ovm)")->required();
    command->add_option("--model-name", options->name, "Model to take from a pack");
    command->add_flag("--json", options->json, "Print JSON");
    command->add_option(
        "--report", options->report,
        "Write a report to FILE.html, FILE.json or FILE.txt, or all three to a directory");
    command->callback([options, &status] { status = run_info(*options); });
}

} // namespace overtake::command
