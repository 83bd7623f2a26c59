// SPDX-License-Identifier: MIT
#include "simulator/processors/model_reader.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace overtake::simulator::processors {
namespace {

std::uint32_t class_number(const Place& place, const std::string& name,
                           const std::vector<std::string>& class_names) {
    const auto found = std::ranges::find(class_names, name);
    if (found == class_names.end())
        place.fail(fmt::format("{} is no class of processors", nlohmann::json(name).dump()));
    return static_cast<std::uint32_t>(found - class_names.begin());
}

std::vector<std::uint64_t> fcs_of(const Place& place, bool is_pool) {
    std::vector<std::uint64_t> fcs;
    if (!place.value().is_array()) {
        fcs.push_back(place.integer(1, most_number));
        return fcs;
    }
    if (is_pool)
        place.fail("a list of FCs, but workers of a pool take a unit as a whole");
    std::uint64_t sum = 0;
    for (const Place& fc : place.elements()) {
        fcs.push_back(fc.integer(1, most_number));
        sum += fcs.back();
        if (sum > most_number)
            place.fail("the sum of the FCs passes 2^40");
    }
    return fcs;
}

/// Bits of the predecessors.
std::uint64_t after_of(const Place& place, std::size_t unit) {
    std::uint64_t after = 0;
    if (!place.value().is_array())
        place.fail("not a list");
    for (const Place& before : place.elements_if_any()) {
        const std::uint64_t number = before.integer(0, most_number);
        if (number >= unit)
            before.fail(fmt::format("{} does not stand before unit {}", number, unit));
        if ((after >> number & 1) != 0)
            before.fail(fmt::format("{} stands there twice", number));
        after |= std::uint64_t{1} << number;
    }
    return after;
}

void read_unit(const Place& place, Model& model, const std::vector<std::string>& class_names,
               const std::vector<bool>& class_is_pool) {
    place.expect_object({"time", "bytes", "ops", "after"});
    const std::size_t number = model.units.size();
    ovt_coord_unit unit{};
    if (place.has("bytes"))
        unit.bytes = place.at("bytes").integer(0, most_number);
    if (place.has("ops"))
        unit.ops = place.at("ops").integer(0, most_number);
    if (place.has("after"))
        unit.after = after_of(place.at("after"), number);
    else if (number != 0)
        unit.after = std::uint64_t{1} << (number - 1);
    model.units.push_back(unit);
    auto& fcs = model.fcs.emplace_back(class_names.size());
    const Place time = place.at("time");
    if (!time.value().is_object())
        time.fail("not an object");
    if (time.value().empty())
        time.fail("no processor supports the unit");
    for (const auto& [name, unused] : time.value().items()) {
        const std::uint32_t index = class_number(time.at(name), name, class_names);
        fcs[index] = fcs_of(time.at(name), class_is_pool[index]);
    }
    for (const std::vector<std::uint64_t>& of_class : fcs) {
        std::uint64_t sum = 0;
        for (const std::uint64_t fc : of_class)
            sum += fc;
        model.times.push_back(sum);
        model.longest.push_back(of_class.empty() ? 0 : std::ranges::max(of_class));
    }
}

} // namespace

Model read_model(const Place& place, const std::string& name,
                 const std::vector<std::string>& class_names,
                 const std::vector<bool>& class_is_pool) {
    place.expect_object({"units", "input", "measured"});
    Model model;
    model.name = name;
    if (place.has("input"))
        model.input_bytes = place.at("input").integer(0, most_number);
    const std::vector<Place> units = place.at("units").elements();
    if (units.size() > OVT_COORD_MAX_UNITS)
        place.at("units").fail(
            fmt::format("{} units, at most {}", units.size(), OVT_COORD_MAX_UNITS));
    for (const Place& unit : units)
        read_unit(unit, model, class_names, class_is_pool);
    model.measured.assign(class_names.size(), 0);
    if (!place.has("measured"))
        return model;
    const Place measured = place.at("measured");
    if (!measured.value().is_object())
        measured.fail("not an object");
    for (const auto& [of_class, unused] : measured.value().items())
        model.measured[class_number(measured.at(of_class), of_class, class_names)] =
            measured.at(of_class).integer(1, most_number);
    return model;
}

} // namespace overtake::simulator::processors
