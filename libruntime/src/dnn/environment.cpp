// SPDX-License-Identifier: MIT
#include "dnn/environment.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "overtake/settings.hpp"

namespace overtake::dnn {

namespace {

class Reader {
public:
    Reader(const std::function<const char*(const char*)>& get, std::vector<std::string>& complaints)
        : get_(get), complaints_(complaints) {}

    /// Returns the variable's value; empty if it is not set.
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

/// Reports variables with which board programs are started and which have no effect here.
void note_unused(Reader& reader) {
    for (const char* name : {"HB_DNN_DUMP_PATH", "HB_DNN_CONV_MAP_PATH"})
        if (!reader.text(name).empty())
            reader.say(std::string(name) + ": has no effect here; `overtake compile --report` "
                                           "compares every layer with float");
}

/// Returns the settings of the scheduler that have a variable, by the name of the variable.
std::map<std::string_view, const ovt_setting*> variables() {
    std::map<std::string_view, const ovt_setting*> by_name;
    for (u32 i = 0; const ovt_setting* setting = ovt_setting_at(i); i++)
        if (setting->variable.name != nullptr)
            by_name.emplace(setting->variable.name, setting);
    return by_name;
}

/// Returns the unit of a variable: 1,000,000 ns (1 ms) for a time, else 1.
std::uint64_t variable_unit(const ovt_setting& setting) {
    return setting.unit == OVT_UNIT_TIME ? OVT_NS_PER_MS : 1;
}

void read_settings(EngineOptions& engine, Reader& reader) {
    ovt_sched_settings settings = usual_settings();
    for (const auto& [name, setting] : variables()) {
        const std::uint64_t unit = variable_unit(*setting);
        ovt_setting_set(setting, &settings,
                        reader.number(setting->variable.name, setting->least,
                                      setting->variable.most, setting->usual / unit) *
                            unit);
    }
    set_settings(engine, settings);
}

std::vector<Environment::Wish> wishes_of(const EngineOptions& engine, const Reader& reader) {
    const ovt_sched_settings settings = settings_of(engine);
    std::vector<Environment::Wish> wishes;
    for (const auto& [name, setting] : variables())
        if (setting->owner == OVT_OWNER_QUEUE && !reader.text(setting->variable.name).empty())
            wishes.push_back(
                {setting, ovt_setting_get(setting, &settings) / variable_unit(*setting)});
    return wishes;
}

} // namespace

std::string differences(const Environment& environment, const ServiceSettings& settings) {
    std::string different;
    const ovt_sched_settings device = settings_of(settings);
    for (const auto& [setting, value] : environment.wishes)
        if (const std::uint64_t own = ovt_setting_get(setting, &device) / variable_unit(*setting);
            own != value)
            different += fmt::format("{}{} is {}, not {}", different.empty() ? "" : ", ",
                                     setting->variable.name, own, value);
    return different.empty() ? different
                             : "HB_DNN_SERVICE_MODE=1: the device's numbers hold, for all "
                               "processes: " +
                                   different;
}

Environment read_environment(const std::function<const char*(const char*)>& get) {
    Environment environment;
    Reader reader(get, environment.complaints);
    EngineOptions& engine = environment.engine;
    read_settings(engine, reader);
    engine.core_limit = static_cast<unsigned>(reader.number("BPLAT_CORELIMIT", 0, INT32_MAX, 0));
    engine.max_priority = priority_high;
    engine.service = reader.choice<2>("HB_DNN_SERVICE_MODE", {"0", "1"}, 0) == 1;
    if (engine.service)
        environment.wishes = wishes_of(engine, reader);

    environment.processors = reader.text("OVERTAKE_PROCESSORS");
    environment.times = reader.text("OVERTAKE_TIMES");
    if (!environment.times.empty() && environment.processors.empty())
        reader.say("OVERTAKE_TIMES: has no effect without OVERTAKE_PROCESSORS");
    for (const auto& [name, setting] : variables())
        environment.sets_queue =
            environment.sets_queue || !reader.text(setting->variable.name).empty();
    constexpr std::array layouts = {CpuLayout::automatic, CpuLayout::planes, CpuLayout::blocked};
    engine.cpu_layout =
        layouts[reader.choice<3>("OVERTAKE_CPU_LAYOUT", {"auto", "planes", "blocked"}, 0)];
    engine.cpu_threads = static_cast<unsigned>(reader.number("OVERTAKE_CPU_THREADS", 1, 64, 1));
    engine.record = static_cast<unsigned>(reader.number("OVERTAKE_RECORD_LEVEL", 0, 2, 0));
    if (std::string policy = reader.text("OVERTAKE_POLICY"); !policy.empty())
        engine.policy = std::move(policy);

    environment.log_level = static_cast<LogLevel>(reader.number("HB_DNN_LOG_LEVEL", 0, 5, 3));
    environment.plugin_path = reader.text("HB_DNN_PLUGIN_PATH");
    environment.profile_path = reader.text("HB_DNN_PROFILER_LOG_PATH");
    environment.memory_bytes = reader.number("HB_DNN_SIM_BPU_MEM_SIZE", 0, 1u << 20, 0) << 20;
    reader.choice<3>("HB_DNN_SIM_PLATFORM", {"BERNOULLI", "BERNOULLI2", "BAYES"}, 2);
    note_unused(reader);

    if (std::string device = reader.text("OVERTAKE_DEVICE"); !device.empty())
        environment.device = std::move(device);
    environment.names_device = !reader.text("OVERTAKE_DEVICE").empty();
    constexpr std::array modes = {OVERTAKE_MODE_FUNCTIONAL, OVERTAKE_MODE_TIMED,
                                  OVERTAKE_MODE_BOTH};
    environment.embedded.mode =
        modes[reader.choice<3>("OVERTAKE_MODE", {"functional", "timed", "both"}, 0)];
    environment.embedded.cores = static_cast<unsigned>(reader.number("OVERTAKE_CORES", 1, 64, 2));
    return environment;
}

} // namespace overtake::dnn
