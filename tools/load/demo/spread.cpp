// SPDX-License-Identifier: MIT
#include "load/demo/spread.hpp"

#include <algorithm>

namespace overtake::demo {
namespace {

template <typename Value>
void add(Spread& spread, const std::vector<Figures>& runs, Value Figures::*figure) {
    std::vector<Value> values;
    for (const Figures& run : runs)
        values.push_back(run.*figure);
    std::ranges::sort(values);
    spread.least.*figure = values.front();
    spread.median.*figure = values[(values.size() - 1) / 2];
    spread.most.*figure = values.back();
}

} // namespace

Spread spread(const std::vector<Figures>& runs) {
    Spread out{};
    for (std::uint64_t Figures::*figure :
         {&Figures::requests, &Figures::failed, &Figures::p50_ns, &Figures::p99_ns,
          &Figures::max_ns, &Figures::preemptions, &Figures::large_ran_dry,
          &Figures::large_turnaround_ns, &Figures::late_ns})
        add(out, runs, figure);
    for (double Figures::*figure : {&Figures::large_per_second, &Figures::fair_per_second})
        add(out, runs, figure);
    out.typical = static_cast<std::size_t>(
        std::ranges::find(runs, out.median.p99_ns, &Figures::p99_ns) - runs.begin());
    return out;
}

} // namespace overtake::demo
