// SPDX-License-Identifier: MIT
#include "libonnx.hpp"

// In front of <sys/mman.h>, whose macros they do not bear.
#include <onnx/checker.h>
#include <onnx/defs/schema.h>
#include <onnx/shape_inference/implementation.h>
#include <onnx/version_converter/convert.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "error.hpp"
#include "onnx_file.hpp"

namespace overtake::compiler::libonnx {
namespace {

using Work = std::function<onnx::ModelProto()>;

constexpr rlim_t most_cpu_seconds = 60;

// What the child leaves in the file: one of these, then a model, or why there is none.
constexpr char made = 'm', refused = 'r';

// Memory that a child writes and its parent reads.
class MemoryFile {
public:
    explicit MemoryFile(const std::string& path) : descriptor_(memfd_create("libonnx", 0)) {
        if (descriptor_ < 0)
            throw CompileError(path, std::string("no memory for libonnx: ") + std::strerror(errno));
    }
    ~MemoryFile() { close(descriptor_); }
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;

    int descriptor() const { return descriptor_; }

private:
    int descriptor_;
};

bool write_all(int descriptor, const std::string& text) {
    std::size_t done = 0;
    while (done < text.size()) {
        const ssize_t written = write(descriptor, text.data() + done, text.size() - done);
        if (written < 0 && errno != EINTR)
            return false;
        done += static_cast<std::size_t>(std::max<ssize_t>(written, 0));
    }
    return true;
}

std::string read_all(int descriptor) {
    std::string text;
    std::array<char, 4096> part;
    for (;;) {
        const ssize_t count = read(descriptor, part.data(), part.size());
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return text;
        text.append(part.data(), static_cast<std::size_t>(count));
    }
}

// Dies with its parent, of what it does, and in silence.
void become_expendable() {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (const int signal :
         {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU, SIGALRM, SIGINT, SIGTERM})
        std::signal(signal, SIG_DFL);
    const rlimit cpu{most_cpu_seconds, most_cpu_seconds}, core{0, 0};
    setrlimit(RLIMIT_CPU, &cpu);
    setrlimit(RLIMIT_CORE, &core);
    const int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0) {
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
    }
}

// In the child: whether the file has come to hold what the parent is to know.
bool leave_result(int file, const Work& work) {
    onnx::ModelProto result;
    try {
        result = work();
    } catch (const std::exception& error) {
        return write_all(file, refused + std::string(error.what()));
    } catch (...) {
        return write_all(file, refused + std::string("for no reason that it gives"));
    }
    return write_all(file, {made}) && result.SerializePartialToFileDescriptor(file);
}

// Why a child left nothing.
std::string cause_of(int status) {
    if (!WIFSIGNALED(status))
        return "crashed over it";
    if (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL)
        return "took more than " + std::to_string(most_cpu_seconds) +
               " seconds over it, or more memory than there is";
    return std::string("crashed over it (") + strsignal(WTERMSIG(status)) + ")";
}

onnx::ModelProto in_child(const std::string& path, const Work& work) {
    // What libonnx makes once, at its first use, children are to find made.
    static const bool is_ready = onnx::OpSchemaRegistry::Schema("Relu");
    (void)is_ready;
    const MemoryFile file(path);
    const pid_t child = start_child();
    if (child < 0)
        throw CompileError(path, std::string("no process for libonnx: ") + std::strerror(errno));
    if (child == 0) {
        become_expendable();
        _exit(leave_result(file.descriptor(), work) ? 0 : 1);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            throw CompileError(path, std::string("libonnx is lost: ") + std::strerror(errno));
    if (status != 0)
        throw CompileError(path, "libonnx " + cause_of(status) + "; is the model damaged?");
    lseek(file.descriptor(), 0, SEEK_SET);
    char what = 0;
    onnx::ModelProto result;
    if (read(file.descriptor(), &what, 1) == 1 && what == refused)
        throw CompileError(path, "libonnx refuses it: " + one_line(read_all(file.descriptor())));
    if (what != made || !result.ParsePartialFromFileDescriptor(file.descriptor()))
        throw CompileError(path, "what libonnx makes of it is too large");
    return result;
}

} // namespace

pid_t (*start_child)() = fork;

void check(const onnx::ModelProto& model, const std::string& path) {
    in_child(path, [&] {
        onnx::checker::check_model(model);
        return onnx::ModelProto();
    });
}

onnx::ModelProto convert(const onnx::ModelProto& model, int opset, const std::string& path) {
    return in_child(path, [&] {
        onnx::ModelProto with_shapes = model; // conversion asks for shapes
        onnx::shape_inference::InferShapes(with_shapes);
        return onnx::version_conversion::ConvertVersion(with_shapes, opset);
    });
}

void infer_shapes(onnx::ModelProto& model, const std::string& path) {
    onnx::ModelProto found = in_child(path, [&] {
        onnx::shape_inference::InferShapes(model); // the child's own
        onnx::ModelProto shapes;
        shapes.mutable_graph()->mutable_value_info()->Swap(
            model.mutable_graph()->mutable_value_info());
        shapes.mutable_graph()->mutable_output()->Swap(model.mutable_graph()->mutable_output());
        return shapes;
    });
    model.mutable_graph()->mutable_value_info()->Swap(found.mutable_graph()->mutable_value_info());
    model.mutable_graph()->mutable_output()->Swap(found.mutable_graph()->mutable_output());
}

} // namespace overtake::compiler::libonnx
