// SPDX-License-Identifier: MIT
#include "examples.hpp"

#include <algorithm>
#include <filesystem>

namespace overtake::test {

std::string example_file(const std::string& name) {
    return OVERTAKE_SCENARIO_DATA "/" + name;
}

std::vector<std::string> examples(std::string_view first) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(OVERTAKE_SCENARIO_DATA)) {
        const std::string stem = entry.path().stem().string();
        if (stem.starts_with(first) && !stem.ends_with(".expected"))
            names.push_back(stem);
    }
    std::ranges::sort(names);
    return names;
}

std::vector<std::string> examples_of_separate_queues() {
    std::vector<std::string> names = examples("task-");
    std::erase_if(names, [](const std::string& name) { return name.ends_with("service-mode"); });
    return names;
}

std::string test_name(std::string example) {
    std::ranges::replace(example, '-', '_');
    return example;
}

} // namespace overtake::test
