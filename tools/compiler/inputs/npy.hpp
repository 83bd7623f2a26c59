// SPDX-License-Identifier: MIT
//
// Arrays in numpy's .npy files.
#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace overtake::compiler {

/// A dense row-major array.  Scalars have an empty shape and one element.
struct Array {
    std::vector<std::size_t> shape;
    std::vector<float> data;

    std::size_t elements() const { return data.size(); }
};

/// Reads format versions 1 to 3, little-endian float32, float64, (u)int8, (u)int16, int32, int64
/// or bool, row-major or Fortran order, converted to float32.  Throws CompileError naming the file;
/// never allocates more than the file's size justifies.
Array read_npy(const std::string& path);

/// Writes float32, row-major, format version 1.  Whether it could be written the stream says.
void write_npy(std::ostream& stream, std::span<const std::size_t> shape,
               std::span<const float> data);

} // namespace overtake::compiler
