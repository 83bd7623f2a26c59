// SPDX-License-Identifier: MIT
#include "dnn/environment.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace overtake::dnn {

namespace {

constexpr std::uint64_t ns_per_ms = 1'000'000;

class Reader {
public:
    Reader(const std::function<const char*(const char*)>& get, std::vector<std::string>& complaints)
        : get_(get), complaints_(complaints) {}

    /// Empty if it is not set.
    std::string text(const char* name) const {
        const char* value = get_(name);
        return value ? value : "";
    }

    std::uint64_t number(const char* name, std::uint64_t least, std::uint64_t most,
                         std::uint64_t usual) {
        const std::string value = text(name);
        if (value.empty())
            return usual;
        std::uint64_t number = 0;
        const auto [end, error] =
            std::from_chars(value.data(), value.data() + value.size(), number);
        if (error == std::errc() && end == value.data() + value.size() && number >= least &&
            number <= most)
            return number;
        complain(name, value, fmt::format("an integer from {} to {}", least, most),
                 std::to_string(usual));
        return usual;
    }

    template <std::size_t count>
    std::size_t choice(const char* name, const std::array<const char*, count>& names,
                       std::size_t usual) {
        const std::string value = text(name);
        if (value.empty())
            return usual;
        for (std::size_t i = 0; i < count; i++)
            if (value == names[i])
                return i;
        complain(name, value, fmt::format("one of {}", fmt::join(names, ", ")), names[usual]);
        return usual;
    }

    void say(std::string line) { complaints_.push_back(std::move(line)); }

private:
    void complain(const char* name, const std::string& value, const std::string& accepted,
                  const std::string& usual) {
        say(fmt::format("{}={}: not {}; {} is used", name, value, accepted, usual));
    }

    const std::function<const char*(const char*)>& get_;
    std::vector<std::string>& complaints_;
};

/// Accepted, since board programs are started with them, and without effect.
void note_unused(Reader& reader) {
    for (const char* name : {"HB_DNN_DUMP_PATH", "HB_DNN_CONV_MAP_PATH"})
        if (!reader.text(name).empty())
            reader.say(std::string(name) + ": has no effect here; `overtake compile --report` "
                                           "compares every layer with float");
}

std::vector<Environment::Wish> wishes_of(const EngineOptions& engine, const Reader& reader) {
    using Settings = const ServiceSettings&;
    std::vector<Environment::Wish> wishes = {
        {"HB_DNN_BPU_SCHEDULE_THRESHOLD", engine.threshold_percent,
         [](Settings of) -> std::uint64_t { return of.threshold_percent; }},
        {"HB_DNN_SCHEDULE_INSERT_FC_MAX_TIME", engine.insert_max_time_ns / ns_per_ms,
         [](Settings of) -> std::uint64_t { return of.insert_max_time_ns / ns_per_ms; }},
        {"HB_DNN_SCHEDULE_WAIT_DISPATCH_TIME", engine.wait_dispatch_time_ns / ns_per_ms,
         [](Settings of) -> std::uint64_t { return of.wait_dispatch_time_ns / ns_per_ms; }},
        {"HB_MAX_TASK_NUM", engine.task_limit,
         [](Settings of) -> std::uint64_t { return of.task_limit; }},
        {"OVERTAKE_SLOTS", engine.slots, [](Settings of) -> std::uint64_t { return of.slots; }},
    };
    std::erase_if(wishes, [&](const Environment::Wish& wish) {
        return reader.text(wish.variable.c_str()).empty();
    });
    return wishes;
}

} // namespace

std::string differences(const Environment& environment, const ServiceSettings& settings) {
    std::string different;
    for (const Environment::Wish& wish : environment.wishes)
        if (const std::uint64_t own = wish.of_device(settings); own != wish.value)
            different += fmt::format("{}{} is {}, not {}", different.empty() ? "" : ", ",
                                     wish.variable, own, wish.value);
    return different.empty() ? different
                             : "HB_DNN_SERVICE_MODE=1: the device's numbers hold, for all "
                               "processes: " +
                                   different;
}

Environment read_environment(const std::function<const char*(const char*)>& get) {
    Environment environment;
    Reader reader(get, environment.complaints);
    EngineOptions& engine = environment.engine;
    engine.threshold_percent =
        static_cast<std::uint32_t>(reader.number("HB_DNN_BPU_SCHEDULE_THRESHOLD", 0, 100000, 10));
    engine.insert_max_time_ns =
        reader.number("HB_DNN_SCHEDULE_INSERT_FC_MAX_TIME", 0, 1'000'000'000, 1000) * ns_per_ms;
    engine.wait_dispatch_time_ns =
        reader.number("HB_DNN_SCHEDULE_WAIT_DISPATCH_TIME", 0, 1'000'000'000, 20) * ns_per_ms;
    engine.task_limit = static_cast<std::uint32_t>(reader.number("HB_MAX_TASK_NUM", 1, 1024, 8));
    engine.workers = static_cast<std::uint32_t>(reader.number("HB_MAX_THREAD_NUM", 1, 256, 4));
    engine.slots = static_cast<std::uint32_t>(reader.number("OVERTAKE_SLOTS", 1, 1024, 1));
    engine.core_limit = static_cast<unsigned>(reader.number("BPLAT_CORELIMIT", 0, INT32_MAX, 0));
    engine.max_priority = priority_high;
    engine.service = reader.choice<2>("HB_DNN_SERVICE_MODE", {"0", "1"}, 0) == 1;
    if (engine.service)
        environment.wishes = wishes_of(engine, reader);

    environment.log_level = static_cast<LogLevel>(reader.number("HB_DNN_LOG_LEVEL", 0, 5, 3));
    environment.plugin_path = reader.text("HB_DNN_PLUGIN_PATH");
    environment.profile_path = reader.text("HB_DNN_PROFILER_LOG_PATH");
    environment.memory_bytes = reader.number("HB_DNN_SIM_BPU_MEM_SIZE", 0, 1u << 20, 0) << 20;
    reader.choice<3>("HB_DNN_SIM_PLATFORM", {"BERNOULLI", "BERNOULLI2", "BAYES"}, 2);
    note_unused(reader);

    if (std::string device = reader.text("OVERTAKE_DEVICE"); !device.empty())
        environment.device = std::move(device);
    constexpr std::array modes = {OVERTAKE_MODE_FUNCTIONAL, OVERTAKE_MODE_TIMED,
                                  OVERTAKE_MODE_BOTH};
    environment.embedded.mode =
        modes[reader.choice<3>("OVERTAKE_MODE", {"functional", "timed", "both"}, 0)];
    environment.embedded.cores = static_cast<unsigned>(reader.number("OVERTAKE_CORES", 1, 64, 2));
    return environment;
}

} // namespace overtake::dnn
