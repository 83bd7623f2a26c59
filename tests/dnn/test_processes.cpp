// SPDX-License-Identifier: MIT
//
// The C interface on other devices, and in other processes.
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "board.hpp"

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

} // namespace
} // namespace overtake::test
