// SPDX-License-Identifier: MIT
#include "observe/report/cores.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "observe/report/picture.hpp"
#include "observe/timeline/canvas.hpp"

namespace overtake::report {
namespace {

using Json = nlohmann::ordered_json;
using timeline::Canvas;

constexpr double chart_width = 1000, chart_left = 64,
                 chart_right = chart_width - 8; // as in the report's other pictures
constexpr double chart_top = 8, core_row = 22, core_bar = 18;

// A layer on one core.
struct Piece {
    std::size_t layer;
    std::size_t core;
    double begin_us, us;
};

struct Schedule {
    std::vector<Piece> pieces;
    std::vector<double> meetings; ///< when cores meet
    double us = 0;
};

// Schedules the layers of a stage one after the other on each core, in one FC. The next stage
// begins when all cores are done. Between two stages with different cores, a new FC and a
// synchronisation begin.
class Scheduler {
public:
    explicit Scheduler(const Json& plan)
        : plan_(plan), ends_(plan["cores"].size()), is_used_(ends_.size()) {}

    Schedule run() {
        std::size_t index = 0;
        for (const Json& layer : plan_["layers"]) {
            for (std::size_t core = 0; core < ends_.size(); ++core)
                if (const auto us = layer["us"][core].get<double>(); us > 0)
                    add(index, core, us);
            ++index;
            if (layer["transmits"].get<bool>())
                meet();
        }
        meet();
        return std::move(schedule_);
    }

private:
    void add(std::size_t layer, std::size_t core, double us) {
        if (!is_used_[core])
            pending_.push_back(core);
        is_used_[core] = true;
        block_.push_back({layer, core, 0, us});
    }

    void meet() {
        if (block_.empty())
            return;
        const bool goes_on = pending_.size() == 1 && pending_ == before_;
        for (const std::size_t core : pending_)
            ends_[core] =
                schedule_.us +
                (goes_on || schedule_.pieces.empty() ? 0 : plan_["sync_us"].get<double>()) +
                (goes_on ? 0 : plan_["cores"][core]["fc_overhead_us"].get<double>());
        for (Piece& piece : block_) {
            piece.begin_us = ends_[piece.core];
            ends_[piece.core] += piece.us;
            schedule_.us = std::max(schedule_.us, ends_[piece.core]);
            schedule_.pieces.push_back(piece);
        }
        schedule_.meetings.push_back(schedule_.us);
        before_ = std::exchange(pending_, {});
        is_used_.assign(is_used_.size(), false);
        block_.clear();
    }

