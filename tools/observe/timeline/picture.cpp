// SPDX-License-Identifier: MIT
//
// The picture of a window of a timeline: one box for each FC that is wide enough to be seen.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "observe/timeline/axis.hpp"
#include "observe/timeline/canvas.hpp"
#include "observe/timeline/jobs.hpp"
#include "observe/timeline/lanes.hpp"
#include "observe/timeline/legend.hpp"
#include "observe/timeline/marks.hpp"
#include "observe/timeline/narrow_run.hpp"
#include "observe/timeline/timeline.hpp"

namespace overtake::timeline {
namespace {

constexpr double label_size = 11;
constexpr double narrowest_box = 1; ///< narrower boxes are joined with their neighbours
constexpr double mark_distance = 7; ///< marks that are closer become one mark
constexpr double strip_bar = 3;
constexpr double condition_bar = 4;
constexpr std::size_t most_marks = 50; ///< marks of a core; more become a strip
constexpr std::size_t most_lanes = 8;  ///< rows of CPU segments, and rows of requests

/// Heights, which are smaller the more cores there are.
struct Sizes {
    double lane;
    double lane_gap;
    double core_gap;

    explicit Sizes(std::size_t cores) {
        lane = cores <= 4 ? 34 : cores <= 8 ? 24 : cores <= 16 ? 17 : 11;
        lane_gap = cores <= 8 ? 4 : 2;
        core_gap = cores <= 8 ? 24 : cores <= 16 ? 14 : 9;
    }
    double core() const { return 2 * lane + lane_gap; }
    double pitch() const { return core() + core_gap; }
};

std::vector<std::string> all_tasks(const Timeline& timeline) {
    std::set<std::string> names(timeline.tasks.begin(), timeline.tasks.end());
    for (const Fc& fc : timeline.fcs)
        names.insert(fc.task);
    for (const CpuSegment& segment : timeline.cpu)
        names.insert(segment.task);
    for (const Request& request : timeline.requests)
        names.insert(request.task);
    return {names.begin(), names.end()};
}

class Picture {
public:
    Picture(const Timeline& timeline, std::uint64_t from_ns, std::uint64_t to_ns)
        : timeline_(timeline), axis_(from_ns, to_ns, plot_left, plot_right, timeline.origin_ns),
          styles_(all_tasks(timeline)) {
        for (unsigned lane = 1; lane <= timeline.lanes.size(); lane++)
            cores_[lane].rings = timeline.lanes[lane - 1].rings;
        for (const Fc& fc : timeline.fcs) {
            cores_.try_emplace(fc.core);
            if (visible(fc.start_ns, fc.end_ns)) {
                cores_[fc.core].lanes[fc.high].push_back(&fc);
                tasks_.insert(fc.task);
                fcs_++;
            }
        }
        if (cores_.empty())
            cores_.try_emplace(1);
        for (const Preemption& preemption : timeline.preemptions) {
            const bool inside = preemption.time_ns >= from_ns && preemption.time_ns < to_ns;
            if (auto core = cores_.find(preemption.core); inside && core != cores_.end()) {
                core->second.preemptions.push_back(preemption.time_ns);
                preemptions_++;
            }
        }
        for (auto& [number, core] : cores_) {
            std::sort(core.preemptions.begin(), core.preemptions.end());
            strips_ = strips_ || core.preemptions.size() > most_marks;
        }
        if (preemptions_ != 0 && !strips_)
            find_waits();
        if (strips_)
            fill_strips();
        pack_cpu_segments();
        pack_requests();
        for (const Unrecorded& part : timeline.unrecorded)
            if (visible(part.from_ns, part.to_ns))
                unrecorded_.push_back(&part);
        for (const Condition& condition : timeline.conditions)
            if (visible(condition.from_ns, condition.to_ns))
                conditions_.push_back(&condition);
        sizes_ = Sizes(cores_.size());
    }

