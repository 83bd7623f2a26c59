// SPDX-License-Identifier: MIT
#include "examples.hpp"

#include <algorithm>
#include <filesystem>

namespace overtake::test {

namespace {

std::vector<std::string> examples_in(const char* folder, std::string_view first) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string stem = entry.path().stem().string();
        if (stem.starts_with(first) && !stem.ends_with(".expected"))
            names.push_back(stem);
    }
    std::ranges::sort(names);
    return names;
}

} // namespace

std::string example_file(const std::string& name) {
    return OVERTAKE_SCENARIO_DATA "/" + name;
}

std::vector<std::string> examples(std::string_view first) {
    return examples_in(OVERTAKE_SCENARIO_DATA, first);
}

std::vector<std::string> examples_of_separate_queues() {
    std::vector<std::string> names = examples("task-");
    std::erase_if(names, [](const std::string& name) { return name.ends_with("service-mode"); });
    return names;
}

std::string processors_example_file(const std::string& name) {
    return OVERTAKE_PROCESSORS_DATA "/" + name;
}

std::vector<std::string> processors_examples() {
    return examples_in(OVERTAKE_PROCESSORS_DATA, "");
}

std::string test_name(std::string example) {
    std::ranges::replace(example, '-', '_');
    return example;
}

} // namespace overtake::test
