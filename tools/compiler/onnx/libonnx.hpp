// SPDX-License-Identifier: MIT
//
// libonnx, at a distance.  It believes what a model says of itself: it may follow that beyond its
// arrays, divide by it or count it down for hours.  So it works in child processes, which may be
// lost.
#pragma once

#include <chrono>
#include <string>

#include <sys/types.h>

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

/// All calls throw CompileError naming the file if libonnx refuses the model, crashes over it or
/// takes too long, and Error if the system has no process, no memory or no descriptor for it.  Not
/// to be used while another thread uses protobuf.
class Libonnx {
public:
    /// `patience` is the CPU time that all calls may take together; time on the clock is bounded by
    /// five times that.
    explicit Libonnx(std::string path,
                     std::chrono::milliseconds patience = std::chrono::minutes(1));

    void check(onnx::ModelProto& model);
    /// Into another opset of ONNX.
    void convert(onnx::ModelProto& model, int opset);
    /// Adds the shapes that can be known to the graph's values and outputs.
    void infer_shapes(onnx::ModelProto& model);

    /// What starts a child, as fork() does: fork(), unless a test or a fuzzer has another way.
    static pid_t (*start_child)();

private:
    /// `refusal` begins the message where libonnx refuses the model.
    template <typename Work>
    std::string in_child(const char* refusal, const Work& work);
    std::string result_of(pid_t child, int pipe);

    const std::string path_;
    std::chrono::microseconds patience_;
};

} // namespace overtake::compiler
