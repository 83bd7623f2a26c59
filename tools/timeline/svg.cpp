// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "timeline/timeline.hpp"

namespace overtake::timeline {
namespace {

constexpr double width = 1200;
constexpr double left = 150;
constexpr double right = 24;
constexpr double top = 96;
constexpr double lane_height = 34;
constexpr double lane_gap = 6;
constexpr double core_gap = 22;
constexpr double character_width = 6.6;

// Okabe and Ito's palette, which stays apart for colour-blind readers.
constexpr std::array<std::string_view, 7> palette = {"#56b4e9", "#e69f00", "#009e73", "#cc79a7",
                                                     "#f0e442", "#d55e00", "#0072b2"};

std::string escape(std::string_view text) {
    std::string out;
    for (char c : text) {
        switch (c) {
        case '<':
            out += "&lt;";
            break;
        case '>':
            out += "&gt;";
            break;
        case '&':
            out += "&amp;";
            break;
        case '"':
            out += "&quot;";
            break;
        default:
            out += c;
        }
    }
    return out;
}

struct Unit {
    double ns;
    std::string_view name;
};

Unit fitting_unit(double span_ns) {
    if (span_ns >= 5e9)
        return {1e9, "s"};
    if (span_ns >= 5e5)
        return {1e6, "ms"};
    if (span_ns >= 5e2)
        return {1e3, "us"};
    return {1, "ns"};
}

/// 1, 2 or 5 times a power of ten, so that an axis has about ten ticks.
double tick_step(double span) {
    double power = std::pow(10, std::floor(std::log10(span / 10)));
    for (double factor : {1.0, 2.0, 5.0})
        if (span / (factor * power) <= 12)
            return factor * power;
    return 10 * power;
}

class Picture {
public:
    Picture(const Timeline& timeline, std::uint64_t from_ns, std::uint64_t to_ns)
        : timeline_(timeline), from_(from_ns), to_(std::max(to_ns, from_ns + 1)) {
        for (const Fc& fc : timeline.fcs) {
            if (!visible(fc))
                continue;
            cores_.insert(fc.core);
            if (!colours_.contains(fc.task)) {
                auto next = colours_.size() % palette.size();
                colours_[fc.task] = palette[next];
            }
        }
        if (cores_.empty())
            cores_.insert(1);
    }

    std::string draw() {
        double bottom = top + static_cast<double>(cores_.size()) * core_height();
        out_ = fmt::format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
            "viewBox=\"0 0 {0} {1}\" font-family=\"DejaVu Sans, sans-serif\" "
            "font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
            "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" "
            "patternTransform=\"rotate(45)\" patternUnits=\"userSpaceOnUse\">"
            "<line x1=\"0\" y1=\"0\" x2=\"0\" y2=\"6\" stroke=\"#000000\" "
            "stroke-opacity=\"0.45\" stroke-width=\"2\"/></pattern></defs>\n",
            width, bottom + 56);
        text(left, 28, timeline_.title, "font-size=\"17\" font-weight=\"bold\"");
        legend();
        axis(bottom);
        for (unsigned core : cores_)
            core_row(core);
        for (const Fc& fc : timeline_.fcs)
            if (visible(fc))
                box(fc);
        for (const Preemption& preemption : timeline_.preemptions)
            mark(preemption);
        return out_ + "</svg>\n";
    }

private:
    static double core_height() { return 2 * lane_height + lane_gap + core_gap; }

    bool visible(const Fc& fc) const { return fc.end_ns > from_ && fc.start_ns < to_; }

    double x(std::uint64_t ns) const {
        double share =
            (static_cast<double>(std::clamp(ns, from_, to_)) - static_cast<double>(from_)) /
            static_cast<double>(to_ - from_);
        return left + share * (width - left - right);
    }

    double core_top(unsigned core) const {
        auto row = std::distance(cores_.begin(), cores_.find(core));
        return top + static_cast<double>(row) * core_height();
    }

    void text(double at_x, double at_y, std::string_view words, std::string_view style) {
        out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", at_x, at_y, style,
                            escape(words));
    }

    void rectangle(double at_x, double at_y, double wide, double high, std::string_view style) {
        out_ += fmt::format("<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" "
                            "height=\"{:.1f}\" {}/>\n",
                            at_x, at_y, wide, high, style);
    }

    void legend() {
        double at = left;
        for (const auto& [task, colour] : colours_) {
            rectangle(at, 48, 18, 14, fmt::format("fill=\"{}\" stroke=\"#333\"", colour));
            text(at + 24, 60, task, "");
            at += 48 + character_width * 1.1 * static_cast<double>(task.size());
        }
        rectangle(at, 48, 18, 14, "fill=\"#ffffff\" stroke=\"#333\"");
        rectangle(at, 48, 18, 14, "fill=\"url(#hatch)\" stroke=\"#333\" stroke-width=\"2\"");
        text(at + 24, 60, "HIGH ring (hatched)", "");
        at += 172;
        out_ += fmt::format("<path d=\"M{0:.1f} 50 l5 10 l-10 0 z\" fill=\"#b00000\"/>\n", at + 8);
        text(at + 20, 60, "HIGH overtakes a job that has begun", "");
    }

