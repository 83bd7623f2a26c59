// SPDX-License-Identifier: MIT
//
// Which device a name means.
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "overtake/device.hpp"
#include "overtake/server.hpp"

namespace overtake {

namespace {

constexpr const char* first_node = "/dev/accel/accel0";
constexpr std::string_view server_prefix = "server:";

/// Null if none is where servers are.  One that is there and turns this process away is an error.
std::shared_ptr<Device> server_that_answers() {
    const std::string path = default_server_path();
    std::error_code ignored;
    if (path.empty() || !std::filesystem::exists(path, ignored))
        return nullptr;
    try {
        return open_server(path);
    } catch (const Error& error) {
        if (error.code() == ECONNREFUSED || error.code() == ENOENT)
            return nullptr; // what one that is gone has left
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
        return open_server();
    if (name.starts_with(server_prefix))
        return open_server(std::string(name.substr(server_prefix.size())));
    if (name != "auto") {
        if (!name.starts_with('/'))
            throw Error(EINVAL, "device '" + std::string(name) +
                                    "': not auto, embedded, kernel, server, server:SOCKET or a "
                                    "path like " +
                                    first_node);
        return open_kernel(std::string(name));
    }
    std::error_code ignored;
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
