// SPDX-License-Identifier: MIT
#include "compiler/onnx/fuse_space_to_depth.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/limits.hpp"
#include "compiler/onnx/file.hpp"
#include "compiler/onnx/graph_index.hpp"

namespace overtake::compiler {
namespace {

using onnx::NodeProto;
using Shape = std::vector<std::int64_t>;

struct Shuffle {
    const char* type;
    const char* mode; // of DepthToSpace
    std::int64_t block;
};

// Returns the shuffle that turns `from` into `to` through `middle` and a transposition of it.
std::optional<Shuffle> shuffle_of(const Shape& from, const Shape& middle, const Shape& perm,
                                  const Shape& to) {
    if (from.size() != 4 || middle.size() != 6 || to.size() != 4 || from[0] != 1 ||
        middle[0] != 1 || to[0] != 1)
        return std::nullopt;
    for (const Shape* shape : {&from, &middle, &to})
        if (std::ranges::any_of(*shape, [](auto size) { return size > max_dimension; }))
            return std::nullopt;
    const auto fits = [&](const Shape& order, std::size_t channels, std::size_t first_block,
                          std::size_t second_block, bool is_inverse) {
        const std::int64_t block = middle[first_block];
        const Shape &deep = is_inverse ? to : from, &wide = is_inverse ? from : to;
        return perm == order && block > 1 && block == middle[second_block] &&
               deep[1] == middle[channels] * block * block && wide[1] == middle[channels] &&
               wide[2] == deep[2] * block && wide[3] == deep[3] * block;
    };
    if (fits({0, 1, 4, 2, 5, 3}, 1, 2, 3, false) && middle[4] == from[2])
        return Shuffle{"DepthToSpace", "CRD", middle[2]};
    if (fits({0, 3, 4, 1, 5, 2}, 3, 1, 2, false) && middle[4] == from[2])
        return Shuffle{"DepthToSpace", "DCR", middle[1]};
    if (fits({0, 3, 5, 1, 2, 4}, 1, 3, 5, true) && middle[2] == to[2])
        return Shuffle{"SpaceToDepth", nullptr, middle[3]};
    return std::nullopt;
}

class ShuffleRecogniser {
public:
    explicit ShuffleRecogniser(onnx::GraphProto& graph) : graph_(graph), index_(graph) {}

    void run() {
        for (NodeProto& node : *graph_.mutable_node())
            if (node.op_type() == "Reshape")
                recognise(node);
    }

private:
    void recognise(NodeProto& last) {
        const NodeProto* transposition = index_.writer(last.input(0), "Transpose");
        const NodeProto* first =
            transposition ? index_.writer(transposition->input(0), "Reshape") : nullptr;
        if (!first)
            return;
        const std::string source = first->input(0);
        const auto shuffle = shuffle_of(index_.shape(source), index_.shape(first->output(0)),
                                        Attributes(*transposition).integers("perm", {}),
                                        index_.shape(last.output(0)));
        if (!shuffle)
            return;
        last.set_op_type(shuffle->type);
        last.clear_input();
        last.add_input(source);
        last.clear_attribute();
        auto& block = *last.add_attribute();
        block.set_name("blocksize");
        block.set_type(onnx::AttributeProto::INT);
        block.set_i(shuffle->block);
        if (!shuffle->mode)
            return;
        auto& mode = *last.add_attribute();
        mode.set_name("mode");
        mode.set_type(onnx::AttributeProto::STRING);
        mode.set_s(shuffle->mode);
    }

    onnx::GraphProto& graph_;
    GraphIndex index_;
};

} // namespace

void fuse_space_to_depth(onnx::ModelProto& model) {
    ShuffleRecogniser(*model.mutable_graph()).run();
}

} // namespace overtake::compiler