    void axis(double bottom) {
        auto span = static_cast<double>(to_ - from_);
        Unit unit = fitting_unit(span);
        double step = tick_step(span / unit.ns);
        for (int tick = 0; tick * step * unit.ns <= span * 1.0001; tick++) {
            auto at = from_ + static_cast<std::uint64_t>(tick * step * unit.ns);
            out_ += fmt::format("<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" "
                                "y2=\"{2:.1f}\" stroke=\"#dddddd\"/>\n",
                                x(at), top - 8, bottom);
            text(x(at), bottom + 18, fmt::format("{:g}", tick * step),
                 "text-anchor=\"middle\" fill=\"#333\"");
        }
        text((left + width - right) / 2, bottom + 40,
             fmt::format("device time since the left edge, {}", unit.name),
             "text-anchor=\"middle\" fill=\"#333\"");
    }

    void core_row(unsigned core) {
        double y = core_top(core);
        text(16, y + lane_height + 8, fmt::format("core {}", core),
             "font-size=\"14\" font-weight=\"bold\"");
        text(left - 8, y + lane_height / 2 + 4, "HIGH", "text-anchor=\"end\"");
        text(left - 8, y + lane_height * 1.5 + lane_gap + 4, "NORMAL", "text-anchor=\"end\"");
        for (double lane : {y, y + lane_height + lane_gap})
            rectangle(left, lane, width - left - right, lane_height,
                      "fill=\"#f6f6f6\" stroke=\"none\"");
    }

    void box(const Fc& fc) {
        double y = core_top(fc.core) + (fc.high ? 0 : lane_height + lane_gap);
        double begin = x(fc.start_ns);
        double wide = std::max(x(fc.end_ns) - begin, 0.5);
        out_ += fmt::format("<g><title>{} FC {} on core {}, {}: {:.1f} us</title>\n",
                            escape(fc.task), fc.index, fc.core, fc.high ? "HIGH" : "NORMAL",
                            static_cast<double>(fc.end_ns - fc.start_ns) / 1000);
        rectangle(begin, y, wide, lane_height,
                  fmt::format("fill=\"{}\" stroke=\"#333\" stroke-width=\"{}\"", colours_[fc.task],
                              wide > 3 ? 0.8 : 0.2));
        if (fc.high)
            rectangle(begin, y, wide, lane_height, "fill=\"url(#hatch)\"");
        label(fc, begin, y, wide);
        out_ += "</g>\n";
    }

    /// The longest of the task's name with the FC's number, the name, the number that fits.
    void label(const Fc& fc, double begin, double y, double wide) {
        for (const std::string& words :
             {fmt::format("{} {}", fc.task, fc.index), fc.task, fmt::format("{}", fc.index)}) {
            double need = character_width * static_cast<double>(words.size());
            if (need + 6 > wide)
                continue;
            double middle = begin + wide / 2;
            if (fc.high)
                rectangle(middle - need / 2 - 3, y + 8, need + 6, 18,
                          "fill=\"#ffffff\" fill-opacity=\"0.85\"");
            text(middle, y + 21, words, "text-anchor=\"middle\" font-size=\"11\"");
            return;
        }
    }

    void mark(const Preemption& preemption) {
        if (preemption.time_ns < from_ || preemption.time_ns >= to_ ||
            !cores_.contains(preemption.core))
            return;
        double at = x(preemption.time_ns);
        double y = core_top(preemption.core);
        out_ += fmt::format("<line x1=\"{0:.2f}\" y1=\"{1:.1f}\" x2=\"{0:.2f}\" "
                            "y2=\"{2:.1f}\" stroke=\"#b00000\" stroke-dasharray=\"3 2\"/>\n"
                            "<path d=\"M{0:.2f} {3:.1f} l5 10 l-10 0 z\" "
                            "fill=\"#b00000\"/>\n",
                            at, y, y + 2 * lane_height + lane_gap, y + 2 * lane_height + lane_gap);
    }

    const Timeline& timeline_;
    std::uint64_t from_;
    std::uint64_t to_;
    std::set<unsigned> cores_;
    std::map<std::string, std::string_view> colours_;
    std::string out_;
};

} // namespace

std::string to_svg(const Timeline& timeline, std::uint64_t from_ns, std::uint64_t to_ns) {
    return Picture(timeline, from_ns, to_ns).draw();
}

} // namespace overtake::timeline
