// SPDX-License-Identifier: MIT
#include "observe/metrics/sysfs.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <sstream>

namespace overtake::sysfs {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

std::optional<double> number_in(const fs::path& path) {
    const std::string line = first_line(path);
    std::uint64_t number = 0;
    const char* end = line.data() + line.size();
    const auto [behind, error] = std::from_chars(line.data(), end, number);
    if (error != std::errc() || behind != end)
        return std::nullopt;
    return static_cast<double>(number);
}

std::optional<unsigned> number_behind(const std::string& prefix, const std::string& name) {
    if (!name.starts_with(prefix))
        return std::nullopt;
    const std::string digits = name.substr(prefix.size());
    if (digits.empty() || digits.size() > 9 ||
        digits.find_first_not_of("0123456789") != std::string::npos)
        return std::nullopt;
    return static_cast<unsigned>(std::stoul(digits));
}

std::vector<fs::path> numbered(const fs::path& directory, const std::string& prefix) {
    std::vector<std::pair<unsigned, fs::path>> found;
    std::error_code error; // the directory may disappear while it is read
    for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
         entry.increment(error))
        if (const auto number = number_behind(prefix, entry->path().filename()))
            found.emplace_back(*number, entry->path());
    std::ranges::sort(found);
    std::vector<fs::path> paths;
    for (auto& [number, path] : found)
        paths.push_back(std::move(path));
    return paths;
}

std::string module_parameter(const fs::path& sys, const char* name, unsigned device) {
    std::istringstream list(first_line(sys / "module" / driver_name / "parameters" / name));
    std::string value;
    for (unsigned index = 0; index <= device; index++)
        if (!std::getline(list, value, ','))
            break;
    return value;
}

std::optional<Device> device_of(const fs::path& sys, const std::string& node) {
    std::error_code ignored;
    const fs::path link = sys / "class/accel" / node / "device";
    if (fs::canonical(link / "driver", ignored).filename() != driver_name)
        return std::nullopt;
    const fs::path directory = fs::canonical(link, ignored);
    const auto number = number_behind(std::string(driver_name) + ".", directory.filename());
    return Device{.node = node, .number = number.value_or(0), .directory = directory};
}

std::vector<Device> devices(const fs::path& sys) {
    std::vector<Device> found;
    for (const fs::path& path : numbered(sys / "class/accel", "accel"))
        if (auto device = device_of(sys, path.filename()))
            found.push_back(std::move(*device));
    return found;
}

} // namespace overtake::sysfs
