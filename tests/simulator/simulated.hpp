// SPDX-License-Identifier: MIT
//
// Scenarios in the text of a test, and their results.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "simulator/scenario.hpp"
#include "simulator/summary.hpp"

namespace overtake::simulator::test {

/// Throws as parse_scenario() does.
Scenario scenario_of(const std::string& json, const std::filesystem::path& directory = {});

/// Returns the summary of a run with the scenario's own seed.
Summary summary_of(const std::string& json);

/// Returns the class called `name`; fails the test if there is none.
const ClassSummary& class_of(const Summary& summary, std::string_view name);

/// Returns the message of the Error that `work` throws; "" and a failed test if it throws none.
std::string error_of(const std::function<void()>& work);

/// A file that lives as long as this object.
class TemporaryFile {
public:
    TemporaryFile(const std::string& name, const void* bytes, std::size_t size);
    TemporaryFile(const std::string& name, const std::string& text)
        : TemporaryFile(name, text.data(), text.size()) {}
    ~TemporaryFile();
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;

    std::filesystem::path directory() const { return directory_; }

private:
    std::filesystem::path directory_;
};

} // namespace overtake::simulator::test
