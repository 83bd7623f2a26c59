// SPDX-License-Identifier: MIT
//
// Calls of libonnx whose child process does not return a result.
#include "compiler/onnx/libonnx.hpp"

#include <cerrno>
#include <csignal>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "compiler/ir/error.hpp"

namespace overtake::compiler {
namespace {

class LibonnxTest : public ::testing::Test {
protected:
    void TearDown() override { Libonnx::start_child = fork; }

    // Returns the message of the call's refusal.
    template <typename Refusal>
    std::string refusal(std::chrono::milliseconds patience = std::chrono::minutes(1)) {
        onnx::ModelProto model;
        try {
            Libonnx("net.onnx", patience).infer_shapes(model);
        } catch (const Refusal& error) {
            return error.what();
        }
        return "nothing was refused";
    }
};

TEST_F(LibonnxTest, ChildThatCrashesIsARefusal) {
    Libonnx::start_child = [] {
        const pid_t child = fork();
        if (child == 0) {
            std::signal(SIGSEGV, SIG_DFL);
            std::raise(SIGSEGV);
        }
        return child;
    };
    EXPECT_EQ(refusal<CompileError>(),
              "net.onnx: libonnx crashed over it (Segmentation fault); is the model damaged?");
}

TEST_F(LibonnxTest, ChildThatSaysNothingIsARefusal) {
    Libonnx::start_child = [] {
        const pid_t child = fork();
        if (child == 0)
            _exit(0);
        return child;
    };
    EXPECT_EQ(refusal<CompileError>(), "net.onnx: libonnx crashed over it; is the model damaged?");
}

TEST_F(LibonnxTest, ChildThatNeverEndsIsEnded) {
    Libonnx::start_child = [] {
        const pid_t child = fork();
        while (child == 0)
            pause();
        return child;
    };
    EXPECT_EQ(refusal<CompileError>(std::chrono::milliseconds(20)),
              "net.onnx: libonnx takes too long over it, or more memory than there is");
}

TEST_F(LibonnxTest, PatienceIsForAllCalls) {
    onnx::ModelProto model;
    Libonnx libonnx("net.onnx", std::chrono::milliseconds(0));
    EXPECT_THROW(libonnx.infer_shapes(model), CompileError);
}

TEST_F(LibonnxTest, NoProcessIsNoRefusal) {
    Libonnx::start_child = [] {
        errno = EAGAIN;
        return pid_t{-1};
    };
    EXPECT_EQ(refusal<Error>(),
              "net.onnx: no process for libonnx: Resource temporarily unavailable");
    EXPECT_THROW(refusal<CompileError>(), Error);
}

TEST_F(LibonnxTest, WhoIgnoresItsChildrenGetsTheResult) {
    const auto before = std::signal(SIGCHLD, SIG_IGN);
    EXPECT_EQ(refusal<CompileError>(), "nothing was refused");
    std::signal(SIGCHLD, before);
}

} // namespace
} // namespace overtake::compiler
