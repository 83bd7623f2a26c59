// SPDX-License-Identifier: MIT
//
// The picture of a density: one row of stacked bars for each core.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "observe/timeline/axis.hpp"
#include "observe/timeline/canvas.hpp"
#include "observe/timeline/density.hpp"
#include "observe/timeline/legend.hpp"
#include "observe/timeline/marks.hpp"

namespace overtake::timeline {
namespace {

constexpr double strip_gap = 3;
constexpr std::size_t most_bars = 512;

/// The busy time of one task in one ring of one core, by bar.
struct Layer {
    std::size_t task;
    bool high;
    std::vector<std::uint64_t> busy;
    std::uint64_t sum;
};

class DensityPicture {
public:
    DensityPicture(const Density& density, const Timeline& described)
        : density_(density), described_(described), cores_(rows(density, described)),
          axis_(density.empty() ? 0 : density.first_ns(), density.empty() ? 1 : density.last_ns(),
                plot_left, plot_right),
          styles_(density.tasks()) {
        row_height_ = cores_.size() <= 4    ? 110
                      : cores_.size() <= 8  ? 72
                      : cores_.size() <= 16 ? 48
                                            : 30;
        row_gap_ = cores_.size() <= 8 ? 24 : 12;
        bar_bins_ = 1;
        while (bins() / bar_bins_ >= most_bars)
            bar_bins_ *= 2;
        first_bar_ = axis_.from_ns() / bar_ns();
        bars_ = density.empty() ? 0 : (axis_.to_ns() - 1) / bar_ns() - first_bar_ + 1;
        for (unsigned core : cores_)
            for (std::uint64_t count : preemptions_of(core))
                most_preemptions_ = std::max(most_preemptions_, count);
    }

    std::string draw() {
        Legend legend = make_legend();
        double y = legend_top + legend.height(plot_right - plot_left) + 18;
        const double top = y;
        const double bottom =
            y + static_cast<double>(std::max<std::size_t>(cores_.size(), 1)) * pitch() - row_gap_ +
            10;
        canvas_.head(described_.title,
                     density_.empty()
                         ? "nothing ran"
                         : fmt::format("{} of device time; a bar is {} wide",
                                       duration_text(axis_.to_ns() - axis_.from_ns(), 3),
                                       duration_text(bar_ns())));
        legend.draw(canvas_, plot_left, legend_top, plot_right - plot_left);
        for (std::size_t row = 0; row < cores_.size(); row++) {
            canvas_.rectangle(plot_left, y, plot_right - plot_left, row_height_,
                              "fill=\"#f3f3f3\"");
            y += pitch();
        }
        axis_.draw_grid(canvas_, top - 6, bottom);
        if (bottom > 700)
            axis_.draw_top_labels(canvas_, top - 3);
        y = top;
        for (unsigned core : cores_) {
            draw_core(core, y);
            draw_conditions(core, y);
            y += pitch();
        }
        axis_.draw_labels(canvas_, bottom);
        return canvas_.document(bottom + TimeAxis::height);
    }

private:
    static std::vector<unsigned> rows(const Density& density, const Timeline& described) {
        std::vector<unsigned> numbers;
        for (unsigned lane = 1; lane <= described.lanes.size(); lane++)
            numbers.push_back(lane);
        return numbers.empty() ? density.cores() : numbers;
    }
    std::string name_of(unsigned core) const {
        return core <= described_.lanes.size() ? described_.lanes[core - 1].name
                                               : fmt::format("core {}", core);
    }

    /// Draws a bar below the row for each condition, and grey behind the row while the core does
    /// not work.
    void draw_conditions(unsigned core, double y) {
        for (const Condition& condition : described_.conditions) {
            const std::uint64_t from = std::max(condition.from_ns, axis_.from_ns());
            const std::uint64_t to = std::min(condition.to_ns, axis_.to_ns());
            if (condition.core != core || from >= to)
                continue;
            const double begin = axis_.x(from);
            const double wide = std::max(axis_.x(to) - begin, 1.0);
            canvas_.begin_group("condition", fmt::format("{} {}", name_of(core), condition.what));
            if (condition.works)
                canvas_.rectangle(begin, y - 5, wide, 4, "fill=\"#c77700\"");
            else
                canvas_.rectangle(begin, y, wide, row_height_,
                                  fmt::format("fill=\"{}\" stroke=\"#8a8a8a\" stroke-width=\"0.8\"",
                                              unrecorded_pattern));
            canvas_.end_group();
        }
    }

