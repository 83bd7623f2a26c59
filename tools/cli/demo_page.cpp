// SPDX-License-Identifier: MIT
#include "demo_page.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "demo_style.hpp"
#include "load/demo/picture.hpp"
#include "observe/timeline/canvas.hpp"
#include "observe/timeline/legend.hpp"

namespace overtake::command {
namespace {

using timeline::escape;

double fair_percent(const demo::Figures& figures) {
    return 100 * figures.large_per_second / figures.fair_per_second;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
    for (std::size_t at = text.find(from); at != std::string::npos;
         at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
    return text;
}

std::string section(const std::string& title, const std::string& contents) {
    return fmt::format("<section>\n<h2>{}</h2>\n{}</section>\n", title, contents);
}

bool is_measured(const DemoResults& results) {
    return std::ranges::all_of(results.rows,
                               [](const RowResult& row) { return row.measured.has_value(); });
}

// --- What stands at the top ----------------------------------------------------------------------

std::string lead(const DemoResults& results) {
    const demo::Load& load = results.setup.load;
    return fmt::format(
        "<h1>A detector beside a large network</h1>\n<p class=\"lead\">One accelerator core, two "
        "clients. A detector makes a request every {} ms and should be quick. A large network of "
        "{:.1f} ms a request always has {} of them in flight, so that the core is never idle. Five "
        "set-ups show what two knobs do for the detector: <em>priority</em> and "
        "<em>splitting</em>. {} requests of the detector in each; all times are the device's "
        "own.</p>\n",
        load.period_us / 1000.0, ms(results.large_cost_ns), demo::large_in_flight, load.requests);
}

std::string tiles(const DemoResults& results) {
    std::string html = "<div class=\"tiles\">\n";
    for (const RowResult& result : results.rows) {
        const demo::Figures& figures = best_known(result);
        html += fmt::format("<div class=\"tile\"><b>{:.1f} ms</b><span>p99 of the detector, "
                            "<strong>{}</strong> ({})</span></div>\n",
                            ms(figures.p99_ns), escape(result.row.name),
                            result.measured ? "measured" : "predicted");
    }
    return html + "</div>\n";
}

std::string notes(const DemoResults& results) {
    std::string html;
    if (!is_measured(results))
        html += "<section class=\"note\"><p><b>Not measured yet.</b> Everything here is what the "
                "simulator predicts from the compiled networks. <code>make demo</code> goes on to "
                "measure the same on the driver, in a virtual machine, and completes this "
                "page.</p></section>\n";
    if (const unsigned scale = results.setup.time_scale; scale > 1)
        html +=
            fmt::format("<section class=\"note\"><p><b>Time scale {0}.</b> The host is late, so "
                        "the device's clock was 1/{0} of the profile's, everything took {0} "
                        "times as long, and times here are divided by {0}.</p></section>\n",
                        scale);
    if (!results.busy.empty()) {
        html += "<section class=\"note\"><p><b>The machine was busy:</b> ";
        const char* separator = "";
        for (const std::string& sign : results.busy) {
            html += separator + escape(sign);
            separator = "; ";
        }
        html += ". The machine, not the device, causes some of what is measured. "
                "<code>overtake demo --repeat 5</code> (<code>make demo REPEAT=5</code>) runs each "
                "row five times and shows medians.</p></section>\n";
    }
    return html;
}

// --- The set-ups ---------------------------------------------------------------------------------

struct Explanation {
    std::string setup;   ///< what the set-up is
    std::string picture; ///< what its picture shows
};

Explanation explain(const demo::Row& row, const DemoResults& results,
                    const demo::Figures& figures) {
    const double cost = ms(results.large_cost_ns);
    if (!row.large)
        return {
            "The detector has the core to itself. This is as quick as it can be.",
            fmt::format("The core is free whenever a request arrives, so it is executed at once: "
                        "{:.1f} ms from arrival to end. In between, the core is idle.",
                        ms(figures.p50_ns))};
    if (!row.priority && !row.split)
        return {
            "Both networks run as compiled, with the same priority.",
            fmt::format("First come, first served: {} requests of {:.1f} ms are ahead of every "
                        "request of the detector. The long bars below the core are the "
                        "detector's requests from arrival to end, with a median of {:.1f} ms: the "
                        "next ones arrive long before the first has ended.",
                        demo::large_in_flight, cost, ms(figures.p50_ns))};
    if (!row.split)
        return {"The detector has priority 255, which enters the HIGH ring, and a core limit of 1: "
                "it waits for at most one FC of the NORMAL ring. The large network is "
                "unchanged.",
                fmt::format("The detector (hatched: HIGH ring) goes ahead of everything that is "
                            "waiting. But an FC that has begun is never interrupted, and the large "
                            "network's lasts {:.1f} ms: a request that arrives meanwhile waits for "
                            "its end, and takes {:.1f} ms at worst.",
                            cost, ms(figures.max_ns))};
    if (!row.priority)
        return {"The large network is compiled into short FCs. Both have the same priority.",
                fmt::format("Now there are boundaries at which something else could run, but the "
                            "order is still that of arrival: all FCs of {} large requests are "
                            "ahead of every request of the detector. Splitting alone gains "
                            "nothing: the median is {:.1f} ms.",
                            demo::large_in_flight, ms(figures.p50_ns))};
    return {
        "Priority 255 with core limit 1 for the detector, short FCs for the large network.",
        fmt::format("Each request of the detector goes ahead at the next boundary of an FC (red "
                    "marks; the dashed line is the large request that was overtaken). It waits "
                    "for at most one short FC: p99 is {:.1f} ms. The large network gets "
                    "{:.1f} % of the time that the detector leaves.",
                    ms(figures.p99_ns), fair_percent(figures))};
}

std::string setup_section(const DemoResults& results) {
    std::string rows;
    for (const RowResult& result : results.rows)
        rows += fmt::format(
            "<tr><td class=\"name\">{}</td><td>{}</td><td class=\"n\">{}</td><td "
            "class=\"n\">{}</td></tr>\n",
            escape(result.row.name), explain(result.row, results, best_known(result)).setup,
            result.row.priority ? "yes" : "&ndash;", result.row.split ? "yes" : "&ndash;");
    return section(
        "The five set-ups",
        "<p>A core executes <em>function calls</em> (FCs), one at a time, and never interrupts one "
        "that has begun. A network that is not split is one FC. What may change is which FC comes "
        "next.</p>\n<table><thead><tr><th>set-up</th><th>in words</th><th class=\"n\">priority</th>"
        "<th class=\"n\">split</th></tr></thead><tbody>\n" +
            rows + "</tbody></table>\n");
}

// --- The numbers ---------------------------------------------------------------------------------

/// Returns "2.97", and below it the range if there were several runs.
std::string measured_cell(const RowResult& result, std::uint64_t demo::Figures::*figure,
                          const std::string& more = "") {
    if (!result.measured)
        return "<td class=\"n missing\">not yet</td>";
    const demo::Spread& spread = result.measured->spread;
    std::string range;
    if (result.measured->runs.size() > 1)
        range = fmt::format("<small>{:.2f} .. {:.2f}</small>", ms(spread.least.*figure),
                            ms(spread.most.*figure));
    return fmt::format("<td class=\"n{}\">{:.2f}{}</td>", more, ms(spread.median.*figure), range);
}

std::string time_cells(const RowResult& result, std::uint64_t demo::Figures::*figure) {
    const demo::Figures& predicted = result.predicted.figures;
    std::string more;
    if (result.measured && figure != &demo::Figures::max_ns) {
        const double off =
            difference_percent(result.measured->spread.median.*figure, predicted.*figure);
        more = std::max(off, -off) > tolerance_percent ? " differs" : "";
    }
    return fmt::format("<td class=\"n first\">{:.2f}</td>", ms(predicted.*figure)) +
           measured_cell(result, figure, more);
}

std::string bar(const char* kind, std::uint64_t value, std::uint64_t longest) {
    return fmt::format("<i class=\"bar {}\" style=\"width:{:.2f}%\"></i>", kind,
                       100 * static_cast<double>(value) / static_cast<double>(longest));
}

std::string large_cells(const RowResult& result) {
    if (!result.row.large)
        return "<td class=\"n first\">&ndash;</td><td class=\"n\">&ndash;</td><td "
               "class=\"n\">&ndash;</td>";
    std::string cells;
    const auto add = [&](const char* more, const std::string& predicted,
                         const std::string& measured) {
        cells += fmt::format("<td class=\"n{}\">{}<small>{}</small></td>", more, predicted,
                             result.measured ? measured : "not yet");
    };
    const demo::Figures& predicted = result.predicted.figures;
    const demo::Figures& measured = best_known(result);
    add(" first", fmt::format("{:.1f}", predicted.large_per_second),
        fmt::format("{:.1f}", measured.large_per_second));
    add("", fmt::format("{:.1f} %", fair_percent(predicted)),
        fmt::format("{:.1f} %", fair_percent(measured)));
    add("", fmt::format("{}", predicted.preemptions), fmt::format("{}", measured.preemptions));
    return cells;
}

std::string number_row(const RowResult& result, std::uint64_t alone_ns, std::uint64_t longest_ns) {
    std::string html = fmt::format("<tr><td class=\"name\">{}</td>", escape(result.row.name));
    html += time_cells(result, &demo::Figures::p50_ns) + time_cells(result, &demo::Figures::p99_ns);
    html +=
        fmt::format("<td class=\"n\">{:.1f}x</td>",
                    static_cast<double>(best_known(result).p99_ns) / static_cast<double>(alone_ns));
    html += fmt::format(
        "<td class=\"bars\">{}{}</td>",
        bar("predicted", result.predicted.figures.p99_ns, longest_ns),
        result.measured ? bar("measured", result.measured->spread.median.p99_ns, longest_ns) : "");
    return html + time_cells(result, &demo::Figures::max_ns) + large_cells(result) + "</tr>\n";
}

/// Returns the rows whose measurement differs from the prediction, and why.
std::string differences(const DemoResults& results) {
    std::string items;
    for (const RowResult& result : results.rows) {
        if (!result.measured)
            continue;
        const demo::Figures& predicted = result.predicted.figures;
        const demo::Figures& measured = result.measured->spread.median;
        const demo::Figures& replayed = result.measured->replayed;
        if (!differs(measured, predicted))
            continue;
        items += fmt::format(
            "<li><b>{}</b> differs from the prediction by {:+.1f} % in p50 and {:+.1f} % in p99. "
            "From the measured arrivals the simulator predicts p50 {:.2f} ms, p99 {:.2f} "
            "ms{}.</li>\n",
            escape(result.row.name), difference_percent(measured.p50_ns, predicted.p50_ns),
            difference_percent(measured.p99_ns, predicted.p99_ns), ms(replayed.p50_ns),
            ms(replayed.p99_ns),
            result.row.large ? fmt::format("; the large network's client took {:.2f} ms to send "
                                           "its next request",
                                           ms(measured.large_turnaround_ns))
                             : "");
    }
    if (items.empty())
        return "";
    return "<p>Differences that these arrivals explain come from the host; others would come from "
           "the device.</p>\n<ul>\n" +
           items + "</ul>\n";
}

std::string how_measured(const DemoResults& results) {
    if (!is_measured(results))
        return "The measured columns are empty: nothing has been measured yet.";
    const unsigned runs = results.setup.repeat;
    return fmt::format(
        "Measured on {} under {}{}.", escape(results.setup.device), escape(results.kernel),
        runs == 1 ? std::string() : fmt::format("; medians of {} runs, with their ranges", runs));
}

std::string number_section(const DemoResults& results) {
    std::uint64_t longest_ns = 1;
    for (const RowResult& result : results.rows)
        longest_ns =
            std::max({longest_ns, result.predicted.figures.p99_ns, best_known(result).p99_ns});
    std::string rows;
    for (const RowResult& result : results.rows)
        rows += number_row(result, alone_p99_ns(results), longest_ns);
    return section(
        "Predicted and measured",
        fmt::format(
            "<p>{} Latencies of the detector in ms, from arrival to end. The large network's "
            "figures: predicted above, measured below; <em>fair share</em> is its requests per "
            "second beside those that the time left by the detector would allow.</p>\n"
            "<table><thead><tr><th></th><th class=\"group\" colspan=\"2\">p50</th><th "
            "class=\"group\" colspan=\"4\">p99 <i class=\"key bar predicted\"></i>predicted<i "
            "class=\"key bar measured\"></i>measured</th><th class=\"group\" "
            "colspan=\"2\">max</th><th class=\"group\" colspan=\"3\">large network</th></tr>\n"
            "<tr><th>set-up</th><th class=\"n first\">predicted</th><th class=\"n\">measured</th>"
            "<th class=\"n first\">predicted</th><th class=\"n\">measured</th><th class=\"n\">/ "
            "alone</th><th></th><th class=\"n first\">predicted</th><th class=\"n\">measured</th>"
            "<th class=\"n first\">requests/s</th><th class=\"n\">fair share</th><th "
            "class=\"n\">overtaken</th></tr></thead><tbody>\n{}</tbody></table>\n{}",
            how_measured(results), rows, differences(results)));
}

// --- The pictures --------------------------------------------------------------------------------

/// Returns a document as part of the page: the names of its patterns must differ from others'.
std::string inlined(const std::string& svg, const std::string& name, const std::string& label) {
    std::string out = replaced(svg, "<pattern id=\"", fmt::format("<pattern id=\"{}-", name));
    out = replaced(out, "url(#", fmt::format("url(#{}-", name));
    const std::string_view tag = "<svg ";
    return out.replace(0, tag.size(),
                       fmt::format("<svg role=\"img\" aria-label=\"{}\" ", escape(label)));
}

std::string figure(const std::string& svg, const std::string& name, const std::string& label) {
    return fmt::format("<figure>\n{}</figure>\n", inlined(svg, name, label));
}

std::string picture_section(const DemoResults& results) {
    std::string html =
        "<p>Six periods of the detector in the middle of the run; time 0 is the left edge. Boxes "
        "are FCs on the core, the HIGH ring's in the upper lane and the NORMAL ring's in the "
        "lower; below them are the detector's requests, each from its arrival to its end. Point "
        "at anything for its times.</p>\n";
    for (const RowResult& result : results.rows) {
        const std::string name = stem(result.row);
        html += fmt::format("<h3 id=\"{}\">{}</h3>\n<p>{}</p>\n", name, escape(result.row.name),
                            explain(result.row, results, best_known(result)).picture);
        html += figure(result.predicted.picture, "predicted-" + name,
                       result.row.name + ", as predicted");
        html += result.measured ? figure(result.measured->picture, "measured-" + name,
                                         result.row.name + ", as measured")
                                : "<figure class=\"missing\">not yet measured</figure>\n";
    }
    return section("Timelines", html);
}

// --- How to make it, and where it is -------------------------------------------------------------

std::string shell_word(const std::string& word) {
    const bool is_plain = !word.empty() && std::ranges::all_of(word, [](unsigned char c) {
        return std::isalnum(c) != 0 ||
               std::string_view("-_./=:,+@%").find(static_cast<char>(c)) != std::string_view::npos;
    });
    return is_plain ? word : "'" + replaced(word, "'", "'\\''") + "'";
}

std::string shell_line(const std::vector<std::string>& command) {
    std::string line;
    for (const std::string& word : command)
        line += (line.empty() ? "" : " ") + shell_word(word);
    return escape(line);
}

std::string whole_command(const DemoResults& results) {
    const DemoSetup& setup = results.setup;
    std::vector<std::string> command = {"overtake", "demo"};
    const auto add = [&](const char* option, const std::string& value) {
        command.insert(command.end(), {option, value});
    };
    add("--detector", setup.networks.detector);
    add("--large", setup.networks.large);
    add("--large-split", setup.networks.large_split);
    add("--requests", std::to_string(setup.load.requests));
    add("--period-us", std::to_string(setup.load.period_us));
    add("--output-dir", setup.output_dir);
    std::string lines = shell_line(command) + " --predict\n";
    command.insert(command.end(), {"--device", setup.device});
    if (setup.repeat > 1)
        add("--repeat", std::to_string(setup.repeat));
    return lines + "insmod overtake.ko cores=1 mode=timed\n" + shell_line(command) + "\n";
}

std::string command_section(const DemoResults& results) {
    std::string html = fmt::format(
        "<p>All five rows at once: predicted, which needs no privileges, and measured, as "
        "root:</p>\n<pre>{}</pre>\n<p>A row by itself: the clients that make it, side by side, and "
        "a scenario like it for the simulator. The large network's client is started first and "
        "ended with Ctrl-C.</p>\n",
        whole_command(results));
    for (const RowResult& result : results.rows) {
        std::string lines;
        if (result.row.large)
            lines += shell_line(large_command(results.setup, result.row, 1)) + " &amp;\n";
        lines += shell_line(detector_command(results.setup, result.row, 1)) + "\n";
        lines += fmt::format("overtake sim demo-{} --summary\n", stem(result.row));
        html += fmt::format("<h3>{}</h3>\n<pre>{}</pre>\n", escape(result.row.name), lines);
    }
    return section("The commands", html);
}

std::string link(const std::string& file) {
    return fmt::format("<a href=\"{0}\"><code>{0}</code></a>", escape(file));
}

std::string file_section(const DemoResults& results) {
    std::string rows = fmt::format("<tr><td>{}</td><td>every number of this page, each run by "
                                   "itself, as JSON</td></tr>\n",
                                   link("results.json"));
    for (const RowResult& result : results.rows) {
        std::string files = link(predicted_picture_name(result.row));
        if (result.measured)
            files += " " + link(measured_picture_name(result.row));
        rows += fmt::format("<tr><td>{}</td><td>{}: its timelines</td></tr>\n", files,
                            escape(result.row.name));
        if (!result.measured)
            continue;
        files.clear();
        for (unsigned run = 1; run <= result.measured->runs.size(); run++) {
            files += link(detector_records(result.row, run)) + " ";
            if (result.row.large)
                files += link(large_records(result.row, run)) + " ";
        }
        rows += fmt::format("<tr><td>{}</td><td>{}: each request's arrival, start and end, ns of "
                            "device time, CSV</td></tr>\n",
                            files, escape(result.row.name));
    }
    return section("Where the numbers are", "<table><tbody>\n" + rows + "</tbody></table>\n");
}

} // namespace

std::string demo_page(const DemoResults& results) {
    const timeline::TaskStyles colours({demo::detector_name, demo::large_name});
    std::string page =
        fmt::format("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                    "<title>Overtake: a detector beside a large network</title>\n"
                    "<style>\n:root {{ --detector: {}; }}\n{}</style>\n</head>\n<body>\n<main>\n",
                    colours.of(demo::detector_name).fill, demo_style);
    page += lead(results) + notes(results) + tiles(results) + setup_section(results);
    page += number_section(results) + picture_section(results) + command_section(results);
    page += file_section(results);
    return page + "</main>\n</body>\n</html>\n";
}

} // namespace overtake::command
