// SPDX-License-Identifier: MIT
//
// --processors, --times, --policy, --slo, --drop and --run-timeout, for commands that run models on
// several processors.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "overtake/engine.hpp"

namespace overtake::command {

struct ProcessorArguments {
    std::string processors; ///< empty: one queue of one device
    std::string policy = "priority";
    std::string drop = "never";
    double slo_ms = 0;              ///< 0: none
    double run_timeout_s = 60;      ///< 0: none
    std::string on;                 ///< a processor or an entry; empty: any
    std::vector<std::string> times; ///< files of overtake profile
};

void add_processor_options(CLI::App& command, ProcessorArguments& arguments);
/// Opens the devices that entries name. Throws Error, which names the entry.
void set_processors(EngineOptions& options, const ProcessorArguments& arguments,
                    const std::shared_ptr<Device>& device, const EmbeddedOptions& embedded);
/// Loads each model, with its file of --times if there is one. Throws Error for a file that belongs
/// to no model.
std::vector<std::shared_ptr<LoadedModel>>
load_models(Engine& engine, std::span<const std::shared_ptr<const Model>> models,
            const ProcessorArguments& arguments);
/// Sets the options of requests that the arguments have.
void set_requests(TaskOptions& task, const ProcessorArguments& arguments);

} // namespace overtake::command
