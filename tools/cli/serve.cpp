// SPDX-License-Identifier: MIT
//
// overtake serve: shares one device among several processes where there is no driver.
#include <array>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <grp.h>
#include <memory>
#include <pwd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "allocator_settings.hpp"
#include "commands.hpp"
#include "confinement.hpp"
#include "device_facts.hpp"
#include "json_text.hpp"
#include "option_checks.hpp"
#include "overtake/server.hpp"
#include "overtake/settings.hpp"
#include "units.hpp"

extern "C" {
#include "sched/sched.h"
}

namespace overtake::command {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t ns_per_ms = 1'000'000;

/// The values of service mode's options, by setting.
struct ServiceValues {
    std::array<std::uint64_t, OVT_SETTING_COUNT> values{}; ///< in the unit of the option
    std::array<bool, OVT_SETTING_COUNT> is_off{};          ///< the switches that are off

    ServiceValues() {
        for (u32 i = 0; const ovt_setting* setting = ovt_setting_at(i); i++)
            values[i] = setting->usual / unit(*setting);
    }

    static std::uint64_t unit(const ovt_setting& setting) {
        return setting.unit == OVT_UNIT_TIME ? ns_per_ms : 1;
    }

    ServiceSettings settings() const {
        ovt_sched_settings settings = usual_settings(true);
        for (u32 i = 0; const ovt_setting* setting = ovt_setting_at(i); i++)
            ovt_setting_set(setting, &settings, is_off[i] ? 0 : values[i] * unit(*setting));
        return service_settings_of(settings);
    }
};

struct ServeOptions {
    ServerOptions server;
    std::string mode = "functional";
    std::string profile = "default"; ///< or one for each core, joined by '+'
    bool has_cores = false;          ///< --cores was given
    std::vector<std::string> high_users;
    std::vector<std::string> high_groups;
    std::string run_as;
    std::uint64_t memory_mib = 0;
    std::uint64_t fc_clock_ms = server_fc_clock_ns / ns_per_ms;
    std::uint64_t queue_timeout_ms = 0;
    ServiceValues service;
    bool status = false;
    bool json = false;
};

template <class Id>
Id number_of(const std::string& text, const char* what) {
    char* end = nullptr;
    errno = 0;
    const unsigned long number = std::strtoul(text.c_str(), &end, 10);
    if (text.empty() || *end != 0 || errno != 0 || number > static_cast<Id>(-2))
        throw Error(ENOENT, fmt::format("serve: there is no {} '{}'", what, text));
    return static_cast<Id>(number);
}

uid_t user_of(const std::string& name) {
    const passwd* user = getpwnam(name.c_str());
    return user != nullptr ? user->pw_uid : number_of<uid_t>(name, "user");
}

gid_t group_of(const std::string& name) {
    const group* found = getgrnam(name.c_str());
    return found != nullptr ? found->gr_gid : number_of<gid_t>(name, "group");
}

/// Returns a socket on which systemd listens for this process (sd_listen_fds(3)); -1: none.
int activation_socket() {
    const char* pid = std::getenv("LISTEN_PID");
    const char* count = std::getenv("LISTEN_FDS");
    if (pid == nullptr || count == nullptr || std::to_string(getpid()) != pid)
        return -1;
    if (std::strcmp(count, "1") != 0)
        throw Error(EINVAL, fmt::format("serve: systemd handed over {} sockets, but one is served: "
                                        "mend the socket unit",
                                        count));
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    constexpr int first_handed_over = 3;
    return first_handed_over;
}

/// Continues as the user `name`, with no more rights than it needs; root only.
void become(const std::string& name) {
    const passwd* user = getpwnam(name.c_str());
    if (user == nullptr)
        throw Error(ENOENT, fmt::format("serve: there is no user '{}': name another with --user, "
                                        "or none with --user root",
                                        name));
    if (setgroups(0, nullptr) != 0 || setresgid(user->pw_gid, user->pw_gid, user->pw_gid) != 0 ||
        setresuid(user->pw_uid, user->pw_uid, user->pw_uid) != 0)
        throw Error(errno,
                    fmt::format("serve: cannot become user {}: {}", name, std::strerror(errno)));
}

/// Sets the profiles of the cores. If --profile has several, their number is the number of cores.
void choose_profiles(ServeOptions& options) {
    EmbeddedOptions& device = options.server.device;
    std::vector<std::string> names(1);
    for (const char letter : options.profile) {
        if (letter == '+')
            names.emplace_back();
        else
            names.back() += letter;
    }
    if (names.size() == 1) {
        device.profile = names.front();
        return;
    }
    if (options.has_cores && names.size() != device.cores)
        throw Error(EINVAL, fmt::format("serve: --profile names {} cores, --cores {}: name one "
                                        "profile for each core, or one for all",
                                        names.size(), device.cores));
    device.cores = static_cast<unsigned>(names.size());
    device.profiles = std::move(names);
}

Server* running_server = nullptr;

void stop_running(int) {
    running_server->stop();
}

void stop_serving_on_signals() {
    struct sigaction action {};
    action.sa_handler = stop_running;
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        sigaction(signal, &action, nullptr);
}

int serve(ServeOptions& options) {
    ServerOptions& wanted = options.server;
    wanted.device.mode = mode_number(options.mode);
    choose_profiles(options);
    wanted.memory_bytes = options.memory_mib << 20;
    wanted.device.fc_clock_ns = options.fc_clock_ms * ns_per_ms;
    wanted.device.queue_timeout_ns = options.queue_timeout_ms * ns_per_ms;
    wanted.service = options.service.settings();
    for (const std::string& user : options.high_users)
        wanted.high_users.push_back(user_of(user));
    for (const std::string& group : options.high_groups)
        wanted.high_groups.push_back(group_of(group));
    wanted.listening_socket = activation_socket();
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    keep_little_memory();
    Server server(wanted);
    if (geteuid() == 0 && options.run_as != "root")
        become(options.run_as.empty() ? "nobody" : options.run_as);
    running_server = &server;
    stop_serving_on_signals();
    if (const std::string why = confine_server(); !why.empty())
        fmt::print(stderr, "overtake: serving without a filter of system calls: {}\n", why);
    fmt::print("serving {} core{} at {}\n", wanted.device.cores,
               wanted.device.cores == 1 ? "" : "s", wanted.socket_path);
    std::fflush(stdout);
    server.run();
    return 0;
}

int show_status(const ServeOptions& options) {
    const std::string text = server_status(options.server.socket_path);
    const Json status = Json::parse(text);
    if (options.json) {
        fmt::print("{}\n", status.dump(2));
        return 0;
    }
    const auto counted = [](std::uint64_t count, const char* what) {
        return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
    };
    fmt::print("{}: {}, mode {}, {}\n", options.server.socket_path,
               counted(status.at("cores").get<std::uint64_t>(), "core"),
               name_of_mode(status.at("mode").get<unsigned>()),
               counted(status.at("clients").size(), "client"));
    if (const Json lock = status.value("lock", Json::object()); lock.contains("longest_cpu_ns"))
        fmt::print("device lock: held for {:.3f} ms of CPU time at most ({}), {}\n",
                   lock.at("longest_cpu_ns").get<double>() / ns_per_ms,
                   lock.at("where").get<std::string>(),
                   counted(lock.at("most_steps").get<std::uint64_t>(), "step"));
    if (!status.at("clients").empty())
        fmt::print("{:>8} {:>8} {:>7} {:>8} {:>6} {:>12} {:>8} {:>8} {:>8} {:>6} {:>8}  255\n",
                   "pid", "user", "queues", "buffers", "jobs", "memory KiB", "waiting", "begun",
                   "overdue", "slots", "ended");
    for (const Json& client : status.at("clients")) {
        const Json& tasks = client.at("tasks");
        fmt::print(
            "{:>8} {:>8} {:>7} {:>8} {:>6} {:>12} {:>8} {:>8} {:>8} {:>6} {:>8}  {}\n",
            client.at("pid").get<int>(), client.at("uid").get<unsigned>(),
            client.at("queues").get<std::uint64_t>(), client.at("buffers").get<std::uint64_t>(),
            client.at("jobs").get<std::uint64_t>(),
            client.at("memory_bytes").get<std::uint64_t>() / 1024,
            tasks.at("waiting").get<std::uint64_t>(), tasks.at("dispatched").get<std::uint64_t>(),
            tasks.at("overdue").get<std::uint64_t>(), tasks.at("slots").get<std::uint64_t>(),
            tasks.at("ended").get<std::uint64_t>(),
            client.at("priority_255").get<bool>() ? "yes" : "no");
    }
    return 0;
}

std::vector<std::string> policies() {
    std::vector<std::string> names;
    for (u32 i = 0; ovt_sched_policy_at(i) != nullptr; i++)
        names.emplace_back(ovt_sched_policy_at(i)->name);
    return names;
}

/// Returns "Milliseconds: tasks as ...".
std::string in_milliseconds(std::string sentence) {
    sentence[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(sentence[0])));
    return "Milliseconds: " + sentence;
}