    std::string draw() {
        Legend legend = make_legend();
        double y = legend_top + legend.height(plot_right - plot_left) + 14;
        double bottom = y - sizes_.core_gap + height_of(cpu_) + height_of(requests_) + 10;
        for (const auto& [number, core] : cores_)
            bottom += pitch_of(core);
        const bool tall = bottom > 700;
        if (tall)
            y += 18;
        head();
        legend.draw(canvas_, plot_left, legend_top, plot_right - plot_left);
        const double end = bottom + (tall ? 18 : 0);
        backgrounds(y);
        axis_.draw_grid(canvas_, y - 6, end);
        if (tall)
            axis_.draw_top_labels(canvas_, y - 4);
        const double cores_top = y;
        for (auto& [number, core] : cores_) {
            draw_core(number, core, y);
            draw_conditions(number, core, y);
            y += pitch_of(core);
        }
        draw_unrecorded(cores_top, y - sizes_.core_gap);
        draw_lanes("CPU", cpu_, y, [this](const CpuSegment& segment, double top) {
            draw_cpu_segment(segment, top);
        });
        y += height_of(cpu_);
        draw_lanes("requests", requests_, y,
                   [this](const Request& request, double top) { draw_request(request, top); });
        axis_.draw_labels(canvas_, end);
        return canvas_.document(end + TimeAxis::height);
    }

private:
    struct Wait {
        std::uint64_t start_ns;
        std::uint64_t end_ns;
    };
    struct Core {
        bool rings = true;
        std::vector<const Fc*> lanes[2]; ///< NORMAL, HIGH
        std::vector<std::uint64_t> preemptions;
        std::vector<Wait> waits; ///< waits of preempted jobs
        std::vector<StripBar> strip;
    };

    double height_of(const Core& core) const { return core.rings ? sizes_.core() : sizes_.lane; }
    double pitch_of(const Core& core) const { return height_of(core) + sizes_.core_gap; }

    std::string name_of(unsigned core) const {
        return core <= timeline_.lanes.size() ? timeline_.lanes[core - 1].name
                                              : fmt::format("core {}", core);
    }

    bool visible(std::uint64_t start_ns, std::uint64_t end_ns) const {
        return end_ns > axis_.from_ns() && start_ns < axis_.to_ns();
    }

    void find_waits() {
        for (const Job& job : jobs_of(timeline_))
            for (std::size_t at : job.preempted_before) {
                const Wait wait{job.fcs[at - 1]->end_ns, job.fcs[at]->start_ns};
                if (visible(wait.start_ns, wait.end_ns))
                    cores_[job.fcs[at]->core].waits.push_back(wait);
            }
    }

    std::uint64_t strip_bar_ns() const {
        return static_cast<std::uint64_t>(static_cast<double>(axis_.to_ns() - axis_.from_ns()) *
                                          strip_bar / (plot_right - plot_left));
    }

    void fill_strips() {
        const auto bars = static_cast<std::size_t>((plot_right - plot_left) / strip_bar);
        for (auto& [number, core] : cores_) {
            for (std::size_t bar = 0; bar < bars; bar++)
                core.strip.push_back({plot_left + static_cast<double>(bar) * strip_bar,
                                      plot_left + static_cast<double>(bar + 1) * strip_bar, 0});
            for (std::uint64_t time : core.preemptions) {
                const auto bar = static_cast<std::size_t>((axis_.x(time) - plot_left) / strip_bar);
                auto& count = core.strip[std::min(bar, bars - 1)].count;
                most_in_bar_ = std::max(most_in_bar_, ++count);
            }
        }
    }

    void pack_cpu_segments() {
        std::vector<const CpuSegment*> segments;
        for (const CpuSegment& segment : timeline_.cpu)
            if (visible(segment.start_ns, segment.end_ns))
                segments.push_back(&segment);
        std::ranges::stable_sort(segments, {}, &CpuSegment::start_ns);
        for (const CpuSegment* segment : segments)
            if (cpu_.add(*segment, segment->start_ns, segment->end_ns))
                tasks_.insert(segment->task);
    }

    void pack_requests() {
        std::vector<const Request*> requests;
        for (const Request& request : timeline_.requests)
            if (visible(request.arrival_ns, request.end_ns))
                requests.push_back(&request);
        std::ranges::stable_sort(requests, {}, &Request::arrival_ns);
        for (const Request* request : requests)
            if (requests_.add(*request, request->arrival_ns, request->end_ns))
                tasks_.insert(request->task);
    }

    /// Returns a time as the axis shows it.
    std::string time_text(std::uint64_t ns) const {
        const std::uint64_t origin = timeline_.origin_ns;
        return ns >= origin ? duration_text(ns - origin, 6) : "−" + duration_text(origin - ns, 6);
    }

