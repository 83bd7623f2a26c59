// SPDX-License-Identifier: MIT
//
// overtake cdi: the devices of this machine, for container engines, as a specification of the
// Container Device Interface (https://github.com/cncf-tags/container-device-interface, SPEC.md).
#include <cerrno>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "json_text.hpp"
#include "observe/metrics/sysfs.hpp"
#include "option_checks.hpp"
#include "output_file.hpp"
#include "overtake/error.hpp"

namespace overtake::command {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// The first version in which names of devices may begin with digits; nothing newer is used.
constexpr const char* version = "0.5.0";
constexpr const char* kind = "overtake/npu";
constexpr const char* socket_directory = "/run/overtake"; ///< in the container

struct CdiOptions {
    std::string server;
    std::string output;
};

/// The node in the container has the owner and mode of the host's node.
Json node(const sysfs::Device& device) {
    return {{"path", "/dev/accel/" + device.node}, {"type", "c"}, {"permissions", "rw"}};
}

Json named(const std::string& name, const Json& edits) {
    return {{"name", name}, {"containerEdits", edits}};
}

/// Mounts the directory of a server's socket: after a restart, the socket itself is another one.
Json server_edits(const std::string& socket) {
    const fs::path path = fs::absolute(socket);
    const Json mount = {{"hostPath", path.parent_path().string()},
                        {"containerPath", socket_directory},
                        {"options", {"bind", "nosuid", "nodev", "noexec"}}};
    return {
        {"env", {fmt::format("OVERTAKE_SERVER={}/{}", socket_directory, path.filename().string())}},
        {"mounts", Json::array({mount})}};
}

Json specification(const CdiOptions& options) {
    Json devices = Json::array(), all = Json::array();
    for (const sysfs::Device& device : sysfs::devices("/sys")) {
        all.push_back(node(device));
        devices.push_back(
            named(std::to_string(device.number), {{"deviceNodes", Json::array({node(device)})}}));
    }
    if (!all.empty())
        devices.push_back(named("all", {{"deviceNodes", all}}));
    if (!options.server.empty())
        devices.push_back(named("server", server_edits(options.server)));
    if (devices.empty())
        throw Error(ENODEV, "cdi: no Overtake device is here: load the driver (sudo modprobe "
                            "overtake), or name the socket of a device server (--server)");
    return {{"cdiVersion", version}, {"kind", kind}, {"devices", devices}};
}

int run_cdi(const CdiOptions& options) {
    const std::string text = text_of(specification(options)) + "\n";
    if (options.output.empty())
        fmt::print("{}", text);
    else
        write_file(options.output, [&](std::ostream& file) { file << text; });
    return 0;
}

} // namespace

void add_cdi(CLI::App& app, int& status) {
    auto options = std::make_shared<CdiOptions>();
    auto* command = app.add_subcommand(
        "cdi", "Print a CDI specification, by which podman and docker give devices to containers");
    command
        ->add_option("--server", options->server,
                     "Also a device 'server': the socket of a device server")
        ->check(not_empty());
    command->add_option("-o,--output", options->output,
                        "A file that appears whole; default: standard output");
    command->callback([options, &status] { status = run_cdi(*options); });
}

} // namespace overtake::command
