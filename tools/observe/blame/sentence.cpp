// SPDX-License-Identifier: MIT
#include "observe/blame/sentence.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace overtake::blame {
namespace {

struct Phrase {
    std::string text;
    std::uint64_t ns = 0;
    std::uint64_t tenths = 0; ///< tenths of the unit
    bool own = false;
};

struct Unit {
    std::string_view name;
    std::uint64_t tenth_ns;
};

Unit unit_for(std::uint64_t ns) {
    if (ns >= 10'000'000'000)
        return {"s", 100'000'000};
    if (ns >= 1'000'000)
        return {"ms", 100'000};
    return {"us", 100};
}

std::string phrase(const Part& part, bool is_high, const NameOf& name_of) {
    const auto by = [&] { return name_of(part.by); };
    switch (part.cause) {
    case Cause::task_limit:
        return fmt::format("for the task limit, held by {}", by());
    case Cause::barred:
        return fmt::format("queued behind {}", by());
    case Cause::slot:
        return fmt::format("for the slot of {}", by());
    case Cause::worker:
        return "for a CPU worker";
    case Cause::behind_normal:
        return fmt::format("behind {}", by());
    case Cause::behind_high:
        return fmt::format(fmt::runtime(is_high ? "behind {}" : "overtaken by {}"), by());
    case Cause::held:
        return fmt::format("while {} held the core", by());
    case Cause::host:
        return "for the host";
    case Cause::stages:
        return "between stages";
    default:
        return "own";
    }
}

/// Merges parts that have the same words. The greatest phrase comes first, own work last.
std::vector<Phrase> phrases(const Report& report, const NameOf& name_of) {
    std::map<std::string, Phrase> merged;
    for (const Part& part : report.parts) {
        std::string text = phrase(part, report.priority >= 255, name_of);
        Phrase& of = merged[text];
        of.ns += part.ns;
        of.own = is_own(part.cause);
        of.text = std::move(text);
    }
    std::vector<Phrase> list;
    for (auto& [text, of] : merged)
        list.push_back(std::move(of));
    std::ranges::stable_sort(list, [](const Phrase& a, const Phrase& b) {
        return std::pair(a.own, ~a.ns) < std::pair(b.own, ~b.ns);
    });
    return list;
}

/// Rounds so that the printed times add up: the tenths that are left go to the phrases that lost
/// most by rounding down.
void round_to(std::vector<Phrase>& list, std::uint64_t tenth_ns, std::uint64_t tenths) {
    std::vector<std::size_t> by_rest(list.size());
    std::iota(by_rest.begin(), by_rest.end(), std::size_t{0});
    for (Phrase& of : list) {
        of.tenths = of.ns / tenth_ns;
        tenths -= std::min(of.tenths, tenths);
    }
    std::ranges::stable_sort(by_rest, std::greater<>{},
                             [&](std::size_t i) { return list[i].ns % tenth_ns; });
    for (std::size_t i = 0; i < by_rest.size() && tenths != 0; i++, tenths--)
        list[by_rest[i]].tenths++;
}

std::string in_tenths(std::uint64_t tenths) {
    return fmt::format("{}.{}", tenths / 10, tenths % 10);
}

} // namespace

std::string default_name(const Who& who) {
    std::string name = who.model != 0 ? fmt::format("model {}", who.model) : "";
    if (who.pid != 0)
        return name.empty() ? fmt::format("pid {}", who.pid)
                            : fmt::format("{} (pid {})", name, who.pid);
    return name.empty() ? fmt::format("client {}", who.client) : name;
}

std::string sentence(const std::string& name, const Report& report, const NameOf& name_of,
                     std::optional<std::uint64_t> limit_ns) {
    const std::uint64_t latency = report.latency_ns();
    const Unit unit = unit_for(latency);
    const std::uint64_t tenths =
        latency / unit.tenth_ns + (latency % unit.tenth_ns * 2 >= unit.tenth_ns);
    std::vector<Phrase> list = phrases(report, name_of);
    round_to(list, unit.tenth_ns, tenths);
    std::string text = fmt::format("{} {} {}", name, in_tenths(tenths), unit.name);
    if (limit_ns && latency > *limit_ns)
        text += fmt::format(", {} late", in_tenths((latency - *limit_ns) / unit.tenth_ns));
    const char* separator = ": ";
    for (const Phrase& of : list) {
        if (of.tenths == 0)
            continue;
        text +=
            fmt::format("{}{} {}", std::exchange(separator, ", "), in_tenths(of.tenths), of.text);
    }
    if (report.incomplete)
        text += "; events are missing";
    return text;
}

} // namespace overtake::blame
