// SPDX-License-Identifier: MIT
//
// Coordinator: takes the times of a model's earlier runs, if the model and the processors are the
// same.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "coordination/coordinator.hpp"
#include "overtake/error.hpp"

namespace overtake::coordination {

namespace {

constexpr const char* remedy = "profile the model here (overtake profile)";

[[noreturn]] void refuse_times(const TimesFile& times, const std::string& place,
                               const std::string& what) {
    throw Error(EINVAL, fmt::format("{}: {}: {}", times.name, place, what));
}

std::string names_of(const std::vector<ProcessorClass>& classes) {
    std::string names;
    for (const ProcessorClass& of : classes)
        names += (names.empty() ? "" : ", ") + of.name;
    return names;
}

std::string list_of_units(std::uint64_t units) {
    std::string list;
    for (std::uint64_t rest = units; rest != 0; rest &= rest - 1)
        list += fmt::format("{}{}", list.empty() ? "" : ", ", std::countr_zero(rest));
    return list;
}

void check_class(const TimesFile& times, std::size_t index,
                 const std::vector<ProcessorClass>& classes) {
    const TimesFile::Class& of = times.classes[index];
    const std::string place = fmt::format("classes[{}]", index);
    const auto found = std::ranges::find(classes, of.name, &ProcessorClass::name);
    if (found == classes.end())
        refuse_times(times, place + ".name",
                     fmt::format("the engine has no class '{}' but {}; name it among the "
                                 "processors, or {}",
                                 of.name, names_of(classes), remedy));
    const TimesFile::Class here = described_class(*found);
    const auto compare = [&](const char* key, const std::string& there, const std::string& now) {
        if (there != now)
            refuse_times(times, fmt::format("{}.{}", place, key),
                         fmt::format("'{}', but class '{}' of the engine has '{}'; {}", there,
                                     of.name, now, remedy));
    };
    compare("kind", of.kind, here.kind);
    compare("device", of.device, here.device);
    compare("mode", of.mode, here.mode);
    compare("profile", of.profile, here.profile);
    compare("profile_digest", of.digest, here.digest);
}

} // namespace

TimesFile::Class described_class(const ProcessorClass& of) {
    TimesFile::Class described;
    described.name = of.name;
    described.kind = of.own ? "own" : of.profile_name.empty() ? "workers" : "cores";
    if (!described.are_cores())
        return described;
    described.device = of.cores.device;
    described.mode = of.cores.mode;
    described.profile = of.profile_name;
    described.digest = hexadecimal(of.cores.profile_digest);
    return described;
}

void Coordinator::check(const Model& model, const TimesFile& times) const {
    if (times.model != model.name())
        refuse_times(times, "model",
                     fmt::format("the times are of '{}', and this model is '{}'; {}", times.model,
                                 model.name(), remedy));
    if (times.model_digest != digest_of(model))
        refuse_times(
            times, "model_digest",
            fmt::format("the times are of another version of '{}'; {}", times.model, remedy));
    if (times.host != host_cpu())
        refuse_times(times, "host",
                     fmt::format("the times are of a machine with '{}', and this one has '{}'; {}",
                                 times.host, host_cpu(), remedy));
    for (std::size_t i = 0; i < times.classes.size(); i++)
        check_class(times, i, setup_.classes);
}

/// On a class whose times the compiler does not model, the measured time of the largest piece
/// scales the times of all pieces.  Each piece that was measured becomes a record.
void Coordinator::add_model(CoordinatedModel& model, const TimesFile& times) {
    add_model(model);
    ovt_coord_model& described = model.described();
    std::vector<std::uint64_t> measured(setup_.classes.size());
    for (u32 c = 0; c < setup_.classes.size(); c++) {
        const auto known =
            std::ranges::find(times.classes, setup_.classes[c].name, &TimesFile::Class::name);
        u64 units = 0;
        u64 cost = 0;
        if (known == times.classes.end() || setup_.classes[c].cores.take_modelled_time ||
            !ovt_coord_largest_piece(&coord_, &described, c, &units, &cost))
            continue;
        const auto largest = std::ranges::find(known->pieces, units, &TimesFile::Piece::units);
        if (largest != known->pieces.end())
            measured[c] = largest->time_ns;
    }
    model.set_measured(std::move(measured));
    add_model(model);
    for (std::size_t i = 0; i < times.classes.size(); i++) {
        const TimesFile::Class& of = times.classes[i];
        const auto c =
            static_cast<u32>(std::ranges::find(setup_.classes, of.name, &ProcessorClass::name) -
                             setup_.classes.begin());
        for (std::size_t p = 0; p < of.pieces.size(); p++)
            if (!ovt_coord_set_record(&described, c, of.pieces[p].units, of.pieces[p].time_ns))
                refuse_times(times, fmt::format("classes[{}].pieces[{}].units", i, p),
                             fmt::format("units {} are no piece of the model that class '{}' can "
                                         "run; {}",
                                         list_of_units(of.pieces[p].units), of.name, remedy));
    }
}

} // namespace overtake::coordination
