// SPDX-License-Identifier: MIT
//
// Metrics of a sysfs and a procfs that a test builds by hand.
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "observe/metrics/collect.hpp"
#include "observe/metrics/http_server.hpp"
#include "overtake/error.hpp"
#include "system_tree.hpp"

using namespace overtake::metrics;
namespace fs = std::filesystem;

namespace {

class Collect : public overtake::test::SystemTree {
protected:
    /// Makes a process's descriptor of /dev/accel/accelN.
    void open(const std::string& pid, const std::string& descriptor, const std::string& target,
              const std::string& info) {
        fs::create_directories(root_ / "proc" / pid / "fd");
        fs::create_symlink(target, root_ / "proc" / pid / "fd" / descriptor);
        write("proc/" + pid + "/fdinfo/" + descriptor, info);
        write("proc/" + pid + "/comm", "name\x01of\xff" + pid + "\n");
    }

    std::string text(bool processes = false) {
        return collect(
            {.sys = root_ / "sys", .proc = root_ / "proc", .processes = processes, .version = "7"});
    }
    bool has(const std::string& line, bool processes = false) {
        const std::string all = text(processes);
        if (all.find("\n" + line + "\n") != std::string::npos)
            return true;
        ADD_FAILURE() << "no " << line << " in\n" << all;
        return false;
    }
};

std::string fdinfo(unsigned client, const std::string& rest,
                   const std::string& driver = "overtake") {
    return "pos:\t0\ndrm-driver:\t" + driver + "\ndrm-client-id:\t" + std::to_string(client) +
           "\n" + rest;
}

} // namespace

TEST_F(Collect, TellsInBaseUnits) {
    write("sys/module/overtake/parameters/mode", "timed,both\n");
    write("sys/module/overtake/parameters/profile", "ideal\n");
    add_device(3, "overtake.1", "overtake",
               {{"core1/busy_ns", "1230000000"},
                {"core1/fcs_high", "16"},
                {"core1/ratio", "25"},
                {"core1/faults", "2"},
                {"core10/ratio", "75"},
                {"core10/faults", "3"},
                {"npu_current_frequency_mhz", "1000"},
                {"npu_memory_utilization", "1048576"},
                {"bans", "4"}});
    add_device(4, "foreign.0", "other", {{"core1/busy_ns", "5"}});
    has("overtake_build_info{version=\"7\"} 1");
    has("overtake_device_info{device=\"accel3\",kind=\"kernel\",mode=\"both\",profile=\"ideal\"} "
        "1");
    has("overtake_cores{device=\"accel3\"} 2");
    has("overtake_busy_seconds_total{device=\"accel3\",core=\"1\"} 1.23");
    has("overtake_fcs_total{device=\"accel3\",core=\"1\",ring=\"high\"} 16");
    has("overtake_utilization_ratio{device=\"accel3\",core=\"10\"} 0.75");
    has("overtake_clock_hertz{device=\"accel3\"} 1000000000");
    has("overtake_memory_bytes{device=\"accel3\"} 1048576");
    has("overtake_bans_total{device=\"accel3\"} 4");
    has("hw_npu_utilization_ratio{hw_id=\"overtake.1\",hw_name=\"accel3\"} 0.5");
    has("hw_errors_total{hw_id=\"overtake.1\",hw_name=\"accel3\",hw_type=\"npu\","
        "error_type=\"fault\"} 5");
    EXPECT_EQ(text().find("accel4"), std::string::npos);
    EXPECT_EQ(text().find("overtake_preemptions_total"),
              std::string::npos); // there is no such file
}

TEST_F(Collect, CountsEachOpenFileOnce) {
    add_device(0, "overtake.0", "overtake", {{"core1/busy_ns", "0"}});
    const std::string mine = fdinfo(5, "drm-engine-core1-high:\t1500000000 ns\n"
                                       "drm-engine-core1-normal:\t0 ns\n"
                                       "drm-total-memory:\t3 KiB\novertake-tasks-waiting:\t2\n");
    open("20", "3", "/dev/accel/accel0", mine);
    open("20", "4", "/dev/accel/accel0", mine);
    open("100", "3", "/dev/accel/accel0", mine); // a child that has inherited the file
    open("20", "5", "/dev/accel/accel0",
         fdinfo(6, "drm-engine-core1-high:\t500000000 ns\ndrm-total-memory:\t1 MiB\n"
                   "overtake-tasks-waiting:\t5\n"));
    open("21", "3", "/dev/accel/accel1", fdinfo(5, "")); // a file of another device
    open("22", "3", "/dev/accel/accel0", fdinfo(9, "", "other"));
    open("23", "3", "/dev/null", "");
    has("overtake_clients{device=\"accel0\"} 2");
    has("overtake_tasks{device=\"accel0\",state=\"waiting\"} 7");
    has("overtake_unreadable_processes 0");
    const std::string who = "{device=\"accel0\",pid=\"20\",command=\"name?of?20\"";
    has("overtake_process_busy_seconds_total" + who + ",core=\"1\",ring=\"high\"} 2", true);
    has("overtake_process_busy_seconds_total" + who + ",core=\"1\",ring=\"normal\"} 0", true);
    has("overtake_process_memory_bytes" + who + "} " + std::to_string((1 << 20) + 3 * 1024), true);
    EXPECT_EQ(text().find("overtake_process"), std::string::npos);
}

TEST_F(Collect, LacksWhatIsNotThere) {
    EXPECT_EQ(text(), "# HELP overtake_build_info Version of the overtake command; 1.\n"
                      "# TYPE overtake_build_info gauge\novertake_build_info{version=\"7\"} 1\n");
    add_device(0, "overtake.0", "overtake",
               {{"core1/busy_ns", "x"}, {"core1/ratio", ""}, {"bans", "3 4"}});
    for (const char* name : {"busy_seconds_total", "utilization_ratio{", "bans"})
        EXPECT_EQ(text().find(std::string("overtake_") + name), std::string::npos) << name;
}

TEST(Addresses, AreOfThisMachineByDefault) {
    EXPECT_EQ(url_of(parse_address("9101")), "http://127.0.0.1:9101/metrics");
    EXPECT_EQ(url_of(parse_address("0.0.0.0:0")), "http://0.0.0.0:0/metrics");
    EXPECT_EQ(url_of(parse_address("[::1]:65535")), "http://[::1]:65535/metrics");
    for (const char* wrong : {"", ":1", "::1", "[::1]", "localhost:1", "1.2.3.4:65536",
                              "1.2.3.4:-1", "1.2.3.4:1x", "[1.2.3:1"})
        EXPECT_THROW(parse_address(wrong), overtake::Error) << wrong;
}