    Legend make_legend() const {
        Legend legend;
        legend.add_tasks(styles_, {tasks_.begin(), tasks_.end()});
        legend.add_high_ring();
        if (std::ranges::any_of(conditions_, [](const auto* of) { return !of->works; }))
            legend.add("does not work", [](Canvas& canvas, double x, double y) {
                canvas.rectangle(x, y, 18, 14, unrecorded_style());
            });
        if (std::ranges::any_of(conditions_, &Condition::works))
            legend.add("at another speed", [](Canvas& canvas, double x, double y) {
                canvas.rectangle(x, y + 5, 18, condition_bar, speed_style());
            });
        if (requests_.count() != 0)
            legend.add("request, from its arrival to its end",
                       [](Canvas& canvas, double x, double y) {
                           canvas.rectangle(x, y + 1, 18, 12, request_style("#b8b8b8"));
                       });
        if (!unrecorded_.empty())
            legend.add("not recorded", [](Canvas& canvas, double x, double y) {
                canvas.rectangle(x, y, 18, 14, unrecorded_style());
            });
        if (strips_) {
            legend.add_preemption_strip(most_in_bar_, duration_text(strip_bar_ns()));
        } else if (preemptions_ != 0) {
            legend.add_preemption();
            legend.add("that job waits", [](Canvas& canvas, double x, double y) {
                canvas.line(x, y + 7, x + 18, y + 7, wait_style());
            });
        }
        return legend;
    }

    static std::string wait_style() {
        return fmt::format(
            "class=\"wait\" stroke=\"{}\" stroke-width=\"1.6\" stroke-dasharray=\"4 3\"",
            mark_colour);
    }

    static std::string request_style(std::string_view colour) {
        return fmt::format("rx=\"5\" fill=\"{0}\" fill-opacity=\"0.3\" stroke=\"{0}\" "
                           "stroke-width=\"1.4\"",
                           colour);
    }

    static std::string unrecorded_style() {
        return fmt::format("fill=\"{}\" stroke=\"#8a8a8a\" stroke-width=\"0.8\"",
                           unrecorded_pattern);
    }

    static std::string speed_style() { return "fill=\"#c77700\""; }

    void head() {
        std::string words = timeline_.lanes.empty()
                                ? fmt::format("{} FC{} on {} core{}", fcs_, fcs_ == 1 ? "" : "s",
                                              cores_.size(), cores_.size() == 1 ? "" : "s")
                                : fmt::format("{} FCs and runs of workers on {} cores and workers",
                                              fcs_, cores_.size());
        words = fmt::format("{} of device time: {}, {} preemption{}",
                            duration_text(axis_.to_ns() - axis_.from_ns(), 3), words, preemptions_,
                            preemptions_ == 1 ? "" : "s");
        if (cpu_.left_out() != 0)
            words += fmt::format("; {} CPU segments are not shown: more than {} at once",
                                 cpu_.left_out(), most_lanes);
        if (requests_.left_out() != 0)
            words += fmt::format("; {} requests are not shown: more than {} at once",
                                 requests_.left_out(), most_lanes);
        canvas_.head(timeline_.title, words);
    }

    void lane_background(double y, double high) {
        canvas_.rectangle(plot_left, y, plot_right - plot_left, high, "fill=\"#f3f3f3\"");
    }

    void backgrounds(double y) {
        for (const auto& [number, core] : cores_) {
            lane_background(y, sizes_.lane);
            if (core.rings)
                lane_background(y + sizes_.lane + sizes_.lane_gap, sizes_.lane);
            y += pitch_of(core);
        }
        for (std::size_t lane = 0; lane < cpu_.count(); lane++)
            lane_background(y + static_cast<double>(lane) * thin_pitch(), thin_lane());
    }

    void lane_label(std::string_view words, double y, double high) {
        const double size = std::min(high - 1, label_size);
        canvas_.text(plot_left - 8, y + high / 2 + size * 0.36, words,
                     fmt::format("text-anchor=\"end\" font-size=\"{:.1f}\"", size));
    }

