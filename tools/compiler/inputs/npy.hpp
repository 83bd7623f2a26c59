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
    /// The elements that float32 cannot hold, as text ("1e+300 at element 5"): the first number
    /// that became infinite, and the first whole number that was rounded.  Empty if there is none.
    std::string became_infinite = {}, was_rounded = {};

    std::size_t elements() const { return data.size(); }
};

/// Reads format versions 1 to 3: little-endian floats, integers or bool, row-major or Fortran
/// order, converted to float32.  Throws CompileError naming the file.  Never allocates more than
/// the file's size justifies.
Array read_npy(const std::string& path);

/// Writes elements of a type, row-major, in format version 1.  For integer types, rounds towards 0,
/// clamps to the type's range, and writes 0 for NaN.  The state of the stream shows whether writing
/// succeeded.
void write_npy(std::ostream& stream, std::span<const std::size_t> shape,
               std::span<const float> data, ElementType type = ElementType::float32);

} // namespace overtake::compiler
