// SPDX-License-Identifier: MIT
//
// The libFuzzer target: what scripts/fuzz-files.sh onnx runs.
#include <algorithm>

#include <pthread.h>
#include <sanitizer/common_interface_defs.h>

#include "run_import.hpp"

extern "C" {

// libonnx works in child processes; what it does there is no finding of the engine's.
int LLVMFuzzerInitialize(int*, char***) {
    return pthread_atfork(nullptr, nullptr, [] { __sanitizer_set_death_callback(nullptr); });
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
