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

/// Remembers the nodes of a graph before fold() made fewer of them.
class Origins {
public:
    /// Takes what it needs of the graph.
    explicit Origins(const Graph& before_folding);

    /// The nodes that compute the folded node's output from its inputs.
    std::vector<Origin> of(const Node& folded) const;

private:
    struct Writer {
        std::string name, kind;
        std::vector<ValueId> inputs;
    };
    std::vector<std::optional<Writer>> writers_; // by value
};

/// The recurrence that the node of this name is a part of; where it is none, the name.
const std::string& recurrence_of(const Graph& graph, const std::string& name);

} // namespace overtake::compiler
