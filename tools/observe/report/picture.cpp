// SPDX-License-Identifier: MIT
#include "observe/report/picture.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "observe/timeline/canvas.hpp"

namespace overtake::report {
namespace {

using Json = nlohmann::ordered_json;
using timeline::Canvas;

constexpr double width = 1000;
constexpr double left = 64; // left edge of the plot; the axis is left of it
constexpr double right = width - 8;
constexpr int decimals = 2;
constexpr std::size_t coloured_operators = 7;
// More bars than this are drawn as the longest of each group of neighbours.
constexpr std::size_t most_bars = 460;

// One FC's part of one operator.
struct Share {
    std::size_t fc;
    std::size_t node;
    double us;
};

std::vector<Share> shares_of(const Json& summary) {
    std::vector<Share> shares;
    const std::size_t nodes = summary["nodes"].size();
    for (const Json& share : summary["fc_shares"])
        if (share["node"].get<std::size_t>() < nodes)
            shares.push_back({share["fc"].get<std::size_t>(), share["node"].get<std::size_t>(),
                              share["us"].get<double>()});
    return shares;
}

std::vector<double> fc_times(const Json& summary) {
    std::vector<double> times;
    for (const Json& segment : summary["segments"])
        if (segment["processor"] == "BPU")
            for (const Json& fc : segment["fcs"])
                times.push_back(fc["us"].get<double>());
    return times;
}

// Returns 1, 2 or 5 times a power of ten, so that at most `most` steps reach `range`.
double tick_step(double range, int most) {
    const double least = range / most;
    const double power = std::pow(10.0, std::floor(std::log10(std::max(least, 1e-9))));
    for (double factor : {1.0, 2.0, 5.0})
        if (factor * power >= least)
            return factor * power;
    return 10 * power;
}

std::string number(double value) {
    return value == std::floor(value) ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

// Returns the attributes of an element that a canvas draws.
std::string of_class(std::string_view name) {
    return fmt::format("class=\"{}\"", name);
}

std::string anchored(std::string_view anchor) {
    return fmt::format("text-anchor=\"{}\"", anchor);
}

// Draws horizontal grid lines with their numbers; `unit` divides the values for their labels.
void draw_levels(Canvas& canvas, double range, double top, double bottom, double unit,
                 const std::string& name) {
    const double step = tick_step(range / unit, 5) * unit;
    for (double level = 0; level <= range * 1.0001; level += step) {
        const double y = bottom - level / range * (bottom - top);
        canvas.line(left, y, right, y, of_class("grid"));
        canvas.text(left - 6, y + 4, number(level / unit), anchored("end"));
    }
    canvas.text(4, top - 8, name, anchored("start"));
}

} // namespace

std::string grouped(std::uint64_t number) {
    const std::string digits = std::to_string(number);
    std::string result;
    for (std::size_t index = 0; index < digits.size(); ++index) {
        if (index > 0 && (digits.size() - index) % 3 == 0)
            result += ',';
        result += digits[index];
    }
    return result;
}

std::string bytes(std::uint64_t count) {
    const double exact = static_cast<double>(count);
    if (count < 10 * 1024)
        return grouped(count) + " bytes";
    if (count < 10 * 1024 * 1024)
        return fmt::format("{:.0f} KiB", exact / 1024);
    return fmt::format("{:.1f} MiB", exact / (1024 * 1024));
}

std::string duration(double us) {
    if (us < 10'000)
        return fmt::format("{:.{}f} µs", us, us < 1000 ? 1 : 0);
    return us < 10'000'000 ? fmt::format("{:.1f} ms", us / 1e3) : fmt::format("{:.1f} s", us / 1e6);
}

std::string compared_samples(const Json& summary) {
    const Json& calibration = summary["calibration"];
    const auto all = calibration["samples"].get<unsigned>();
    const auto compared = calibration["compared"].get<unsigned>();
    return (compared == all ? fmt::format("{} ", all) : fmt::format("{} of {} ", compared, all)) +
           (calibration["noise"].get<bool>() ? "samples of random noise" : "calibration samples");
}

std::string cpu_rates(const Json& summary) {
    const auto number_of = [&](const char* key) {
        return summary["profile"][key].get<std::uint64_t>();
    };
    return fmt::format("{} ns per operator, {} multiply-accumulates and {} bytes per microsecond "
                       "(cpu_operator_ns, cpu_macs_per_us and cpu_bytes_per_us of the profile)",
                       number_of("cpu_operator_ns"), number_of("cpu_macs_per_us"),
                       number_of("cpu_bytes_per_us"));
}

std::string device_type(const Json& tensor) {
    const auto layout = tensor["layout"]["type"].get<std::string>();
    return layout.substr(0, layout.find(' '));
}

std::vector<OperatorTime> operator_times(const Json& summary) {
    std::map<std::pair<std::string, bool>, OperatorTime> by_type;
    for (const Json& node : summary["nodes"]) {
        const auto type = node["type"].get<std::string>();
        const bool on_bpu = node["processor"] == "BPU";
        OperatorTime& entry = by_type[{type, on_bpu}];
        entry.type = type;
        entry.on_bpu = on_bpu;
        entry.us += node["us"].get<double>();
        ++entry.nodes;
    }
    std::vector<OperatorTime> operators;
    for (const auto& [key, entry] : by_type)
        operators.push_back(entry);
    std::ranges::stable_sort(operators, std::greater{}, [](const OperatorTime& entry) {
        return std::pair(entry.on_bpu, entry.us);
    });
    return operators;
}

std::string colour_class(const std::vector<OperatorTime>& operators, std::string_view type) {
    const auto found = std::ranges::find_if(
        operators, [&](const OperatorTime& entry) { return entry.on_bpu && entry.type == type; });
    const auto index = static_cast<std::size_t>(found - operators.begin());
    return fmt::format("c{}", std::min(index, coloured_operators));
}

std::string fc_chart(const Json& summary) {
    constexpr double top = 28, bottom = 228, height = 262;
    const std::vector<double> times = fc_times(summary);
    if (times.empty())
        return "";
    const double limit = summary["max_time_per_fc_us"].get<double>();
    const double longest = *std::ranges::max_element(times);
    const double range = std::max({longest, limit <= 1.5 * longest ? limit : 0, 1e-3}) * 1.04;
    const double unit = range >= 10'000 ? 1000 : 1;
    const auto y_of = [&](double us) { return bottom - us / range * (bottom - top); };

    // If there are too many FCs, neighbours share a bar, which shows the longest of them.
    const std::size_t together = (times.size() + most_bars - 1) / most_bars;
    std::vector<std::size_t> shown; // FCs
    for (std::size_t first = 0; first < times.size(); first += together) {
        const auto begin = times.begin() + static_cast<std::ptrdiff_t>(first);
        const auto end =
            begin + static_cast<std::ptrdiff_t>(std::min(together, times.size() - first));
        shown.push_back(static_cast<std::size_t>(std::max_element(begin, end) - times.begin()));
    }
    const auto operators = operator_times(summary);
    const std::vector<Share> shares = shares_of(summary);
    const double pitch = std::min((right - left) / static_cast<double>(shown.size()), 60.0);
    const double bar = pitch * (pitch > 4 ? 0.82 : 0.96);

    Canvas canvas(decimals);
    draw_levels(canvas, range, top, bottom, unit, unit > 1 ? "ms" : "µs");
    auto share = shares.begin();
    for (std::size_t index = 0; index < shown.size(); ++index) {
        const std::size_t fc = shown[index];
        const double x = left + static_cast<double>(index) * pitch + (pitch - bar) / 2;
        canvas.rectangle(x, y_of(times[fc]), bar, bottom - y_of(times[fc]), of_class("overhead"),
                         fmt::format("FC {}: {}", fc, duration(times[fc])));
        share = std::find_if(share, shares.end(), [&](const Share& s) { return s.fc >= fc; });
        for (double done = 0; share != shares.end() && share->fc == fc; ++share) {
            const Json& node = summary["nodes"][share->node];
            const auto type = node["type"].get<std::string>();
            canvas.rectangle(x, y_of(done + share->us), bar, y_of(done) - y_of(done + share->us),
                             of_class(colour_class(operators, type)),
                             fmt::format("FC {}, {}: {} ({}) {}", fc, duration(times[fc]),
                                         node["name"].get<std::string>(), type,
                                         duration(share->us)));
            done += share->us;
        }
    }
    if (limit > 0 && limit <= range) {
        canvas.line(left, y_of(limit), right, y_of(limit), of_class("limit"));
        canvas.text(right, y_of(limit) - 7, fmt::format("max_time_per_fc {}", duration(limit)),
                    anchored("end"));
    }
    const std::size_t step = std::max<std::size_t>(
        1, static_cast<std::size_t>(tick_step(static_cast<double>(times.size()), 16)));
    for (std::size_t fc = 0; fc < times.size(); fc += step) {
        const double bar_number = static_cast<double>(fc) / static_cast<double>(together);
        const double x = left + (bar_number + 0.5) * pitch;
        canvas.text(x, bottom + 18, grouped(fc), anchored(x > right - 20 ? "end" : "middle"));
    }
    canvas.text(left - 6, bottom + 18, "FC", anchored("end"));
    return canvas.element(width, height, "Modelled time of each function call");
}

std::string time_strip(const Json& summary) {
    constexpr double top = 8, bottom = 48, height = 84;
    const std::vector<double> times = fc_times(summary);
    double total = 0;
    for (double us : times)
        total += us;
    if (total <= 0)
        return "";
    const double from = 8;
    const auto x_of = [&](double us) { return from + us / total * (right - from); };
    const auto operators = operator_times(summary);
    const std::vector<Share> shares = shares_of(summary);
    Canvas canvas(decimals);
    double begin = 0;
    auto share = shares.begin();
    std::vector<double> borders; // drawn last
    for (std::size_t fc = 0; fc < times.size(); ++fc) {
        canvas.rectangle(x_of(begin), top, x_of(begin + times[fc]) - x_of(begin), bottom - top,
                         of_class("overhead"), fmt::format("FC {}: {}", fc, duration(times[fc])));
        double used = 0;
        for (auto each = share; each != shares.end() && each->fc == fc; ++each)
            used += each->us;
        for (double at = begin + times[fc] - used; share != shares.end() && share->fc == fc;
             ++share) {
            const Json& node = summary["nodes"][share->node];
            const auto type = node["type"].get<std::string>();
            canvas.rectangle(x_of(at), top, x_of(at + share->us) - x_of(at), bottom - top,
                             of_class(colour_class(operators, type) + " edge"),
                             fmt::format("{} ({}) {}", node["name"].get<std::string>(), type,
                                         duration(share->us)));
            at += share->us;
        }
        borders.push_back(x_of(begin));
        begin += times[fc];
    }
    borders.push_back(x_of(total));
    for (const double x : borders)
        canvas.line(x, bottom, x, bottom + 7, of_class("border"));
    const double unit = total >= 10'000 ? 1000 : 1;
    const double step = tick_step(total / unit, 8) * unit;
    for (double at = 0; at <= total * 0.97; at += step) {
        canvas.line(x_of(at), bottom + 8, x_of(at), bottom + 13, of_class("grid"));
        canvas.text(x_of(at), bottom + 24, number(at / unit) + (unit > 1 ? " ms" : " µs"),
                    anchored(at == 0 ? "start" : "middle"));
    }
    return canvas.element(width, height, "One inference on the BPU, from beginning to end");
}

std::string memory_map(const Json& summary) {
    constexpr double top = 28, bottom = 288, height = 322;
    const Json& uses = summary["scratch"];
    const auto nodes = static_cast<double>(summary["nodes"].size());
    const auto range = summary["total"]["scratch_bytes"].get<double>();
    if (uses.empty() || range <= 0 || nodes <= 0)
        return "";
    const double unit = range >= 4 * 1024 * 1024 ? 1024 * 1024 : 1024;
    const auto x_of = [&](double node) { return left + node / nodes * (right - left); };
    const auto y_of = [&](double offset) { return bottom - offset / range * (bottom - top); };
    Canvas canvas(decimals);
    draw_levels(canvas, range, top, bottom, unit, unit > 1024 ? "MiB" : "KiB");
    std::size_t index = 0;
    for (const Json& use : uses) {
        const auto offset = use["offset"].get<double>(), size = use["bytes"].get<double>();
        const auto first = use["first_node"].get<double>(), last = use["last_node"].get<double>();
        canvas.rectangle(x_of(first), y_of(offset + size), x_of(last + 1) - x_of(first),
                         y_of(offset) - y_of(offset + size),
                         of_class(fmt::format("tensor t{}", index++ % 3)),
                         fmt::format("{}: {} at {}, nodes {} to {}", use["name"].get<std::string>(),
                                     bytes(use["bytes"].get<std::uint64_t>()),
                                     grouped(use["offset"].get<std::uint64_t>()), first, last));
    }
    const double step = std::max(1.0, tick_step(nodes, 16));
    for (double node = 0; node < nodes; node += step)
        canvas.text(x_of(node + 0.5), bottom + 18, number(node), anchored("middle"));
    canvas.text(left - 6, bottom + 18, "node", anchored("end"));
    return canvas.element(width, height, "Scratch memory over the run of the network");
}

} // namespace overtake::report
