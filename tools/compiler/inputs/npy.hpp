// SPDX-License-Identifier: MIT
//
// Arrays in numpy's .npy files.
#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/element_type.hpp"

namespace overtake::compiler {

/// A dense row-major array.  Scalars have an empty shape and one element.
struct Array {
    std::vector<std::size_t> shape;
    std::vector<float> data;
    /// What float32 does not hold of the file, as text ("1e+300 at element 5"): what became
    /// infinite, and what was rounded of whole numbers.  The first of each, or empty.
    std::string became_infinite = {}, was_rounded = {};

    std::size_t elements() const { return data.size(); }
};

/// Reads format versions 1 to 3, little-endian floats, integers
/// or bool, row-major or Fortran order, converted to float32.  Throws CompileError naming the file;
/// never allocates more than the file's size justifies.
Array read_npy(const std::string& path);

/// Writes elements of a type, row-major, format version 1; whole numbers are rounded towards 0 and
/// are the nearest that the type holds.  Whether it could be written the stream says.
void write_npy(std::ostream& stream, std::span<const std::size_t> shape,
               std::span<const float> data, ElementType type = ElementType::float32);

} // namespace overtake::compiler
