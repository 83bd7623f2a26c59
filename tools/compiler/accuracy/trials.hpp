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
    bool is_near_by_numbers = false;     ///< it does so without its decisions and logits

    /// Returns OutputNearness::least() of the output farthest from float; 1 if it is NaN for each.
    float least_nearness() const;
};

/// The form of nodes for which 8 bits are too few.
enum class Remedy { bits_16, float_on_cpu };

/// Returns a text such as "3 nodes in float" or "1 node in 16 bits".
std::string remedied(std::size_t nodes, Remedy remedy);

/// Makes trials, and adds each to the report.
class Trials {
public:
    /// `graph` is about as large as those of the trials.  The other arguments outlive it.
    Trials(const Graph& graph, const Samples& samples, const CompileOptions& options,
           const DeviceProfile& device, const Progress& progress);

    /// Makes a network, calibrated with these samples or with more.  Returns nothing if the network
    /// is not worth a trial.
    using Make = std::function<std::optional<Trial>(const Samples& samples)>;
    /// Returns the trial that `make` makes, compared with float.  Adds it to the report as `what`,
    /// or as the number of nodes that it changes.  A large network with many samples is compared
    /// over some of them first, spread evenly.  It is compared over all samples if its cosines over
    /// some reach the accuracy, since a few decisions are too little evidence.  Samples of a
    /// sequence are all compared, as each follows from those before it.  Returns nothing if `make`
    /// does.  Returns nothing, and adds the refusal to the report, if `make` throws or lacks
    /// memory.
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
