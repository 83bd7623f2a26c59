// SPDX-License-Identifier: MIT
#include "observe/blame/processor_waits.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace overtake::blame {

void ProcessorWaits::add_processor(std::string name, std::uint32_t workers, std::uint64_t time) {
    Processor& processor = processors_.emplace_back();
    processor.name = std::move(name);
    processor.workers = std::max(1u, workers);
    processor.updated = time;
}

void ProcessorWaits::describe(std::uint32_t processor, const std::string& name,
                              std::uint32_t workers) {
    Processor& of = processors_[processor];
    if (of.name != name)
        of.name = name;
    of.workers = std::max(1u, workers);
}

/// Adds the time since the last update to the processor's clock.
void ProcessorWaits::update(Processor& processor, std::uint64_t time) const {
    const std::uint64_t passed = time - std::exchange(processor.updated, time);
    for (std::size_t i = 0; i < processor.executing.size(); i++)
        processor.clock.busy[i] += passed * processor.executing[i];
    if (is_idle(processor))
        processor.clock.idle += passed;
}

void ProcessorWaits::update_all(std::uint64_t time) {
    for (Processor& processor : processors_)
        update(processor, time);
}

void ProcessorWaits::set_in_use(std::uint32_t processor, bool in_use, std::uint64_t time) {
    update(processors_[processor], time);
    processors_[processor].in_use = in_use;
}

void ProcessorWaits::begin_wait(Account& account, std::uint64_t time) {
    account.since = time;
    account.clocks.clear();
    update_all(time);
    for (const Processor& processor : processors_)
        account.clocks.push_back(processor.clock);
}

/// Returns the other processor that was idle for longest in the wait, of those that can run the
/// unit.
ProcessorWaits::Other ProcessorWaits::other_for(const Account& account, std::uint32_t processor,
                                                const Takes& takes) const {
    Other best;
    for (std::uint32_t q = 0; q < processors_.size(); q++) {
        if (q == processor || q >= account.clocks.size())
            continue;
        const std::uint64_t idle = processors_[q].clock.idle - account.clocks[q].idle;
        if (idle <= best.idle)
            continue;
        if (const auto time = takes(q))
            best = {q, idle, *time};
    }
    return best;
}

void ProcessorWaits::end_wait(Account& account, std::uint32_t processor, std::uint64_t time,
                              const Takes& takes) {
    if (account.since == time)
        return;
    update_all(time);
    Part& part = account.parts[processor];
    part.time += time - account.since;
    if (processor == nowhere)
        return;
    const Clock& now = processors_[processor].clock;
    // A processor that was not known when the wait began has no times before that.
    const Clock before = processor < account.clocks.size() ? account.clocks[processor] : Clock{};
    part.busy.resize(std::max(part.busy.size(), now.busy.size()));
    for (std::size_t i = 0; i < now.busy.size(); i++)
        part.busy[i] += now.busy[i] - (i < before.busy.size() ? before.busy[i] : 0);
    const Other other = other_for(account, processor, takes);
    if (other.idle > part.other.idle)
        part.other = other;
}

void ProcessorWaits::arrive(Account& account, std::uint64_t time) {
    account = {};
    begin_wait(account, time);
}

void ProcessorWaits::occupy(std::uint32_t processor, std::uint32_t of_class, std::uint64_t time) {
    Processor& of = processors_[processor];
    update(of, time);
    if (of.executing.size() <= of_class) {
        of.executing.resize(of_class + 1);
        of.clock.busy.resize(of_class + 1);
    }
    of.executing[of_class]++;
    of.executing_all++;
}

void ProcessorWaits::release(std::uint32_t processor, std::uint32_t of_class, std::uint64_t time) {
    Processor& of = processors_[processor];
    update(of, time);
    of.executing[of_class]--;
    of.executing_all--;
}

void ProcessorWaits::begin(Account& account, std::uint32_t of_class, std::uint32_t processor,
                           std::uint64_t time, const Takes& takes) {
    if (account.executing++ == 0) {
        end_wait(account, processor, time, takes);
        account.since = time;
    }
    if (processor != nowhere)
        occupy(processor, of_class, time);
}

void ProcessorWaits::end(Account& account, std::uint32_t of_class, std::uint32_t processor,
                         std::uint64_t time) {
    if (processor != nowhere)
        release(processor, of_class, time);
    if (--account.executing != 0)
        return;
    account.own += time - account.since;
    begin_wait(account, time);
}

void ProcessorWaits::finish(Account& account, std::uint64_t time) {
    end_wait(account, nowhere, time, {});
}

std::string ProcessorWaits::words(const Account& account, double ms_per_time,
                                  std::span<const std::string> classes) const {
    const auto ms = [&](std::uint64_t time) { return static_cast<double>(time) * ms_per_time; };
    std::string text;
    for (const auto& [processor, part] : account.parts) {
        if (processor == nowhere) {
            text += fmt::format(" {:.3f} without a processor;", ms(part.time));
            continue;
        }
        text += fmt::format(" {:.3f} for {}", ms(part.time), name(processor));
        std::vector<std::string> names;
        for (std::size_t i = 0; i < part.busy.size(); i++)
            if (part.busy[i] != 0)
                names.push_back(classes[i]);
        if (!names.empty())
            text += fmt::format(" (busy with {})", fmt::join(names, ", "));
        if (const Other& other = part.other; other.processor != nowhere)
            text += fmt::format(
                ", could have run on {} (idle for {:.3f}{})", name(other.processor), ms(other.idle),
                other.takes != 0 ? fmt::format(", takes {:.3f}", ms(other.takes)) : "");
        text += ";";
    }
    return text + fmt::format(" {:.3f} own", ms(account.own));
}

nlohmann::ordered_json ProcessorWaits::parts(const Account& account, std::uint64_t ns_per_time,
                                             std::span<const std::string> classes) const {
    const auto ns = [&](std::uint64_t time) { return time * ns_per_time; };
    nlohmann::ordered_json parts = nlohmann::ordered_json::array();
    for (const auto& [processor, part] : account.parts) {
        nlohmann::ordered_json& json = parts.emplace_back();
        json["processor"] = nullptr;
        json["ns"] = ns(part.time);
        if (processor == nowhere)
            continue;
        json["processor"] = name(processor);
        json["busy_ns"] = nlohmann::ordered_json::object();
        for (std::size_t i = 0; i < part.busy.size(); i++)
            if (part.busy[i] != 0)
                json["busy_ns"][classes[i]] = ns(part.busy[i]);
        const Other& other = part.other;
        if (other.processor == nowhere)
            continue;
        json["other"] = {{"processor", name(other.processor)}, {"idle_ns", ns(other.idle)}};
        if (other.takes != 0)
            json["other"]["takes_ns"] = ns(other.takes);
    }
    return parts;
}

} // namespace overtake::blame
