// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "overtake/error.hpp"

namespace overtake::test {

/// Fails the test unless `action` throws an Error of this code whose text has these words.
inline void expect_error(int code, const std::string& words, const std::function<void()>& action) {
    try {
        action();
        ADD_FAILURE() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), code) << error.what();
        EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
}

} // namespace overtake::test
