// SPDX-License-Identifier: MIT
#include "scheduler/shrink.hpp"

#include <algorithm>
#include <utility>

namespace overtake::fuzz {
namespace {

class Shrink {
public:
    Shrink(Case failing, const std::function<bool(const Case&)>& fails)
        : best_(std::move(failing)), fails_(fails) {}

    Case shrink() {
        bool smaller = true;
        while (smaller && budget_ > 0) {
            smaller = better_host();
            smaller |= fewer_commands();
            smaller |= simpler_commands();
            smaller |= simpler_models();
        }
        return best_;
    }

private:
    bool attempt(const Case& smaller) {
        if (budget_ == 0)
            return false;
        budget_--;
        if (!fails_(smaller))
            return false;
        best_ = smaller;
        return true;
    }

    /// Tries one change. Returns true if the case still fails with it. `make` returns false if it
    /// changes nothing.
    template <class Change>
    bool change(Change make) {
        Case smaller = best_;
        return make(smaller) && attempt(smaller);
    }

    template <class Value>
    static bool set(Value& value, Value to) {
        return std::exchange(value, to) != to;
    }

    bool better_host() {
        bool any = change([](Case& of) { return set(of.faults.lost_percent, 0u); });
        any |= change([](Case& of) { return set(of.faults.duplicate_percent, 0u); });
        any |= change([](Case& of) { return set(of.faults.latency_max, 0u); });
        any |= change([](Case& of) { return set(of.mode, OVT_MODE_TIMED); });
        any |= change([](Case& of) { return set(of.fair, false); });
        any |= change([](Case& of) { return set(of.settings.policy, ovt_sched_policy_at(0)); });
        any |= change([](Case& of) { return set(of.service_mode, false); });
        any |= change([](Case& of) { return set(of.settings.slots, 1u); });
        any |= change([](Case& of) { return set(of.settings.share, false); });
        any |= change([](Case& of) { return set(of.settings.overdue_min_time, std::uint64_t{0}); });
        return any;
    }

    /// Returns the case without the commands [from, to). A cancel goes with its submit.
    static Case without(const Case& of, std::size_t from, std::size_t to) {
        Case smaller = of;
        smaller.commands.clear();
        std::vector<std::int64_t> renumbered; // of each submit; -1: gone
        std::int64_t kept = 0;
        for (std::size_t i = 0; i < of.commands.size(); i++) {
            Command command = of.commands[i];
            const bool gone = i >= from && i < to;
            if (command.type == CommandType::submit)
                renumbered.push_back(gone ? -1 : kept++);
            if (gone)
                continue;
            if (command.type == CommandType::cancel) {
                if (command.target >= renumbered.size() || renumbered[command.target] < 0)
                    continue;
                command.target = static_cast<std::uint32_t>(renumbered[command.target]);
            }
            smaller.commands.push_back(command);
        }
        return smaller;
    }

    bool fewer_commands() {
        bool any = false;
        for (std::size_t chunk = std::max<std::size_t>(best_.commands.size() / 2, 1); chunk > 0;
             chunk /= 2) {
            for (std::size_t from = 0; from < best_.commands.size() && budget_ > 0;) {
                if (attempt(without(best_, from, from + chunk)))
                    any = true;
                else
                    from += chunk;
            }
        }
        return any;
    }

    bool simpler_commands() {
        bool any = false;
        for (std::size_t i = 0; i < best_.commands.size() && budget_ > 0; i++) {
            any |= change([i](Case& of) { return set(of.commands[i].after, std::uint64_t{0}); });
            any |= change([i](Case& of) { return set(of.commands[i].custom_id, std::int64_t{0}); });
            any |= change([i](Case& of) { return set(of.commands[i].process, 0u); });
        }
        return any;
    }

    bool simpler_models() {
        bool any = drop_models();
        for (std::size_t m = 0; m < best_.models.size(); m++)
            for (std::size_t s = 0; s < best_.models[m].segments.size() && budget_ > 0; s++)
                any |= simpler_segment(m, s);
        return any;
    }

    bool simpler_segment(std::size_t m, std::size_t s) {
        bool any = change([=](Case& of) {
            auto& segments = of.models[m].segments;
            segments.erase(segments.begin() + static_cast<std::ptrdiff_t>(s));
            return !segments.empty() && (of.task_level || !segments.front().fcs.empty());
        });
        if (s >= best_.models[m].segments.size())
            return any;
        any |= change([=, this](Case& of) {
            auto& fcs = of.models[m].segments[s].fcs;
            fcs.resize(fcs.size() - fcs.size() / 2);
            return fcs.size() != best_.models[m].segments[s].fcs.size();
        });
        any |= change([=](Case& of) {
            auto& fcs = of.models[m].segments[s].fcs;
            if (fcs.size() < 2)
                return false;
            fcs.pop_back();
            return true;
        });
        any |= change(
            [=](Case& of) { return set(of.models[m].segments[s].estimate, std::uint64_t{0}); });
        for (std::size_t f = 0; f < best_.models[m].segments[s].fcs.size() && f < 8; f++)
            any |=
                change([=](Case& of) { return set(of.models[m].segments[s].fcs[f].duration, 1u); });
        return any;
    }

    /// Removes the models that no command names.
    bool drop_models() {
        return change([](Case& of) {
            std::vector<bool> used(of.models.size(), false);
            for (const Command& command : of.commands)
                if (command.type == CommandType::submit)
                    used[command.model] = true;
            std::vector<std::uint32_t> renumbered(of.models.size());
            std::vector<Model> kept;
            for (std::size_t i = 0; i < of.models.size(); i++) {
                renumbered[i] = static_cast<std::uint32_t>(kept.size());
                if (used[i])
                    kept.push_back(of.models[i]);
            }
            if (kept.size() == of.models.size())
                return false;
            for (Command& command : of.commands)
                command.model = command.type == CommandType::submit ? renumbered[command.model] : 0;
            of.models = std::move(kept);
            return !of.models.empty();
        });
    }

    Case best_;
    const std::function<bool(const Case&)>& fails_;
    int budget_ = 4000;
};

} // namespace

Case shrink(Case failing, const std::function<bool(const Case&)>& fails) {
    return Shrink(std::move(failing), fails).shrink();
}

} // namespace overtake::fuzz
