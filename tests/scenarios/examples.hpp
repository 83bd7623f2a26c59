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

/// Returns the file of an example, "fc-cancel.json", or of its timeline, "fc-cancel.expected.json".
std::string example_file(const std::string& name);
/// Returns the examples whose names begin with `first`, without ".json".
std::vector<std::string> examples(std::string_view first);
/// Returns the examples "task-..." in which each process has a queue of its own.
std::vector<std::string> examples_of_separate_queues();
/// The next two functions do the same for examples of several processors, which are in another
/// directory.
std::string processors_example_file(const std::string& name);
std::vector<std::string> processors_examples();

/// Returns the name with '_' for '-', as gtest needs it.
std::string test_name(std::string example);

/// Returns the name of a test of an example on a backend.
template <typename Backend>
std::string
test_name_of_case(const testing::TestParamInfo<std::tuple<std::string, Backend>>& info) {
    return test_name(std::get<0>(info.param) + "_" + std::get<1>(info.param).name);
}

} // namespace overtake::test
