// SPDX-License-Identifier: MIT
//
// Opens the device that a name means.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "missing_permission.hpp"
#include "overtake/device.hpp"
#include "overtake/server.hpp"

namespace overtake {

namespace {

constexpr const char* first_node = "/dev/accel/accel0";
constexpr std::string_view server_prefix = "server:";

constexpr const char* own_device =
    ", or use a device of this process alone (--device embedded, OVERTAKE_DEVICE=embedded)";

std::shared_ptr<Device> open_socket(const std::string& path) {
    try {
        return open_server(path);
    } catch (const Error& error) {
        // If the server itself refuses this client, the error has the server's reason.
        if (error.code() == EACCES && !missing_permission(path).empty())
            throw Error(EACCES, error.what() + std::string(own_device));
        throw;
    }
}

/// Opens the default server.  An error names OVERTAKE_SERVER if this variable names the server.
std::shared_ptr<Device> open_default_server() {
    const char* const named = std::getenv("OVERTAKE_SERVER");
    try {
        return open_socket(default_server_path());
    } catch (const Error& error) {
        if (named && *named)
            throw Error(error.code(), fmt::format("OVERTAKE_SERVER: {}", error.what()));
        throw;
    }
}

/// Returns null if there is no server in the usual places.  A server that refuses this process is
/// an error, and so is one that the environment names and this process may not reach.
std::shared_ptr<Device> server_that_answers() {
    const std::string path = default_server_path();
    const char* named = std::getenv("OVERTAKE_SERVER");
    std::error_code reason;
    if (path.empty() || !std::filesystem::exists(path, reason)) {
        if (named && *named && reason == std::errc::permission_denied)
            throw Error(EACCES, "OVERTAKE_SERVER: " + missing_permission(path) + own_device);
        return nullptr;
    }
    try {
        return open_default_server();
    } catch (const Error& error) {
        if (error.code() == ECONNREFUSED || error.code() == ENOENT)
            return nullptr; // left by a server that has ended
        throw;
    }
}

} // namespace

std::shared_ptr<Device> open_device(std::string_view name, const EmbeddedOptions& embedded) {
    if (name == "embedded")
        return open_embedded(embedded);
    if (name == "kernel")
        return open_kernel(first_node);
    if (name == "server")
        return open_default_server();
    if (name.starts_with(server_prefix))
        return open_socket(std::string(name.substr(server_prefix.size())));
    std::error_code ignored;
    if (name != "auto") {
        if (!name.starts_with('/'))
            throw Error(EINVAL, "device '" + std::string(name) +
                                    "': not auto, embedded, kernel, server, server:SOCKET or a "
                                    "path like " +
                                    first_node);
        if (std::filesystem::is_socket(name, ignored))
            throw Error(EINVAL, fmt::format("{} is a socket; the device of its server is server:{}",
                                            name, name));
        return open_kernel(std::string(name));
    }
    if (std::filesystem::exists(first_node, ignored))
        return open_kernel(first_node);
    if (std::shared_ptr<Device> served = server_that_answers())
        return served;
    std::fprintf(
        stderr,
        "overtake: no %s and no device server: using an embedded device, which is not "
        "shared with other processes; load the driver or run overtake serve to share one\n",
        first_node);
    return open_embedded(embedded);
}

} // namespace overtake
