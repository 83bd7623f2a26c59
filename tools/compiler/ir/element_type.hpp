// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace overtake::compiler {

/// The type of a tensor's elements in the ONNX file; here all of them are held as float32.  The
/// numbers are those of the model file.
enum class ElementType : std::uint8_t {
    float32 = 0,
    float64 = 1,
    float16 = 2,
    int8 = 3,
    uint8 = 4,
    int16 = 5,
    uint16 = 6,
    int32 = 7,
    uint32 = 8,
    int64 = 9,
    uint64 = 10,
    boolean = 11
};

} // namespace overtake::compiler
