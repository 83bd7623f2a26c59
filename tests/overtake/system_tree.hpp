// SPDX-License-Identifier: MIT
//
// A sysfs, a procfs and a /dev that a test builds by hand.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace overtake::test {

class SystemTree : public testing::Test {
protected:
    void SetUp() override {
        root_ = std::filesystem::path(testing::TempDir()) / ("system-" + std::to_string(getpid()));
        std::filesystem::remove_all(root_);
        for (const char* directory : {"dev/accel", "sys/class/accel", "sys/bus/drivers/overtake",
                                      "sys/bus/drivers/other", "proc/self"})
            std::filesystem::create_directories(root_ / directory);
    }
    void TearDown() override { std::filesystem::remove_all(root_); }

    void write(const std::filesystem::path& path, const std::string& text) {
        std::filesystem::create_directories((root_ / path).parent_path());
        std::ofstream(root_ / path) << text;
    }

    /// Adds accelN of the platform device `name`, with these files, but without a device node.
    void add_device(unsigned number, const std::string& name, const std::string& driver,
                    const std::vector<std::pair<std::string, std::string>>& files) {
        const std::filesystem::path device = root_ / "sys/devices/platform" / name;
        const std::filesystem::path place =
            root_ / "sys/class/accel" / ("accel" + std::to_string(number));
        std::filesystem::create_directories(device);
        std::filesystem::create_directories(place);
        std::filesystem::create_directory_symlink(root_ / "sys/bus/drivers" / driver,
                                                  device / "driver");
        std::filesystem::create_directory_symlink(device, place / "device");
        for (const auto& [file, text] : files)
            write(std::filesystem::path("sys/devices/platform") / name / file, text + "\n");
    }

    std::filesystem::path root_;
};

} // namespace overtake::test
