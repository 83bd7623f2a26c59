// SPDX-License-Identifier: MIT
#include "missing_permission.hpp"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>

#include <unistd.h>

namespace overtake {

std::string missing_permission(const std::string& socket) {
    std::filesystem::path directory;
    for (const std::filesystem::path& part : std::filesystem::path(socket).parent_path()) {
        directory /= part;
        if (faccessat(AT_FDCWD, directory.c_str(), X_OK, AT_EACCESS) != 0 && errno == EACCES)
            return socket + ": this user may not enter the directory " + directory.string() +
                   ": let it search the directory (chmod g+x or o+x, or membership of its group)";
    }
    if (faccessat(AT_FDCWD, socket.c_str(), W_OK, AT_EACCESS) == 0 || errno != EACCES)
        return "";
    return socket + ": this user may not write to the socket, which connecting needs: give it "
                    "write permission (chmod g+w or o+w, or membership of its group)";
}

} // namespace overtake
