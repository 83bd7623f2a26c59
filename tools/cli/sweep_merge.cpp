// SPDX-License-Identifier: MIT
//
// overtake sweep-merge: joins the shards of a sweep in one table.
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "json_text.hpp"
#include "output_file.hpp"
#include "overtake/device.hpp"
#include "simulator/shard_file.hpp"

namespace overtake::command {
namespace {

struct MergeOptions {
    std::vector<std::string> shards;
    std::string output;
};

std::string read_shard(const std::string& path) {
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (!file || file.bad())
        throw Error(errno != 0 ? errno : EIO,
                    fmt::format("{}: {}; name a file that overtake sim --shard has written", path,
                                std::strerror(errno != 0 ? errno : EIO)));
    return text;
}

int merge(const MergeOptions& options) {
    if (!options.output.empty())
        check_output_file(options.output, options.shards);
    std::vector<simulator::NamedText> shards;
    for (const std::string& path : options.shards)
        shards.push_back({path, read_shard(path)});
    const simulator::Merged merged = simulator::merge_shards(shards);
    const std::vector<std::string>& columns = merged.presentation.columns;
    const std::string text = merged.presentation.json
                                 ? text_of(simulator::to_json(merged.points, columns)) + "\n"
                                 : simulator::to_text(merged.points, columns);
    if (options.output.empty())
        fmt::print("{}", text);
    else
        write_file(options.output, [&](std::ostream& out) { out << text; });
    return 0;
}

} // namespace

void add_sweep_merge(CLI::App& app, int& status) {
    auto options = std::make_shared<MergeOptions>();
    auto* command =
        app.add_subcommand("sweep-merge", "Join the shards of a sweep (sim --shard) to its table");
    command->add_option("FILE", options->shards, "All shards, in any order")->required();
    command->add_option("-o,--output", options->output,
                        "Write the table, or the JSON, here; default: stdout");
    command->callback([options, &status] { status = merge(*options); });
}

} // namespace overtake::command
