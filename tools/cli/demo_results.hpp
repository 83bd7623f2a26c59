// SPDX-License-Identifier: MIT
//
// The results of `overtake demo`, also as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "load/demo/predict.hpp"
#include "load/demo/spread.hpp"

namespace overtake::command {

struct DemoSetup {
    std::string device = "/dev/accel/accel0";
    demo::Networks networks;
    demo::Load load;
    std::string output_dir = ".";
    unsigned repeat = 1; ///< runs of each row
    /// The device's clock is 1/N of the clock for which the networks were compiled: periods are N
    /// times as long, and measured times are divided by N.
    unsigned time_scale = 1;
};

struct Measurement {
    std::vector<demo::Figures> runs;
    demo::Spread spread;
    demo::Figures replayed; ///< predicted from the arrivals of the typical run
    std::string picture;    ///< the middle of the typical run, SVG
    unsigned attempts = 1;  ///< how often it was measured, since it differed from the prediction
};

struct RowResult {
    demo::Row row;
    demo::Prediction predicted;
    std::optional<Measurement> measured;
};

struct DemoResults {
    DemoSetup setup;
    /// The cost of one request of the unsplit large network, alone.
    std::uint64_t large_cost_ns = 0;
    std::string kernel;            ///< release of the kernel measured on; empty: not measured
    std::vector<std::string> busy; ///< signs that the machine had too much other work
    std::vector<RowResult> rows;
};

double ms(std::uint64_t ns);

/// Returns the best figures of a row: measured, or else predicted.
const demo::Figures& best_known(const RowResult& result);
/// Returns the detector's p99 in the row without the large network; 0 if there is no such row.
std::uint64_t alone_p99_ns(const DemoResults& results);

/// Returns the name of a row's files, without spaces.
std::string stem(const demo::Row& row);
std::string predicted_picture_name(const demo::Row& row);
std::string measured_picture_name(const demo::Row& row);

/// Return the command lines of a row's clients. `run` counts from 1.
std::vector<std::string> detector_command(const DemoSetup& setup, const demo::Row& row,
                                          unsigned run);
std::vector<std::string> large_command(const DemoSetup& setup, const demo::Row& row, unsigned run);
/// Return where the clients write the result of each request, below the output directory.
std::string detector_records(const demo::Row& row, unsigned run);
std::string large_records(const demo::Row& row, unsigned run);

/// The most measurements of a row that differs from its prediction.
inline constexpr unsigned most_attempts = 3;
/// The requests of the detector in a probe of the host.
inline constexpr unsigned probe_requests = 200;
/// If p99 differs by more than this, the host disturbed the row.
inline constexpr double disturbed_percent = 10;
/// If the p99 of a probe is higher by more than this, the host is too late for this time scale.
inline constexpr double probe_percent = 5;
/// If a measurement differs by more than this, it counts as different from its prediction.
inline constexpr double tolerance_percent = 5;
double difference_percent(std::uint64_t measured, std::uint64_t predicted);
/// Returns whether the median or the 99th percentile differs.
bool differs(const demo::Figures& measured, const demo::Figures& predicted);
/// Returns whether the row was measured and its 99th percentile differs from the prediction by more
/// than disturbed_percent.
bool is_disturbed(const RowResult& result);

nlohmann::ordered_json to_json(const DemoResults& results);

} // namespace overtake::command
