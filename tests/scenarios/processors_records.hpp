// SPDX-License-Identifier: MIT
//
// Expected times and throttling of several processors.
#pragma once

#include <tuple>

#include "processors_format.hpp"

namespace overtake::test::processors {

class Records {
public:
    explicit Records(const Scenario& scenario);

    /// Returns the expected time of these units of the model on the processor.
    Time expected(const std::string& model, const std::vector<std::size_t>& units,
                  std::size_t processor) const;
    /// Records a run that is done; `executed` is its time without its lead.
    void put(const std::string& model, const std::vector<std::size_t>& units, std::size_t processor,
             Time executed);

    bool throttled(std::size_t processor) const { return ratios_[processor] > 1250; }
    /// Called if the processor had no unfinished run for long enough.
    void forget_ratio(std::size_t processor) { ratios_[processor] = 1000; }

private:
    using Key = std::tuple<std::string, std::vector<std::size_t>, std::string>;

    Time record_or_estimate(const Key& key) const;
    Time estimate(const Model& model, const std::vector<std::size_t>& units,
                  const std::string& class_name) const;
    Time smooth(Time before, Time next) const;

    const Scenario& scenario_;
    std::map<Key, Time> records_;
    std::vector<Time> ratios_; ///< in thousandths, by processor
};

/// Returns the pieces with the most units that the class supports, the lowest first.
std::vector<std::vector<std::size_t>> largest_pieces(const Model& model,
                                                     const std::string& class_name);

/// Returns the cost of these units on a class, by which a `measured` time is scaled.
__int128 cost(const Scenario& scenario, const Model& model, const std::vector<std::size_t>& units,
              const std::string& class_name);

} // namespace overtake::test::processors
