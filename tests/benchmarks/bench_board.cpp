// SPDX-License-Identifier: MIT
//
// The costs of the C interface of board programs: the time of an empty task over that of the same
// job in a queue, one at a time and 32 at once, and the bytes that an inference copies.
//
//     bench_board [REPETITIONS]
//
// The device is the one of OVERTAKE_DEVICE, or an embedded one in functional mode; all ways take
// turns.  Where processes share it, tasks in service mode are one of the ways.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "board.hpp"
#include "engine/transfer.hpp"

using namespace overtake;
using namespace overtake::test;

namespace {

constexpr std::size_t jobs_of_a_turn = 2048;

double now_us() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

/// Returns a model of one empty FC.
ModelSpec nothing() {
    ModelSpec spec = copy_bytes();
    spec.name = "nothing";
    overtake_insn wait{};
    wait.opcode = OVERTAKE_OP_DELAY;
    wait.delay_cycles = 1;
    spec.program = {wait};
    spec.segments[0].fcs = {fbs::Fc(0, 1, 1)};
    return spec;
}

/// The same job without a runtime.
class RawJobs {
public:
    explicit RawJobs(Device& device)
        : queue_(device.create_queue({})), program_(device.create_buffer(sizeof(overtake_insn))) {
        const ModelSpec spec = nothing();
        std::memcpy(program_->data(), spec.program.data(), sizeof(overtake_insn));
        bindings_ = {
            {program_->address(), program_->size(), OVERTAKE_REGION_PROGRAM, OVERTAKE_MAP_READ}};
    }

    void run(std::size_t depth) {
        std::vector<Job> jobs(depth);
        std::vector<Completion> ends(depth);
        for (std::size_t i = 0; i < depth; i++) {
            jobs[i].tag = i;
            jobs[i].fcs = fcs_;
            jobs[i].bindings = bindings_;
        }
        queue_->submit(jobs);
        for (std::size_t ended = 0; ended < depth;)
            ended += queue_->reap(std::span(ends).subspan(ended), deadline_never);
    }

private:
    std::unique_ptr<Queue> queue_;
    std::unique_ptr<Buffer> program_;
    std::vector<overtake_fc> fcs_ = {{0, 1}};
    std::vector<overtake_binding> bindings_;
};

class BoardTasks {
public:
    BoardTasks(const std::shared_ptr<Device>& device, const EngineOptions& options)
        : process_(device, std::make_unique<Engine>(device, options)) {
        use();
        board_ = std::make_unique<BoardModel>(nothing());
    }
    ~BoardTasks() {
        use();
        board_.reset();
        dnn::Process::use_in_this_thread(nullptr);
    }
    void use() { dnn::Process::use_in_this_thread(&process_); }

    void run(std::size_t depth) {
        use();
        handles_.assign(depth, nullptr);
        for (hbDNNTaskHandle_t& handle : handles_)
            if (board_->infer(&handle) != 0)
                std::abort();
        for (const hbDNNTaskHandle_t handle : handles_)
            if (hbDNNWaitTaskDone(handle, 0) != 0 || hbDNNReleaseTask(handle) != 0)
                std::abort();
    }

private:
    dnn::Process process_;
    std::unique_ptr<BoardModel> board_;
    std::vector<hbDNNTaskHandle_t> handles_;
};

struct Way {
    const char* name;
    std::size_t depth;
    std::function<void()> run;
    std::vector<double> us_of_a_job = {};

    double median() {
        std::ranges::sort(us_of_a_job);
        return us_of_a_job[us_of_a_job.size() / 2];
    }
};

void print_copies(const char* what, const ModelSpec& spec) {
    BoardModel board(spec);
    hbDNNTaskHandle_t task = nullptr;
    const std::uint64_t before = engine::bytes_moved();
    if (board.infer(&task) != 0 || hbDNNWaitTaskDone(task, 0) != 0)
        std::abort();
    fmt::print("{:<44} {:>8} bytes copied\n", what, engine::bytes_moved() - before);
    hbDNNReleaseTask(task);
}

} // namespace

int main(int argc, char** argv) {
    const int repetitions = argc > 1 ? std::atoi(argv[1]) : 21;
    const char* const path = std::getenv("OVERTAKE_DEVICE");
    EmbeddedOptions functional; // no modelled time
    functional.mode = OVERTAKE_MODE_FUNCTIONAL;
    const std::shared_ptr<Device> device = path ? open_device(path) : open_embedded(functional);
    RawJobs raw(*device);
    BoardTasks board(device, {});
    std::unique_ptr<BoardTasks> service;
    if (path) { // the embedded device has no service mode
        EngineOptions in_service;
        in_service.service = true;
        service = std::make_unique<BoardTasks>(open_device(path), in_service);
    }
    std::vector<Way> ways;
    for (const std::size_t depth : {1, 32}) {
        ways.push_back({"Queue", depth, [&raw, depth] { raw.run(depth); }});
        ways.push_back({"hbDNNInfer, Wait, Release", depth, [&board, depth] { board.run(depth); }});
        if (service)
            ways.push_back(
                {"the same in service mode", depth, [&service, depth] { service->run(depth); }});
    }
    const std::size_t of_a_depth = ways.size() / 2;
    for (int i = 0; i < repetitions; i++)
        for (Way& way : ways) {
            const double begin = now_us();
            for (std::size_t done = 0; done < jobs_of_a_turn; done += way.depth)
                way.run();
            way.us_of_a_job.push_back((now_us() - begin) / jobs_of_a_turn);
        }
    fmt::print("{:<28} {:>6} {:>10} {:>8}\n", "an empty task", "depth", "us", "ratio");
    for (std::size_t i = 0; i < ways.size(); i++)
        fmt::print("{:<28} {:>6} {:>10.2f} {:>8.2f}\n", ways[i].name, ways[i].depth,
                   ways[i].median(), ways[i].median() / ways[i - i % of_a_depth].median());
    board.use();
    print_copies("int8 in, int8 out", copy_bytes());
    print_copies("NV12 in, int8 out", picture_to_bytes());
    print_copies("int8 in, float out (the tensor's conversion)", copy_and_softmax());
    return 0;
}