    const Json& plan_;
    Schedule schedule_;
    std::vector<double> ends_;         // the ends of each core's last layer
    std::vector<bool> is_used_;        // in this block
    std::vector<std::size_t> pending_; // cores of this block
    std::vector<std::size_t> before_;  // the cores of the block before
    std::vector<Piece> block_;
};

std::string percents(const Json& shares) {
    std::vector<std::string> texts;
    for (const Json& share : shares)
        texts.push_back(fmt::format("{:.0f}", 100 * share.get<double>()));
    return fmt::format("{}", fmt::join(texts, "/"));
}

std::string times(const Json& us) {
    std::vector<std::string> texts;
    for (const Json& time : us)
        texts.push_back(fmt::format("{:.1f}", time.get<double>()));
    return fmt::format("{}", fmt::join(texts, "/"));
}

} // namespace

std::string core_names(const Json& plan) {
    std::vector<std::string> names;
    for (const Json& core : plan["cores"])
        names.push_back(core["profile"].get<std::string>());
    if (plan["are_alike"].get<bool>())
        return fmt::format("{} cores of {}", names.size(), names.front());
    return fmt::format("cores of {}", fmt::join(names, ", "));
}

std::string who_uses(const Json& plan) {
    return plan["are_alike"].get<bool>()
               ? "requests that name no core, on a device that has these cores; engines with "
                 "several processors use one core"
               : "sessions' requests that name no core, on a device that has these cores; engines, "
                 "hb_dnn and service mode use one core";
}

std::string core_text(const Json& summary) {
    if (!summary.contains("core_plan"))
        return "";
    const Json& plan = summary["core_plan"];
    std::string text;
    const auto add = [&]<typename... Arguments>(fmt::format_string<Arguments...> format,
                                                Arguments&&... arguments) {
        fmt::format_to(std::back_inserter(text), format, std::forward<Arguments>(arguments)...);
    };
    add("\nplan for {}: {:.1f} us, {:.2f} times as fast as one core ({:.1f} us); bound {:.1f} us\n",
        core_names(plan), plan["us"].get<double>(), plan["speed_up"].get<double>(),
        plan["one_core_us"].get<double>(), plan["bound_us"].get<double>());
    add("  used by {}\n", who_uses(plan));
    for (const Json& segment : plan["segments"])
        add("  segment {}: {} parts, {} stages, {} FCs, the longest {:.1f} us, expected {:.1f} us, "
            "scratch {} bytes\n",
            segment["segment"].get<std::size_t>(), segment["parts"].get<std::size_t>(),
            segment["stages"].get<std::size_t>(), segment["fc_count"].get<std::size_t>(),
            segment["longest_fc_us"].get<double>(), segment["us"].get<double>(),
            segment["scratch_bytes"].get<std::uint64_t>());
    add("  {:<32} {:<8} {:<5} {:>7}  {:<24} {}\n", "layer", "scheme", "meet", "halo %",
        "share of each core, %", "time of each core, us");
    for (const Json& layer : plan["layers"]) {
        const auto operations = static_cast<double>(
            std::max<std::uint64_t>(layer["operations"].get<std::uint64_t>(), 1));
        add("  {:<32} {:<8} {:<5} {:>7.1f}  {:<24} {}\n",
            summary["nodes"][layer["node"].get<std::size_t>()]["name"].get<std::string>(),
            layer["scheme"].get<std::string>(), layer["transmits"].get<bool>() ? "yes" : "no",
            100 * static_cast<double>(layer["halo_operations"].get<std::uint64_t>()) / operations,
            percents(layer["share"]), times(layer["us"]));
    }
    return text;
}

std::string core_chart(const Json& summary) {
    if (!summary.contains("core_plan") || summary["core_plan"]["layers"].empty())
        return "";
    const Json& plan = summary["core_plan"];
    const Schedule schedule = Scheduler(plan).run();
    const std::vector<OperatorTime> operators = operator_times(summary);
    const auto cores = static_cast<double>(plan["cores"].size());
    Canvas canvas;
    const double scale = (chart_right - chart_left) / std::max(schedule.us, 1e-9);
    for (std::size_t core = 0; core < plan["cores"].size(); ++core)
        canvas.text(chart_left - 6, chart_top + static_cast<double>(core) * core_row + core_bar - 4,
                    fmt::format("core {}", core + 1), "text-anchor=\"end\"");
    for (const Piece& piece : schedule.pieces) {
        const Json& layer = plan["layers"][piece.layer];
        const Json& node = summary["nodes"][layer["node"].get<std::size_t>()];
        canvas.rectangle(
            chart_left + piece.begin_us * scale,
            chart_top + static_cast<double>(piece.core) * core_row, std::max(piece.us * scale, 0.1),
            core_bar,
            fmt::format("class=\"{}\"", colour_class(operators, node["type"].get<std::string>())),
            fmt::format("{}: {}, {:.1f} us on core {}", node["name"].get<std::string>(),
                        layer["scheme"].get<std::string>(), piece.us, piece.core + 1));
    }
    for (const double meeting : schedule.meetings)
        canvas.line(chart_left + meeting * scale, chart_top - 4, chart_left + meeting * scale,
                    chart_top + cores * core_row - (core_row - core_bar) + 4, "class=\"grid\"");
    canvas.text(chart_right, chart_top + cores * core_row + 16, duration(plan["us"].get<double>()),
                "text-anchor=\"end\"");
    return canvas.element(chart_width, chart_top + cores * core_row + 24,
                          "One inference on several cores: which layer each computes, and where "
                          "they meet");
}

} // namespace overtake::report
