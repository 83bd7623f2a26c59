// SPDX-License-Identifier: MIT
#include "compiler/import/partition.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace overtake::compiler {
bool is_expensive(const std::string& type) {
    static const std::set<std::string> types = {
        "Conv",        "ConvTranspose",     "Gemm",         "MatMul", "MaxPool",
        "AveragePool", "GlobalAveragePool", "GlobalMaxPool"};
    return types.contains(type);
}

namespace {

class Neighbours {
public:
    Neighbours(const onnx::ModelProto& model, const std::vector<Placement>& placements,
               const GivenScales& given)
        : model_(model), placements_(placements), given_(given), edges_(placements.size()) {
        std::map<std::string, int> writers;
        for (int number = 0; number < model.graph().node_size(); ++number) {
            const auto& node = model.graph().node(number);
            int through = number;
            for (const std::string& input : node.input()) {
                const auto writer = writers.find(input);
                if (writer == writers.end())
                    continue;
                if (placements[static_cast<std::size_t>(number)] == Placement::nowhere)
                    through = writer->second; // another name of that node's output
                else
                    connect(writer->second, number);
            }
            for (const std::string& output : node.output())
                if (through != number ||
                    placements[static_cast<std::size_t>(number)] != Placement::nowhere)
                    writers[output] = through;
        }
    }

    std::set<int> cheaper_on_cpu() {
        std::set<int> result;
        std::set<int> seen;
        for (int number = 0; number < static_cast<int>(placements_.size()); ++number)
            if (is_cheap(number) && !seen.contains(number)) {
                group_.clear();
                cpu_ = bpu_ = 0;
                collect(number);
                seen.insert(group_.begin(), group_.end());
                if (cpu_ > bpu_)
                    result.insert(group_.begin(), group_.end());
            }
        return result;
    }

private:
    Placement placement(int number) const { return placements_[static_cast<std::size_t>(number)]; }

    bool is_cheap(int number) const {
        const auto& node = model_.graph().node(number);
        return placement(number) == Placement::bpu && !is_expensive(node.op_type()) &&
               std::ranges::none_of(
                   node.output(), [&](const auto& name) { return given_.tensors.contains(name); });
    }

    void connect(int writer, int reader) {
        edges_[static_cast<std::size_t>(writer)].insert(reader);
        edges_[static_cast<std::size_t>(reader)].insert(writer);
    }

    // Collects a group of cheap nodes, and counts the edges that leave it, by processor.
    void collect(int first) {
        std::vector<int> open = {first};
        group_.insert(first);
        while (!open.empty()) {
            const int number = open.back();
            open.pop_back();
            for (int other : edges_[static_cast<std::size_t>(number)]) {
                if (is_cheap(other)) {
                    if (group_.insert(other).second)
                        open.push_back(other);
                } else {
                    ++(placement(other) == Placement::cpu ? cpu_ : bpu_);
                }
            }
        }
    }

    const onnx::ModelProto& model_;
    const std::vector<Placement>& placements_;
    const GivenScales& given_;
    std::vector<std::set<int>> edges_;
    std::set<int> group_;
    std::size_t cpu_ = 0, bpu_ = 0;
};

} // namespace

std::set<int> cheaper_on_cpu(const onnx::ModelProto& model,
                             const std::vector<Placement>& placements, const GivenScales& given) {
    return Neighbours(model, placements, given).cheaper_on_cpu();
}

} // namespace overtake::compiler
