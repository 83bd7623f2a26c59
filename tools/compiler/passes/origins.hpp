// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

struct Origin {
    std::string name;
    std::string kind; ///< its operator
};

/// Records the nodes of a graph before fold() merges them.
class Origins {
public:
    /// Copies the names, operators and inputs of the nodes.
    explicit Origins(const Graph& before_folding);

    /// Returns the nodes that compute the folded node's output from its inputs.
    std::vector<Origin> of(const Node& folded) const;

private:
    struct Writer {
        std::string name, kind;
        std::vector<ValueId> inputs;
    };
    std::vector<std::optional<Writer>> writers_; // by value
};

/// Returns the name of the recurrence that the node of this name is a part of, or this name if
/// there is none.
const std::string& recurrence_of(const Graph& graph, const std::string& name);

} // namespace overtake::compiler
