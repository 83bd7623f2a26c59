// SPDX-License-Identifier: MIT
//
// The libFuzzer target, which scripts/fuzz-files.sh model runs.
#include <algorithm>

#include "run_model.hpp"

extern "C" {

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    overtake::fuzz::run_model({reinterpret_cast<const std::byte*>(data), size});
    return 0;
}

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                    unsigned int seed) {
    std::vector<std::uint8_t> bytes(data, data + size);
    overtake::fuzz::mutate_model(bytes, most, seed);
    std::ranges::copy(bytes, data);
    return bytes.size();
}
}
