// SPDX-License-Identifier: MIT
//
// The C interface on other devices, and in other processes.
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "board.hpp"
#include "dnn/profile.hpp"
#include "overtake/error.hpp"

namespace overtake::test {
namespace {

TEST(BoardProcesses, ACoreThatTheDeviceHasNotIsRefused) {
    EmbeddedOptions options;
    options.cores = 1;
    BoardDevice device(options);
    BoardModel board;
    hbDNNInferCtrlParam control = board.control();
    control.bpuCoreId = HB_BPU_CORE_1;
    hbDNNTaskHandle_t task = nullptr;
    EXPECT_EQ(board.infer(&task, control), HB_DNN_INVALID_ARGUMENT);
}

TEST(BoardProcesses, AChildOfAProcessThatHasUsedTheDeviceIsRefused) {
    const auto in_child = [](auto use) {
        const pid_t child = fork();
        if (child == 0) {
            setenv("OVERTAKE_DEVICE", "embedded", 1);
            setenv("HB_DNN_LOG_LEVEL", "0", 1);
            _exit(use());
        }
        int status = 1;
        waitpid(child, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
    };
    // In a child of this one, which has used nothing yet.
    EXPECT_EQ(in_child([&] {
                  hbSysMem mem;
                  if (hbSysAllocMem(&mem, 100) != 0)
                      return 1;
                  return in_child([&] {
                      hbSysMem other;
                      return hbSysAllocMem(&other, 100) == HB_DNN_MULTI_PROGRESS_USE_ERROR &&
                                     hbSysFreeMem(&mem) == HB_DNN_MULTI_PROGRESS_USE_ERROR &&
                                     hbDNNReleaseTask(nullptr) == HB_DNN_MULTI_PROGRESS_USE_ERROR
                                 ? 0
                                 : 2;
                  });
              }),
              0);
}

std::string text_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(BoardProcesses, AProfileIsWrittenAtTheEnd) {
    std::string directory = testing::TempDir() + "profile-XXXXXX";
    ASSERT_NE(mkdtemp(directory.data()), nullptr);
    dnn::Environment environment;
    environment.device = "embedded";
    environment.embedded.cores = 1;
    environment.embedded.mode = OVERTAKE_MODE_FUNCTIONAL;
    environment.profile_path = directory;
    {
        dnn::Process process(environment);
        dnn::Process::use_in_this_thread(&process);
        BoardModel board, other(copy_bytes());
        for (BoardModel* model : {&board, &board, &other}) {
            hbDNNTaskHandle_t task = nullptr;
            ASSERT_EQ(model->infer(&task), 0);
            ASSERT_EQ(hbDNNWaitTaskDone(task, 0), 0);
            ASSERT_EQ(hbDNNWaitTaskDone(task, 0), 0); // it counts once
            ASSERT_EQ(hbDNNReleaseTask(task), 0);
        }
        process.stop();
        dnn::Process::use_in_this_thread(nullptr);
    }
    const nlohmann::json log = nlohmann::json::parse(text_of(directory + "/profiler.log"));
    EXPECT_EQ(log["running_condition"]["frame_count"], 3);
    EXPECT_EQ(log["running_condition"]["core_num"], 1);
    EXPECT_GT(log["perf_result"]["FPS"], 0);
    EXPECT_GT(log["perf_result"]["average_latency"], 0);
    const nlohmann::json& models = log["model_latency"];
    ASSERT_EQ(models.size(), 2u);
    for (const nlohmann::json& latency :
         {models["test"], models["bytes"], log["task_latency"]["TaskRunningTime"]}) {
        EXPECT_GT(latency["min_time"], 0);
        EXPECT_LE(latency["min_time"], latency["avg_time"]);
        EXPECT_LE(latency["avg_time"], latency["max_time"]);
    }
    EXPECT_GT(log["chip_latency"]["CPU_inference_time_cost"]["max_time"], 0); // softmax
    const std::string csv = text_of(directory + "/profiler.csv");
    EXPECT_NE(csv.find("\"model test\",2,"), std::string::npos) << csv;
    EXPECT_NE(csv.find("\"task\",3,"), std::string::npos) << csv;
    std::filesystem::remove_all(directory);
}

TEST(BoardProcesses, AProfileThatCannotBeWrittenIsALineInTheLog) {
    dnn::Profile profile;
    profile.write("/no/such/directory", 1); // no task, no file
    profile.add({"model", 1'000'000, 2'000'000, 5'000'000, 1'000'000, 0});
    try {
        profile.write("/no/such/directory", 1);
        FAIL() << "it was written";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ENOENT);
        EXPECT_NE(std::string(error.what()).find("/no/such/directory/profiler.log"),
                  std::string::npos);
    }
}

} // namespace
} // namespace overtake::test
