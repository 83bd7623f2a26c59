// SPDX-License-Identifier: MIT
//
// The report's pictures, as inline SVG. Colours are classes that the page's style defines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace overtake::report {

/// Writes 1234567 as 1,234,567.
std::string grouped(std::uint64_t number);

/// Writes a number of bytes in the unit that a reader would choose.
std::string bytes(std::uint64_t count);

/// Writes microseconds in the unit that a reader would choose.
std::string duration(double us);

/// Returns "1 of 16 calibration samples": the samples over which cosines and errors were measured.
std::string compared_samples(const nlohmann::ordered_json& summary);

/// Returns the rates by which times of the CPU are estimated: "1 us an operator, ...".
std::string cpu_rates(const nlohmann::ordered_json& summary);

/// Returns the type of a tensor in device memory: "int8", or "NV12" for a camera's picture.
std::string device_type(const nlohmann::ordered_json& tensor);

/// Operators by the time of their nodes, the longest first. All operators of the BPU come before
/// those of the CPU.
struct OperatorTime {
    std::string type;
    bool on_bpu = true;
    double us = 0;
    std::size_t nodes = 0;
};
std::vector<OperatorTime> operator_times(const nlohmann::ordered_json& summary);

/// Returns the class of the colour of an operator on the BPU: "c0" to "c6" for the operators that
/// take longest, "c7" for others.
std::string colour_class(const std::vector<OperatorTime>& operators, std::string_view type);

/// Draws every FC as a bar as high as the FC is long, in the colours of its operators, under the
/// limit.
std::string fc_chart(const nlohmann::ordered_json& summary);

/// Draws one inference from left to right: the operator that runs at each time, and the beginnings
/// of FCs.
std::string time_strip(const nlohmann::ordered_json& summary);

/// Draws scratch memory from bottom to top and nodes from left to right: the place of each tensor,
/// and the nodes between which it is kept.
std::string memory_map(const nlohmann::ordered_json& summary);

} // namespace overtake::report
