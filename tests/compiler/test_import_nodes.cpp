// SPDX-License-Identifier: MIT
#include "compiler/import/nodes.hpp"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "compiler/import/bpu/order.hpp"

namespace overtake::compiler {
namespace {

// A graph with one input, into which a test imports.
class GrowingGraph : public testing::Test {
protected:
    GrowingGraph() {
        node_.set_name("at hand");
        node_.set_op_type("Relu");
        context.node = &node_;
        input = add_host_value(context, "x", {1, 3, 4, 4});
    }

    // Adds a node of the device or of the CPU that reads `from`; returns the value that the node
    // writes.
    ValueId add(Operation operation, ValueId from, const std::string& name) {
        Node node = new_node(context, std::move(operation));
        node.inputs = {from};
        node.output = add_host_value(context, name, context.graph.values[from].shape);
        const ValueId output = node.output;
        add_node(context, std::move(node));
        return output;
    }

    const onnx::ModelProto model_;
    const GivenScales given_;
    const ImportOptions options_;
    onnx::NodeProto node_;
    Context context{"model.onnx", model_, given_, options_, Libonnx("model.onnx")};
    ValueId input = 0;
};

TEST_F(GrowingGraph, knows_who_touches_a_value) {
    const ValueId on_device = add(op::Copy{}, input, "y");
    const ValueId on_cpu = add(op::Cpu{}, on_device, "z");
    EXPECT_EQ(writer_of(context, input), nullptr);
    EXPECT_EQ(writer_of(context, on_cpu), &context.graph.nodes[1]);
    EXPECT_TRUE(is_on_device(context, input));
    EXPECT_TRUE(is_on_device(context, on_device));
    EXPECT_FALSE(is_on_device(context, on_cpu));
    EXPECT_FALSE(is_read_by_cpu(context, input));
    EXPECT_TRUE(is_read_by_cpu(context, on_device));
}

TEST_F(GrowingGraph, is_what_it_was_when_nodes_are_taken_back) {
    const ValueId kept = add(op::Cpu{}, input, "kept");
    const Mark before = mark(context);
    const ValueId on_device = add(op::Copy{}, kept, "y");
    add(op::Cpu{}, on_device, "z");
    take_back(context, before);
    EXPECT_EQ(context.graph.nodes.size(), 1u);
    EXPECT_EQ(context.graph.values.size(), 2u);
    EXPECT_FALSE(is_on_device(context, kept));
    EXPECT_FALSE(is_read_by_cpu(context, kept));
    EXPECT_TRUE(is_read_by_cpu(context, input));
    EXPECT_EQ(writer_of(context, kept), &context.graph.nodes[0]);
    // The next value has the same number as the one that was taken back.
    EXPECT_EQ(add(op::Cpu{}, kept, "other"), on_device);
    EXPECT_FALSE(is_on_device(context, on_device));
    EXPECT_EQ(writer_of(context, on_device), &context.graph.nodes[1]);
}

TEST_F(GrowingGraph, takes_back_the_order_that_an_attempt_settles) {
    ASSERT_EQ(context.graph.values[input].order, Order::planes);
    const Mark outer = mark(context);
    const Mark inner = mark(context);
    EXPECT_EQ(in_order(context, {input, {1, 3, 4, 4}}, Order::rows), input);
    EXPECT_EQ(context.graph.values[input].order, Order::rows);
    take_back(context, inner);
    EXPECT_EQ(context.graph.values[input].order, Order::planes);
    in_order(context, {input, {1, 3, 4, 4}}, Order::rows);
    change_value(context, input).name = "renamed";
    take_back(context, outer);
    EXPECT_EQ(context.graph.values[input].order, Order::planes);
    EXPECT_EQ(context.graph.values[input].name, "x");
}

TEST_F(GrowingGraph, take_back_forgets_reordered_values) {
    const Reference value{add(op::Copy{}, input, "y"), {1, 3, 4, 4}};
    const Mark before = mark(context);
    const ValueId rows = in_order(context, value, Order::rows);
    EXPECT_NE(rows, value.value);
    EXPECT_EQ(in_order(context, value, Order::rows), rows);
    EXPECT_EQ(context.graph.nodes.size(), 2u);
    take_back(context, before);
    add(op::Cpu{}, value.value, "z");
    EXPECT_NE(in_order(context, value, Order::rows), rows);
    EXPECT_EQ(context.graph.nodes.size(), 3u);
}

TEST_F(GrowingGraph, notes_only_changes_of_values_older_than_the_mark) {
    mark(context);
    const ValueId later = add(op::Cpu{}, input, "y");
    change_value(context, later).name = "z";
    EXPECT_TRUE(context.changed.empty());
    change_value(context, input).name = "w";
    EXPECT_EQ(context.changed.size(), 1u);
}

TEST(RefusalOf, is_the_text_or_nothing) {
    EXPECT_EQ(refusal_of([] {}), std::nullopt);
    EXPECT_EQ(refusal_of([] { throw CompileError("here", "so"); }), "here: so");
}

} // namespace
} // namespace overtake::compiler
