// SPDX-License-Identifier: MIT
#include "observe/metrics/processes.hpp"

#include <charconv>
#include <fstream>
#include <set>
#include <utility>

#include "observe/metrics/sysfs.hpp"

namespace overtake::metrics {
namespace {

namespace fs = std::filesystem;

constexpr const char* nodes = "/dev/accel/";
constexpr const char* client_id = "drm-client-id";

std::uint64_t unit_of(std::string_view text) {
    if (text == " KiB")
        return 1024;
    return text == " MiB" ? 1024 * 1024 : 1;
}

/// Returns the keys of a file's fdinfo that have numbers; empty if the file is of another driver.
std::map<std::string, std::uint64_t> read_values(const fs::path& fdinfo) {
    std::map<std::string, std::uint64_t> values;
    std::ifstream file(fdinfo);
    bool is_ours = false;
    for (std::string line; std::getline(file, line);) {
        const std::size_t colon = line.find(':');
        const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
        if (colon == std::string::npos || begin == std::string::npos)
            continue;
        const std::string key = line.substr(0, colon);
        if (key == "drm-driver")
            is_ours = line.substr(begin) == sysfs::driver_name;
        std::uint64_t value = 0;
        const char* end = line.data() + line.size();
        const auto [behind, error] = std::from_chars(line.data() + begin, end, value);
        if (error == std::errc())
            values[key] = value * unit_of({behind, static_cast<std::size_t>(end - behind)});
    }
    if (!is_ours)
        values.clear();
    return values;
}

} // namespace

OpenFiles find_open_files(const fs::path& proc) {
    OpenFiles found;
    std::set<std::pair<std::string, std::uint64_t>> seen;
    for (const fs::path& process : sysfs::numbered(proc, "")) {
        std::error_code error;
        fs::directory_iterator entry(process / "fd", error);
        if (error == std::errc::permission_denied)
            found.unreadable++;
        for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
            std::error_code gone;
            const std::string target = fs::read_symlink(entry->path(), gone).string();
            if (gone || !target.starts_with(nodes))
                continue;
            OpenFile file{.node = fs::path(target).filename(),
                          .pid = *sysfs::number_behind("", process.filename()),
                          .command = sysfs::first_line(process / "comm"),
                          .values = read_values(process / "fdinfo" / entry->path().filename())};
            const auto id = file.values.find(client_id);
            if (id != file.values.end() && seen.emplace(file.node, id->second).second)
                found.files.push_back(std::move(file));
        }
    }
    return found;
}

} // namespace overtake::metrics
