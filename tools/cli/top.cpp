// SPDX-License-Identifier: MIT
//
// overtake top: which process holds a device now, and which waits behind which.
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <fmt/format.h>

#include "commands.hpp"
#include "device_facts.hpp"
#include "observe/watch/activity.hpp"
#include "observe/watch/processor_table.hpp"
#include "observe/watch/watching.hpp"
#include "option_checks.hpp"
#include "overtake/core_profiles.hpp"
#include "terminal.hpp"
#include "top_counters.hpp"
#include "top_view.hpp"
#include "units.hpp"

namespace overtake::command {
namespace {

constexpr char escape_key = 27;
constexpr char delete_key = 127;

struct TopOptions {
    std::string device = "auto";
    std::string sort = "utilisation";
    TopView view;
    double interval_s = 1;
    std::uint64_t frames = 0; ///< 0: until the user interrupts
    bool batch = false;
    bool json = false;
};

/// Returns the device's time, for kernel devices and for servers without a manual clock.
std::uint64_t clock_ns() {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                          std::chrono::steady_clock::now().time_since_epoch())
                                          .count());
}

/// A source for a device that has only counters.
class NoEvents final : public EventSource {
public:
    std::size_t read(std::span<Event>, std::int64_t) override { return 0; }
    std::uint64_t lost() const noexcept override { return 0; }
};

/// Opens the device's events. Without the right to use BPF, or built without it, a kernel device
/// still has counters.
watch::Watched watch_or_count(const std::string& name, std::optional<TopCounters>& counters,
                              std::string& reason) {
    try {
        return watch::watch_device(name, {.processors = true});
    } catch (const Error& error) {
        const std::string node = node_of(name);
        if (node.empty() || (error.code() != EPERM && error.code() != ENOTSUP))
            throw;
        counters.emplace(std::filesystem::path(node).filename());
        reason = error.what();
        return {.device = nullptr, .events = std::make_unique<NoEvents>()};
    }
}

class Top {
public:
    explicit Top(TopOptions options)
        : options_(std::move(options)),
          watched_(watch_or_count(options_.device, counters_, why_counters_)),
          expiry_(
              watched_, [this] { return activity_.pids(); },
              [this](const std::set<std::uint32_t>& pids) { activity_.forget(pids); }),
          activity_(now_ns(), watched_.device ? watched_.device->info().core_count : 0),
          last_ns_(now_ns()) {
        if (counters_) {
            fmt::print(stderr, "overtake: top: counters only, without who waits: {}\n",
                       why_counters_);
            counters_->take(last_ns_);
        }
        options_.view.profiles = unlike_profiles();
        if (!options_.batch)
            terminal_.emplace();
    }

    void run() {
        watch::watch(
            *watched_.events, 0,
            [&](const Event& event) {
                activity_.add(event);
                return true;
            },
            [&] { rest(); });
    }

private:
    /// Returns the profiles by core; empty if all cores have the same.
    std::vector<std::string> unlike_profiles() const {
        if (!watched_.device)
            return unlike_profiles_of_node(node_of(options_.device));
        std::vector<std::string> names;
        const auto profiles = watched_.device->core_profiles();
        if (!are_alike(profiles))
            for (const drm_overtake_core_profile& profile : profiles)
                names.emplace_back(name_of(profile));
        return names;
    }

    std::uint64_t now_ns() const {
        ManualClock* clock = watched_.device ? watched_.device->manual_clock() : nullptr;
        return clock ? clock->now_ns() : clock_ns();
    }

    /// Handles keys between events, and draws a new picture once an interval.
    void rest() {
        for (const watch::ProcessorEvent& event : watch::take_processor_events(*watched_.events))
            processors_.add(event);
        processors_.forget(ended_.look([this] { return processors_.processes(); }));
        if (terminal_ && take_keys())
            draw();
        expiry_.rest();
        const std::uint64_t now = clock_ns();
        if (static_cast<double>(now - last_ns_) < options_.interval_s * 1e9)
            return;
        last_ns_ = now;
        rows_ = processors_.take(now);
        snapshot_ = counters_ ? counters_->take(now) : activity_.take(now_ns());
        draw();
        if (options_.frames != 0 && ++frame_ == options_.frames)
            watch::stop();
    }

    std::string head() const {
        const std::uint64_t lost = watched_.events->lost();
        std::string text = fmt::format("overtake top: {}", options_.device);
        if (lost != 0)
            text += fmt::format(", {} events lost", lost);
        if (activity_.dropped() != 0)
            text += fmt::format(", {} jobs dropped", activity_.dropped());
        if (counters_)
            text += ", counters only";
        if (is_typing_)
            return text + fmt::format("   name has: {}_", options_.view.words);
        if (!options_.view.words.empty())
            text += fmt::format("   name has: {}", options_.view.words);
        if (options_.view.high_only)
            text += "   HIGH only";
        return terminal_ ? text + "   sort: u p w l   h HIGH only   / name   q quit" : text;
    }

