// SPDX-License-Identifier: MIT
#include "processors_records.hpp"

#include <algorithm>
#include <numeric>

namespace overtake::test::processors {

Records::Records(const Scenario& scenario)
    : scenario_(scenario), ratios_(scenario.processors.size(), 1000) {}

Time Records::expected(const std::string& model, const std::vector<std::size_t>& units,
                       std::size_t processor) const {
    const Time e = record_or_estimate({model, units, scenario_.processors[processor].class_name});
    return throttled(processor) ? half_up(static_cast<__int128>(e) * ratios_[processor], 1000) : e;
}

void Records::put(const std::string& model, const std::vector<std::size_t>& units,
                  std::size_t processor, Time executed) {
    const Key key = {model, units, scenario_.processors[processor].class_name};
    const auto record = records_.find(key);
    if (record != records_.end()) {
        const Time r = half_up(static_cast<__int128>(1000) * executed, record->second);
        ratios_[processor] = smooth(ratios_[processor], std::min<Time>(r, 10000));
    }
    if (throttled(processor))
        return;
    if (record == records_.end())
        records_[key] = executed;
    else
        record->second = smooth(record->second, executed);
}

Time Records::smooth(Time before, Time next) const {
    const Time weight = scenario_.smoothing;
    return ((100 - weight) * before + weight * next + 50) / 100;
}

Time Records::record_or_estimate(const Key& key) const {
    const auto record = records_.find(key);
    if (record != records_.end())
        return record->second;
    const auto& [model, units, class_name] = key;
    return estimate(scenario_.models.at(model), units, class_name);
}

Time Records::estimate(const Model& model, const std::vector<std::size_t>& units,
                       const std::string& class_name) const {
    if (model.measured.contains(class_name)) {
        const __int128 part = cost(scenario_, model, units, class_name);
        const __int128 whole =
            cost(scenario_, model, largest_pieces(model, class_name).at(0), class_name);
        return std::max<Time>(1, half_up(model.measured.at(class_name) * part, whole));
    }
    Time sum = 0;
    for (const std::size_t unit : units) {
        const std::vector<Time>& fcs = model.units[unit].time.at(class_name);
        sum += std::accumulate(fcs.begin(), fcs.end(), Time{0});
    }
    return sum;
}

std::vector<std::vector<std::size_t>> largest_pieces(const Model& model,
                                                     const std::string& class_name) {
    std::vector<std::vector<std::size_t>> largest;
    for (const std::vector<std::size_t>& chain : model.chains) {
        std::vector<std::size_t> piece;
        for (const std::size_t unit : chain) {
            if (!model.units[unit].time.contains(class_name)) {
                piece.clear();
                continue;
            }
            piece.push_back(unit);
            if (!largest.empty() && piece.size() > largest[0].size())
                largest.clear();
            if (largest.empty() || piece.size() == largest[0].size())
                largest.push_back(piece);
        }
    }
    std::ranges::sort(largest); // by first units, which differ
    return largest;
}

__int128 cost(const Scenario& scenario, const Model& model, const std::vector<std::size_t>& units,
              const std::string& class_name) {
    const auto outside = [&](std::size_t unit) {
        return std::ranges::find(units, unit) == units.end();
    };
    __int128 ops = 0;
    __int128 bytes = 0;
    std::vector<std::size_t> read; // predecessors outside, each once
    bool reads_input = false;
    for (const std::size_t number : units) {
        const Unit& unit = model.units[number];
        ops += unit.ops;
        reads_input = reads_input || unit.predecessors.empty();
        for (const std::size_t before : unit.predecessors)
            if (outside(before) && std::ranges::find(read, before) == read.end())
                read.push_back(before);
        if (unit.successors.empty() || std::ranges::any_of(unit.successors, outside))
            bytes += unit.bytes;
    }
    for (const std::size_t unit : read)
        bytes += model.units[unit].bytes;
    if (reads_input)
        bytes += model.input;
    const bool pools =
        std::ranges::find(scenario.processors, class_name, &Processor::class_name)->pool;
    return ops + (pools ? 10 : 1000) * bytes;
}

} // namespace overtake::test::processors