    void draw_core(unsigned number, Core& core, double y) {
        const double normal_y = core.rings ? y + sizes_.lane + sizes_.lane_gap : y;
        const double size = std::min(14.0, height_of(core));
        canvas_.text(14, y + height_of(core) / 2 + size * 0.36,
                     shortened(name_of(number), core.rings ? 68 : 112, size),
                     fmt::format("font-size=\"{}\" font-weight=\"bold\"", size));
        if (core.rings) {
            lane_label("HIGH", y, sizes_.lane);
            lane_label("NORMAL", normal_y, sizes_.lane);
        }
        for (const Wait& wait : core.waits)
            canvas_.line(axis_.x(wait.start_ns), normal_y + sizes_.lane / 2, axis_.x(wait.end_ns),
                         normal_y + sizes_.lane / 2, wait_style());
        draw_lane(core.lanes[1], y);
        draw_lane(core.lanes[0], normal_y);
        if (!core.rings)
            return;
        if (strips_)
            draw_strip(canvas_, y + sizes_.core() + 2, core.strip, most_in_bar_);
        else
            draw_marks(core, normal_y);
    }

    void draw_lane(std::vector<const Fc*>& fcs, double y) {
        std::stable_sort(fcs.begin(), fcs.end(),
                         [](const Fc* a, const Fc* b) { return a->start_ns < b->start_ns; });
        NarrowRun narrow;
        const bool high = !fcs.empty() && fcs.front()->high;
        for (const Fc* fc : fcs) {
            const double begin = axis_.x(fc->start_ns);
            const double end = axis_.x(fc->end_ns);
            if (end - begin < narrowest_box) {
                if (auto box = narrow.add(fc->task, begin, end))
                    draw_narrow(*box, high, y);
                continue;
            }
            for (const auto& box : narrow.flush())
                draw_narrow(box, high, y);
            draw_box(*fc, begin, end, y);
        }
        for (const auto& box : narrow.flush())
            draw_narrow(box, high, y);
    }

    /// Returns "2", the request, in front of `rest`; `rest` alone if the request is not known.
    static std::string with_request(std::uint64_t request, const std::string& rest) {
        return request == 0 ? rest : fmt::format("{}{}{}", request, rest.empty() ? "" : " ", rest);
    }

    /// Draws the times for which a core does not work, and above them those for which its speed is
    /// another one.
    void draw_conditions(unsigned number, const Core& core, double y) {
        for (const Condition* condition : conditions_) {
            if (condition->core != number)
                continue;
            const double begin = axis_.x(condition->from_ns);
            const double wide = std::max(axis_.x(condition->to_ns) - begin, 1.0);
            canvas_.begin_group("condition",
                                fmt::format("{} {} from {}", name_of(number), condition->what,
                                            time_text(condition->from_ns)));
            if (condition->works)
                canvas_.rectangle(begin, y - condition_bar - 1, wide, condition_bar, speed_style());
            else
                canvas_.rectangle(begin, y, wide, height_of(core), unrecorded_style());
            const double need = text_width(condition->what, label_size) + 8;
            if (!condition->works && need <= wide && sizes_.lane >= label_size + 2) {
                canvas_.rectangle(begin + wide / 2 - need / 2, y + height_of(core) / 2 - 8, need,
                                  16, "rx=\"3\" fill=\"#ffffff\" fill-opacity=\"0.92\"");
                canvas_.text(begin + wide / 2, y + height_of(core) / 2 + label_size * 0.36,
                             condition->what,
                             fmt::format("text-anchor=\"middle\" font-size=\"{}\"", label_size));
            }
            if (condition->works && need <= wide && sizes_.core_gap >= 20)
                canvas_.text(begin, y - condition_bar - 3, condition->what,
                             fmt::format("font-size=\"10\" fill=\"#8a5200\""));
            canvas_.end_group();
        }
    }

    std::string place_of(const Fc& fc) const {
        if (fc.core <= timeline_.lanes.size() && !timeline_.lanes[fc.core - 1].rings)
            return name_of(fc.core);
        return fmt::format("{}, {}", name_of(fc.core), fc.high ? "HIGH" : "NORMAL");
    }

    void draw_box(const Fc& fc, double begin, double end, double y) {
        const double wide = end - begin;
        canvas_.begin_group("fc", fmt::format("{} {} on {}: {} from {}", fc.task,
                                              with_request(fc.request, fc_text(fc)), place_of(fc),
                                              duration_text(fc.end_ns - fc.start_ns, 3),
                                              time_text(fc.start_ns)));
        const std::string outline =
            wide > 3 ? "stroke=\"#333333\" stroke-width=\"0.8\""
                     : "stroke=\"#333333\" stroke-opacity=\"0.55\" stroke-width=\"0.35\"";
        styles_.fill(canvas_, fc.task, begin, y, wide, sizes_.lane, outline);
        if (fc.high)
            canvas_.rectangle(begin, y, wide, sizes_.lane,
                              fmt::format("fill=\"{}\"", high_pattern));
        if (sizes_.lane >= label_size + 2)
            draw_label(
                fc.task,
                with_request(fc.request, fc.what.empty() ? fmt::format("#{}", fc.index) : ""),
                fc.high, begin, end, y, sizes_.lane);
        canvas_.end_group();
    }

