// SPDX-License-Identifier: MIT
//
// overtake metrics: what the devices say of themselves, for Prometheus.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "commands.hpp"
#include "observe/metrics/collect.hpp"
#include "observe/metrics/families.hpp"
#include "observe/metrics/http_server.hpp"
#include "output_file.hpp"
#include "overtake/error.hpp"
#include "overtake/server.hpp"

namespace overtake::command {
namespace {

constexpr auto patience_with_servers = std::chrono::seconds(1);

struct MetricsOptions {
    metrics::Sources sources{.patience = patience_with_servers, .version = OVERTAKE_VERSION};
    std::string output;
    std::string listen;
    bool list = false;
};

/// What a port and an address have to look like, before anything else is done.
CLI::Validator address() {
    return {[](std::string& text) {
                try {
                    metrics::parse_address(text);
                    return std::string();
                } catch (const Error& error) {
                    return std::string(error.what());
                }
            },
            "", "address"};
}

void print_list() {
    for (const metrics::Family* family : metrics::families::all)
        fmt::print("{:<35} {:<8} {}\n", family->name, name_of(family->type), family->help);
}

int run_metrics(const MetricsOptions& options) {
    if (options.list) {
        print_list();
        return 0;
    }
    const auto collect = [&] {
        metrics::Sources sources = options.sources;
        const std::string usual = default_server_path();
        std::error_code reason;
        if (sources.servers.empty() &&
            (std::filesystem::exists(usual, reason) || reason == std::errc::permission_denied))
            sources.servers.push_back(usual);
        return metrics::collect(sources);
    };
    if (!options.listen.empty())
        return metrics::serve_text(
            metrics::parse_address(options.listen), collect, [](const metrics::Address& bound) {
                fmt::print("serving metrics at {}\n", metrics::url_of(bound));
                std::fflush(stdout);
            });
    if (options.output.empty())
        fmt::print("{}", collect());
    else
        write_file(options.output, [&](std::ostream& file) { file << collect(); });
    return 0;
}

} // namespace

void add_metrics(CLI::App& app, int& status) {
    auto options = std::make_shared<MetricsOptions>();
    auto* command = app.add_subcommand(
        "metrics", "Print the devices' counters for Prometheus, or serve them over HTTP");
    auto* output = command->add_option("-o,--output", options->output,
                                       "A file that appears whole, for node_exporter's textfile "
                                       "collector; default: standard output");
    command
        ->add_option("--listen", options->listen,
                     "Serve them at [ADDRESS:]PORT until SIGINT or SIGTERM; default address "
                     "127.0.0.1, port 0: any")
        ->check(address())
        ->excludes(output);
    command->add_option("--server", options->sources.servers,
                        "Sockets of device servers to ask; default: the usual one, if it is there");
    command->add_flag("--processes", options->sources.processes,
                      "Also series of each process (many, and new ones all the time)");
    command->add_flag("--list", options->list, "List names, types and meanings of all metrics");
    command->callback([options, &status] { status = run_metrics(*options); });
}

} // namespace overtake::command
