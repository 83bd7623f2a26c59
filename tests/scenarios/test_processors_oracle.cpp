// SPDX-License-Identifier: MIT
//
// The oracle of several processors reproduces every worked example.
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "examples.hpp"
#include "processors_oracle.hpp"

namespace overtake::test {
namespace {

using nlohmann::json;

json read(const std::string& path) {
    std::ifstream file(path);
    return json::parse(file);
}

class ProcessorsOracleTest : public testing::TestWithParam<std::string> {};

TEST_P(ProcessorsOracleTest, AgreesWithTheExpectedTimeline) {
    EXPECT_EQ(processors_timeline(read(processors_example_file(GetParam() + ".json"))),
              read(processors_example_file(GetParam() + ".expected.json")));
}

INSTANTIATE_TEST_SUITE_P(Processors, ProcessorsOracleTest, testing::ValuesIn(processors_examples()),
                         [](const auto& info) { return test_name(info.param); });

} // namespace
} // namespace overtake::test
