// SPDX-License-Identifier: MIT
#include "dnn/process.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <pthread.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "dnn/log.hpp"
#include "dnn/status.hpp"
#include "overtake/custom_operator.hpp"

extern "C" {
#include "sched/coord/coord.h"
#include "sched/sched.h"
}

namespace overtake::dnn {

namespace {

thread_local Process* used_in_this_thread = nullptr;

/// The process of this program.  Never destroyed: its threads and handles may be used until the
/// very end.
struct Only {
    std::mutex mutex;
    Process* process = nullptr;
    std::vector<Process*> lost; ///< with a lost device; programs may have memory of theirs
    pid_t pid = 0;
    bool was_forked = false; ///< this is a child of a process that had a Process
};

Only& only() {
    static auto* only = new Only;
    return *only;
}

void note_fork() {
    // This thread holds the mutex: it locked it before fork().
    only().was_forked = only().process != nullptr;
    only().mutex.unlock();
}

/// Runs as the library is loaded, before a thread can hold the mutex.  The function fails only
/// without memory.
__attribute__((constructor)) void watch_for_fork_of_program() {
    only();
    (void)pthread_atfork([] { only().mutex.lock(); }, [] { only().mutex.unlock(); }, note_fork);
}

void stop_at_exit() {
    Process* process;
    {
        const std::lock_guard lock(only().mutex);
        process = only().was_forked ? nullptr : only().process;
    }
    if (process)
        process->stop();
}

/// Calls `make`, and adds the variable's name to an error that `make` throws.
template <class Make>
auto from_variable(const char* name, Make make) {
    try {
        return make();
    } catch (const Error& error) {
        throw Error(error.code(), fmt::format("{}: {}", name, error.what()));
    }
}

std::shared_ptr<Device> open_named_device(const Environment& environment) {
    const auto open = [&] { return open_device(environment.device, environment.embedded); };
    return environment.names_device ? from_variable("OVERTAKE_DEVICE", open) : open();
}

/// Opens an engine, without priority 255 and BPLAT_CORELIMIT if this process has no right to them.
std::unique_ptr<Engine> open_engine(const std::shared_ptr<Device>& device, EngineOptions options,
                                    std::string& no_high) {
    try {
        return std::make_unique<Engine>(device, options);
    } catch (const Error& error) {
        if (error.code() != EPERM)
            throw;
        no_high = error.what();
    }
    if (options.core_limit != 0)
        log(LogLevel::warning, fmt::format("BPLAT_CORELIMIT={} cannot be had, the device's own "
                                           "core limit holds: {}",
                                           options.core_limit, no_high));
    options.core_limit = 0;
    options.max_priority = priority_high - 1;
    return std::make_unique<Engine>(device, options);
}

EngineOptions engine_options(const Environment& environment,
                             const std::shared_ptr<Device>& device) {
    EngineOptions options = environment.engine;
    if (environment.processors.empty())
        return options;
    options.processors = from_variable(
        "OVERTAKE_PROCESSORS", [&] { return parse_processors(environment.processors, device); });
    if (options.service || environment.sets_queue)
        log(LogLevel::warning, "OVERTAKE_PROCESSORS is set, so a coordinator schedules, and the "
                               "HB_ variables of the library's queue have no effect");
    options.service = false;
    return options;
}

std::unique_ptr<Engine> open_named_engine(const Environment& environment,
                                          const std::shared_ptr<Device>& device,
                                          std::string& no_high) {
    const EngineOptions options = engine_options(environment, device);
    const char* const policy = options.policy.c_str();
    const auto open = [&] { return open_engine(device, options, no_high); };
    if (options.processors.empty())
        return ovt_sched_policy_find(policy) ? open() : from_variable("OVERTAKE_POLICY", open);
    return from_variable(ovt_coord_policy_find(policy) ? "OVERTAKE_PROCESSORS" : "OVERTAKE_POLICY",
                         open);
}

std::vector<ExpectedTimes> read_times(const Environment& environment) {
    std::vector<ExpectedTimes> times;
    if (environment.processors.empty())
        return times;
    const std::string& paths = environment.times;
    for (std::size_t begin = 0; begin < paths.size();) {
        const std::size_t end = std::min(paths.find(',', begin), paths.size());
        times.push_back(from_variable("OVERTAKE_TIMES", [&] {
            return ExpectedTimes::read(paths.substr(begin, end - begin));
        }));
        begin = end + 1;
    }
    return times;
}

Process* make_process() {
    const Environment environment = read_environment(getenv);
    set_log_level(environment.log_level);
    for (const std::string& complaint : environment.complaints)
        log(LogLevel::warning, complaint);
    try {
        if (!environment.plugin_path.empty())
            from_variable("HB_DNN_PLUGIN_PATH",
                          [&] { load_custom_operators(environment.plugin_path); });
        return new Process(environment);
    } catch (const Error& error) {
        throw Failure(HB_DNN_API_USE_ERROR, error.what());
    }
}

} // namespace

Process::Process(const Environment& environment)
    : memory(open_named_device(environment), environment.memory_bytes), device_(memory.device()),
      cores_(device_->info().core_count), times_(read_times(environment)),
      engine_(open_named_engine(environment, device_, no_high_)),
      profile_path_(environment.profile_path) {
    if (const ServiceSettings* settings = engine_->service_settings())
        if (const std::string line = differences(environment, *settings); !line.empty())
            log(LogLevel::warning, line);
    if (device_->info().mode == OVERTAKE_MODE_TIMED)
        log(LogLevel::warning, "the device is in mode timed: it takes the modelled time and "
                               "computes nothing, so outputs are not the network's");
    if (!profile_path_.empty())
        profile = std::make_unique<Profile>();
}

Process::Process(std::shared_ptr<Device> device, std::unique_ptr<Engine> engine)
    : memory(device, 0), device_(std::move(device)), cores_(device_->info().core_count),
      engine_(std::move(engine)) {}

Process::~Process() {
    stop();
}

Process& Process::current() {
    if (used_in_this_thread)
        return *used_in_this_thread;
    Only& own = only();
    const std::lock_guard lock(own.mutex);
    if (own.was_forked)
        throw Failure(HB_DNN_MULTI_PROGRESS_USE_ERROR,
                      fmt::format("process {} used the device before it forked this one; call "
                                  "exec(), or fork before the first use",
                                  own.pid));
    if (!own.process) {
        static const int registered = std::atexit(stop_at_exit);
        if (registered != 0)
            throw Failure(HB_DNN_OUT_OF_MEMORY, "no memory to end the engine at exit()");
        own.process = make_process();
        own.pid = getpid();
    }
    return *own.process;
}

Process* Process::reopen(Process& lost) {
    Only& own = only();
    const std::lock_guard lock(own.mutex);
    if (used_in_this_thread || lost.packs.size() > 0 || lost.tasks.size() > 0)
        return nullptr;
    if (own.process == &lost) {
        own.lost.reserve(own.lost.size() + 1);
        own.process = make_process();
        own.lost.push_back(&lost);
        lost.stop();
    }
    return own.process;
}

bool Process::free_of_lost(const void* data) {
    Only& own = only();
    const std::lock_guard lock(own.mutex);
    return std::ranges::any_of(own.lost,
                               [&](Process* process) { return process->memory.free(data); });
}

Process* Process::of_this_thread() noexcept {
    return used_in_this_thread;
}

void Process::use_in_this_thread(Process* process) noexcept {
    used_in_this_thread = process;
}

std::shared_ptr<Engine> Process::engine() {
    const std::lock_guard lock(mutex_);
    if (!engine_)
        throw Failure(HB_DNN_API_USE_ERROR, "the program is ending");
    return engine_;
}

std::shared_ptr<LoadedModel> Process::load(const std::shared_ptr<const Model>& model) {
    const std::shared_ptr<Engine> own = engine();
    for (const ExpectedTimes& times : times_)
        if (times.model_name() == model->name())
            return from_variable("OVERTAKE_TIMES", [&] { return own->load(model, times); });
    std::shared_ptr<LoadedModel> loaded = own->load(model);
    if (const std::size_t bytes = loaded->given_back_bytes(); bytes != 0)
        log(LogLevel::info,
            fmt::format("model '{}': OVERTAKE_RECORD_LEVEL=2 gives back {} bytes of its file and "
                        "tables",
                        loaded->model().name(), bytes));
    return loaded;
}

void Process::check_priority(unsigned priority) {
    if (priority != priority_high)
        return;
    if (!no_high_.empty())
        throw Failure(HB_DNN_API_USE_ERROR, "priority 255: " + no_high_);
    std::call_once(first_high_, [&] {
        if (std::ranges::all_of(device_->cores(), [](const drm_overtake_core_info& core) {
                return core.core_limit == 0;
            }))
            log(LogLevel::warning,
                "priority 255 goes first among those that wait, but preempts nothing while "
                "BPLAT_CORELIMIT is 0; BPLAT_CORELIMIT=1 makes it wait for one FC at most");
    });
}

void Process::stop() {
    std::shared_ptr<Engine> engine;
    {
        const std::lock_guard lock(mutex_);
        engine = std::exchange(engine_, nullptr);
    }
    if (!engine || !profile)
        return;
    try {
        profile->write(profile_path_, cores_);
    } catch (const Error& error) {
        log(LogLevel::error, error.what());
    }
}

} // namespace overtake::dnn
