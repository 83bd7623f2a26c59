// SPDX-License-Identifier: MIT
#include "network/unit_table.hpp"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "model_generated.h"
#include "overtake/error.hpp"

extern "C" {
#include "sched/coord/coord.h"
}

namespace overtake {

namespace {

constexpr std::size_t usual_core_class = 0;
constexpr std::size_t usual_cpu_class = 1;

/// Returns all tensors, also those between units.
const std::vector<Tensor>& tensors_of(const Model& model) {
    return ModelContents::of(model).tensors;
}

void add_once(std::vector<std::uint32_t>& numbers, std::uint32_t number) {
    if (std::ranges::find(numbers, number) == numbers.end())
        numbers.push_back(number);
}

/// Adds to the unit the tensors that a segment takes from outside, and those that it writes.
void note_tensors(UnitTable::Unit& unit, const Segment& segment, const Model& model) {
    for (const TensorBinding& binding : segment.bindings)
        if (binding.writable)
            add_once(unit.writes, binding.tensor);
        else if (std::ranges::find(unit.writes, binding.tensor) == unit.writes.end())
            add_once(unit.reads, binding.tensor);
    for (const CpuOp& op : segment.cpu_ops) {
        for (const std::uint32_t input : op.inputs)
            if (!tensors_of(model)[input].is_constant() &&
                std::ranges::find(unit.writes, input) == unit.writes.end())
                add_once(unit.reads, input);
        add_once(unit.writes, op.output);
    }
}

void add_inputs(UnitTable& table, const Model& model) {
    for (const std::uint32_t input : model.inputs())
        table.input_bytes += tensors_of(model)[input].bytes;
}

/// Returns the time that the CPU takes for FCs of the profile, if these only multiply.
std::uint64_t cpu_ns_of(const Segment& segment, const fbs::Profile& profile) {
    double cycles = 0;
    for (const std::uint64_t fc : segment.fc_cycles)
        cycles += static_cast<double>(fc);
    const double macs = cycles * std::max(profile.macs_per_cycle(), 1u);
    const double ns = macs * 1000 / std::max(profile.cpu_macs_per_us(), 1u);
    return static_cast<std::uint64_t>(std::clamp(ns, 1.0, 0x1p40));
}

UnitTable from_segments(const Model& model) {
    const ModelContents& contents = ModelContents::of(model);
    if (contents.segments.size() > OVT_COORD_MAX_UNITS)
        throw Error(EINVAL,
                    fmt::format("{}: {} segments, but several processors take at most {}; "
                                "compile the network again, which joins them",
                                model.name(), contents.segments.size(), OVT_COORD_MAX_UNITS));
    UnitTable table;
    table.classes = {{"npu", std::string(contents.profile_name)}, {"cpu", ""}};
    add_inputs(table, model);
    for (const Segment& segment : contents.segments) {
        const std::size_t number = table.segments.size();
        table.segments.push_back(&segment);
        UnitTable::Unit& unit = table.units.emplace_back();
        unit.after = number == 0 ? 0 : std::uint64_t{1} << (number - 1);
        unit.work.resize(table.classes.size());
        const std::uint64_t expected = std::max<std::uint64_t>(segment.expected_ns, 1);
        if (segment.on_bpu()) {
            unit.work[usual_core_class] = {number, 1, expected};
            unit.work[usual_cpu_class] = {number, 1,
                                          cpu_ns_of(segment, *contents.table->profile())};
        } else {
            unit.work[usual_cpu_class] = {number, 1, expected};
        }
        note_tensors(unit, segment, model);
        for (const std::uint32_t written : unit.writes)
            unit.output_bytes += tensors_of(model)[written].bytes;
    }
    return table;
}

} // namespace

UnitTable make_unit_table(const Model& model) {
    const ModelContents& contents = ModelContents::of(model);
    if (contents.units.empty())
        return from_segments(model);
    UnitTable table;
    for (const UnitClass& of_file : contents.classes)
        table.classes.push_back({std::string(of_file.name), std::string(of_file.profile_name)});
    add_inputs(table, model);
    for (const Unit& of_file : contents.units) {
        UnitTable::Unit& unit = table.units.emplace_back();
        unit.after = of_file.after;
        unit.operations = of_file.operations;
        unit.output_bytes = of_file.output_bytes;
        unit.work.resize(table.classes.size());
        for (std::size_t c = 0; c < table.classes.size(); c++) {
            if (!of_file.work[c])
                continue;
            const UnitWork& work = *of_file.work[c];
            unit.work[c] = {table.segments.size(), work.segments.size(),
                            std::max<std::uint64_t>(work.expected_ns, 1)};
            UnitTable::Unit noted;
            for (const Segment& segment : work.segments) {
                table.segments.push_back(&segment);
                note_tensors(noted, segment, model);
            }
            // Between the segments of one class there may be tensors that other classes have in
            // scratch.
            std::ranges::for_each(noted.reads, [&](auto number) { add_once(unit.reads, number); });
            std::ranges::for_each(noted.writes,
                                  [&](auto number) { add_once(unit.writes, number); });
        }
    }
    return table;
}

} // namespace overtake
