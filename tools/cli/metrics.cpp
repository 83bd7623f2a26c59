// SPDX-License-Identifier: MIT
//
// overtake metrics: prints the metrics of the devices, for Prometheus.
#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "commands.hpp"
#include "observe/metrics/collect.hpp"
#include "observe/metrics/families.hpp"
#include "observe/metrics/http_server.hpp"
#include "observe/metrics/processor_families.hpp"
#include "observe/watch/processor_table.hpp"
#include "observe/watch/watching.hpp"
#include "output_file.hpp"
#include "overtake/error.hpp"
#include "overtake/server.hpp"

namespace overtake::command {
namespace {

constexpr auto patience_with_servers = std::chrono::seconds(1);
/// The time to watch engines, whose processors report something with each run.
constexpr auto time_to_look = std::chrono::seconds(1);

struct MetricsOptions {
    metrics::Sources sources{.patience = patience_with_servers, .version = OVERTAKE_VERSION};
    std::string output;
    std::string listen;
    bool list = false;
    bool engines = false;
};

/// Watches the events that processors of engines report from the construction on.
class EngineWatch {
public:
    /// Throws Error without the right to use BPF.
    EngineWatch() : source_(watch::open_engine_events({.processors = true})) {
        if (const std::string left_out = watch::engines_left_out(*source_); !left_out.empty())
            fmt::print(stderr, "overtake: metrics: {}\n", left_out);
        thread_ = std::jthread([this](const std::stop_token& stop) {
            while (!stop.stop_requested()) {
                look();
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
            }
        });
    }

    std::vector<watch::ProcessorRow> rows() {
        const std::lock_guard lock(mutex_);
        return table_.take(0); // only counters: shares need a caller that asks once an interval
    }

private:
    void look() {
        const std::lock_guard lock(mutex_);
        std::vector<Event> none(1);
        source_->read(none, 0);
        for (const watch::ProcessorEvent& event : watch::take_processor_events(*source_))
            table_.add(event);
        table_.forget(ended_.look([this] { return table_.processes(); }));
    }

    std::unique_ptr<EventSource> source_;
    std::mutex mutex_;
    watch::ProcessorTable table_;
    watch::EndedNowAndThen ended_;
    std::jthread thread_;
};

/// Checks the form of a port and an address before anything else is done.
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
    const auto print = [](const metrics::Family* family) {
        fmt::print("{:<37} {:<8} {}\n", family->name, name_of(family->type), family->help);
    };
    std::ranges::for_each(metrics::families::all, print);
    std::ranges::for_each(metrics::families::of_processors, print);
}

int run_metrics(const MetricsOptions& options) {
    if (options.list) {
        print_list();
        return 0;
    }
    std::optional<EngineWatch> engines;
    if (options.engines) {
        watch::raise_descriptor_limit();
        engines.emplace();
    }
    const auto collect = [&] {
        metrics::Sources sources = options.sources;
        if (engines)
            sources.engines = engines->rows();
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
    if (engines)
        std::this_thread::sleep_for(time_to_look);
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
    command->add_flag("--engines", options->engines,
                      "Also the processors of engines with several; watched for a second, or, "
                      "with --listen, from then on. Needs root");
    command->add_flag("--list", options->list, "List names, types and meanings of all metrics");
    command->callback([options, &status] { status = run_metrics(*options); });
}

} // namespace overtake::command
