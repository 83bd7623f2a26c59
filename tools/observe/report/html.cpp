// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "observe/report/cores.hpp"
#include "observe/report/picture.hpp"
#include "observe/report/report.hpp"
#include "observe/report/style.hpp"
#include "observe/timeline/canvas.hpp"

namespace overtake::report {
namespace {

using Json = nlohmann::ordered_json;
using timeline::escape;

// The report marks a cosine similarity below this.
constexpr double low_cosine = 0.99;

std::string name_of(const Json& json) {
    return escape(json["name"].get<std::string>());
}

std::uint64_t count_of(const Json& json, const char* key) {
    return json[key].get<std::uint64_t>();
}

std::string cosine(const Json& json) {
    if (json.is_null())
        return "&ndash;";
    const auto value = json.get<double>();
    return fmt::format("<span{}>{:.5f}</span>", value < low_cosine ? " class=\"low\"" : "", value);
}

std::string tile(const std::string& figure, const std::string& what) {
    return fmt::format("<div class=\"tile\"><b>{}</b><span>{}</span></div>\n", figure, what);
}

std::string counted(std::uint64_t count, const char* what) {
    return fmt::format("{} {}{}", grouped(count), what, count == 1 ? "" : "s");
}

std::string processor(bool is_bpu) {
    return fmt::format("<span class=\"on{}\">{}</span>", is_bpu ? "" : " cpu",
                       is_bpu ? "BPU" : "CPU");
}

std::string percent(const Json& part) {
    return part.is_null() ? "&ndash;" : fmt::format("{:.3f}%", 100 * part.get<double>());
}

std::string section(const std::string& title, const std::string& explanation,
                    const std::string& contents) {
    return fmt::format("<section>\n<h2>{}</h2>\n<p>{}</p>\n{}</section>\n", title, explanation,
                       contents);
}

const Json* least_similar(const Json& summary) {
    const Json* least = nullptr;
    for (const Json& node : summary["nodes"])
        if (!node["cosine"].is_null() &&
            (!least || node["cosine"].get<double>() < (*least)["cosine"].get<double>()))
            least = &node;
    return least;
}

std::string tiles(const Json& summary) {
    const Json& total = summary["total"];
    const std::size_t nodes = summary["nodes"].size();
    const auto on_bpu =
        static_cast<std::size_t>(std::ranges::count(summary["nodes"], "BPU", [](const Json& node) {
            return node["processor"].get<std::string>();
        }));
    const std::uint64_t fcs = count_of(total, "fc_count");
    std::string html = "<div class=\"tiles\">\n";
    html += tile(duration(total["us"].get<double>()), "modelled time on the BPU");
    html += tile(counted(fcs, "FC"), "longest " + duration(total["longest_fc_us"].get<double>()));
    html += tile(fmt::format("{:.1f} M", static_cast<double>(count_of(total, "macs")) / 1e6),
                 "multiply-accumulates on the BPU");
    if (const std::uint64_t on_cpu = count_of(total, "macs_on_cpu"); on_cpu > 0)
        html += tile(fmt::format("{:.1f} M", static_cast<double>(on_cpu) / 1e6), "on the CPU");
    if (const double us = total["cpu_us"].get<double>(); us > 0)
        html += tile("about " + duration(us), "estimated time on the CPU");
    html += tile(fmt::format("{} of {}", on_bpu, nodes),
                 on_bpu == nodes ? "nodes on the BPU"
                                 : fmt::format("nodes on the BPU, {} on the CPU", nodes - on_bpu));
    if (!summary["nodes"].empty()) {
        html += tile(cosine(summary["nodes"].back()["cosine"]),
                     "cosine similarity to float, last node");
        if (const Json* least = least_similar(summary))
            html += tile(cosine((*least)["cosine"]), "the least, at " + name_of(*least));
    }
    html += tile(bytes(count_of(total, "weights_bytes")), "weights and tables");
    html += tile(bytes(count_of(total, "scratch_bytes")), "scratch memory of a request");
    return html + "</div>\n";
}

std::string legend(const Json& summary) {
    const auto operators = operator_times(summary);
    std::string html = "<div class=\"legend\">";
    for (std::size_t index = 0; index < operators.size() && index < 7; ++index)
        if (operators[index].us > 0 && operators[index].on_bpu)
            html += fmt::format("<span><i class=\"{}\"></i>{}</span>",
                                colour_class(operators, operators[index].type),
                                escape(operators[index].type));
    if (operators.size() > 7 && operators[7].us > 0 && operators[7].on_bpu)
        html += "<span><i class=\"c7\"></i>others</span>";
    return html + "<span><i class=\"overhead\"></i>cost of the FC itself</span></div>\n";
}

std::string fc_section(const Json& summary) {
    const auto limit = summary["max_time_per_fc_us"].get<std::uint64_t>();
    const std::string chart = fc_chart(summary);
    if (chart.empty())
        return "";
    const std::string limited = limit == 0 ? "max_time_per_fc is 0: each BPU segment is one FC"
                                           : fmt::format("No FC is longer than max_time_per_fc, {}",
                                                         duration(double(limit)));
    return section("Function calls",
                   "An FC is never interrupted once it has started, so the longest one bounds how "
                   "long a request of priority 255 waits on its core. " +
                       limited + ".",
                   chart + legend(summary));
}

std::string time_section(const Json& summary) {
    const std::string strip = time_strip(summary);
    const double cpu_us = summary["total"]["cpu_us"].get<double>();
    const double total = summary["total"]["us"].get<double>() + cpu_us;
    if (total <= 0)
        return "";
    const auto operators = operator_times(summary);
    std::string rows;
    for (const OperatorTime& entry : operators)
        rows += fmt::format(
            "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}{}</td><td "
            "class=\"n\">{:.1f} %</td><td class=\"part\"><i class=\"{}\" "
            "style=\"width:{:.1f}%\"></i></td></tr>\n",
            escape(entry.type), processor(entry.on_bpu), entry.nodes, entry.on_bpu ? "" : "about ",
            duration(entry.us), entry.us / total * 100,
            entry.on_bpu ? colour_class(operators, entry.type) : "estimate",
            entry.us / total * 100);
    const std::string modelled =
        strip.empty() ? ""
                      : "One inference on the BPU from left to right; the marks below are the "
                        "borders of FCs. ";
    const std::string estimated =
        cpu_us > 0 ? "Times on the CPU are estimates: " + cpu_rates(summary) + "." : "";
    return section("Where the time goes", modelled + estimated,
                   strip +
                       "<table><tr><th>operator</th><th>on</th><th class=\"n\">nodes</th><th "
                       "class=\"n\">time</th><th class=\"n\">part</th><th></th></tr>\n" +
                       rows + "</table>\n");
}

// Returns "3" or "3 to 7": the FCs in which a node has a share.
std::map<std::size_t, std::string> fcs_by_node(const Json& summary) {
    std::map<std::size_t, std::pair<std::uint64_t, std::uint64_t>> ranges;
    for (const Json& share : summary["fc_shares"]) {
        const auto fc = count_of(share, "fc");
        const auto [entry, is_new] =
            ranges.emplace(share["node"].get<std::size_t>(), std::pair(fc, fc));
        if (!is_new)
            entry->second.second = fc;
    }
    std::map<std::size_t, std::string> texts;
    for (const auto& [node, range] : ranges)
        texts[node] = range.first == range.second
                          ? std::to_string(range.first)
                          : fmt::format("{}&ndash;{}", range.first, range.second);
    return texts;
}

std::string node_section(const Json& summary) {
    const auto operators = operator_times(summary);
    const auto fcs = fcs_by_node(summary);
    double longest = 1e-9;
    for (const Json& node : summary["nodes"])
        longest = std::max(longest, node["us"].get<double>());
    std::string rows;
    std::size_t index = 0;
    for (const Json& node : summary["nodes"]) {
        const auto type = node["type"].get<std::string>();
        const bool on_bpu = node["processor"] == "BPU";
        const double us = node["us"].get<double>();
        const auto fc = fcs.find(index);
        rows += fmt::format(
            "<tr><td class=\"n\">{}</td><td class=\"name\">{}</td><td>{}</td><td>{}</td>"
            "<td class=\"n\">{:.2f}</td><td class=\"n\">{}</td>"
            "<td class=\"n\">{}</td><td class=\"part\"><i class=\"{}\" "
            "style=\"width:{:.1f}%\"></i></td><td class=\"n\">{}</td><td class=\"n\">{}</td>"
            "<td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
            index, name_of(node), escape(type), processor(on_bpu),
            static_cast<double>(count_of(node, "macs")) / 1e6,
            on_bpu ? fmt::format("{:.1f}", static_cast<double>(count_of(node, "bytes")) / 1024)
                   : "&ndash;",
            (on_bpu ? "" : "about ") + duration(us),
            on_bpu ? colour_class(operators, type) : "estimate", us / longest * 100,
            fc == fcs.end() ? "&ndash;" : fc->second, cosine(node["cosine"]),
            percent(node["error"]), percent(node["own_error"]));
        ++index;
    }
    return section(
        "Nodes",
        fmt::format("In the order in which they run. The cosine compares a node's output with "
                    "float, over {}; it is marked below {}, and missing where float has no finite "
                    "number. The error is the root mean square of the difference over that of "
                    "float; a node's own is what remains of it if the nodes before it are exact, "
                    "and so tells where an error comes from. A node whose output is only another "
                    "view of its input takes no time.",
                    compared_samples(summary), low_cosine),
        "<table><tr><th class=\"n\">#</th><th>node</th><th>operator</th><th>on</th>"
        "<th class=\"n\">MMAC</th><th class=\"n\">KiB moved</th><th class=\"n\">time</th><th></th>"
        "<th class=\"n\">FCs</th><th class=\"n\">cosine</th><th class=\"n\">error</th>"
        "<th class=\"n\">own</th></tr>\n" +
            rows + "</table>\n");
}

std::string memory_section(const Json& summary) {
    const Json& total = summary["total"];
    std::uint64_t all = 0;
    std::string rows;
    const std::pair<const char*, const char*> parts[] = {
        {"weights_bytes", "weights, tables and requantisation, shared by all requests"},
        {"program_bytes", "program, shared by all requests"},
        {"scratch_bytes", "scratch of a request"},
        {"tensor_bytes", "inputs, outputs and tensors between segments, per request"}};
    for (const auto& [key, what] : parts)
        all += count_of(total, key);
    for (const auto& [key, what] : parts) {
        const double part = static_cast<double>(count_of(total, key)) /
                            static_cast<double>(std::max<std::uint64_t>(all, 1)) * 100;
        rows += fmt::format("<tr><td>{}</td><td class=\"n\">{}</td><td class=\"part\"><i "
                            "class=\"c0\" style=\"width:{:.1f}%\"></i></td></tr>\n",
                            what, bytes(count_of(total, key)), part);
    }
    rows += fmt::format("<tr><td><b>device memory with one request</b></td><td "
                        "class=\"n\"><b>{}</b></td><td></td></tr>\n",
                        bytes(all));
    return section("Memory",
                   "Scratch memory: each block is a tensor. Its width spans the nodes from its "
                   "writer to its last reader, its height is its size in bytes.",
                   memory_map(summary) + "<table>\n" + rows + "</table>\n");
}

std::string tensor_section(const Json& summary) {
    std::string rows;
    for (const char* kind : {"inputs", "outputs"})
        for (const Json& tensor : summary[kind]) {
            std::string device = "&ndash;", scale = "&ndash;", zero = "&ndash;";
            if (tensor["on_device"].get<bool>()) {
                const Json& layout = tensor["layout"];
                const auto images = layout["images"].get<std::uint64_t>();
                device = fmt::format("{} {}{} &times; {} &times; {}, strides {} and {}",
                                     device_type(tensor),
                                     images > 1 ? fmt::format("{} images of ", images) : "",
                                     count_of(layout, "height"), count_of(layout, "width"),
                                     count_of(layout, "channels"), count_of(layout, "row_stride"),
                                     count_of(layout, "pixel_stride"));
                scale = fmt::format("{:.6g}", tensor["scale"].get<double>());
                zero = std::to_string(tensor["zero_point"].get<int>());
            }
            rows += fmt::format(
                "<tr><td>{}</td><td class=\"name\">{}</td><td>{} {}</td><td>{}</td><td "
                "class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
                std::string(kind, 0, std::string_view(kind).size() - 1), name_of(tensor),
                fmt::join(tensor["shape"].get<std::vector<std::uint64_t>>(), " &times; "),
                tensor["data_type"].get<std::string>(), device, scale, zero,
                bytes(count_of(tensor, "bytes")));
        }
    return section("Inputs and outputs",
                   "On the device a tensor is height &times; width &times; channels with the "
                   "channels innermost; a value is scale &times; (q &minus; zero point).",
                   "<table><tr><th></th><th>name</th><th>shape</th><th>on the device</th>"
                   "<th class=\"n\">scale</th><th class=\"n\">zero point</th>"
                   "<th class=\"n\">size</th></tr>\n" +
                       rows + "</table>\n");
}

std::string segment_section(const Json& summary) {
    std::string rows;
    std::size_t index = 0;
    for (const Json& segment : summary["segments"]) {
        const bool on_bpu = segment["processor"] == "BPU";
        std::string what = on_bpu ? counted(segment["fcs"].size(), "FC")
                                  : counted(segment["ops"].size(), "operator");
        if (segment.contains("layouts"))
            what += fmt::format(", {} in blocks of {} channels, {}",
                                segment["layouts"]["in_blocks"].get<std::size_t>(),
                                segment["layouts"]["blocks"].get<std::size_t>(),
                                counted(segment["layouts"]["conversions"].size(), "conversion"));
        rows += fmt::format("<tr><td class=\"n\">{}</td><td>{}</td>"
                            "<td>{}</td><td class=\"n\">{}{}</td></tr>\n",
                            index++, processor(on_bpu), what, on_bpu ? "" : "about ",
                            duration(segment["us"].get<double>()));
    }
    return section("Segments",
                   "What runs on which processor, in order. Times of CPU segments are "
                   "estimates.",
                   "<table><tr><th class=\"n\">#</th><th>on</th><th>contains</th>"
                   "<th class=\"n\">time</th></tr>\n" +
                       rows + "</table>\n");
}

// Returns the cell of one class in one row: its time, and the FCs of cores.
std::string unit_cell(const Json& unit, const Json& of) {
    for (const Json& work : unit["work"])
        if (work["class"] == of["name"])
            return fmt::format(
                "<td class=\"n\">{}{}</td>", duration(work["us"].get<double>()),
                work.contains("fc_count") ? ", " + counted(count_of(work, "fc_count"), "FC") : "");
    return "<td class=\"n\">&ndash;</td>";
}

std::string unit_section(const Json& summary) {
    if (!summary.contains("units"))
        return "";
    const Json& units = summary["units"];
    std::string head = "<tr><th class=\"n\">#</th><th>after</th><th class=\"n\">operations</th>"
                       "<th class=\"n\">output</th>";
    for (const Json& of : units["classes"])
        head += fmt::format("<th class=\"n\">{}, {}</th>", name_of(of),
                            of.contains("profile")
                                ? "cores of " + escape(of["profile"].get<std::string>())
                                : "CPU workers");
    std::string rows;
    std::size_t number = 0;
    for (const Json& unit : units["units"]) {
        const auto after = unit["after"].get<std::vector<std::size_t>>();
        rows += fmt::format(
            "<tr><td class=\"n\">{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>",
            number++, after.empty() ? "&ndash;" : fmt::format("{}", fmt::join(after, ", ")),
            grouped(count_of(unit, "operations")), bytes(count_of(unit, "output_bytes")));
        for (const Json& of : units["classes"])
            rows += unit_cell(unit, of);
        rows += "</tr>\n";
    }
    return section("Units",
                   fmt::format("The network once more, in parts for several processors: what each "
                               "takes on each class, by the cycle model or the rates of the "
                               "CPU. What crosses their borders adds {} to the memory of a "
                               "request.",
                               bytes(count_of(units, "added_bytes"))),
                   "<table>" + head + "</tr>\n" + rows + "</table>\n");
}

std::string by_core(const Json& numbers, double factor, int decimals) {
    std::vector<std::string> texts;
    for (const Json& each : numbers)
        texts.push_back(fmt::format("{:.{}f}", factor * each.get<double>(), decimals));
    return fmt::format("{}", fmt::join(texts, " / "));
}

std::string core_section(const Json& summary) {
    if (!summary.contains("core_plan"))
        return "";
    const Json& plan = summary["core_plan"];
    std::string rows;
    for (const Json& layer : plan["layers"]) {
        const auto operations = std::max<std::uint64_t>(count_of(layer, "operations"), 1);
        rows += fmt::format(
            "<tr><td class=\"name\">{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td>"
            "<td class=\"n\">{}</td><td class=\"n\">{:.1f} %</td></tr>\n",
            name_of(summary["nodes"][layer["node"].get<std::size_t>()]),
            escape(layer["scheme"].get<std::string>()),
            layer["transmits"].get<bool>() ? "meet" : "go on", by_core(layer["share"], 100, 0),
            by_core(layer["us"], 1, 1),
            100 * static_cast<double>(count_of(layer, "halo_operations")) /
                static_cast<double>(operations));
    }
    std::string html = "<div class=\"tiles\">\n";
    html += tile(duration(plan["us"].get<double>()), escape(core_names(plan)));
    html += tile(duration(plan["one_core_us"].get<double>()), "one core");
    html += tile(fmt::format("{:.2f}", plan["speed_up"].get<double>()), "times as fast");
    html += tile(duration(plan["bound_us"].get<double>()), "the bound: cores that lose nothing");
    return section(
        "Several cores",
        fmt::format(
            "One request on {}. Colours are those of operators. At a line the cores meet, "
            "which takes {}. Between lines each computes layers of its own, and what these need "
            "of others for itself. Used by {}.",
            escape(core_names(plan)), duration(plan["sync_us"].get<double>()), who_uses(plan)),
        html + "</div>\n" + core_chart(summary) + legend(summary) +
            "<table><tr><th>layer</th><th>scheme</th><th>cores then</th>"
            "<th class=\"n\">share of each, %</th><th class=\"n\">time of each, &micro;s</th>"
            "<th class=\"n\">computed twice</th></tr>\n" +
            rows + "</table>\n");
}

std::string profile_section(const Json& summary) {
    std::string rows;
    for (const auto& [key, value] : summary["profile"].items()) {
        const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
        rows +=
            fmt::format("<tr><td>{}</td><td class=\"n\">{}</td></tr>\n", escape(key), escape(text));
    }
    return section("Profile", "The device whose cycle model gives all times.",
                   "<table>" + rows + "</table>\n");
}

} // namespace

std::string html(const Json& summary) {
    const std::string name = name_of(summary);
    std::string page = fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<title>{} &ndash; compiled</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n"
        "<h1>{}</h1>\n<p class=\"lead\">Compiled for profile &ldquo;{}&rdquo; ({} MHz), "
        "max_time_per_fc {} &micro;s, by {}, instruction set {}</p>\n",
        name, style, name, name_of(summary["profile"]),
        count_of(summary["profile"], "clock_khz") / 1000, count_of(summary, "max_time_per_fc_us"),
        escape(summary["producer"].get<std::string>()),
        escape(summary["isa_version"].get<std::string>()));
    if (summary.contains("notes"))
        for (const Json& note : summary["notes"])
            page += fmt::format("<p>{}</p>\n", escape(note.get<std::string>()));
    page += tiles(summary) + fc_section(summary) + time_section(summary);
    page += segment_section(summary) + core_section(summary) + unit_section(summary);
    page += node_section(summary);
    page += memory_section(summary);
    page += tensor_section(summary) + profile_section(summary);
    return page + "</main>\n</body>\n</html>\n";
}

} // namespace overtake::report
