// SPDX-License-Identifier: MIT
//
// overtake devices: which devices there are, and who may use them.
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "device_facts.hpp"
#include "json_text.hpp"

namespace overtake::command {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* without_node =
    "no /dev/accel/accel*: load the driver (installed: sudo modprobe overtake; built here: "
    "sudo modprobe drm_shmem_helper && sudo insmod build/kmod/overtake.ko), or use the embedded "
    "device";

DeviceFacts embedded_facts() {
    const EmbeddedOptions options;
    return facts_of(*open_embedded(options), "", options);
}

const char* words_for_255(const std::optional<bool>& may_use) {
    if (!may_use)
        return "unknown";
    return *may_use ? "you may use it" : "needs CAP_SYS_NICE, which you do not have";
}

Json to_json(const Node& node) {
    Json json = {{"kind", "kernel"}};
    json.update(to_json(node.facts));
    json["driver"] = node.driver.empty() ? Json() : Json(node.driver);
    json["owner"] = node.owner;
    json["group"] = node.group;
    json["permissions"] = fmt::format("{:04o}", node.permissions);
    json["usable"] = node.is_usable;
    json["priority_255"] = node.may_use_255 ? Json(*node.may_use_255) : Json();
    json["refusal"] = node.refusal.empty() ? Json() : Json(node.refusal);
    return json;
}

Json to_json(const DeviceServer& server) {
    Json json = {{"kind", "server"}};
    json.update(to_json(server.facts));
    json["socket"] = server.socket;
    json["usable"] = server.refusal.empty();
    json["priority_255"] = server.refusal.empty() ? Json(server.may_use_255) : Json();
    json["refusal"] = server.refusal.empty() ? Json() : Json(server.refusal);
    return json;
}

Json embedded_json() {
    Json json = {{"kind", "embedded"}};
    json.update(to_json(embedded_facts()));
    json["usable"] = true;
    json["priority_255"] = true;
    return json;
}

void print(const Node& node) {
    if (node.driver == "overtake")
        fmt::print("{}\n", one_line(node.facts));
    else
        fmt::print("{}, driver {}: not an Overtake device\n", node.facts.path,
                   node.driver.empty() ? "unknown" : node.driver);
    fmt::print("  node          owner {}, group {}, permissions {:04o}\n", node.owner, node.group,
               node.permissions);
    if (!node.is_usable) {
        fmt::print("  you           cannot use it: {}\n", node.refusal);
        return;
    }
    fmt::print("  you           can use it\n");
    fmt::print("  priority 255  {}\n", words_for_255(node.may_use_255));
}

void print(const DeviceServer& server) {
    if (!server.refusal.empty()) {
        fmt::print("device server {}\n  you           cannot use it: {}\n", server.socket,
                   server.refusal);
        return;
    }
    fmt::print("{}\n"
               "  socket        {}\n"
               "  you           can use it\n"
               "  priority 255  {}\n",
               one_line(server.facts), server.socket,
               server.may_use_255 ? "you may use it" : "the server does not give it to you");
}

void print_json(const std::vector<Node>& nodes, const std::optional<DeviceServer>& server) {
    Json list = Json::array();
    for (const Node& node : nodes)
        list.push_back(to_json(node));
    if (server)
        list.push_back(to_json(*server));
    list.push_back(embedded_json());
    fmt::print("{}\n", text_of(Json{{"devices", list}}));
}

int run_devices(bool json) {
    const std::vector<Node> nodes = find_nodes();
    const std::optional<DeviceServer> server = find_server();
    if (json) {
        print_json(nodes, server);
        return 0;
    }
    for (const Node& node : nodes)
        print(node);
    if (nodes.empty())
        fmt::print("{}\n", without_node);
    if (server)
        print(*server);
    fmt::print("{}\n"
               "  you           can use it; its settings hold unless a command gives others\n"
               "  priority 255  you may use it\n",
               one_line(embedded_facts()));
    return 0;
}

} // namespace

void add_devices(CLI::App& app, int& status) {
    auto json = std::make_shared<bool>(false);
    auto* command =
        app.add_subcommand("devices", "List the devices, their settings and who may use them");
    command->add_flag("--json", *json, "Print JSON");
    command->callback([json, &status] { status = run_devices(*json); });
}

} // namespace overtake::command
