// SPDX-License-Identifier: MIT
//
// The libFuzzer target, which scripts/fuzz-files.sh onnx runs.
#include <algorithm>

#include <sanitizer/common_interface_defs.h>
#include <unistd.h>

#include "compiler/onnx/libonnx.hpp"
#include "run_import.hpp"

extern "C" {

// libonnx runs in child processes; an error of libonnx there is no finding of the fuzzer.  fork()
// of the address sanitizer takes millions of locks, of which this thread needs none.
int LLVMFuzzerInitialize(int*, char***) {
    overtake::compiler::Libonnx::start_child = [] {
        const pid_t child = _Fork();
        if (child == 0)
            __sanitizer_set_death_callback(nullptr);
        return child;
    };
    return 0;
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    overtake::fuzz::run_import({data, size});
    return 0;
}

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                    unsigned int seed) {
    std::vector<std::uint8_t> bytes(data, data + size);
    overtake::fuzz::mutate_onnx(bytes, most, seed);
    std::ranges::copy(bytes, data);
    return bytes.size();
}
}
