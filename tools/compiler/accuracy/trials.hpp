// SPDX-License-Identifier: MIT
//
// Makes networks in integers and compares them with float, one after the other.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/accuracy/report.hpp"
#include "compiler/candidate.hpp"
#include "compiler/file/compare.hpp"
#include "compiler/prepare.hpp"
#include "compiler/profile.hpp"

namespace overtake::compiler {

/// A network in integers, compared with float.
struct Trial {
    std::shared_ptr<PreparedNetwork> network;
    Candidate candidate;
    std::set<std::string> moved;         ///< nodes of the file on the CPU, for accuracy
    std::set<std::string> in_16_bits;    ///< nodes of the file that have 16 bits, for accuracy
    std::vector<OutputNearness> outputs; ///< over the samples that were compared
    std::size_t attempt = 0;             ///< its number in the report
    bool reaches = false;                ///< it reaches the accuracy over these samples
    bool is_near_by_numbers = false;     ///< it does so without its decisions

    /// Returns OutputNearness::least() of the output farthest from float; 1 if none has it.
    float least_nearness() const;
};

/// The form of nodes for which 8 bits are too few.
enum class Remedy { bits_16, float_on_cpu };

/// "3 nodes in float", "1 node in 16 bits"
std::string remedied(std::size_t nodes, Remedy remedy);

/// Makes trials, and adds each to the report.
class Trials {
public:
    /// `graph` is about as large as those of the trials.  The other arguments outlive it.
    Trials(const Graph& graph, const Samples& samples, const CompileOptions& options,
           const DeviceProfile& device, const Progress& progress);

    /// Makes a network, calibrated with these samples or with more; nothing if it is not worth a
    /// trial.
    using Make = std::function<std::optional<Trial>(const Samples& samples)>;
    /// What `make` makes, compared with float; written down as `what`, or with how many nodes it
    /// moves.  Of many samples of a large network it has some first, spread, as many as there is
    /// time for, and all if its numbers come near enough by those (a few decisions say too little
    /// of all); all of a sequence, as each follows from those before it.  None, and written down,
    /// if `make` throws or lacks memory.
    std::optional<Trial> attempt(const std::string& what, const Make& make);

    std::function<void(double)> step(std::string what) const;

    AccuracyReport report;

private:
    std::optional<Trial> compared(const Make& make, const Samples& samples,
                                  AccuracyAttempt& entry) const;
    bool is_near(const OutputNearness& output) const;
    double device_us(const Trial& trial) const;
    double cpu_us(const Trial& trial) const;

    const Samples& samples_;
    const CompileOptions& options_;
    const DeviceProfile& device_;
    const Progress& progress_;
    std::optional<Samples> some_; // of the samples, where a trial has no time for all
};

} // namespace overtake::compiler
