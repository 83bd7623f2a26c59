// SPDX-License-Identifier: MIT
#include "calibrate_partition.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "compiler/costs_file.hpp"
#include "json_text.hpp"
#include "output_file.hpp"
#include "progress.hpp"

namespace overtake::command {
namespace {

nlohmann::ordered_json json_of(const host_profile::PartitionCosts& learned,
                               const std::string& output) {
    nlohmann::ordered_json kinds = nlohmann::ordered_json::array();
    for (const host_profile::KindErrors& kind : learned.trained.kinds)
        kinds.push_back({{"instruction", kind.name},
                         {"layers", kind.layers},
                         {"pieces", kind.samples},
                         {"error_formula", kind.formula},
                         {"error_trees", kind.trees},
                         {"uses_trees", kind.uses_trees}});
    return {{"file", output},
            {"pieces", learned.pieces},
            {"layers", learned.layers},
            {"meetings", learned.meetings},
            {"left_out", kinds}};
}

void print_table(const host_profile::PartitionCosts& learned, const std::string& output,
                 bool has_trees) {
    fmt::print("{}: {} pieces of {} layers, {} meetings\n", output, learned.pieces, learned.layers,
               learned.meetings);
    fmt::print("mean error of layers left out:\n");
    fmt::print("  {:<16} {:>6} {:>7} {:>9} {:>9}\n", "", "layers", "pieces", "formula",
               has_trees ? "trees" : "");
    for (const host_profile::KindErrors& kind : learned.trained.kinds)
        fmt::print("  {:<16} {:>6} {:>7} {:>7.2f} %{}\n", kind.name, kind.layers, kind.samples,
                   kind.formula * 100,
                   has_trees ? fmt::format(" {:>7.2f} %{}", kind.trees * 100,
                                           kind.uses_trees ? "  used" : "")
                             : "");
}

} // namespace

void calibrate_partition(const host_profile::PartitionOptions& options, const std::string& output,
                         bool json) {
    std::vector<std::string> read = options.networks;
    read.push_back(options.profile);
    check_output_file(output, read);
    host_profile::PartitionCosts learned;
    {
        ProgressBar bar;
        learned = host_profile::learn_partition_costs(
            options, [&](const std::string& what, double done) { bar.show(what, done); });
    }
    const std::string text = compiler::costs_file(learned.trained.costs);
    write_file(output, [&](std::ostream& file) { file << text; });
    if (json)
        fmt::print("{}\n", text_of(json_of(learned, output)));
    else
        print_table(learned, output, options.trees);
}

} // namespace overtake::command
