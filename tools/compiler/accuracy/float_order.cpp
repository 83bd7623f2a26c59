// SPDX-License-Identifier: MIT
#include "compiler/accuracy/float_order.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace overtake::compiler {
namespace {

// The number of sources that each step looks at: those with the greatest errors.
constexpr std::size_t most_looked_at = 64;
// The cost of a node beside its work, as a share of the network's work, for the conversion of its
// values.
constexpr double node_share = 0.002;

class FloatOrder {
public:
    FloatOrder(const std::vector<ErrorSource>& sources, const std::vector<double>& work,
               double wanted)
        : sources_(sources), work_(work), wanted_(wanted),
          all_work_(std::max(std::accumulate(work.begin(), work.end(), 0.0), 1.0)),
          in_float_(work.size()), of_node_(work.size()), missing_(sources.size()) {
        for (std::size_t index = 0; index < sources.size(); ++index) {
            missing_[index] = sources[index].nodes.size();
            left_.push_back(index);
            badness_.push_back(badness(sources[index].outputs));
            for (const std::size_t node : sources[index].nodes)
                of_node_[node].push_back(index);
        }
        std::ranges::stable_sort(left_, std::greater<>(),
                                 [&](std::size_t source) { return badness_[source]; });
        errors_.resize(sources.empty() ? 0 : sources[0].outputs.size());
        for (const ErrorSource& source : sources)
            for (std::size_t output = 0; output < errors_.size(); ++output)
                errors_[output] += source.outputs[output];
    }

    std::vector<FloatStep> run() {
        std::vector<FloatStep> steps;
        while (!left_.empty()) {
            FloatStep step;
            step.nodes = nodes_of(best_source());
            for (const std::size_t node : step.nodes)
                in_float_[node] = true;
            for (const std::size_t source : ended_by(step.nodes)) {
                for (std::size_t output = 0; output < errors_.size(); ++output)
                    errors_[output] -= sources_[source].outputs[output];
                missing_[source] = 0;
            }
            for (const std::size_t node : step.nodes)
                for (const std::size_t source : of_node_[node])
                    if (missing_[source] > 0)
                        --missing_[source];
            std::erase_if(left_, [&](std::size_t source) { return missing_[source] == 0; });
            for (double& error : errors_)
                error = left_.empty() ? 0 : std::max(error, 0.0);
            step.outputs = errors_;
            if (!step.nodes.empty())
                steps.push_back(std::move(step));
        }
        return steps;
    }

private:
    // Returns the number to reduce: errors beyond the wanted ones, and a little of each error.
    double badness(const std::vector<double>& errors) const {
        double sum = 0;
        for (const double error : errors)
            sum += std::max(error - wanted_, 0.0) + 0.001 * error;
        return sum;
    }

    std::vector<std::size_t> nodes_of(std::size_t source) const {
        std::vector<std::size_t> nodes;
        for (const std::size_t node : sources_[source].nodes)
            if (!in_float_[node])
                nodes.push_back(node);
        return nodes;
    }

    // Returns the sources that have no other nodes left than these.
    std::vector<std::size_t> ended_by(const std::vector<std::size_t>& nodes) const {
        std::vector<std::size_t> touched;
        for (const std::size_t node : nodes)
            std::ranges::copy(of_node_[node], std::back_inserter(touched));
        std::ranges::sort(touched);
        std::vector<std::size_t> ended;
        for (auto first = touched.begin(); first != touched.end();) {
            const auto last = std::upper_bound(first, touched.end(), *first);
            if (missing_[*first] > 0 && static_cast<std::size_t>(last - first) == missing_[*first])
                ended.push_back(*first);
            first = last;
        }
        return ended;
    }

    // Returns how much badness() falls for one unit of work, if all nodes of the source compute in
    // float.
    double worth(std::size_t source) const {
        const std::vector<std::size_t> nodes = nodes_of(source);
        std::vector<double> errors = errors_;
        for (const std::size_t ended : ended_by(nodes))
            for (std::size_t output = 0; output < errors.size(); ++output)
                errors[output] -= sources_[ended].outputs[output];
        double share = 0;
        for (const std::size_t node : nodes)
            share += work_[node] / all_work_ + node_share;
        return (badness(errors_) - badness(errors)) / share;
    }

    std::size_t best_source() const {
        const auto count = static_cast<std::ptrdiff_t>(std::min(left_.size(), most_looked_at));
        return *std::max_element(left_.begin(), left_.begin() + count,
                                 [&](std::size_t a, std::size_t b) { return worth(a) < worth(b); });
    }

    const std::vector<ErrorSource>& sources_;
    const std::vector<double>& work_;
    const double wanted_, all_work_;
    std::vector<bool> in_float_;                    // by node
    std::vector<std::vector<std::size_t>> of_node_; // sources of each node
    std::vector<double> badness_;                   // by source, alone
    std::vector<std::size_t> missing_, left_;       // nodes by source; sources, the worst first
    std::vector<double> errors_;                    // by output
};

} // namespace

std::vector<FloatStep> float_order(const std::vector<ErrorSource>& sources,
                                   const std::vector<double>& work, double wanted) {
    return FloatOrder(sources, work, wanted).run();
}

} // namespace overtake::compiler