    bool has_strips() const { return most_preemptions_ != 0; }
    double pitch() const {
        return row_height_ + (has_strips() ? strip_gap + strip_height : 0) + row_gap_;
    }
    std::uint64_t bins() const {
        return (axis_.to_ns() - 1) / density_.bin_ns() - axis_.from_ns() / density_.bin_ns() + 1;
    }
    std::uint64_t bar_ns() const { return density_.bin_ns() * bar_bins_; }
    std::uint64_t bar_start(std::size_t bar) const {
        return std::max((first_bar_ + bar) * bar_ns(), axis_.from_ns());
    }
    std::uint64_t bar_end(std::size_t bar) const {
        return std::min((first_bar_ + bar + 1) * bar_ns(), axis_.to_ns());
    }

    /// Returns the sums of `at` over the bins of each bar.
    template <typename At>
    std::vector<std::uint64_t> by_bar(At at) const {
        std::vector<std::uint64_t> sums(bars_);
        for (std::size_t bar = 0; bar < bars_; bar++)
            for (std::uint64_t time = bar_start(bar); time < bar_end(bar);
                 time = (time / density_.bin_ns() + 1) * density_.bin_ns())
                sums[bar] += at(time);
        return sums;
    }

    std::vector<std::uint64_t> preemptions_of(unsigned core) const {
        return by_bar([&](std::uint64_t time) { return density_.preemptions(core, time); });
    }

    /// Returns the layers from the bottom up: NORMAL by task, then HIGH by task.
    std::vector<Layer> layers_of(unsigned core) const {
        std::vector<std::size_t> order(density_.tasks().size());
        for (std::size_t at = 0; at < order.size(); at++)
            order[at] = at;
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            return natural_less(density_.tasks()[a], density_.tasks()[b]);
        });
        std::vector<Layer> layers;
        for (bool high : {false, true})
            for (std::size_t task : order) {
                Layer layer{task, high, by_bar([&](std::uint64_t time) {
                                return density_.busy_ns(core, high, task, time);
                            }),
                            0};
                for (std::uint64_t busy : layer.busy)
                    layer.sum += busy;
                if (layer.sum != 0)
                    layers.push_back(std::move(layer));
            }
        return layers;
    }

    Legend make_legend() const {
        Legend legend;
        legend.add_tasks(styles_, density_.tasks());
        legend.add_high_ring();
        const auto any = [&](bool works) {
            return std::ranges::any_of(described_.conditions, [&](const Condition& of) {
                return of.works == works && of.to_ns > axis_.from_ns() &&
                       of.from_ns < axis_.to_ns();
            });
        };
        if (any(false))
            legend.add("does not work", [](Canvas& canvas, double x, double y) {
                canvas.rectangle(x, y, 18, 14,
                                 fmt::format("fill=\"{}\" stroke=\"#8a8a8a\" "
                                             "stroke-width=\"0.8\"",
                                             unrecorded_pattern));
            });
        if (any(true))
            legend.add("at another speed", [](Canvas& canvas, double x, double y) {
                canvas.rectangle(x, y + 5, 18, 4, "fill=\"#c77700\"");
            });
        if (has_strips())
            legend.add_preemption_strip(most_preemptions_, "a bar");
        return legend;
    }

    void row_head(unsigned core, double y, const std::vector<Layer>& layers) {
        std::uint64_t busy = 0;
        std::uint64_t high = 0;
        for (const Layer& layer : layers) {
            busy += layer.sum;
            high += layer.high ? layer.sum : 0;
        }
        const auto percent = [&](std::uint64_t ns) {
            return 100 * static_cast<double>(ns) /
                   static_cast<double>(axis_.to_ns() - axis_.from_ns());
        };
        canvas_.text(14, y + 15, shortened(name_of(core), 92, 14),
                     "font-size=\"14\" font-weight=\"bold\"");
        const std::string small = "font-size=\"11\" fill=\"#555555\"";
        if (row_height_ >= 60) {
            canvas_.text(14, y + 33, fmt::format("busy {:.1f} %", percent(busy)), small);
            canvas_.text(14, y + 48, fmt::format("HIGH {:.1f} %", percent(high)), small);
        } else {
            canvas_.text(14, y + 28, fmt::format("busy {:.1f} %", percent(busy)), small);
        }
        const std::string mark = "text-anchor=\"end\" font-size=\"10\" fill=\"#555555\"";
        canvas_.text(plot_left - 6, y + 8, "100 %", mark);
        if (row_height_ >= 60)
            canvas_.text(plot_left - 6, y + row_height_ / 2 + 4, "50", mark);
        canvas_.text(plot_left - 6, y + row_height_, "0", mark);
    }