    /// Draws a box of narrow FCs. Its opacity is the part of it that is busy.
    void draw_narrow(const NarrowRun::Box& box, bool high, double y) {
        const double wide = std::max(box.end - box.begin, 0.5);
        const double busy = std::clamp(box.busy / wide, 0.0, 1.0);
        canvas_.begin_group("fcs", fmt::format("{} FC{}, mostly {}, {}: {:.0f} % busy", box.fcs,
                                               box.fcs == 1 ? "" : "s", box.task,
                                               high ? "HIGH" : "NORMAL", busy * 100));
        const std::string opacity = fmt::format("opacity=\"{:.2f}\"", std::max(busy, 0.25));
        const double begin = std::min(box.begin, plot_right - wide);
        styles_.fill(canvas_, box.task, begin, y, wide, sizes_.lane, opacity);
        if (high)
            canvas_.rectangle(begin, y, wide, sizes_.lane,
                              fmt::format("fill=\"{}\"", high_pattern));
        canvas_.end_group();
    }

    /// Draws the task (by its number, too, if it has one) with `detail` (request and FC) if there
    /// is room, or with the request alone.
    void draw_label(std::string_view task, std::string_view detail, bool on_hatch, double begin,
                    double end, double y, double high) {
        const TaskStyle& style = styles_.of(task);
        const std::string number = style.number != 0 ? fmt::format("{}", style.number) : "";
        const std::string name =
            number.empty() ? std::string(task) : fmt::format("{}: {}", number, task);
        const double room = end - begin - 5;
        std::string words = fmt::format("{} {}", name, detail);
        if (text_width(words, label_size) > room)
            words = fmt::format("{} {}", name, detail.substr(0, detail.find(" #")));
        if (text_width(words, label_size) > room)
            words = name;
        if (text_width(words, label_size) > room && room > 60 && number.empty())
            words = shortened(name, room, label_size);
        if (text_width(words, label_size) > room)
            words = number.empty() ? std::string(detail) : number;
        const double need = text_width(words, label_size);
        if (words.empty() || need > room)
            return;
        const double middle = (begin + end) / 2;
        const bool patterned = on_hatch || !style.overlay.empty();
        if (patterned)
            canvas_.rectangle(middle - need / 2 - 2, y + high / 2 - 8, need + 4, 16,
                              "rx=\"3\" fill=\"#ffffff\" fill-opacity=\"0.9\"");
        canvas_.text(middle, y + high / 2 + label_size * 0.36, words,
                     fmt::format("text-anchor=\"middle\" font-size=\"{}\" fill=\"{}\"", label_size,
                                 patterned ? "#222222" : style.ink));
    }

    void draw_marks(const Core& core, double normal_y) {
        const auto& times = core.preemptions;
        for (std::size_t at = 0; at < times.size();) {
            const double x = axis_.x(times[at]);
            std::size_t next = at + 1;
            while (next < times.size() && axis_.x(times[next]) - x < mark_distance)
                next++;
            const std::size_t joined = next - at;
            canvas_.begin_group(
                "preemption",
                joined == 1 ? fmt::format("preemption at {}", time_text(times[at]))
                            : fmt::format("{} preemptions from {}", joined, time_text(times[at])));
            const double size = std::min(5.0, sizes_.core_gap / 2.6);
            canvas_.line(x, normal_y - sizes_.lane_gap, x, normal_y + sizes_.lane,
                         fmt::format("stroke=\"{}\" stroke-width=\"1.2\"", mark_colour));
            draw_preemption_mark(canvas_, x, normal_y + sizes_.lane + 1, size);
            canvas_.end_group();
            at = next;
        }
    }

    double thin_lane() const { return std::min(sizes_.lane, 22.0); }
    double thin_pitch() const { return thin_lane() + 4; }
    template <typename Item>
    double height_of(const Lanes<Item>& lanes) const {
        return lanes.count() == 0
                   ? 0
                   : sizes_.core_gap + static_cast<double>(lanes.count()) * thin_pitch();
    }

