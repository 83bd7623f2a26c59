// SPDX-License-Identifier: MIT
//
// Device nodes as a sysfs that a test builds by hand shows them.
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "device_facts.hpp"
#include "system_tree.hpp"

using namespace overtake::command;
namespace fs = std::filesystem;

namespace {

class Nodes : public overtake::test::SystemTree {
protected:
    /// Adds node accelN of the platform device `name`, with core limits.
    void add(unsigned number, const std::string& name, const std::string& driver,
             const std::vector<unsigned>& limits) {
        write("dev/accel/accel" + std::to_string(number), "");
        std::vector<std::pair<std::string, std::string>> files;
        for (const unsigned limit : limits)
            files.emplace_back("core" + std::to_string(files.size() + 1) + "/core_limit_active",
                               std::to_string(limit));
        add_device(number, name, driver, files);
    }

    std::vector<Node> find() { return find_nodes(root_ / "dev", root_ / "sys"); }
};

} // namespace

TEST_F(Nodes, HaveTheSettingsOfTheirDevice) {
    write("sys/module/overtake/parameters/mode", "functional,timed\n");
    write("sys/module/overtake/parameters/profile", "default,ideal\n");
    add(10, "overtake.2", "overtake", {0, 3, 0});
    add(2, "overtake.0", "overtake", {1});
    add(3, "foreign.0", "other", {});
    const auto nodes = find();
    ASSERT_EQ(nodes.size(), 3u);
    EXPECT_EQ(nodes[0].facts.path, (root_ / "dev/accel/accel2").string());
    EXPECT_EQ(nodes[0].facts.mode, "functional");
    EXPECT_EQ(nodes[0].facts.core_limits, std::vector<unsigned>{1});
    EXPECT_EQ(nodes[1].driver, "other");
    EXPECT_EQ(nodes[1].facts.cores, 0u);
    // The last value of a parameter also holds for each later device.
    EXPECT_EQ(nodes[2].facts.mode, "timed");
    EXPECT_EQ(nodes[2].facts.profile, "ideal");
    EXPECT_EQ(nodes[2].facts.cores, 3u);
    EXPECT_EQ(nodes[2].facts.core_limits, (std::vector<unsigned>{0, 3, 0}));
    EXPECT_EQ(profile_of_node("/dev/accel/accel10", root_ / "sys"), "ideal");
    EXPECT_EQ(profile_of_node("/dev/accel/accel11", root_ / "sys"), "");
    const auto unlike = [&](const std::string& parameter) {
        write("sys/module/overtake/parameters/profile", parameter + "\n");
        return unlike_profiles_of_node("/dev/accel/accel10", root_ / "sys");
    };
    EXPECT_TRUE(unlike("default,ideal").empty());
    EXPECT_TRUE(unlike("default+ideal,ideal+ideal").empty());
    EXPECT_EQ(unlike("ideal,default+ideal"), (std::vector<std::string>{"default", "ideal"}));
}

TEST_F(Nodes, HaveTheRulesOfTheirDevice) {
    write("sys/module/overtake/parameters/fair", "N,Y\n");
    add(0, "overtake.0", "overtake", {0, 0});
    add(1, "overtake.1", "overtake", {0});
    write("sys/devices/platform/overtake.0/core2/normal_floor", "25\n");
    const auto rules = [&](const char* path) { return rules_of_node(path, root_ / "sys"); };
    EXPECT_FALSE(rules("/dev/accel/accel0").fair);
    EXPECT_EQ(rules("/dev/accel/accel0").normal_floors, (std::vector<std::uint32_t>{0, 25}));
    EXPECT_TRUE(rules("/dev/accel/accel1").fair);
    EXPECT_FALSE(rules("/dev/accel/accel2").fair);
    EXPECT_TRUE(rules("/dev/accel/accel2").normal_floors.empty());
}

TEST_F(Nodes, ThatAreNoDevicesSaySo) {
    add(0, "overtake.0", "overtake", {0, 0});
    fs::permissions(root_ / "dev/accel/accel0", fs::perms(0640));
    const auto nodes = find();
    ASSERT_EQ(nodes.size(), 1u);
    EXPECT_EQ(nodes[0].permissions, 0640u);
    EXPECT_FALSE(nodes[0].is_usable);
    EXPECT_FALSE(nodes[0].may_use_255.has_value());
    EXPECT_NE(nodes[0].refusal.find("not an Overtake device"), std::string::npos)
        << nodes[0].refusal;
    EXPECT_EQ(nodes[0].facts.mode, ""); // there are no parameters to read
    EXPECT_NE(one_line(nodes[0].facts).find("mode unknown"), std::string::npos);
}

TEST_F(Nodes, AreNoneWhereThereAreNone) {
    EXPECT_TRUE(find().empty());
    fs::remove_all(root_ / "dev/accel");
    EXPECT_TRUE(find().empty());
    write("dev/accel/accelerate", "");
    write("dev/accel/accel", "");
    EXPECT_TRUE(find().empty());
}
