// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "observe/report/cores.hpp"
#include "observe/report/picture.hpp"
#include "observe/report/report.hpp"
#include "printable.hpp"

namespace overtake::report {
namespace {

using Json = nlohmann::ordered_json;

class Text {
public:
    template <typename... Arguments>
    void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
        fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
    }

    std::string take() { return std::move(text_); }

private:
    std::string text_;
};

void add_totals(Text& text, const Json& summary) {
    const Json& total = summary["total"];
    const auto count = [&](const char* key) { return total[key].get<std::uint64_t>(); };
    text.add("{}  (written by {}, instruction set {})\n", summary["name"].get<std::string>(),
             summary["producer"].get<std::string>(), summary["isa_version"].get<std::string>());
    text.add("profile  {}, {} MHz; max_time_per_fc {} us\n",
             summary["profile"]["name"].get<std::string>(),
             summary["profile"]["clock_khz"].get<unsigned>() / 1000,
             summary["max_time_per_fc_us"].get<unsigned>());
    text.add("time     {:.1f} us modelled in {} FC{}, the longest {:.1f} us\n",
             total["us"].get<double>(), count("fc_count"), count("fc_count") == 1 ? "" : "s",
             total["longest_fc_us"].get<double>());
    if (total["cpu_us"].get<double>() > 0)
        text.add("         and about {:.1f} us on the CPU, estimated: {}\n",
                 total["cpu_us"].get<double>(), cpu_rates(summary));
    text.add("work     {:.1f} MMAC in {} instructions", static_cast<double>(count("macs")) / 1e6,
             count("insn_count"));
    if (const auto on_cpu = count("macs_on_cpu"); on_cpu > 0)
        text.add(", and {:.1f} MMAC on the CPU", static_cast<double>(on_cpu) / 1e6);
    text.add("\ncompared with float over {}\n", compared_samples(summary));
    text.add("memory   weights {}, program {}, scratch {}, tensors {}; file {}\n",
             bytes(count("weights_bytes")), bytes(count("program_bytes")),
             bytes(count("scratch_bytes")), bytes(count("tensor_bytes")),
             bytes(count("file_bytes")));
    if (summary.contains("notes"))
        for (const Json& note : summary["notes"])
            text.add("note     {}\n", note.get<std::string>());
}

// Returns "; pictures become (pixel - 127) * 0.017".
std::string normalisation_of(const Json& tensor) {
    if (!tensor.contains("pixel_mean") && !tensor.contains("pixel_scale"))
        return "";
    const auto numbers = [&](const char* key, double otherwise) {
        const auto list = tensor.value(key, std::vector<double>{otherwise});
        return list.size() == 1 ? fmt::format("{:.6g}", list[0])
                                : fmt::format("[{:.6g}]", fmt::join(list, ", "));
    };
    return fmt::format("; pictures become (pixel - {}) * {}", numbers("pixel_mean", 0),
                       numbers("pixel_scale", 1));
}

void add_tensor(Text& text, const char* what, const Json& tensor) {
    text.add("{:<8} {}  {} {}", what, tensor["name"].get<std::string>(),
             fmt::join(tensor["shape"].get<std::vector<std::uint32_t>>(), "x"),
             tensor["data_type"].get<std::string>());
    if (tensor["on_device"].get<bool>()) {
        const Json& layout = tensor["layout"];
        const auto images = layout["images"].get<std::uint64_t>();
        text.add("; on the device {} {}{} x {} x {}, strides {} {}, scale {:.6g}, zero point {}",
                 device_type(tensor), images > 1 ? fmt::format("{} images of ", images) : "",
                 layout["height"].get<unsigned>(), layout["width"].get<unsigned>(),
                 layout["channels"].get<unsigned>(), layout["row_stride"].get<unsigned>(),
                 layout["pixel_stride"].get<unsigned>(), tensor["scale"].get<double>(),
                 tensor["zero_point"].get<int>());
    }
    text.add(", {} bytes{}{}\n", tensor["bytes"].get<std::uint64_t>(),
             tensor.value("from_resizer", false)
                 ? "; from the resizer: a region of a picture of any even size (hbDNNRoiInfer)"
                 : "",
             normalisation_of(tensor));
}

// Returns a bar of one line, as long as the FC relative to `most`.
std::string bar(double us, double most) {
    constexpr double length = 30;
    return std::string(static_cast<std::size_t>(us / std::max(most, 1e-9) * length + 0.5), '#');
}

// Adds how full the FCs of a segment are, without the last FC.
void add_fullness(Text& text, const Json& fullness) {
    if (fullness.is_null())
        return;
    const double least = std::floor(100 * fullness["least"].get<double>());
    if (const auto early = fullness["ended_early"].get<std::size_t>(); early == 0)
        text.add("  all FCs but the last are at least {:.0f} % full\n", least);
    else
        text.add("  {} FC{} less than nine tenths full, the emptiest {:.0f} %: the smallest piece "
                 "of what follows does not fit\n",
                 early, early == 1 ? " is" : "s are", least);
}

// Returns the time that the engine expects until it has measured the segment.
std::string expected_time(const Json& segment) {
    const Json& ns = segment["expected_ns"];
    return ns.is_null() ? "expected time unknown"
                        : fmt::format("expected {} ns", ns.get<std::uint64_t>());
}

// Adds the memory layouts of the values of a CPU segment, if the summary has them.
void add_layouts(Text& text, const Json& segment) {
    if (!segment.contains("layouts"))
        return;
    const Json& layouts = segment["layouts"];
    const std::size_t conversions = layouts["conversions"].size();
    text.add(
        "  layouts chosen {}: {} of {} outputs in blocks of {} channels, {} conversion{} of {} "
        "bytes\n",
        layouts["chosen"].get<std::string>(), layouts["in_blocks"].get<std::size_t>(),
        segment["ops"].size(), layouts["blocks"].get<std::size_t>(), conversions,
        conversions == 1 ? "" : "s", layouts["conversion_bytes"].get<std::size_t>());
    const auto add_crossing = [&](const char* key, const char* what) {
        for (const Json& value : layouts[key])
            text.add("  {} the device: {}, {}\n", what, value["tensor"].get<std::string>(),
                     value["layout"].get<std::string>());
    };
    add_crossing("from_device", "from");
    add_crossing("to_device", "to");
    for (const Json& one : layouts["conversions"])
        text.add("  conversion: {}, from {} to {}\n", one["tensor"].get<std::string>(),
                 one["from"].get<std::string>(), one["to"].get<std::string>());
}

void add_cpu_segment(Text& text, std::size_t index, const Json& segment) {
    text.add("\nsegment {}: CPU, about {:.1f} us, {}\n", index, segment["us"].get<double>(),
             expected_time(segment));
    add_layouts(text, segment);
    for (const Json& op : segment["ops"])
        text.add("  {} {}, about {:.1f} us{}\n", op["type"].get<std::string>(),
                 op["name"].get<std::string>(), op["us"].get<double>(),
                 op.contains("layout") ? ", " + op["layout"].get<std::string>() : "");
}

void add_segment(Text& text, std::size_t index, const Json& segment) {
    if (segment["processor"] == "CPU") {
        add_cpu_segment(text, index, segment);
        return;
    }
    const auto fcs = segment["fc_count"].get<std::size_t>();
    text.add("\nsegment {}: BPU, {} FC{}, {:.1f} us, {}, scratch {} bytes\n", index, fcs,
             fcs == 1 ? "" : "s", segment["us"].get<double>(), expected_time(segment),
             segment["scratch_bytes"].get<std::uint64_t>());
    add_fullness(text, segment["fullness"]);
    text.add("  {:>5} {:>10} {:>12} {:>12} {:>12}\n", "FC", "first insn", "instructions", "cycles",
             "us");
    std::size_t number = 0;
    for (const Json& fc : segment["fcs"])
        text.add("  {:>5} {:>10} {:>12} {:>12} {:>12.1f}  {}\n", number++,
                 fc["first_insn"].get<std::uint32_t>(), fc["insn_count"].get<std::uint32_t>(),
                 fc["cycles"].get<std::uint64_t>(), fc["us"].get<double>(),
                 bar(fc["us"].get<double>(), segment["longest_fc_us"].get<double>()));
}

void add_nodes(Text& text, const Json& nodes) {
    const auto percent = [](const Json& part) {
        return part.is_null() ? "-" : fmt::format("{:.3f}%", 100 * part.get<double>());
    };
    text.add("\n{:<32} {:<20} {:<4} {:>10} {:>10} {:>10} {:>9} {:>8} {:>8}\n", "node", "operator",
             "on", "MMAC", "KiB", "us", "cosine", "error", "own");
    for (const Json& node : nodes) {
        const bool on_bpu = node["processor"] == "BPU";
        text.add("{:<32} {:<20} {:<4} {:>10.2f} {:>10} {:>10} {:>9} {:>8}\n",
                 node["name"].get<std::string>(), node["type"].get<std::string>(),
                 node["processor"].get<std::string>(),
                 static_cast<double>(node["macs"].get<std::uint64_t>()) / 1e6,
                 on_bpu ? fmt::format("{:.1f}", node["bytes"].get<double>() / 1024) : "-",
                 fmt::format("{}{:.1f}", on_bpu ? "" : "~", node["us"].get<double>()),
                 node["cosine"].is_null() ? "-"
                                          : fmt::format("{:.5f}", node["cosine"].get<double>()),
                 percent(node["error"]), percent(node["own_error"]));
    }
}

// Returns "npu (cores of default), cpu (workers)".
std::string classes(const Json& units) {
    std::vector<std::string> names;
    for (const Json& of : units["classes"])
        names.push_back(fmt::format(
            "{} ({})", of["name"].get<std::string>(),
            of.contains("profile") ? "cores of " + of["profile"].get<std::string>() : "workers"));
    return fmt::format("{}", fmt::join(names, ", "));
}

// Adds a column for each class; for classes of cores, it also has the numbers of FCs.
void add_units(Text& text, const Json& summary) {
    if (!summary.contains("units"))
        return;
    const Json& units = summary["units"];
    text.add("\nunits for {}; their borders add {} to the memory of a request\n", classes(units),
             bytes(units["added_bytes"].get<std::uint64_t>()));
    text.add("  {:>4} {:>12} {:>14} {:>12}", "unit", "after", "operations", "output bytes");
    for (const Json& of : units["classes"]) {
        text.add("  {:>12}", of["name"].get<std::string>() + " us");
        if (of.contains("profile"))
            text.add(" {:>5}", "FCs");
    }
    std::size_t number = 0;
    for (const Json& unit : units["units"]) {
        const auto after = unit["after"].get<std::vector<std::size_t>>();
        text.add("\n  {:>4} {:>12} {:>14} {:>12}", number++,
                 after.empty() ? "-" : fmt::format("{}", fmt::join(after, ",")),
                 unit["operations"].get<std::uint64_t>(),
                 unit["output_bytes"].get<std::uint64_t>());
        for (const Json& of : units["classes"]) {
            const auto work = std::ranges::find(unit["work"], of["name"],
                                                [](const Json& entry) { return entry["class"]; });
            const bool runs = work != unit["work"].end(), has_fcs = of.contains("profile");
            text.add("  {:>12}", runs ? fmt::format("{:.1f}", (*work)["us"].get<double>()) : "-");
            if (has_fcs)
                text.add(" {:>5}",
                         runs ? std::to_string((*work)["fc_count"].get<std::size_t>()) : "-");
        }
    }
    text.add("\n");
}

void add_memory(Text& text, const Json& summary) {
    if (summary["scratch"].empty())
        return;
    text.add("\n{:<32} {:>12} {:>12} {:>12} {:>12}\n", "in scratch memory", "offset", "bytes",
             "first node", "last node");
    for (const Json& use : summary["scratch"])
        text.add("{:<32} {:>12} {:>12} {:>12} {:>12}\n", use["name"].get<std::string>(),
                 use["offset"].get<std::uint64_t>(), use["bytes"].get<std::uint64_t>(),
                 use["first_node"].get<std::uint64_t>(), use["last_node"].get<std::uint64_t>());
}

} // namespace

std::string text(const Json& summary) {
    Text text;
    add_totals(text, summary);
    for (const Json& tensor : summary["inputs"])
        add_tensor(text, "input", tensor);
    for (const Json& tensor : summary["outputs"])
        add_tensor(text, "output", tensor);
    std::size_t index = 0;
    for (const Json& segment : summary["segments"])
        add_segment(text, index++, segment);
    text.add("{}", core_text(summary));
    add_units(text, summary);
    add_nodes(text, summary["nodes"]);
    add_memory(text, summary);
    return printable(text.take(), true);
}

} // namespace overtake::report