    template <typename Item, typename Draw>
    void draw_lanes(std::string_view name, const Lanes<Item>& lanes, double y, Draw draw) {
        if (lanes.count() == 0)
            return;
        const double middle = static_cast<double>(lanes.count()) * thin_pitch() / 2;
        canvas_.text(14, y + middle + 4, name, "font-size=\"14\" font-weight=\"bold\"");
        for (std::size_t lane = 0; lane < lanes.count(); lane++) {
            for (const Item* item : lanes.items(lane))
                draw(*item, y);
            y += thin_pitch();
        }
    }

    void draw_cpu_segment(const CpuSegment& segment, double y) {
        const double begin = axis_.x(segment.start_ns);
        const double end = std::max(axis_.x(segment.end_ns), begin + 0.5);
        canvas_.begin_group(
            "cpu",
            fmt::format(
                "{} {}: {} from {}", segment.task,
                with_request(segment.request, fmt::format("CPU segment {}", segment.segment)),
                duration_text(segment.end_ns - segment.start_ns, 3), time_text(segment.start_ns)));
        styles_.fill(canvas_, segment.task, begin, y, end - begin, thin_lane(),
                     end - begin > 6 ? "stroke=\"#333333\" stroke-width=\"0.8\"" : "",
                     end - begin > 6 ? 5 : 0);
        if (thin_lane() >= label_size + 2)
            draw_label(segment.task, with_request(segment.request, ""), false, begin, end, y,
                       thin_lane());
        canvas_.end_group();
    }

    void draw_request(const Request& request, double y) {
        const double begin = axis_.x(request.arrival_ns);
        const double end = std::max(axis_.x(request.end_ns), begin + 0.5);
        const std::string latency = duration_text(request.end_ns - request.arrival_ns);
        canvas_.begin_group("request", fmt::format("{} request: {} from {}", request.task, latency,
                                                   time_text(request.arrival_ns)));
        canvas_.rectangle(begin, y, end - begin, thin_lane(),
                          request_style(styles_.of(request.task).fill));
        const std::string rough = duration_text(request.end_ns - request.arrival_ns, 1);
        for (const std::string& words :
             {fmt::format("{}: {}", request.task, latency), latency, rough})
            if (text_width(words, label_size) + 4 <= end - begin && thin_lane() >= label_size + 2) {
                canvas_.text((begin + end) / 2, y + thin_lane() / 2 + label_size * 0.36, words,
                             fmt::format("text-anchor=\"middle\" font-size=\"{}\"", label_size));
                break;
            }
        canvas_.end_group();
    }

    /// Draws the unrecorded time over all cores, with its reason if there is room.
    void draw_unrecorded(double top, double bottom) {
        for (const Unrecorded* part : unrecorded_) {
            const double begin = axis_.x(part->from_ns);
            const double end = axis_.x(part->to_ns);
            const std::string words = part->reason.empty()
                                          ? "not recorded"
                                          : fmt::format("not recorded: {}", part->reason);
            canvas_.begin_group("unrecorded", words);
            canvas_.rectangle(begin, top, end - begin, bottom - top, unrecorded_style());
            const double need = text_width(words, font_size) + 12;
            if (need <= end - begin) {
                const double middle = (begin + end) / 2;
                const double y = (top + bottom) / 2;
                canvas_.rectangle(middle - need / 2, y - 11, need, 22,
                                  "rx=\"4\" fill=\"#ffffff\" fill-opacity=\"0.92\"");
                canvas_.text(middle, y + 4, words, "text-anchor=\"middle\" fill=\"#222222\"");
            }
            canvas_.end_group();
        }
    }

    const Timeline& timeline_;
    TimeAxis axis_;
    TaskStyles styles_;
    Sizes sizes_{1};
    Canvas canvas_;
    std::map<unsigned, Core> cores_;
    std::set<std::string> tasks_;
    std::size_t fcs_ = 0;
    std::size_t preemptions_ = 0;
    bool strips_ = false; ///< there are too many preemptions for marks
    std::uint64_t most_in_bar_ = 0;
    Lanes<CpuSegment> cpu_{most_lanes};
    Lanes<Request> requests_{most_lanes};
    std::vector<const Unrecorded*> unrecorded_;
    std::vector<const Condition*> conditions_;
};

} // namespace

std::string to_svg(const Timeline& timeline, std::uint64_t from_ns, std::uint64_t to_ns) {
    return Picture(timeline, from_ns, to_ns).draw();
}

} // namespace overtake::timeline
