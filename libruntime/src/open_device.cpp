// SPDX-License-Identifier: MIT
//
// Which device a name means.
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "overtake/device.hpp"

namespace overtake {

namespace {

constexpr const char* first_node = "/dev/accel/accel0";

} // namespace

std::shared_ptr<Device> open_device(std::string_view name, const EmbeddedOptions& embedded) {
    if (name == "embedded")
        return open_embedded(embedded);
    if (name == "kernel")
        return open_kernel(first_node);
    if (name != "auto") {
        if (!name.starts_with('/'))
            throw Error(EINVAL, "device '" + std::string(name) +
                                    "': not auto, embedded, kernel or a path like " + first_node);
        return open_kernel(std::string(name));
    }
    std::error_code ignored;
    if (std::filesystem::exists(first_node, ignored))
        return open_kernel(first_node);
    std::fprintf(stderr,
                 "overtake: no %s: using an embedded device, which is not shared with other "
                 "processes; load the driver to share one\n",
                 first_node);
    return open_embedded(embedded);
}

} // namespace overtake
