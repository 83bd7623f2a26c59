// SPDX-License-Identifier: MIT
#include "output_file.hpp"

#include <cerrno>
#include <ranges>
#include <system_error>

#include <ext/stdio_filebuf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "overtake/device.hpp"

namespace overtake::command {
namespace {

namespace fs = std::filesystem;

/// The part of a path that exists, and the missing directories below it, outermost first.
struct Place {
    fs::path existing;
    std::vector<fs::path> missing;
};

Place place_of(fs::path directory) {
    std::error_code error;
    directory = fs::absolute(directory, error).lexically_normal();
    Place place;
    for (; !fs::exists(fs::symlink_status(directory, error)) && directory.has_relative_path();
         directory = directory.parent_path())
        if (directory.has_filename())
            place.missing.insert(place.missing.begin(), directory);
    place.existing = directory;
    return place;
}

} // namespace

OutputFiles::~OutputFiles() {
    files_.clear();
    std::error_code error;
    for (const fs::path& directory : made_ | std::views::reverse)
        fs::remove(directory, error); // fails, as intended, for a directory that has files
}

void OutputFiles::make_directory(const fs::path& directory) {
    for (const fs::path& part : place_of(directory).missing) {
        std::error_code error;
        if (fs::create_directory(part, error))
            made_.push_back(part);
        else if (error)
            throw Error(error.value(),
                        fmt::format("{}: the directory cannot be made: {}; name another",
                                    part.string(), error.message()));
    }
}

void OutputFiles::add(const std::string& path, const std::function<void(std::ostream&)>& write) {
    timeline::WholeFile file(path);
    const int copy = fcntl(file.descriptor(), F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        file.fail(errno);
    __gnu_cxx::stdio_filebuf<char> buffer(copy, std::ios::out | std::ios::binary);
    std::ostream stream(&buffer);
    errno = 0;
    write(stream);
    if (!stream.flush() || !buffer.close())
        file.fail(errno != 0 ? errno : EIO);
    files_.push_back(std::move(file));
}

void OutputFiles::commit() {
    for (timeline::WholeFile& file : files_)
        file.commit();
    files_.clear();
    made_.clear();
}

void write_file(const std::string& path, const std::function<void(std::ostream&)>& write) {
    OutputFiles files;
    files.add(path, write);
    files.commit();
}

void check_output_file(const std::string& path, const std::vector<std::string>& read) {
    std::error_code error;
    for (const std::string& input : read)
        if (fs::is_regular_file(path, error) && fs::equivalent(path, input, error))
            throw Error(EINVAL, path + ": is read and would be replaced; name another output");
    struct stat status {};
    const bool is_special = stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
    if (!is_special || S_ISDIR(status.st_mode))
        timeline::WholeFile file(path);
}

void check_output_directory(const std::string& option, const fs::path& directory) {
    const Place place = place_of(directory);
    std::error_code error;
    if (!fs::is_directory(place.existing, error))
        error = std::make_error_code(std::errc::not_a_directory);
    else if (access(place.existing.c_str(), W_OK | X_OK) != 0)
        error = std::error_code(errno, std::generic_category());
    if (error)
        throw Error(error.value(), fmt::format("{} {}: {}; name a directory that can be written to",
                                               option, directory.string(), error.message()));
}

} // namespace overtake::command
