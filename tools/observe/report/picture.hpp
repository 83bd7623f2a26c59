// SPDX-License-Identifier: MIT
//
// The report's pictures, as inline SVG. Colours are classes that the page's style defines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace overtake::report {

/// 1234567 as 1,234,567.
std::string grouped(std::uint64_t number);

/// Bytes in the unit that a reader would choose.
std::string bytes(std::uint64_t count);

/// Microseconds in the unit that a reader would choose.
std::string duration(double us);

/// "1 of 16 calibration samples": what cosines and errors were measured over.
std::string compared_samples(const nlohmann::ordered_json& summary);

/// What times of the CPU are estimated by: "1 us an operator, ...".
std::string cpu_rates(const nlohmann::ordered_json& summary);

/// What a tensor in device memory holds: "int8", or "NV12" for a camera's picture.
std::string device_type(const nlohmann::ordered_json& tensor);

/// Operators by the time of their nodes, the longest first; those of the CPU behind those of the
/// BPU.
struct OperatorTime {
    std::string type;
    bool on_bpu = true;
    double us = 0;
    std::size_t nodes = 0;
};
std::vector<OperatorTime> operator_times(const nlohmann::ordered_json& summary);

/// The class of the colour of an operator on the BPU: "c0" to "c6" for those that take longest,
/// "c7" for others.
std::string colour_class(const std::vector<OperatorTime>& operators, std::string_view type);

/// Every FC as a bar as high as it is long, in the colours of its operators, under the limit.
std::string fc_chart(const nlohmann::ordered_json& summary);

/// One inference from left to right: what runs when, and where FCs begin.
std::string time_strip(const nlohmann::ordered_json& summary);

/// Scratch memory from bottom to top, nodes from left to right: who lies where, and how long.
std::string memory_map(const nlohmann::ordered_json& summary);

} // namespace overtake::report
