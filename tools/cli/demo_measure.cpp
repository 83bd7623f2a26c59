// SPDX-License-Identifier: MIT
#include "demo_measure.hpp"

#include <csignal>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "load/demo/picture.hpp"
#include "load/records.hpp"
#include "observe/trace/fc_trace.hpp"

namespace overtake::command {
namespace {

namespace fs = std::filesystem;

constexpr unsigned us_per_ms = 1000;

/// Returns the time in which a run's requests come.
std::uint64_t duration_us(const DemoSetup& setup) {
    return std::uint64_t{setup.load.requests} * setup.load.period_us * setup.time_scale;
}

/// A child process. The destructor ends it and waits for its end.
class Child {
public:
    explicit Child(const std::vector<std::string>& arguments) : name_(arguments[1]) {
        std::vector<char*> argv;
        for (const std::string& argument : arguments)
            argv.push_back(const_cast<char*>(argument.c_str()));
        argv.push_back(nullptr);
        std::fflush(stdout); // otherwise the child would print it once more
        const pid_t parent = getpid();
        pid_ = fork();
        if (pid_ < 0)
            throw Error(errno, fmt::format("fork: {}", std::strerror(errno)));
        if (pid_ == 0) {
            // The child must not outlive its parent, however that ends.
            prctl(PR_SET_PDEATHSIG, SIGTERM);
            if (getppid() != parent)
                _exit(127);
            // The child's report is in the records; only its errors are shown.
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
    /// Throws Error if the child has ended by itself.
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

/// Returns whether FCs of a process have been executed, by the driver's account of its open files.
bool was_served(unsigned pid) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(fmt::format("/proc/{}/fdinfo", pid), ignored)) {
        std::ifstream file(entry.path());
        std::string key;
        std::uint64_t value = 0;
        while (file >> key) {
            if (key.starts_with("drm-engine-core") && file >> value && value != 0)
                return true;
        }
    }
    return false;
}

/// Waits until FCs of `child` have been executed: by the child's own account, or, if that may not
/// be read, by the device's counters, which other processes see later and in steps.
void wait_for_first_fcs(const Device& device, Child& child, std::uint64_t before) {
    while (!was_served(child.pid()) && fcs_done(device) == before) {
        child.expect_running();
        usleep(us_per_ms);
    }
}

/// The recording of a device, or why there is none.
struct Recording {
    timeline::Timeline timeline;
    std::string reason;
};

/// Waits for some time, or until the child ends.
void sleep_beside(Child& child, std::uint64_t us, const std::function<void()>& tick) {
    constexpr unsigned step_us = 10 * us_per_ms;
    for (std::uint64_t slept_us = 0; slept_us < us && child.running(); slept_us += step_us) {
        usleep(step_us);
        tick();
    }
}

/// Records the middle of the run of `detector`, whose requests come in `run_us`.
Recording record_middle(Child& detector, const trace::Names& names, std::uint64_t run_us,
                        std::uint64_t picture_us, const std::function<void()>& tick) {
    trace::FcTrace trace;
    if (!trace.available())
        return {{}, trace.reason()};
    while (detector.running() && !was_served(detector.pid()))
        sleep_beside(detector, 10 * us_per_ms, tick);
    const std::uint64_t record_us = 2 * picture_us + 100 * us_per_ms;
    sleep_beside(detector, run_us / 2 - std::min(run_us, record_us) / 2, tick);
    try {
        trace.start();
        sleep_beside(detector, record_us, tick);
        Recording recording{trace.stop(names), ""};
        if (recording.timeline.fcs.empty())
            recording.reason = "no FC ended while the driver's events were recorded";
        return recording;
    } catch (const Error& error) {
        return {{}, error.what()};
    }
}

/// One run of a row.
struct Run {
    std::vector<load::Request> detector;
    std::vector<load::Request> large;
    Recording recording;
};

void divide_times(std::vector<load::Request>& requests, unsigned scale) {
    for (load::Request& request : requests) {
        for (std::uint64_t* time : {&request.queued_ns, &request.start_ns, &request.end_ns,
                                    &request.executed_ns, &request.due_ns, &request.done_ns})
            *time /= scale;
    }
}

/// Divides the times, as if the device's clock were the profile's.
void divide_times(Run& run, unsigned scale) {
    divide_times(run.detector, scale);
    divide_times(run.large, scale);
    for (timeline::Fc& fc : run.recording.timeline.fcs) {
        fc.start_ns /= scale;
        fc.end_ns /= scale;
    }
    for (timeline::Preemption& preemption : run.recording.timeline.preemptions)
        preemption.time_ns /= scale;
    for (timeline::Unrecorded& part : run.recording.timeline.unrecorded) {
        part.from_ns /= scale;
        part.to_ns /= scale;
    }
}

Run run_clients(const DemoSetup& setup, const demo::Row& row, unsigned number, Device& device,
                const std::function<void()>& tick) {
    const fs::path directory = setup.output_dir;
    std::unique_ptr<Child> large;
    if (row.large) {
        const auto before = fcs_done(device);
        large = std::make_unique<Child>(large_command(setup, row, number));
        wait_for_first_fcs(device, *large, before);
    }
    Run run;
    {
        Child detector(detector_command(setup, row, number));
        trace::Names names{{detector.pid(), demo::detector_name}};
        if (large)
            names[large->pid()] = demo::large_name;
        const demo::Window window = demo::picture_window(0, setup.load.period_us);
        run.recording =
            record_middle(detector, names, duration_us(setup),
                          (window.to_ns - window.from_ns) / 1000 * setup.time_scale, tick);
        while (detector.running())
            sleep_beside(detector, 100 * us_per_ms, tick);
        detector.join();
    }
    if (large) {
        large->stop();
        large->join();
        run.large = load::read_records(directory / large_records(row, number));
    }
    run.detector = load::read_records(directory / detector_records(row, number));
    divide_times(run, setup.time_scale);
    return run;
}

std::string draw(const Run& run, const demo::Row& row, unsigned period_us) {
    timeline::Timeline timeline = run.recording.timeline;
    timeline.title = fmt::format("{}, as measured", row.name);
    const demo::Window window = demo::middle(timeline, run.detector, period_us);
    return demo::draw(timeline, run.detector, window, demo::recorded(timeline),
                      run.recording.reason);
}

} // namespace

std::uint64_t measure_cost(const DemoSetup& setup, const std::string& model) {
    auto device = open_device(setup.device);
    Session session(device, Model::load(model));
    load::Options load;
    load.requests = 3;
    load.task.core = 1;
    std::atomic<bool> stop{false};
    auto requests = load::run(session, load, stop);
    if (requests.back().status != 0)
        throw Error(-requests.back().status, fmt::format("{}: cannot be run alone", model));
    return requests.back().executed_ns / setup.time_scale;
}

Measurement measure(const DemoSetup& setup, const demo::Row& row, std::uint64_t large_cost_ns,
                    Device& device, const std::function<void(double)>& tell) {
    fs::create_directories(fs::path(setup.output_dir) / "clients");
    Measurement out;
    std::vector<Run> runs;
    for (unsigned number = 1; number <= setup.repeat; number++) {
        const auto begin = std::chrono::steady_clock::now();
        const auto tick = [&] {
            const std::chrono::duration<double, std::micro> spent =
                std::chrono::steady_clock::now() - begin;
            const double share = spent.count() / static_cast<double>(duration_us(setup));
            tell((number - 1 + std::min(share, 1.0)) / setup.repeat);
        };
        runs.push_back(run_clients(setup, row, number, device, tick));
        const Run& run = runs.back();
        out.runs.push_back(
            demo::summarise(run.detector, run.large, large_cost_ns, setup.load.period_us));
        if (const auto failed = out.runs.back().failed; failed != 0)
            throw Error(EIO,
                        fmt::format("demo: row {}: {} detector requests failed", row.name, failed));
    }
    out.spread = demo::spread(out.runs);
    const Run& typical = runs[out.spread.typical];
    out.replayed =
        demo::replay(row, setup.networks, setup.load.period_us, typical.detector, typical.large);
    out.picture = draw(typical, row, setup.load.period_us);
    return out;
}

} // namespace overtake::command
