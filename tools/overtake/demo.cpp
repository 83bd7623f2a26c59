// SPDX-License-Identifier: MIT
//
// overtake demo: the five set-ups on one device, every client a process of its own.
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "demo/predict.hpp"
#include "demo_table.hpp"
#include "load/records.hpp"
#include "output_file.hpp"
#include "trace/fc_trace.hpp"

namespace overtake::command {
namespace {

namespace fs = std::filesystem;

struct DemoOptions {
    std::string device = "/dev/accel/accel0";
    demo::Networks networks;
    demo::Load load;
    std::string output_dir = ".";
    bool predict = false;
};

constexpr unsigned picture_ms = 60;
constexpr std::uint64_t lead_ns = 5'000'000;

/// A child process, ended and waited for whatever happens.
class Child {
public:
    explicit Child(const std::vector<std::string>& arguments) : name_(arguments[1]) {
        std::vector<char*> argv;
        for (const std::string& argument : arguments)
            argv.push_back(const_cast<char*>(argument.c_str()));
        argv.push_back(nullptr);
        std::fflush(stdout); // or the child would print it once more
        pid_ = fork();
        if (pid_ < 0)
            throw Error(errno, fmt::format("fork: {}", std::strerror(errno)));
        if (pid_ == 0) {
            // Its report is in the records; only what goes wrong is to be seen.
            if (std::freopen("/dev/null", "w", stdout) != nullptr)
                execv("/proc/self/exe", argv.data());
            _exit(127);
        }
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child() {
        if (pid_ > 0) {
            kill(pid_, SIGTERM);
            waitpid(pid_, nullptr, 0);
        }
    }

    bool running() {
        if (pid_ > 0 && waitpid(pid_, &status_, WNOHANG) == pid_)
            pid_ = 0;
        return pid_ > 0;
    }
    unsigned pid() const { return static_cast<unsigned>(pid_); }
    /// Throws if it has ended by itself.
    void expect_running() {
        if (running())
            return;
        join();
        throw Error(ECHILD, fmt::format("demo: the process {} ended too early", name_));
    }
    void stop() {
        expect_running();
        kill(pid_, SIGTERM);
    }
    void join() {
        if (pid_ > 0)
            waitpid(pid_, &status_, 0);
        pid_ = 0;
        if (!WIFEXITED(status_) || WEXITSTATUS(status_) != 0)
            throw Error(ECHILD, fmt::format("demo: the process {} failed, see above", name_));
    }

private:
    std::string name_;
    pid_t pid_ = 0;
    int status_ = 0;
};

std::uint64_t fcs_done(const Device& device) {
    std::uint64_t done = 0;
    for (const auto& core : device.cores())
        done += core.fcs_high + core.fcs_normal;
    return done;
}

/// Until `child` has had FCs executed, by the device's own count.
void wait_for_first_fcs(const Device& device, Child& child, std::uint64_t before) {
    while (fcs_done(device) < before + 3) {
        child.expect_running();
        usleep(1000);
    }
}

/// The cost of one request that has the device to itself.
std::uint64_t measure_cost(const DemoOptions& options, const std::string& model) {
    auto device = open_device(options.device);
    Session session(device, Model::load(model));
    load::Options load;
    load.requests = 3;
    load.task.core = 1;
    std::atomic<bool> stop{false};
    auto requests = load::run(session, load, stop);
    if (requests.back().status != 0)
        throw Error(-requests.back().status, fmt::format("{}: cannot be run alone", model));
    return requests.back().executed_ns;
}

std::vector<std::string> client(const DemoOptions& options, const std::string& model,
                                const std::string& records) {
    return {"overtake", "perf", model,       "--device", options.device, "--json",
            "--core",   "1",    "--warm-up", "0",        "--records",    records};
}

struct RowResult {
    RowFigures figures;
    timeline::Timeline timeline;
};

RowResult run_row(const DemoOptions& options, const demo::Row& row, std::uint64_t large_cost_ns,
                  Device& device) {
    fs::path dir = fs::path(options.output_dir) / "clients";
    fs::create_directories(dir);
    std::string stem = row.name;
    std::replace(stem.begin(), stem.end(), ' ', '-');
    std::string detector_records = dir / (stem + "-detector.csv");
    std::string large_records = dir / (stem + "-large.csv");

    std::unique_ptr<Child> large;
    if (row.large) {
        auto arguments =
            client(options, row.split ? options.networks.large_split : options.networks.large,
                   large_records);
        arguments.insert(arguments.end(),
                         {"--in-flight", std::to_string(demo::large_in_flight), "--frames", "0"});
        auto before = fcs_done(device);
        large = std::make_unique<Child>(arguments);
        wait_for_first_fcs(device, *large, before);
    }
    auto arguments = client(options, options.networks.detector, detector_records);
    arguments.insert(arguments.end(), {"--frames", std::to_string(options.load.requests),
                                       "--period-us", std::to_string(options.load.period_us)});
    if (row.priority)
        arguments.insert(arguments.end(), {"--priority", "255", "--core-limit", "1"});
    trace::FcTrace trace;
    RowResult result;
    {
        Child detector(arguments);
        if (trace.available()) {
            trace.start();
            usleep(4 * picture_ms * 1000);
            trace::Names names{{detector.pid(), "detector"}};
            if (large)
                names[large->pid()] = "large";
            result.timeline = trace.stop(names);
        }
        detector.join();
    }
    std::vector<load::Request> large_requests;
    if (large) {
        large->stop();
        large->join();
        large_requests = load::read_records(large_records);
    }
    const auto detector_requests = load::read_records(detector_records);
    result.figures = {
        .predicted = demo::predict(row, options.networks, options.load),
        .measured = demo::summarise(detector_requests, large_requests, large_cost_ns),
        .replayed = demo::replay(row, options.networks, detector_requests, large_requests),
    };
    if (result.figures.measured.failed != 0)
        throw Error(EIO, fmt::format("demo: row {}: {} detector requests failed", row.name,
                                     result.figures.measured.failed));
    return result;
}

void write_json(const fs::path& path, const nlohmann::ordered_json& json) {
    command::write_file(path, [&](std::ostream& out) { out << json.dump(2) << "\n"; });
}

/// A window of the recorded timeline that has a detector's FC near its left edge.
void draw(const timeline::Timeline& timeline, const demo::Row& row, const fs::path& path) {
    if (timeline.fcs.empty())
        return;
    std::uint64_t from = timeline.fcs.front().start_ns;
    for (const timeline::Fc& fc : timeline.fcs)
        if (fc.task == "detector") {
            from = fc.start_ns > lead_ns ? fc.start_ns - lead_ns : 0;
            break;
        }
    timeline::Timeline titled = timeline;
    titled.title = fmt::format("{}: {} ms of the device", row.name, picture_ms);
    write_file(path, [&](std::ostream& out) {
        out << timeline::to_svg(titled, from, from + picture_ms * 1'000'000ull);
    });
}

void print_introduction(const DemoOptions& options, std::uint64_t large_cost_ns) {
    fmt::print("A detector every {} ms beside a large network of {:.1f} ms that always has three "
               "requests in flight,\none core, {} detector requests a row, device time.\n",
               options.load.period_us / 1000.0, static_cast<double>(large_cost_ns) / 1e6,
               options.load.requests);
}

int predict_demo(const DemoOptions& options) {
    print_introduction(options, demo::predicted_cost_ns(options.networks.large));
    const auto json = print_predicted(options.networks, options.load);
    write_json(fs::path(options.output_dir) / "predicted.json", json);
    return 0;
}

int run_demo(const DemoOptions& options) {
    fs::create_directories(options.output_dir);
    if (options.predict)
        return predict_demo(options);
    auto large_cost_ns = measure_cost(options, options.networks.large);
    auto device = open_device(options.device);
    auto json = nlohmann::ordered_json::array();
    std::uint64_t alone_p99_ns = 0;
    print_introduction(options, large_cost_ns);
    print_measured_head();
    for (const demo::Row& row : demo::rows()) {
        RowResult result = run_row(options, row, large_cost_ns, *device);
        if (!row.large)
            alone_p99_ns = result.figures.measured.p99_ns;
        print_measured(row, result.figures, alone_p99_ns);
        auto entry = to_json(row, result.figures.measured);
        entry["predicted"] = to_json(row, result.figures.predicted);
        entry["replayed"] = to_json(row, result.figures.replayed);
        json.push_back(entry);
        std::string stem = row.name;
        std::replace(stem.begin(), stem.end(), ' ', '-');
        draw(result.timeline, row, fs::path(options.output_dir) / ("timeline-" + stem + ".svg"));
    }
    write_json(fs::path(options.output_dir) / "results.json", json);
    fmt::print("\nNumbers: {0}/results.json. Timelines: {0}/timeline-*.svg\n", options.output_dir);
    return 0;
}

} // namespace

void add_demo(CLI::App& app, int& status) {
    auto options = std::make_shared<DemoOptions>();
    auto* command =
        app.add_subcommand("demo", "A detector beside a large network, with and without the knobs");
    command->add_option("--device", options->device, "Device in mode timed that nobody else uses");
    command->add_option("--detector", options->networks.detector, "Model of the detector")
        ->required();
    command->add_option("--large", options->networks.large, "Model of the large network")
        ->required();
    command
        ->add_option("--large-split", options->networks.large_split,
                     "The same compiled with --max-time-per-fc 1000")
        ->required();
    command->add_flag("--predict", options->predict,
                      "Only say what the simulator predicts; needs no device");
    command->add_option("--output-dir", options->output_dir, "Where results and pictures go");
    command->add_option("--requests", options->load.requests, "Detector requests in each row")
        ->check(CLI::Range(1, 1000000));
    command->add_option("--period-us", options->load.period_us, "Time between detector requests")
        ->check(CLI::Range(100, 10000000));
    command->callback([options, &status] { status = run_demo(*options); });
}

} // namespace overtake::command