/// Adds the options of service mode; docs/reference/scenarios.md has the rules for their numbers.
void add_service_options(CLI::App& command, ServeOptions& options) {
    const char* group = "Service mode";
    command
        .add_option("--policy", options.server.policy,
                    fmt::format("By which tasks are ordered: {}", listed(policies())))
        ->check(one_of(policies()))
        ->capture_default_str()
        ->group(group);
    for (u32 i = 0; const ovt_setting* setting = ovt_setting_at(i); i++) {
        if (setting->option.name == nullptr)
            continue;
        const std::string sentence =
            setting->option_sentence != nullptr ? setting->option_sentence : setting->sentence;
        const std::string name = fmt::format("--{}", setting->option.name);
        if (setting->unit == OVT_UNIT_SWITCH) {
            command.add_flag(name, options.service.is_off[i], sentence)->group(group);
            continue;
        }
        const bool is_time = setting->unit == OVT_UNIT_TIME;
        CLI::Option* option = command.add_option(name, options.service.values[i],
                                                 is_time ? in_milliseconds(sentence) : sentence);
        if (is_time)
            option->transform(
                whole_duration(TimeUnit::millisecond, setting->least, setting->option.most));
        else
            option->check(whole_number(setting->least, setting->option.most));
        option->capture_default_str()->group(group);
    }
}

} // namespace