    void draw() {
        if (options_.json) {
            nlohmann::ordered_json json = to_json(snapshot_, options_.view);
            if (!rows_.empty())
                json["processors"] = to_json(rows_, options_.view);
            json["lost"] = watched_.events->lost();
            json["dropped"] = activity_.dropped();
            fmt::print("{}\n", json.dump());
        } else if (terminal_) {
            const auto [columns, rows] = terminal_->size();
            terminal_->show(top_lines(snapshot_, options_.view, head(), columns, rows, rows_));
            return;
        } else {
            for (const std::string& line : top_lines(snapshot_, options_.view, head(), 0, 0, rows_))
                fmt::print("{}\n", line);
            fmt::print("\n");
        }
        std::fflush(stdout);
        if (std::ferror(stdout) != 0)
            watch::stop();
    }

    /// Returns true if another picture is to be drawn.
    bool take_keys() {
        bool changed = false;
        for (char key = terminal_->key(); key != 0; key = terminal_->key()) {
            changed = true;
            is_typing_ ? type(key) : command(key);
        }
        return changed;
    }

    void type(char key) {
        std::string& words = options_.view.words;
        if (key == '\n' || key == '\r' || key == escape_key) {
            is_typing_ = false;
            if (key == escape_key)
                words.clear();
        } else if (key == delete_key || key == '\b') {
            if (!words.empty())
                words.pop_back();
        } else if (key >= ' ') {
            words += key;
        }
    }

    void command(char key) {
        TopView& view = options_.view;
        switch (key) {
        case 'q':
            watch::stop();
            return;
        case 'u':
            view.order = TopOrder::utilisation;
            return;
        case 'p':
            view.order = TopOrder::pid;
            return;
        case 'w':
            view.order = TopOrder::waiting;
            return;
        case 'l':
            view.order = TopOrder::latency;
            return;
        case 'h':
            view.high_only = !view.high_only;
            return;
        case '/':
            view.words.clear();
            is_typing_ = true;
            return;
        default:
            return;
        }
    }

    TopOptions options_;
    std::optional<TopCounters> counters_; ///< used instead of events
    std::string why_counters_;
    watch::Watched watched_;
    watch::Expiry expiry_;
    watch::Activity activity_;
    watch::Snapshot snapshot_;
    watch::ProcessorTable processors_{clock_ns()};
    watch::EndedNowAndThen ended_;
    std::vector<watch::ProcessorRow> rows_;
    std::uint64_t last_ns_; ///< time of the last picture, CLOCK_MONOTONIC
    std::uint64_t frame_ = 0;
    bool is_typing_ = false;
    std::optional<Terminal> terminal_;
};

TopOrder order_of(const std::string& name) {
    if (name == "pid")
        return TopOrder::pid;
    if (name == "waiting")
        return TopOrder::waiting;
    return name == "latency" ? TopOrder::latency : TopOrder::utilisation;
}

int top(TopOptions& options, bool is_batch) {
    options.batch = is_batch || options.json;
    options.view.order = order_of(options.sort);
    watch::raise_descriptor_limit();
    watch::stop_on_signals();
    Top(options).run();
    return 0;
}

} // namespace

void add_top(CLI::App& app, int& status) {
    auto options = std::make_shared<TopOptions>();
    auto* command =
        app.add_subcommand("top", "Show who holds a device now, and who waits behind whom");
    command
        ->add_option("--device", options->device,
                     "Device: auto, kernel, server, server:SOCKET, /dev/accel/accelN, or "
                     "engines: those with several processors alone")
        ->capture_default_str();
    command
        ->add_option("--interval", options->interval_s,
                     "Seconds, or with a unit (500ms), from one picture to the next")
        ->transform(duration(TimeUnit::second, 0.05, 3600))
        ->capture_default_str();
    command
        ->add_option("--sort", options->sort,
                     "Order of processes: utilisation, pid, waiting or latency")
        ->check(one_of({"utilisation", "pid", "waiting", "latency"}))
        ->capture_default_str();
    command->add_option("--name", options->view.words, "Only processes whose name has this");
    auto* batch =
        command
            ->add_option("--batch", options->frames,
                         "Print N pictures one below the other; without N, until it is interrupted")
            ->expected(0, 1)
            ->check(whole_number(1, 1'000'000'000));
    command->add_flag("--json", options->json, "A JSON object for each picture");
    command->callback([options, batch, &status] { status = top(*options, batch->count() != 0); });
}

} // namespace overtake::command
