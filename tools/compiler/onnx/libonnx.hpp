// SPDX-License-Identifier: MIT
//
// Libonnx: runs libonnx in child processes, which may crash.  libonnx does not check a model's
// numbers: it may read beyond its arrays, divide by zero or count down for hours.
#pragma once

#include <chrono>
#include <string>

#include <sys/types.h>

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

/// All calls throw CompileError naming the file if libonnx refuses the model, crashes or takes too
/// long, and Error if the system has no process, no memory or no descriptor for it.  The caller
/// makes sure that no other thread uses protobuf meanwhile.
class Libonnx {
public:
    /// `patience` is the CPU time that all calls may take together; the wall time is bounded by
    /// five times that.
    explicit Libonnx(std::string path,
                     std::chrono::milliseconds patience = std::chrono::minutes(1));

    void check(onnx::ModelProto& model);
    /// Converts the model to another opset of ONNX.
    void convert(onnx::ModelProto& model, int opset);
    /// Adds the shapes that can be known to the graph's values and outputs.
    void infer_shapes(onnx::ModelProto& model);

    /// Starts a child, as fork() does: fork(), unless a test or a fuzzer sets another function.
    static pid_t (*start_child)();

private:
    /// `refusal` begins the message if libonnx refuses the model.
    template <typename Work>
    std::string in_child(const char* refusal, const Work& work);
    std::string result_of(pid_t child, int pipe);

    const std::string path_;
    std::chrono::microseconds patience_;
};

} // namespace overtake::compiler
