// SPDX-License-Identifier: MIT
//
// The libFuzzer target, which scripts/fuzz-files.sh server runs.
#include <cstdio>
#include <cstdlib>

#include "run_messages.hpp"

namespace {

std::size_t messages = 0;

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const int counts =
        std::atexit([] { std::fprintf(stderr, "stat::messages: %zu\n", messages); });
    messages += overtake::fuzz::run_messages({reinterpret_cast<const std::byte*>(data), size});
    return counts;
}
