// SPDX-License-Identifier: MIT
#include "unit_summary.hpp"

#include <algorithm>
#include <span>
#include <string>

namespace overtake::command {
namespace {

using Json = nlohmann::ordered_json;

constexpr double ns_per_us = 1000;

Json unit_class(const UnitClass& of) {
    Json json = {{"name", std::string(of.name)}, {"processor", of.is_cores() ? "BPU" : "CPU"}};
    if (of.is_cores()) {
        json["profile"] = std::string(of.profile_name);
        json["clock_khz"] = of.clock_khz;
    }
    return json;
}

Json unit_work(const UnitClass& of, const UnitWork& work) {
    Json json = {{"class", std::string(of.name)},
                 {"us", static_cast<double>(work.expected_ns) / ns_per_us},
                 {"expected_ns", work.expected_ns}};
    if (!of.is_cores())
        return json;
    const Segment& segment = work.segments[0];
    json["fc_count"] = segment.fcs.size();
    json["longest_fc_us"] =
        static_cast<double>(*std::ranges::max_element(segment.fc_cycles)) * 1000 / of.clock_khz;
    json["scratch_bytes"] = segment.scratch_bytes;
    return json;
}

Json unit_entry(const ModelContents& contents, const Unit& unit) {
    Json json = {{"after", Json::array()},
                 {"operations", unit.operations},
                 {"output_bytes", unit.output_bytes},
                 {"work", Json::array()}};
    for (std::size_t other = 0; other < contents.units.size(); ++other)
        if (unit.after >> other & 1)
            json["after"].push_back(other);
    for (std::size_t index = 0; index < unit.work.size(); ++index)
        if (unit.work[index])
            json["work"].push_back(unit_work(contents.classes[index], *unit.work[index]));
    return json;
}

} // namespace

nlohmann::ordered_json summarise_units(const ModelContents& contents) {
    if (contents.units.empty())
        return nullptr;
    std::uint64_t added = 0;
    for (const Tensor& tensor : std::span(contents.tensors).subspan(contents.segment_tensors))
        added += tensor.bytes;
    Json json = {{"classes", Json::array()}, {"added_bytes", added}, {"units", Json::array()}};
    for (const UnitClass& of : contents.classes)
        json["classes"].push_back(unit_class(of));
    for (const Unit& unit : contents.units)
        json["units"].push_back(unit_entry(contents, unit));
    return json;
}

} // namespace overtake::command
