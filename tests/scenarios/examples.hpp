// SPDX-License-Identifier: MIT
//
// The worked examples of both levels: scenarios with the timelines that they must have.
#pragma once

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace overtake::test {

/// The file of an example, "fc-cancel.json", or of its timeline, "fc-cancel.expected.json".
std::string example_file(const std::string& name);
/// Those whose names begin so, without ".json".
std::vector<std::string> examples(std::string_view first);
/// Of tasks, in which each process has a queue of its own.
std::vector<std::string> examples_of_separate_queues();
/// The same of several processors, which are apart.
std::string processors_example_file(const std::string& name);
std::vector<std::string> processors_examples();

/// The name as a test may have it.
std::string test_name(std::string example);

/// On one of the backends.
template <typename Backend>
std::string
test_name_of_case(const testing::TestParamInfo<std::tuple<std::string, Backend>>& info) {
    return test_name(std::get<0>(info.param) + "_" + std::get<1>(info.param).name);
}

} // namespace overtake::test
