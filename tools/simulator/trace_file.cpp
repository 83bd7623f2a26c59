// SPDX-License-Identifier: MIT
#include "simulator/trace_file.hpp"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string>

#include <fmt/format.h>

namespace overtake::simulator {

namespace fs = std::filesystem;

std::vector<std::uint64_t> read_trace(const Place& place, const fs::path& path) {
    std::ifstream file(path);
    if (!file || fs::is_directory(path))
        place.fail(fmt::format("{}: {}", path.string(), std::strerror(file ? EISDIR : errno)));
    std::vector<std::uint64_t> times;
    std::string line;
    for (std::size_t number = 1; std::getline(file, line); number++) {
        if (line.ends_with('\r'))
            line.pop_back();
        if (line.empty() || line.front() == '#')
            continue;
        std::uint64_t time = 0;
        const char* const end = line.data() + line.size();
        const auto [stop, error] = std::from_chars(line.data(), end, time);
        if (error != std::errc() || stop != end || time > time_limit)
            place.fail(
                fmt::format("{}:{}: not a time in the scenario's unit", path.string(), number));
        if (!times.empty() && time < times.back())
            place.fail(fmt::format("{}:{}: earlier than the line before", path.string(), number));
        times.push_back(time);
    }
    if (file.bad())
        place.fail(fmt::format("{}: cannot be read to its end", path.string()));
    if (times.empty())
        place.fail(fmt::format("{}: no arrivals", path.string()));
    return times;
}

} // namespace overtake::simulator
