// SPDX-License-Identifier: MIT
//
// overtake pack: joins several compiled models in one file.
#include <memory>

#include <fmt/format.h>

#include "commands.hpp"
#include "compiler/file/pack_models.hpp"
#include "output_file.hpp"
#include "overtake/model.hpp"

namespace overtake::command {
namespace {

struct PackOptions {
    std::vector<std::string> models;
    std::string output;
};

int run_pack(const PackOptions& options) {
    check_output_file(options.output, options.models);
    std::vector<std::shared_ptr<const Model>> models;
    for (const std::string& path : options.models)
        for (const auto& model : Model::load_all(path))
            models.push_back(model);
    const compiler::ModelPack pack = compiler::pack_models(models);
    write_file(options.output, [&](std::ostream& file) {
        file.write(reinterpret_cast<const char*>(pack.file.data()),
                   static_cast<std::streamsize>(pack.file.size()));
    });
    fmt::print("{}: {} models, weights {} KiB, apart {} KiB\n", options.output, models.size(),
               (pack.weights + 1023) / 1024, (pack.weights_before + 1023) / 1024);
    return 0;
}

} // namespace

void add_pack(CLI::App& app, int& status) {
    auto options = std::make_shared<PackOptions>();
    auto* command = app.add_subcommand("pack", "Put several compiled models into one file");
    command->add_option("MODEL", options->models, "Compiled models (.ovm), or packs of them")
        ->required();
    command->add_option("-o,--output", options->output, "File to write")->required();
    command->callback([options, &status] { status = run_pack(*options); });
}

} // namespace overtake::command
