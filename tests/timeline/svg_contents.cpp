// SPDX-License-Identifier: MIT
#include "svg_contents.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <stdexcept>

#include <gtest/gtest.h>

namespace overtake::timeline {

std::string output_of(const std::string& command) {
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr)
        throw std::runtime_error("popen");
    std::string out;
    char part[4096];
    while (const std::size_t got = std::fread(part, 1, sizeof(part), pipe))
        out.append(part, got);
    if (pclose(pipe) != 0)
        throw std::runtime_error(command + " failed");
    return out;
}

nlohmann::json inspect(const std::string& svg) {
    const ScratchDirectory directory;
    const auto file = directory.path() / "picture.svg";
    std::ofstream(file, std::ios::binary) << svg;
    return nlohmann::json::parse(
        output_of(std::string(PYTHON " " INSPECT_SVG " ") + file.string()));
}

std::size_t count(const nlohmann::json& contents, const std::string& group) {
    return contents["groups"].value(group, std::size_t{0});
}

void expect_tidy(const nlohmann::json& contents) {
    EXPECT_EQ(contents["outside"], nlohmann::json::array());
    const auto& legend = contents["legend"];
    for (std::size_t at = 1; at < legend.size(); at++) {
        if (legend[at][2] == legend[at - 1][2]) {
            EXPECT_GT(legend[at][1].get<double>(), legend[at - 1][3].get<double>())
                << legend[at - 1][0] << " runs into " << legend[at][0];
        }
    }
}

ScratchDirectory::ScratchDirectory() {
    std::string name = std::filesystem::temp_directory_path() / "overtake-timeline-XXXXXX";
    if (mkdtemp(name.data()) == nullptr)
        throw std::runtime_error("mkdtemp");
    path_ = name;
}

ScratchDirectory::~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::size_t ScratchDirectory::files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
}

} // namespace overtake::timeline
