// SPDX-License-Identifier: MIT
#include "kernel_device.hpp"

#include <cerrno>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <system_error>
#include <unistd.h>

#include "overtake/settings.hpp"

namespace overtake::test {

namespace {

namespace fs = std::filesystem;

void write_file(const fs::path& path, const std::string& text) {
    std::ofstream file(path);
    file << text << std::flush;
    if (!file)
        throw std::system_error(errno, std::generic_category(), path.string());
}

std::string read_file(const fs::path& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    if (!file)
        throw std::system_error(errno, std::generic_category(), path.string());
    return text.str();
}

/// Returns the key=value pairs of one line of a trace.
std::map<std::string, std::string> fields(const std::string& line) {
    std::map<std::string, std::string> fields;
    std::istringstream words(line);
    for (std::string word; words >> word;)
        if (const std::size_t equals = word.find('='); equals != std::string::npos)
            fields[word.substr(0, equals)] = word.substr(equals + 1);
    return fields;
}

/// Returns the directory of the device's attributes.
fs::path attributes_of(const std::string& node) {
    struct stat status {};
    if (stat(node.c_str(), &status) != 0)
        throw std::system_error(errno, std::generic_category(), node);
    return "/sys/dev/char/" + std::to_string(major(status.st_rdev)) + ":" +
           std::to_string(minor(status.st_rdev)) + "/device";
}

} // namespace

CoreLimits::CoreLimits(const std::string& node, const std::vector<unsigned>& limits)
    : device_(attributes_of(node)) {
    for (std::size_t i = 0; i < limits.size(); i++) {
        before_.push_back(static_cast<unsigned>(std::stoul(read_file(attribute(i)))));
        write_file(attribute(i), std::to_string(limits[i]));
    }
}

CoreLimits::~CoreLimits() {
    for (std::size_t i = 0; i < before_.size(); i++)
        std::ofstream(attribute(i)) << before_[i];
}

fs::path CoreLimits::attribute(std::size_t core_index) const {
    return device_ / ("core" + std::to_string(core_index + 1)) / "core_limit";
}

ServiceNumbers::ServiceNumbers(const std::string& node, const ServiceSettings& settings,
                               const std::string& policy)
    : directory_(attributes_of(node) / "service") {
    const ovt_sched_settings numbers = settings_of(settings);
    for (u32 i = 0; const ovt_setting* setting = ovt_setting_at(i); i++)
        if (setting->owner != OVT_OWNER_PROCESS)
            set(setting->public_name, std::to_string(ovt_setting_get(setting, &numbers)));
    set("policy", policy);
}

ServiceNumbers::~ServiceNumbers() {
    for (const auto& [name, value] : before_)
        std::ofstream(directory_ / name) << value;
}

void ServiceNumbers::set(const std::string& name, const std::string& value) {
    before_.emplace_back(name, read_file(directory_ / name));
    write_file(directory_ / name, value);
}

bool device_is_fair() {
    return read_file("/sys/module/overtake/parameters/fair").starts_with('Y');
}

FcTrace::FcTrace(Whose whose)
    : whose_(whose),
      instance_("/sys/kernel/tracing/instances/overtake-" + std::to_string(getpid())) {
    fs::create_directory(instance_);
    write_file(instance_ / "buffer_size_kb", "4096");
    write_file(instance_ / "events/overtake/fc_done/enable", "1");
}

FcTrace::~FcTrace() {
    std::ofstream(instance_ / "events/overtake/fc_done/enable") << 0;
    std::error_code ignored;
    fs::remove(instance_, ignored);
}

std::vector<FcRecord> FcTrace::take() {
    std::vector<FcRecord> records;
    std::istringstream lines(read_file(instance_ / "trace"));
    write_file(instance_ / "trace", "");
    for (std::string line; std::getline(lines, line);) {
        if (line.find("LOST") != std::string::npos)
            throw std::runtime_error("the trace lost events: " + line);
        if (line.find(" fc_done: ") == std::string::npos)
            continue;
        const std::map<std::string, std::string> values = fields(line);
        if (whose_ == Whose::this_process && values.at("pid") != std::to_string(getpid()))
            continue;
        const std::uint64_t end_ns = std::stoull(values.at("time_ns"));
        records.push_back({.tag = std::stoull(values.at("tag")),
                           .index = static_cast<std::uint32_t>(std::stoul(values.at("fc_index"))),
                           .core = static_cast<unsigned>(std::stoul(values.at("core"))),
                           .high = values.at("ring") == "0",
                           .start_ns = end_ns - std::stoull(values.at("duration_ns")),
                           .end_ns = end_ns,
                           .part = static_cast<std::uint32_t>(std::stoul(values.at("part")))});
    }
    return records;
}

} // namespace overtake::test