void add_serve(CLI::App& app, int& status) {
    auto options = std::make_shared<ServeOptions>();
    ServerOptions& server = options->server;
    server.socket_path = default_server_path();
    auto* command = app.add_subcommand(
        "serve", "Serve one software device to several processes, where there is no driver");
    command->add_option("--socket", server.socket_path, "Where clients find it")
        ->capture_default_str();
    auto* cores = command->add_option("--cores", server.device.cores, "Cores")
                      ->check(whole_number(1, 64))
                      ->capture_default_str();
    command->add_option("--mode", options->mode, "functional, timed or both")
        ->check(one_of({"functional", "timed", "both"}))
        ->capture_default_str();
    command
        ->add_option(
            "--profile", options->profile,
            "Cost profile (see docs/design/profiles.md), or one for each core, joined by '+'")
        ->capture_default_str();
    command
        ->add_option("--core-limit", server.device.core_limit,
                     "HIGH waits for at most so many NORMAL FCs; 0: no preemption")
        ->check(whole_number(0, 0x7fffffff))
        ->capture_default_str();
    command->add_flag("--fair", server.device.fair, "NORMAL takes turns by queue");
    command->add_option("--allow-high", options->high_users,
                        "Users who may use priority 255, beside root and this one");
    command->add_option("--allow-high-group", options->high_groups, "The same of groups");
    command->add_option("--clients", server.clients, "Connections at a time")
        ->check(whole_number(1, 1024))
        ->capture_default_str();
    command
        ->add_option("--memory", options->memory_mib,
                     "MiB of all clients together, or with a unit (2G); default: half of the "
                     "machine's, or of "
                     "its control group's")
        ->transform(whole_mebibytes(1, 1 << 30));
    command
        ->add_option("--fc-clock-ms", options->fc_clock_ms,
                     "Milliseconds, or with a unit (5s), of CPU time that one FC may take; five "
                     "times that in all, where the machine is busy")
        ->transform(whole_duration(TimeUnit::millisecond, 1, 0xffffffff))
        ->capture_default_str();
    command
        ->add_option("--queue-timeout-ms", options->queue_timeout_ms,
                     "Milliseconds, or with a unit (30s), that a job may be in flight; default: "
                     "10 s, or five times --fc-clock-ms if that is longer")
        ->transform(whole_duration(TimeUnit::millisecond, 1, 0xffffffff));
    command
        ->add_option("--idle-exit", server.idle_exit_s,
                     "End after so many seconds, or with a unit (5min), without a client")
        ->transform(whole_duration(TimeUnit::second, 1, 0x7fffffff));
    command->add_flag("--measure-lock", server.measure_lock,
                      "Measure how long the device's lock is held, for --status");
    command->add_option("--user", options->run_as, "As root: serve as this user; default: nobody");
    add_service_options(*command, *options);
    command->add_flag("--status", options->status, "Show who uses the server that runs");
    command->add_flag("--json", options->json, "With --status: print JSON")->needs("--status");
    command->callback([options, cores, &status] {
        options->has_cores = cores->count() != 0;
        status = options->status ? show_status(*options) : serve(*options);
    });
}

} // namespace overtake::command
