// SPDX-License-Identifier: MIT
#include "simulator/processors/model_reader.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "overtake/error.hpp"
#include "simulator/models.hpp"

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

/// Returns a bit for each predecessor.
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

/// Adds the sums and the longest FCs of the unit whose FCs were added last.
void add_times(Model& model) {
    for (const std::vector<std::uint64_t>& of_class : model.fcs.back()) {
        std::uint64_t sum = 0;
        for (const std::uint64_t fc : of_class)
            sum += fc;
        model.times.push_back(sum);
        model.longest.push_back(of_class.empty() ? 0 : std::ranges::max(of_class));
    }
}

void read_unit(const Place& place, Model& model, const Classes& classes) {
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
    auto& fcs = model.fcs.emplace_back(classes.names.size());
    const Place time = place.at("time");
    if (!time.value().is_object())
        time.fail("not an object");
    if (time.value().empty())
        time.fail("no processor supports the unit");
    for (const auto& [name, unused] : time.value().items()) {
        const std::uint32_t index = class_number(time.at(name), name, classes.names);
        fcs[index] = fcs_of(time.at(name), classes.are_pools[index]);
    }
    add_times(model);
}

void read_units(const Place& place, const Classes& classes, Model& model) {
    const std::vector<Place> units = place.elements();
    if (units.size() > OVT_COORD_MAX_UNITS)
        place.fail(fmt::format("{} units, at most {}", units.size(), OVT_COORD_MAX_UNITS));
    for (const Place& unit : units)
        read_unit(unit, model, classes);
}

/// Returns the index of the scenario's class in the file, if the file has it.
std::optional<std::size_t> class_in_file(const Place& place, const ModelContents& contents,
                                         const std::string& name, bool is_pool) {
    const auto found = std::ranges::find(contents.classes, name, &UnitClass::name);
    if (found == contents.classes.end())
        return {};
    if (found->is_cores() == is_pool)
        place.fail(fmt::format("class \"{}\" has {} in the scenario and {} in the file", name,
                               is_pool ? "workers" : "cores", is_pool ? "cores" : "workers"));
    return static_cast<std::size_t>(found - contents.classes.begin());
}

/// Returns the times in whole ticks: one for each FC, or for a pool one in all.
std::vector<std::uint64_t> unit_times(const Place& place, const UnitClass& of, const UnitWork& work,
                                      std::uint64_t tick_ns) {
    std::vector<std::uint64_t> ns;
    if (of.is_cores())
        for (const overtake::Segment& segment : work.segments)
            for (const std::uint64_t fc : modelled_ns(of.clock_khz, segment))
                ns.push_back(fc);
    else
        ns.push_back(work.expected_ns);
    std::vector<std::uint64_t> times = whole_ticks(ns, tick_ns);
    std::uint64_t sum = 0;
    for (const std::uint64_t time : times) {
        sum += std::min(time, most_number + 1);
        if (sum > most_number)
            place.fail("the time of a unit passes 2^40");
    }
    return times;
}

void read_file(const Place& place, const Classes& classes, const std::filesystem::path& directory,
               Model& model) {
    std::shared_ptr<const overtake::Model> file;
    try {
        file = overtake::Model::load((directory / place.name()).string());
    } catch (const Error& error) {
        place.fail(error.what());
    }
    take_units(place, ModelContents::of(*file), classes, model);
}

} // namespace

void take_units(const Place& place, const ModelContents& contents, const Classes& classes,
                Model& model) {
    if (contents.units.empty())
        place.fail("the file has no units for several processors: compile the network again with "
                   "this version of overtake compile");
    std::vector<std::optional<std::size_t>> in_file;
    for (std::size_t i = 0; i < classes.names.size(); i++)
        in_file.push_back(class_in_file(place, contents, classes.names[i], classes.are_pools[i]));
    for (const UnitClass& of : contents.classes)
        model.classes_in_file.emplace_back(of.name);
    for (const std::uint32_t input : contents.inputs)
        model.input_bytes += contents.tensors[input].bytes;
    for (std::size_t number = 0; number < contents.units.size(); number++) {
        const overtake::Unit& unit = contents.units[number];
        model.units.push_back({.after = unit.after,
                               .bytes = std::min(unit.output_bytes, most_number),
                               .ops = std::min(unit.operations, most_number)});
        auto& fcs = model.fcs.emplace_back(classes.names.size());
        bool is_supported = false;
        for (std::size_t i = 0; i < in_file.size(); i++) {
            if (!in_file[i] || unit.work[*in_file[i]] == nullptr)
                continue;
            fcs[i] = unit_times(place, contents.classes[*in_file[i]], *unit.work[*in_file[i]],
                                classes.tick_ns);
            is_supported = true;
        }
        if (!is_supported) {
            std::string names;
            for (std::size_t i = 0; i < contents.classes.size(); i++)
                if (unit.work[i] != nullptr)
                    names += fmt::format("{}{}", names.empty() ? "" : ", ",
                                         nlohmann::json(contents.classes[i].name).dump());
            place.fail(fmt::format("no class of the scenario supports unit {} of the file; "
                                   "it was compiled for {}",
                                   number, names));
        }
        add_times(model);
    }
}

Model read_model(const Place& place, const std::string& name, const Classes& classes,
                 const std::filesystem::path& directory) {
    place.expect_object({"units", "file", "input", "measured"});
    Model model;
    model.name = name;
    if (place.has("file") && place.has("units"))
        place.fail("both file and units");
    if (place.has("file"))
        read_file(place.at("file"), classes, directory, model);
    if (place.has("input"))
        model.input_bytes = place.at("input").integer(0, most_number);
    if (!place.has("file"))
        read_units(place.at("units"), classes, model);
    model.measured.assign(classes.names.size(), 0);
    if (!place.has("measured"))
        return model;
    const Place measured = place.at("measured");
    if (!measured.value().is_object())
        measured.fail("not an object");
    for (const auto& [of_class, unused] : measured.value().items())
        model.measured[class_number(measured.at(of_class), of_class, classes.names)] =
            measured.at(of_class).integer(1, most_number);
    return model;
}

} // namespace overtake::simulator::processors
