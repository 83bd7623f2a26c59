// SPDX-License-Identifier: MIT
#include "compiler/onnx/libonnx.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <google/protobuf/stubs/logging.h>
#include <onnx/checker.h>
#include <onnx/defs/schema.h>
#include <onnx/shape_inference/implementation.h>
#include <onnx/version_converter/convert.h>

#include "compiler/ir/error.hpp"
#include "compiler/onnx/libonnx_messages.hpp"
#include "compiler/onnx/versions.hpp"

namespace overtake::compiler {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int clock_per_cpu = 5;

// A child writes how many bytes follow, then one of these, then the result or the reason of the
// refusal.
constexpr char made = 'm', refused = 'r', no_memory = 'n';
using Length = std::uint64_t;

// A pipe whose descriptors are not those of standard input, output and error, which may be
// closed.
class Pipe {
public:
    explicit Pipe(const std::string& path) {
        std::array<int, 2> ends;
        if (pipe2(ends.data(), O_CLOEXEC) != 0)
            throw Error(errno, path + ": no pipe for libonnx: " + std::strerror(errno));
        for (std::size_t end = 0; end < ends.size(); ++end) {
            ends_[end] = fcntl(ends[end], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
            close(ends[end]);
        }
        if (ends_[0] < 0 || ends_[1] < 0) {
            const int error = errno;
            close_both();
            throw Error(error, path + ": no pipe for libonnx: " + std::strerror(error));
        }
    }
    ~Pipe() { close_both(); }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;

    int reader() const { return ends_[0]; }
    int writer() const { return ends_[1]; }
    void close_reader() { close(std::exchange(ends_[0], -1)); }
    void close_writer() { close(std::exchange(ends_[1], -1)); }

private:
    void close_both() {
        for (const int end : ends_)
            if (end >= 0)
                close(end);
    }

    std::array<int, 2> ends_{-1, -1};
};

// Writes all bytes; false if the pipe has no reader.
bool write_all(int pipe, const std::string& text) {
    std::size_t done = 0;
    while (done < text.size()) {
        const ssize_t written = write(pipe, text.data() + done, text.size() - done);
        if (written < 0 && errno != EINTR)
            return false;
        done += static_cast<std::size_t>(std::max<ssize_t>(written, 0));
    }
    return true;
}

// Makes this child die with its parent, and first if memory is short; limits its CPU time, restores
// signals, and silences its output.
void become_expendable(pid_t parent, microseconds patience) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    for (const int signal :
         {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU, SIGALRM, SIGINT, SIGTERM, SIGPIPE})
        std::signal(signal, SIG_DFL);
    const auto most = static_cast<rlim_t>(std::chrono::ceil<seconds>(patience).count());
    const rlimit cpu{most, most}, core{0, 0};
    setrlimit(RLIMIT_CPU, &cpu);
    setrlimit(RLIMIT_CORE, &core);
    const int first = open("/proc/self/oom_score_adj", O_WRONLY);
    if (first >= 0)
        (void)!write(first, "1000", 4);
    const int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0) {
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
    }
}

// Runs `work` in the child, and returns its answer.
template <typename Work>
std::string answer_to(const Work& work) {
    try {
        return made + work();
    } catch (const std::bad_alloc&) {
        return {no_memory};
    } catch (const std::exception& error) {
        return refused + std::string(error.what());
    } catch (...) {
        return refused + std::string("for no reason that it gives");
    }
}

bool write_answer(int pipe, const std::string& answer) {
    const Length length = answer.size();
    return write_all(pipe, {reinterpret_cast<const char*>(&length), sizeof(length)}) &&
           write_all(pipe, answer);
}

// Removes the length from the front; false if bytes are missing.
bool is_whole(std::string& text) {
    Length length = 0;
    if (text.size() <= sizeof(length))
        return false;
    std::memcpy(&length, text.data(), sizeof(length));
    text.erase(0, sizeof(length));
    return text.size() == length;
}

// Returns all bytes that come until `end`; fewer if the child does not finish by then.
std::string read_until(int pipe, Clock::time_point end, bool& is_late) {
    std::string text;
    std::array<char, 1 << 16> part;
    for (;;) {
        const auto left = std::chrono::ceil<milliseconds>(end - Clock::now()).count();
        pollfd ready{pipe, POLLIN, 0};
        const int count = poll(&ready, 1, static_cast<int>(std::max<long>(left, 0)));
        is_late = count == 0;
        if (is_late)
            return text;
        const ssize_t size = count < 0 ? -1 : read(pipe, part.data(), part.size());
        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0)
            return text;
        text.append(part.data(), static_cast<std::size_t>(size));
    }
}

