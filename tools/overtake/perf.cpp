// SPDX-License-Identifier: MIT
//
// overtake perf: loads a device with one model and says how long requests took.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "load/load.hpp"
#include "load/records.hpp"

namespace overtake::command {
namespace {

struct PerfOptions {
    std::string model;
    std::string name;
    std::string device = "auto";
    std::string mode = "functional";
    unsigned cores = 2;
    unsigned core_limit = 0;
    std::string records;
    bool json = false;
    load::Options load;
};

std::atomic<bool> stop{false};

void on_signal(int) {
    stop = true;
}

unsigned mode_number(const std::string& mode) {
    if (mode == "timed")
        return OVERTAKE_MODE_TIMED;
    return mode == "both" ? OVERTAKE_MODE_BOTH : OVERTAKE_MODE_FUNCTIONAL;
}

double us(std::uint64_t ns) {
    return static_cast<double>(ns) / 1000;
}

// Bytes of device memory that one request of the model needs, by what is in them.
nlohmann::json memory(const Model& model) {
    std::size_t scratch = 0;
    std::size_t buffers = 0;
    for (const Segment& segment : model.segments()) {
        scratch = std::max<std::size_t>(scratch, segment.scratch_bytes);
        for (const TensorBinding& binding : segment.bindings)
            buffers += model.tensors()[binding.tensor].bytes;
    }
    return {{"program", model.program().size()},
            {"weights", model.weights().size()},
            {"scratch", scratch},
            {"inputs_and_outputs", buffers}};
}

nlohmann::json report(const Model& model, const Device& device,
                      const std::vector<load::Request>& requests) {
    auto sorted = load::latencies(requests);
    nlohmann::json out = {{"model", model.name()},
                          {"backend", device.backend()},
                          {"requests", requests.size()},
                          {"failed", requests.size() - sorted.size()},
                          {"memory_bytes", memory(model)}};
    if (sorted.empty())
        return out;
    std::uint64_t executed = 0;
    std::uint64_t preemptions = 0;
    std::uint64_t end = 0;
    for (const load::Request& request : requests) {
        executed += request.executed_ns;
        preemptions += request.preemptions;
        end = std::max(end, request.end_ns);
    }
    auto seconds = static_cast<double>(end - requests.front().queued_ns) / 1e9;
    out["latency_us"] = {{"p50", us(load::percentile(sorted, 50))},
                         {"p90", us(load::percentile(sorted, 90))},
                         {"p99", us(load::percentile(sorted, 99))},
                         {"max", us(sorted.back())}};
    out["executed_us_mean"] = us(executed) / static_cast<double>(requests.size());
    out["preemptions"] = preemptions;
    out["requests_per_second"] = static_cast<double>(sorted.size()) / seconds;
    return out;
}

void print(const nlohmann::json& result) {
    fmt::print("{} on {}: {} requests, {} failed\n", result["model"].get<std::string>(),
               result["backend"].get<std::string>(), result["requests"].get<std::size_t>(),
               result["failed"].get<std::size_t>());
    const auto& bytes = result["memory_bytes"];
    const auto kib = [&](const char* what) {
        return (bytes[what].get<std::size_t>() + 1023) / 1024;
    };
    fmt::print(
        "memory      program {} KiB, weights {} KiB, scratch {} KiB, inputs and outputs {} KiB\n",
        kib("program"), kib("weights"), kib("scratch"), kib("inputs_and_outputs"));
    if (!result.contains("latency_us"))
        return;
    const auto& latency = result["latency_us"];
    fmt::print("latency     p50 {:.0f} us, p90 {:.0f} us, p99 {:.0f} us, max {:.0f} us\n",
               latency["p50"].get<double>(), latency["p90"].get<double>(),
               latency["p99"].get<double>(), latency["max"].get<double>());
    fmt::print("executed    {:.0f} us a request on the device, {} preemptions\n",
               result["executed_us_mean"].get<double>(),
               result["preemptions"].get<std::uint64_t>());
    fmt::print("throughput  {:.1f} requests a second (device time)\n",
               result["requests_per_second"].get<double>());
}

int run_perf(const PerfOptions& options) {
    EmbeddedOptions embedded;
    embedded.cores = options.cores;
    embedded.mode = mode_number(options.mode);
    embedded.queue_timeout_ns = longest_run_ns;
    auto device = open_device(options.device, embedded);
    auto model = Model::load(options.model, options.name);
    SessionOptions rights;
    rights.max_priority = std::max(options.load.task.priority, 254u);
    rights.core_limit = options.core_limit;
    Session session(device, model, rights);

    std::signal(SIGINT, on_signal);
    std::signal(SIGTERM, on_signal);
    auto requests = load::run(session, options.load, stop);
    if (!options.records.empty())
        load::write_records(options.records, requests);
    auto result = report(*model, *device, requests);
    if (options.json)
        fmt::print("{}\n", result.dump(2));
    else
        print(result);
    if (result["failed"].get<std::size_t>() == 0)
        return 0;
    for (const load::Request& request : requests)
        if (request.status != 0)
            throw Error(-request.status,
                        fmt::format("{}: {} of {} requests failed, the first with {}",
                                    options.model, result["failed"].get<std::size_t>(),
                                    requests.size(), std::strerror(-request.status)));
    return 1;
}

} // namespace

void add_perf(CLI::App& app, int& status) {
    auto options = std::make_shared<PerfOptions>();
    auto* command =
        app.add_subcommand("perf", "Load a device with a model; latency and throughput");
    command->add_option("MODEL", options->model, "Compiled model (.ovm)")->required();
    command->add_option("--model-name", options->name, "Which model of a pack");
    command->add_option("--device", options->device,
                        "auto, embedded, kernel or a path like /dev/accel/accel0");
    command->add_option("--mode", options->mode, "Embedded device: how cores spend an FC's time")
        ->check(CLI::IsMember({"functional", "timed", "both"}));
    command->add_option("--cores", options->cores, "Embedded device: number of cores")
        ->check(CLI::Range(1, 64));
    command
        ->add_option("--priority", options->load.task.priority,
                     "0..254 NORMAL, 255 HIGH (kernel device: needs CAP_SYS_NICE)")
        ->check(CLI::Range(0, 255));
    command->add_option("--core-limit", options->core_limit,
                        "Core limit to ask for while this runs; needs --priority 255");
    command->add_option("--core", options->load.task.core, "Core, from 1; 0 = any");
    command->add_option("--frames", options->load.requests,
                        "Requests to make; 0 = until SIGINT or SIGTERM");
    command->add_option("--period-us", options->load.period_us,
                        "A request every so many microseconds, whatever became of others");
    command
        ->add_option("--in-flight", options->load.in_flight,
                     "Without --period-us: requests in flight at any time")
        ->check(CLI::Range(1, 1024));
    command->add_option("--records", options->records,
                        "Write every request's times to this CSV file");
    command->add_flag("--json", options->json, "Print JSON");
    command->callback([options, &status] { status = run_perf(*options); });
}

} // namespace overtake::command
