// SPDX-License-Identifier: MIT
#include "observe/timeline/legend.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "observe/timeline/marks.hpp"

namespace overtake::timeline {
namespace {

constexpr double symbol_width = 18;
constexpr double symbol_height = 14;
constexpr double symbol_gap = 6;
constexpr double entry_gap = 22;
constexpr double longest_name = 190;
constexpr std::size_t most_tasks = 60;

struct Colour {
    std::string_view fill;
    std::string_view ink;
};

// Okabe and Ito's palette, whose colours differ for colour-blind readers, too, and a grey.
constexpr std::array<Colour, 8> palette = {{{"#56b4e9", "#222222"},
                                            {"#e69f00", "#222222"},
                                            {"#009e73", "#ffffff"},
                                            {"#cc79a7", "#222222"},
                                            {"#f0e442", "#222222"},
                                            {"#d55e00", "#ffffff"},
                                            {"#0072b2", "#ffffff"},
                                            {"#b8b8b8", "#222222"}}};
constexpr std::array<std::string_view, 3> overlays = {"", "url(#dots)", "url(#stripes)"};

bool is_digit(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

std::string_view take_number(std::string_view& text) {
    std::size_t length = 0;
    while (length < text.size() && is_digit(text[length]))
        length++;
    std::string_view number = text.substr(0, length);
    text.remove_prefix(length);
    number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
    return number;
}

} // namespace

bool natural_less(std::string_view left, std::string_view right) {
    const std::string_view whole_left = left;
    const std::string_view whole_right = right;
    while (!left.empty() && !right.empty()) {
        if (is_digit(left.front()) && is_digit(right.front())) {
            const std::string_view a = take_number(left);
            const std::string_view b = take_number(right);
            if (a != b)
                return a.size() != b.size() ? a.size() < b.size() : a < b;
            continue;
        }
        if (left.front() != right.front())
            return left.front() < right.front();
        left.remove_prefix(1);
        right.remove_prefix(1);
    }
    if (left.empty() && right.empty())
        return whole_left < whole_right;
    return left.empty();
}

TaskStyles::TaskStyles(const std::vector<std::string>& names) {
    std::vector<std::string> sorted = names;
    std::sort(sorted.begin(), sorted.end(), natural_less);
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    const bool numbered = sorted.size() > palette.size();
    for (unsigned at = 0; at < sorted.size(); at++) {
        const Colour& colour = palette[at % palette.size()];
        styles_[sorted[at]] = {.fill = colour.fill,
                               .overlay = overlays[at / palette.size() % overlays.size()],
                               .ink = colour.ink,
                               .number = numbered ? at + 1 : 0};
    }
}

void TaskStyles::fill(Canvas& canvas, std::string_view task, double x, double y, double wide,
                      double high, std::string_view more, double radius) const {
    const TaskStyle& style = of(task);
    const std::string shape = radius > 0 ? fmt::format("rx=\"{}\" ", radius) : "";
    canvas.rectangle(x, y, wide, high, fmt::format("{}fill=\"{}\" {}", shape, style.fill, more));
    if (!style.overlay.empty())
        canvas.rectangle(x, y, wide, high,
                         fmt::format("{}fill=\"{}\" {}", shape, style.overlay, more));
}

void Legend::add(std::string_view words, std::function<void(Canvas&, double x, double y)> draw) {
    entries_.push_back({std::string(words), std::move(draw)});
}

void Legend::add_tasks(const TaskStyles& styles, std::vector<std::string> tasks) {
    std::sort(tasks.begin(), tasks.end(), natural_less);
    const std::size_t shown = std::min(tasks.size(), most_tasks);
    for (std::size_t at = 0; at < shown; at++) {
        const std::string& task = tasks[at];
        const TaskStyle& style = styles.of(task);
        std::string words = shortened(task, longest_name);
        if (style.number != 0)
            words = fmt::format("{}: {}", style.number, words);
        add(words, [&styles, task](Canvas& canvas, double x, double y) {
            styles.fill(canvas, task, x, y, symbol_width, symbol_height,
                        "stroke=\"#333333\" stroke-width=\"0.8\"");
        });
    }
    if (tasks.size() > shown)
        add(fmt::format("and {} more tasks, by number", tasks.size() - shown),
            [](Canvas&, double, double) {});
}

void Legend::add_high_ring() {
    add("HIGH ring (hatched)", [](Canvas& canvas, double x, double y) {
        canvas.rectangle(x, y, symbol_width, symbol_height, "fill=\"#ffffff\"");
        canvas.rectangle(
            x, y, symbol_width, symbol_height,
            fmt::format("fill=\"{}\" stroke=\"#000000\" stroke-width=\"1.6\"", high_pattern));
    });
}

void Legend::add_preemption() {
    add("HIGH overtakes a job that has begun", [](Canvas& canvas, double x, double y) {
        draw_preemption_mark(canvas, x + symbol_width / 2, y + 1, 6);
    });
}

void Legend::add_preemption_strip(std::uint64_t most, std::string_view bar) {
    add(fmt::format("preemptions in {}, at most {}", bar, most),
        [](Canvas& canvas, double x, double y) {
            const std::array<StripBar, 3> bars = {
                {{x, x + 6, 1}, {x + 6, x + 12, 5}, {x + 12, x + symbol_width, 10}}};
            draw_strip(canvas, y + 3, bars, 10);
        });
}

unsigned
Legend::lay_out(double width,
                const std::function<void(const Entry&, double x, unsigned line)>& visit) const {
    double at = 0;
    unsigned line = 0;
    for (const Entry& entry : entries_) {
        const double need = symbol_width + symbol_gap + text_width(entry.words);
        if (at > 0 && at + need > width) {
            at = 0;
            line++;
        }
        visit(entry, at, line);
        at += need + entry_gap;
    }
    return entries_.empty() ? 0 : line + 1;
}

double Legend::height(double width) const {
    return lay_out(width, [](const Entry&, double, unsigned) {}) * line_height;
}

void Legend::draw(Canvas& canvas, double x, double y, double width) const {
    lay_out(width, [&](const Entry& entry, double at, unsigned line) {
        const double top = y + line * line_height;
        canvas.begin_group("legend", entry.words);
        entry.draw(canvas, x + at, top);
        canvas.text(x + at + symbol_width + symbol_gap, top + symbol_height - 2.5, entry.words);
        canvas.end_group();
    });
}

} // namespace overtake::timeline