std::string serialised(const onnx::ModelProto& model) {
    std::string bytes;
    if (!model.SerializePartialToString(&bytes))
        throw std::length_error("it becomes larger than 2 GiB");
    return bytes;
}

onnx::ModelProto parsed(const std::string& bytes) {
    const google::protobuf::LogSilencer silence;
    onnx::ModelProto model;
    if (!model.ParsePartialFromString(bytes))
        throw std::bad_alloc();
    return model;
}

// libonnx requires a shape of each input and output.  Those of outputs are inferred, and inputs are
// given theirs or refused by name.
void fill_missing_shapes(onnx::GraphProto& graph) {
    for (auto* infos : {graph.mutable_input(), graph.mutable_output()})
        for (auto& info : *infos)
            if (info.type().has_tensor_type())
                info.mutable_type()->mutable_tensor_type()->mutable_shape();
}

} // namespace

pid_t (*Libonnx::start_child)() = fork;

Libonnx::Libonnx(std::string path, milliseconds patience)
    : path_(std::move(path)), patience_(patience) {
    // Makes libonnx build its schemas, as it does at its first use, so that children have them.
    onnx::OpSchemaRegistry::Schema("Relu");
}

// Returns the bytes that a child has written until it closes its end or its time has passed.
std::string Libonnx::result_of(pid_t child, int pipe) {
    bool is_late = false;
    std::string text = read_until(pipe, Clock::now() + clock_per_cpu * patience_, is_late);
    if (is_late)
        kill(child, SIGKILL);
    int status = 0;
    rusage usage{};
    while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
    } // a process that ignores SIGCHLD gets ECHILD; then the text alone decides
    for (const timeval& time : {usage.ru_utime, usage.ru_stime})
        patience_ -= seconds(time.tv_sec) + microseconds(time.tv_usec);
    if (is_whole(text))
        return text;
    if (is_late ||
        (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL)))
        throw CompileError(path_, "libonnx takes too long over it, or more memory than there is");
    throw CompileError(path_, "libonnx crashed over it" +
                                  (WIFSIGNALED(status)
                                       ? std::string(" (") + strsignal(WTERMSIG(status)) + ")"
                                       : std::string()) +
                                  "; is the model damaged?");
}

template <typename Work>
std::string Libonnx::in_child(const char* refusal, const Work& work) {
    if (patience_ <= patience_.zero())
        throw CompileError(path_, "libonnx takes too long over it");
    Pipe pipe(path_);
    const pid_t parent = getpid(), child = start_child();
    if (child < 0)
        throw Error(errno, path_ + ": no process for libonnx: " + std::strerror(errno));
    if (child == 0) {
        become_expendable(parent, patience_);
        pipe.close_reader();
        _exit(write_answer(pipe.writer(), answer_to(work)) ? 0 : 1);
    }
    pipe.close_writer();
    std::string text = result_of(child, pipe.reader());
    const char what = text.front();
    text.erase(0, 1);
    if (what == no_memory)
        throw CompileError(path_, "there is not enough memory for it");
    if (what == refused)
        throw CompileError(path_, refusal + plain_message(text));
    return text;
}

void Libonnx::check(onnx::ModelProto& model) {
    in_child("is not valid ONNX: ", [&] {
        fill_missing_shapes(*model.mutable_graph()); // the child's own
        onnx::checker::check_model(model);
        return std::string();
    });
}

void Libonnx::convert(onnx::ModelProto& model, int opset) {
    const std::string refusal = "cannot be converted to opset " + std::to_string(opset) +
                                ", so export it with a newer one, up to " +
                                std::to_string(newest_opset) + ": ";
    model = parsed(in_child(refusal.c_str(), [&] {
        onnx::shape_inference::InferShapes(model); // the child's own; conversion asks for shapes
        return serialised(onnx::version_conversion::ConvertVersion(model, opset));
    }));
}

void Libonnx::infer_shapes(onnx::ModelProto& model) {
    onnx::ModelProto found = parsed(in_child("its shapes do not fit each other: ", [&] {
        onnx::shape_inference::InferShapes(model); // the child's own
        onnx::ModelProto shapes;
        shapes.mutable_graph()->mutable_value_info()->Swap(
            model.mutable_graph()->mutable_value_info());
        shapes.mutable_graph()->mutable_output()->Swap(model.mutable_graph()->mutable_output());
        return serialised(shapes);
    }));
    model.mutable_graph()->mutable_value_info()->Swap(found.mutable_graph()->mutable_value_info());
    model.mutable_graph()->mutable_output()->Swap(found.mutable_graph()->mutable_output());
}

} // namespace overtake::compiler
