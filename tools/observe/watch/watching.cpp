// SPDX-License-Identifier: MIT
#include "observe/watch/watching.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string_view>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "overtake/server.hpp"

namespace overtake::watch {

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* first_node = "/dev/accel/accel0";
constexpr std::size_t events_at_a_time = 4096;
/// Short enough for a person and for a ring of 65,536 events; long enough not to slow the device
/// down.
constexpr std::chrono::milliseconds nap{10};

std::atomic<bool> stopped{false};

/// Returns whether the server's pids are pids here. A server in another PID namespace numbers its
/// clients, including this process, differently.
bool server_knows_us(const std::string& socket) {
    const auto status = nlohmann::json::parse(server_status(socket), nullptr, false);
    if (status.is_discarded() || !status.contains("clients"))
        return false;
    return std::ranges::any_of(status["clients"], [](const auto& client) {
        return client.value("pid", std::int64_t{0}) == getpid();
    });
}

} // namespace

Watched watch_device(const std::string& name, const EngineChoice& engines) {
    if (name == "embedded")
        throw Error(EINVAL, "an embedded device is one process's own, and cannot be watched by "
                            "another: name a kernel device, or server:SOCKET; "
                            "or watch its engines alone: engines");
    std::error_code ignored;
    const bool has_node = std::filesystem::exists(first_node, ignored);
    Watched watched;
    if (name == "engines") {
        watched.events = open_engine_events(engines);
        watched.knows_processes = is_in_first_pid_namespace();
        return watched;
    }
    if (name.starts_with('/') && std::filesystem::is_socket(name, ignored))
        throw Error(EINVAL, name + " is a socket; the device of its server is server:" + name);
    // Reading the driver's tracepoints needs no right to open its devices.
    if (name == "kernel" || name.starts_with('/') || (name == "auto" && has_node)) {
        watched.events = open_kernel_events(engines);
        watched.knows_processes = is_in_first_pid_namespace();
        return watched;
    }
    constexpr std::string_view prefix = "server:";
    const std::string socket =
        name.starts_with(prefix) ? name.substr(prefix.size()) : default_server_path();
    std::error_code reason;
    // A server that exists but may not be reached is an error of its own.
    if (name == "auto" && (socket.empty() || !(std::filesystem::exists(socket, reason) ||
                                               reason == std::errc::permission_denied)))
        throw Error(ENOENT, "there is no kernel device and no device server to watch: load the "
                            "driver, or start overtake serve");
    const bool is_server = name == "auto" || name == "server" || name.starts_with(prefix);
    watched.device = is_server ? open_server(socket) : open_device(name);
    watched.knows_processes = is_in_first_pid_namespace() && server_knows_us(socket);
    watched.events = watched.device->events({});
    if (engines.wanted || engines.processors || engines.runs)
        watched.events = add_engine_tasks(std::move(watched.events), engines);
    return watched;
}

void raise_descriptor_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

void Expiry::rest() {
    const auto now = Clock::now();
    if (!watched_.knows_processes || now < next_look_ || watched_.events->lost() == 0)
        return;
    next_look_ = now + interval_;
    const Pids ended = ended_.look(pids_());
    if (!ended.empty())
        forget_({ended.begin(), ended.end()});
}

void stop_on_signals() {
    struct sigaction action {};
    action.sa_handler = [](int) { stopped = true; };
    // A write that waits for its reader is finished.
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
}

void stop() noexcept {
    stopped = true;
}

void watch(EventSource& source, double seconds, const std::function<bool(const Event&)>& see,
           const std::function<void()>& rest) {
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(seconds));
    std::vector<Event> events(events_at_a_time);
    for (;;) {
        const bool is_last = stopped || (seconds != 0 && Clock::now() >= end);
        // Events that happened before are passed on as well, in at most 64 rounds.
        for (std::size_t rounds = 0; rounds < 64; rounds++) {
            const std::size_t count = source.read(events, 0);
            for (const Event& event : std::span(events).first(count))
                if (!see(event))
                    return;
            if (count < events.size())
                break;
        }
        if (is_last)
            return;
        if (rest)
            rest();
        std::this_thread::sleep_for(nap);
    }
}

} // namespace overtake::watch
