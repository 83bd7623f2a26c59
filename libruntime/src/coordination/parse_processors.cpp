// SPDX-License-Identifier: MIT
//
// Processors as options of programs name them.
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "coordination/own_registry.hpp"
#include "overtake/engine.hpp"
#include "overtake/error.hpp"

namespace overtake {

namespace {

constexpr unsigned usual_workers = 4;

[[noreturn]] void refuse_entry(std::string_view entry, const std::string& why) {
    throw Error(EINVAL, fmt::format("processors: '{}': {}", entry, why));
}

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(separator, begin), text.size());
        parts.emplace_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

unsigned number_of(std::string_view text, std::string_view entry) {
    unsigned number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number == 0)
        refuse_entry(entry, fmt::format("'{}' is no number from 1; NAME=1+2 are cores 1 and 2, "
                                        "NAME=x4 four CPU workers",
                                        text));
    return number;
}

/// Checks a name as `overtake compile` checks those of classes: NAME.1 is a core of an entry NAME.
void check_name(const std::string& name, std::string_view entry) {
    if (name.empty())
        refuse_entry(entry, "it has no name");
    const bool is_plain = std::ranges::all_of(
        name, [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_'; });
    if (!is_plain && !coordination::registered_processor(name))
        refuse_entry(entry,
                     fmt::format("'{}' is no name: it has letters, digits, - and _; cores are "
                                 "chosen by number (NAME=1), and a processor of the "
                                 "program's is registered under its name first",
                                 name));
}

/// The cores of the devices that no entry has taken yet.
class FreeCores {
public:
    void take(const std::shared_ptr<Device>& device, const std::vector<unsigned>& cores) {
        for (const unsigned core : cores)
            std::erase(left_of(device), core);
    }
    /// Takes the cores that have the same profile as the first core that is left.
    std::vector<unsigned> take_group(const std::shared_ptr<Device>& device,
                                     std::string_view entry) {
        std::vector<unsigned>& left = left_of(device);
        if (left.empty())
            refuse_entry(entry, "its device has no cores left for it; name the cores of each entry "
                                "(NAME=1+2), or CPU workers (NAME=x4)");
        const std::vector<drm_overtake_core_profile> profiles = device->core_profiles();
        const drm_overtake_core_profile& first = profiles[left.front() - 1];
        std::vector<unsigned> group;
        for (const unsigned core : left)
            if (std::memcmp(&profiles[core - 1], &first, sizeof(first)) == 0)
                group.push_back(core);
        take(device, group);
        return group;
    }

private:
    std::vector<unsigned>& left_of(const std::shared_ptr<Device>& device) {
        const auto [known, is_new] = left_.try_emplace(device.get());
        if (is_new)
            for (unsigned core = 1; core <= device->info().core_count; core++)
                known->second.push_back(core);
        return known->second;
    }

    std::map<const Device*, std::vector<unsigned>> left_;
};

} // namespace

std::vector<ProcessorOptions> parse_processors(const std::string& text,
                                               const std::shared_ptr<Device>& device) {
    return parse_processors(text, device, EmbeddedOptions{});
}

std::vector<ProcessorOptions> parse_processors(const std::string& text,
                                               const std::shared_ptr<Device>& device,
                                               const EmbeddedOptions& embedded) {
    std::vector<ProcessorOptions> processors;
    std::vector<std::size_t> without_numbers;
    FreeCores free_cores;
    const std::vector<std::string> entries = split(text, ',');
    for (const std::string& entry : entries) {
        ProcessorOptions& processor = processors.emplace_back();
        const std::size_t at = entry.find('@');
        const std::string what = entry.substr(0, at);
        const std::size_t equals = what.find('=');
        processor.name = what.substr(0, equals);
        check_name(processor.name, entry);
        if (at != std::string::npos)
            processor.device = open_device(entry.substr(at + 1), embedded);
        const std::shared_ptr<Device>& of = processor.device ? processor.device : device;
        const std::string value = equals == std::string::npos ? "" : what.substr(equals + 1);
        if (value.starts_with('x')) {
            if (processor.device)
                refuse_entry(entry, "CPU workers are of no device");
            processor.workers = number_of(std::string_view(value).substr(1), entry);
        } else if (equals != std::string::npos) {
            for (const std::string& core : split(value, '+'))
                processor.cores.push_back(number_of(core, entry));
            free_cores.take(of, processor.cores);
        } else if (processor.name == "cpu" && !processor.device) {
            processor.workers = usual_workers;
        } else {
            without_numbers.push_back(processors.size() - 1);
        }
    }
    for (const std::size_t i : without_numbers) {
        ProcessorOptions& processor = processors[i];
        if (!processor.device && coordination::registered_processor(processor.name))
            continue;
        processor.cores =
            free_cores.take_group(processor.device ? processor.device : device, entries[i]);
    }
    return processors;
}

} // namespace overtake
