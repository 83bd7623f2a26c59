// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "model_spec.hpp"

namespace overtake::test {

/// Writes a compiled model whose FCs take `fcs_us` microseconds.
inline void compile_to(const std::string& path, const std::vector<std::uint64_t>& fcs_us) {
    ModelSpec spec = copy_and_softmax();
    auto& fcs = spec.segments[0].fcs;
    fcs.clear();
    for (const std::uint64_t us : fcs_us)
        fcs.emplace_back(0, 1, us * 1000);
    const std::vector<std::byte> bytes = build(spec);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
}

} // namespace overtake::test
