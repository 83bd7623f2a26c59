// SPDX-License-Identifier: MIT
//
// overtake info: what a model file holds.
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "commands.hpp"
#include "overtake/model.hpp"
#include "summary.hpp"

namespace overtake::command {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
    std::string model;
    bool json = false;
};

void print_tensor(const char* what, const Json& tensor) {
    fmt::print("{:<8} {}  {} {}", what, tensor["name"].get<std::string>(),
               fmt::join(tensor["shape"].get<std::vector<std::uint32_t>>(), "x"),
               tensor["data_type"].get<std::string>());
    if (tensor["on_device"].get<bool>()) {
        const Json& layout = tensor["layout"];
        fmt::print("; on the device int8 {} x {} x {}, strides {} {}, scale {:.6g}, zero point {}",
                   layout["height"].get<unsigned>(), layout["width"].get<unsigned>(),
                   layout["channels"].get<unsigned>(), layout["row_stride"].get<unsigned>(),
                   layout["pixel_stride"].get<unsigned>(), tensor["scale"].get<double>(),
                   tensor["zero_point"].get<int>());
    }
    fmt::print(", {} bytes\n", tensor["bytes"].get<std::uint64_t>());
}

void print_segment(std::size_t index, const Json& segment) {
    if (segment["processor"] == "CPU") {
        fmt::print("\nsegment {}: CPU\n", index);
        for (const Json& op : segment["ops"])
            fmt::print("  {} {}\n", op["type"].get<std::string>(), op["name"].get<std::string>());
        return;
    }
    fmt::print("\nsegment {}: BPU, {} FCs, {:.1f} us, scratch {} bytes\n", index,
               segment["fc_count"].get<std::size_t>(), segment["us"].get<double>(),
               segment["scratch_bytes"].get<std::uint64_t>());
    fmt::print("  {:>5} {:>10} {:>12} {:>12} {:>12}\n", "FC", "first insn", "instructions",
               "cycles", "us");
    std::size_t number = 0;
    for (const Json& fc : segment["fcs"])
        fmt::print("  {:>5} {:>10} {:>12} {:>12} {:>12.1f}\n", number++,
                   fc["first_insn"].get<std::uint32_t>(), fc["insn_count"].get<std::uint32_t>(),
                   fc["cycles"].get<std::uint64_t>(), fc["us"].get<double>());
}

void print_nodes(const Json& nodes) {
    fmt::print("\n{:<32} {:<20} {:<4} {:>10} {:>10} {:>10} {:>9}\n", "node", "operator", "on",
               "MMAC", "KiB", "us", "cosine");
    for (const Json& node : nodes)
        fmt::print("{:<32} {:<20} {:<4} {:>10.2f} {:>10.1f} {:>10.1f} {:>9.5f}\n",
                   node["name"].get<std::string>(), node["type"].get<std::string>(),
                   node["processor"].get<std::string>(),
                   static_cast<double>(node["macs"].get<std::uint64_t>()) / 1e6,
                   static_cast<double>(node["bytes"].get<std::uint64_t>()) / 1024,
                   node["us"].get<double>(), node["cosine"].get<double>());
}

int run_info(const Options& options) {
    const auto model = Model::load(options.model);
    const Json summary = summarise(model->file());
    if (options.json) {
        fmt::print("{}\n", summary.dump(2));
        return 0;
    }
    fmt::print("{}  (written by {}, instruction set {})\n", summary["name"].get<std::string>(),
               summary["producer"].get<std::string>(), summary["isa_version"].get<std::string>());
    fmt::print("profile  {}, {} MHz; max_time_per_fc {} us\n",
               summary["profile"]["name"].get<std::string>(),
               summary["profile"]["clock_khz"].get<unsigned>() / 1000,
               summary["max_time_per_fc_us"].get<unsigned>());
    fmt::print("total    {}\n", one_line_summary(summary));
    for (const Json& tensor : summary["inputs"])
        print_tensor("input", tensor);
    for (const Json& tensor : summary["outputs"])
        print_tensor("output", tensor);
    std::size_t index = 0;
    for (const Json& segment : summary["segments"])
        print_segment(index++, segment);
    print_nodes(summary["nodes"]);
    return 0;
}

} // namespace

void add_info(CLI::App& app, int& status) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("info", "What a model file holds: tensors, FCs, nodes");
    command->add_option("MODEL", options->model, "Compiled model (.ovm)")->required();
    command->add_flag("--json", options->json, "Print JSON");
    command->callback([options, &status] { status = run_info(*options); });
}

} // namespace overtake::command
