// SPDX-License-Identifier: MIT
//
// The compiler as one call: an ONNX file in, the bytes of a model file out.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace overtake::compiler {

struct CompileOptions {
    std::string model;                    ///< path of the ONNX file
    std::vector<std::string> calibration; ///< [INPUT=]FILE.npy or directory; none = random noise
    double percentile = 100.0;            ///< of calibration values to cover, in (50, 100]
    std::uint32_t max_time_per_fc_us = 0; ///< 0 = one FC per BPU segment
    std::string profile = "default";
    unsigned seed = 1; ///< of the random calibration
};

/// Called with what is being done and how much of it, 0..1.
using Progress = std::function<void(const std::string& what, double done)>;

/// Deterministic: the same options and files give the same bytes.  Throws CompileError.
std::vector<std::uint8_t> compile(const CompileOptions& options, const Progress& progress = {});

} // namespace overtake::compiler