    void draw_core(unsigned core, double y) {
        const std::vector<Layer> layers = layers_of(core);
        row_head(core, y, layers);
        std::vector<double> level(bars_, 0.0); // the share of each bar that is stacked so far
        for (const Layer& layer : layers)
            draw_layer(core, layer, level, y);
        if (row_height_ >= 60)
            canvas_.line(plot_left, y + row_height_ / 2, plot_right, y + row_height_ / 2,
                         "stroke=\"#777777\" stroke-dasharray=\"2 4\" stroke-width=\"0.7\"");
        canvas_.line(plot_left, y + row_height_, plot_right, y + row_height_, "stroke=\"#999999\"");
        if (has_strips())
            draw_preemptions(core, y + row_height_ + strip_gap);
    }

    /// Draws one outline for each stretch of bars in which the layer is not empty.
    void draw_layer(unsigned core, const Layer& layer, std::vector<double>& level, double y) {
        const std::string& task = density_.tasks()[layer.task];
        const TaskStyle& style = styles_.of(task);
        std::string outline;
        const auto at_y = [&](double share) {
            return y + row_height_ * (1 - std::min(share, 1.0));
        };
        for (std::size_t bar = 0; bar < bars_;) {
            if (layer.busy[bar] == 0) {
                bar++;
                continue;
            }
            std::size_t end = bar;
            std::string upper;
            std::string lower;
            for (; end < bars_ && layer.busy[end] != 0; end++) {
                const double x1 = axis_.x(bar_start(end));
                const double x2 = axis_.x(bar_end(end));
                const double share = static_cast<double>(layer.busy[end]) /
                                     static_cast<double>(bar_end(end) - bar_start(end));
                const double below = at_y(level[end]);
                level[end] += share;
                const double above = at_y(level[end]);
                upper += fmt::format("{}{:.1f} {:.2f}L{:.1f} {:.2f}", end == bar ? "M" : "L", x1,
                                     above, x2, above);
                lower = fmt::format("L{:.1f} {:.2f}L{:.1f} {:.2f}", x2, below, x1, below) + lower;
            }
            outline += upper + lower + "z";
            bar = end;
        }
        canvas_.begin_group("layer", fmt::format("{} on {}, {}: {}", task, name_of(core),
                                                 layer.high ? "HIGH" : "NORMAL",
                                                 duration_text(layer.sum, 3)));
        canvas_.path(outline, fmt::format("fill=\"{}\"", style.fill));
        if (!style.overlay.empty())
            canvas_.path(outline, fmt::format("fill=\"{}\"", style.overlay));
        if (layer.high)
            canvas_.path(outline, fmt::format("fill=\"{}\"", high_pattern));
        canvas_.end_group();
    }

    void draw_preemptions(unsigned core, double y) {
        const std::vector<std::uint64_t> counts = preemptions_of(core);
        std::uint64_t sum = 0;
        for (std::uint64_t count : counts)
            sum += count;
        canvas_.text(plot_left - 6, y + strip_height, fmt::format("{} preempted", sum),
                     "text-anchor=\"end\" font-size=\"10\" fill=\"#555555\"");
        canvas_.rectangle(plot_left, y, plot_right - plot_left, strip_height, "fill=\"#f3f3f3\"");
        std::vector<StripBar> bars;
        for (std::size_t bar = 0; bar < bars_; bar++)
            bars.push_back({axis_.x(bar_start(bar)), axis_.x(bar_end(bar)), counts[bar]});
        draw_strip(canvas_, y, bars, most_preemptions_);
    }

    const Density& density_;
    const Timeline& described_;
    std::vector<unsigned> cores_;
    TimeAxis axis_;
    TaskStyles styles_;
    Canvas canvas_;
    double row_height_;
    double row_gap_;
    std::uint64_t bar_bins_;
    std::uint64_t first_bar_ = 0;
    std::size_t bars_ = 0;
    std::uint64_t most_preemptions_ = 0;
};

} // namespace

std::string to_svg(const Density& density, std::string_view title) {
    return to_svg(density, Timeline{.title = std::string(title)});
}

std::string to_svg(const Density& density, const Timeline& described) {
    return DensityPicture(density, described).draw();
}

} // namespace overtake::timeline
