// SPDX-License-Identifier: MIT
//
// Custom operators that are registered from C.
#include <array>
#include <cerrno>
#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <vector>

#include <gtest/gtest.h>

#include "expect_error.hpp"
#include "overtake/custom_operator.h"
#include "overtake/custom_operator.hpp"
#include "overtake/error.hpp"

namespace overtake::test {
namespace {

struct Seen {
    std::string text;
    int destroyed = 0;
} seen;

int create(const overtake_operator_node* node, void** state) {
    seen.text = std::string(node->domain) + "." + node->type + " " + node->name;
    for (std::size_t i = 0; i < node->attribute_count; i++) {
        const overtake_operator_attribute& attribute = node->attributes[i];
        seen.text += std::string(" ") + attribute.name + ":";
        for (std::size_t k = 0; k < attribute.integer_count; k++)
            seen.text += std::to_string(attribute.integers[k]) + ",";
        for (std::size_t k = 0; k < attribute.real_count; k++)
            seen.text += std::to_string(static_cast<int>(attribute.reals[k] * 10)) + "/10,";
        for (std::size_t k = 0; k < attribute.string_count; k++)
            seen.text += std::string(attribute.strings[k]) + ",";
        for (std::size_t k = 0; k < attribute.dimensions; k++)
            seen.text += "x" + std::to_string(attribute.shape[k]);
    }
    for (std::size_t i = 0; i < node->input_count; i++)
        for (std::size_t k = 0; k < node->inputs[i].dimensions; k++)
            seen.text += " i" + std::to_string(node->inputs[i].sizes[k]);
    for (std::size_t k = 0; k < node->output.dimensions; k++)
        seen.text += " o" + std::to_string(node->output.sizes[k]);
    *state = new float(static_cast<float>(node->attributes[0].integers[0]));
    return 0;
}

int add_inputs(void* state, const float* const* inputs, float* output) {
    for (std::size_t i = 0; i < 3; i++)
        output[i] = inputs[0][i] + inputs[1][i] * *static_cast<float*>(state);
    return inputs[0][0] < 0 ? -ERANGE : 0;
}

void destroy(void* state) {
    delete static_cast<float*>(state);
    seen.destroyed++;
}

OperatorDescription node_of(const std::string& type) {
    OperatorDescription node;
    node.domain = "c";
    node.type = type;
    node.node = "n1";
    node.attributes = {{"factors", {5, -6}, {}, {}, {}},
                       {"alpha", {}, {0.5f}, {}, {}},
                       {"names", {}, {}, {"one", "two"}, {}},
                       {"table", {1, 2}, {}, {}, {2, 1}}};
    node.inputs = {{1, 3}, {3}};
    node.output = {1, 3};
    return node;
}

TEST(CustomOperatorInC, GetsAllThatANodeHas) {
    seen = {};
    const overtake_operator_functions functions{create, add_inputs, destroy};
    ASSERT_EQ(overtake_register_custom_operator("c", "AddTimes", &functions), 0);
    EXPECT_EQ(overtake_register_custom_operator("c", "AddTimes", &functions), -EEXIST);
    auto made = create_custom_operator(node_of("AddTimes"));
    EXPECT_EQ(seen.text, "c.AddTimes n1 factors:5,-6, alpha:5/10, names:one,two, table:1,2,x2x1 "
                         "i1 i3 i3 o1 o3");
    std::array<float, 3> first = {1, 2, 3}, second = {10, 20, 30}, sum{};
    const std::array<std::span<const float>, 2> inputs = {first, second};
    made->compute(inputs, sum);
    EXPECT_EQ(sum, (std::array<float, 3>{51, 102, 153}));
    first[0] = -1;
    try {
        made->compute(inputs, sum);
        FAIL() << "a failure was not reported";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ERANGE);
        EXPECT_STREQ(error.what(), "c.AddTimes: compute() returned -34");
    }
    EXPECT_EQ(seen.destroyed, 0);
    made.reset();
    EXPECT_EQ(seen.destroyed, 1);
}

TEST(CustomOperatorInC, MayBeComputeAlone) {
    const overtake_operator_functions functions{
        nullptr,
        [](void* state, const float* const*, float* output) {
            output[0] = state ? 1 : 2;
            return 0;
        },
        nullptr};
    ASSERT_EQ(overtake_register_custom_operator("c", "Two", &functions), 0);
    std::array<float, 1> output{};
    create_custom_operator(node_of("Two"))->compute({}, output);
    EXPECT_EQ(output[0], 2);
}

TEST(CustomOperatorInC, WrongArgumentsAreRefused) {
    const overtake_operator_functions functions{create, add_inputs, destroy};
    const overtake_operator_functions none{create, nullptr, destroy};
    EXPECT_EQ(overtake_register_custom_operator(nullptr, "X", &functions), -EINVAL);
    EXPECT_EQ(overtake_register_custom_operator("c", nullptr, &functions), -EINVAL);
    EXPECT_EQ(overtake_register_custom_operator("c", "", &functions), -EINVAL);
    EXPECT_EQ(overtake_register_custom_operator("c", "X", nullptr), -EINVAL);
    EXPECT_EQ(overtake_register_custom_operator("c", "X", &none), -EINVAL);
    const overtake_operator_functions refusing{
        [](const overtake_operator_node*, void**) { return -EDOM; }, add_inputs, nullptr};
    ASSERT_EQ(overtake_register_custom_operator("c", "Refusing", &refusing), 0);
    try {
        create_custom_operator(node_of("Refusing"));
        FAIL() << "it was made";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), EDOM);
    }
}

TEST(CustomOperator, ADirectoryWithAPipeIsRefusedWithoutAWait) {
    std::string directory = "/tmp/overtake-operators-XXXXXX";
    ASSERT_NE(mkdtemp(directory.data()), nullptr);
    ASSERT_EQ(mkfifo((directory + "/pipe.so").c_str(), 0600), 0);
    expect_error(EINVAL, "pipe.so: not a regular file", [&] { load_custom_operators(directory); });
    std::filesystem::remove_all(directory);
}

} // namespace
} // namespace overtake::test
