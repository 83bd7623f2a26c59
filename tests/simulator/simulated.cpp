// SPDX-License-Identifier: MIT
#include "simulated.hpp"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "overtake/device.hpp"
#include "simulator/simulate.hpp"

namespace overtake::simulator::test {

Scenario scenario_of(const std::string& json, const std::filesystem::path& directory) {
    return parse_scenario(nlohmann::json::parse(json), directory);
}

Summary summary_of(const std::string& json) {
    const Scenario scenario = scenario_of(json);
    return simulate(scenario, scenario.seed);
}

const ClassSummary& class_of(const Summary& summary, std::string_view name) {
    for (const ClassSummary& of : summary.classes)
        if (of.name == name)
            return of;
    throw std::runtime_error("there is no class " + std::string(name));
}

std::string error_of(const std::function<void()>& work) {
    try {
        work();
    } catch (const Error& error) {
        return error.what();
    }
    ADD_FAILURE() << "no error";
    return "";
}

TemporaryFile::TemporaryFile(const std::string& name, const void* bytes, std::size_t size) {
    std::string pattern = std::filesystem::temp_directory_path() / "simulator-test-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr)
        throw std::runtime_error("no temporary directory");
    directory_ = pattern;
    std::ofstream file(directory_ / name, std::ios::binary);
    file.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
}

TemporaryFile::~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
}

} // namespace overtake::simulator::test
