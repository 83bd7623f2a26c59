// SPDX-License-Identifier: MIT
//
// Wrong uses of the C interface: a list that the tests and the table of
// docs/reference/board-errors.md share.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "board.hpp"

namespace overtake::test {

/// The objects that a case uses; each case has its own.
struct Bench {
    Bench() : other(copy_bytes()) {
        hbSysAllocMem(&memory, 4096);
        gone = memory;
        hbSysAllocMem(&gone, 4096);
        freed = gone;
        hbSysFreeMem(&gone);
        BoardModel released(copy_bytes());
        stale_pack = released.pack;
        stale_model = released.model;
        board.infer(&stale_task);
        hbDNNWaitTaskDone(stale_task, 0);
        hbDNNReleaseTask(stale_task);
    }
    ~Bench() { hbSysFreeMem(&memory); }

    /// Returns a task that has ended and has not been released.
    hbDNNTaskHandle_t ended() {
        hbDNNTaskHandle_t task = nullptr;
        board.infer(&task);
        hbDNNWaitTaskDone(task, 0);
        return task;
    }
    /// Returns a task that waits for more inferences.
    hbDNNTaskHandle_t open() {
        hbDNNTaskHandle_t task = nullptr;
        hbDNNInferCtrlParam more = board.control();
        more.more = 1;
        board.infer(&task, more);
        return task;
    }
    std::int32_t infer_with(const std::function<void(hbDNNInferCtrlParam&)>& change) {
        hbDNNInferCtrlParam control = board.control();
        change(control);
        hbDNNTaskHandle_t task = nullptr;
        return board.infer(&task, control);
    }
    /// Runs an inference of the model copy_bytes() with changed tensors.
    std::int32_t
    infer_tensors(const std::function<void(hbDNNTensor& in, hbDNNTensor& out)>& change) {
        const hbDNNTensor in = other.inputs[0], out = other.outputs[0];
        change(other.inputs[0], other.outputs[0]);
        hbDNNTaskHandle_t task = nullptr;
        const std::int32_t status = other.infer(&task);
        other.inputs[0] = in;
        other.outputs[0] = out;
        return status;
    }
    std::int32_t infer_on(hbDNNTaskHandle_t task) { return board.infer(&task); }

    BoardModel board;
    BoardModel other;
    hbSysMem memory{}, gone{}, freed{};
    hbPackedDNNHandle_t stale_pack = nullptr;
    hbDNNHandle_t stale_model = nullptr;
    hbDNNTaskHandle_t stale_task = nullptr;
    void* const garbage = reinterpret_cast<void*>(std::uintptr_t{0xdeadbeef});
};

struct Misuse {
    const char* function;
    std::string what;
    std::int32_t status;
    std::function<std::int32_t(Bench&)> use;
};

using MisuseList = std::vector<Misuse>;

/// Adds the wrong uses of hbDNNRoiInfer and hbDNNResize.
void add_picture_misuses(MisuseList& list);

/// Prints the table on standard output.
void print_misuses();

} // namespace overtake::test
