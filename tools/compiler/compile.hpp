// SPDX-License-Identifier: MIT
//
// The compiler as one call: an ONNX file in, the bytes of a model file out.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "compiler/accuracy/report.hpp"
#include "compiler/cores/balance.hpp"
#include "compiler/cores/core_plan.hpp"
#include "compiler/import/import.hpp"
#include "compiler/inputs/images.hpp"
#include "compiler/inputs/input_options.hpp"
#include "compiler/inputs/samples.hpp"
#include "compiler/quantise/calibrate.hpp"

namespace overtake::compiler {

/// A tensor that a configuration file names.
struct NamedTensor {
    std::string name;
    std::string place; ///< text with which warnings about it begin
};

/// A class of processors that units are compiled for.
struct ClassOption {
    std::string name;
    std::string profile; ///< its cores': a built-in name or a path; empty: CPU workers
};

struct CompileOptions {
    std::string model;                    ///< path of the ONNX file
    std::string name;                     ///< of the compiled model; empty: the file's
    std::vector<std::string> calibration; ///< [INPUT=]FILE or directory; none = random noise
    std::vector<std::string> states;      ///< OUTPUT=INPUT, of the next sample; see follow_states()
    CalibrationMethod method = CalibrationMethod::min_max;
    /// The nearness to float that each output must reach over all samples; see search_accuracy().
    /// 0: any.
    double accuracy = 0;
    std::vector<std::string> decisions; ///< OUTPUT[=AXIS], for that; see read_decisions()
    std::function<void(const AccuracyReport&)> report = {}; ///< called once by that search
    double percentile = 99.99;        ///< of calibration values to cover, in (50, 100]
    bool corrects_bias = true;        ///< see quantise()
    bool equalises_channels = true;   ///< see equalise()
    Normalisation normalisation = {}; ///< of pictures, where inputs are plain tensors
    std::vector<InputOptions> inputs; ///< options of inputs that are more than plain tensors
    bool wants_noise = false;         ///< the user asks for random calibration
    bool needs_given_scales = false;  ///< the model must be quantised already
    /// Nodes with 16 bits on the device beside those of import.int16; names may be unknown.
    std::set<std::string> nodes_in_16_bits;
    /// Steps of an RNN, GRU or LSTM up to which the device computes it where that takes less time.
    std::uint32_t unrolled_steps = 16;
    bool int8_outputs = false; ///< as the device has them: the library dequantises none
    bool int8_inputs = false;  ///< plain tensors of reals: the program quantises them
    std::vector<NamedTensor> int8_input_names, int8_output_names; ///< likewise, single tensors
    std::uint32_t max_time_per_fc_us = 0; ///< 0 = one FC per BPU segment; or from 1000
    std::string profile = "default";      ///< built-in name or path of a profile file
    std::vector<ClassOption> classes;     ///< for units; none: npu, cores of `profile`, and cpu
    std::uint32_t min_unit = 7;           ///< operators of a unit that an accelerator takes
    /// Cores that one request may use at once, 2 to 64; 0: no plan for several cores.
    unsigned cores = 0;
    std::vector<std::string> core_profiles; ///< of each of these cores; none: `profile`
    std::vector<Scheme> schemes;            ///< ways in which they share layers; none: all
    bool overlaps = true;                   ///< cores may compute twice instead of meeting
    std::string costs;                      ///< file of learned costs to plan by; empty: profile
    BalanceOptions balance = {};            ///< of the scheme `balanced`
    SharePriceMaker share_prices = {};      ///< prices for balancing; none: those of the plan
    unsigned seed = 1;                      ///< of the random calibration
    /// A shared object or a directory of them that registers custom operators; empty: none.
    std::string custom_op_library;
    ImportOptions import;
    /// Called with each warning about a model that compiles all the same.
    Warn warn = {};
};

/// Returns the place of each node, and the reason if the network is refused, as far as they can be
/// known without samples and times.
Survey check(const CompileOptions& options);

/// Called with the name of a step and the part of it that is done, 0..1.
using Progress = std::function<void(const std::string& what, double done)>;

/// Deterministic: the same options and files give the same bytes, unless `share_prices` measures.
/// Throws CompileError.
std::vector<std::uint8_t> compile(const CompileOptions& options, const Progress& progress = {});

} // namespace overtake::compiler
