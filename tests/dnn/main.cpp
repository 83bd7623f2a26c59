// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <cstring>

#include <gtest/gtest.h>

#include "dnn/log.hpp"
#include "misuse.hpp"

int main(int argc, char** argv) {
    if (argc == 2 && std::strcmp(argv[1], "--print-table") == 0) {
        overtake::test::print_misuses();
        return 0;
    }
    testing::InitGoogleTest(&argc, argv);
    if (!std::getenv("HB_DNN_LOG_LEVEL")) // errors are what is tested
        overtake::dnn::set_log_level(overtake::dnn::LogLevel::none);
    return RUN_ALL_TESTS();
}
