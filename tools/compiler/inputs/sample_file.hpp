// SPDX-License-Identifier: MIT
//
// Files with samples: their first bytes, not their names, determine their kind.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace overtake::compiler {

enum class SampleKind { npy, picture, other };

/// Returns the kind of a file.  Throws CompileError if there is no such file, if it is a directory
/// or empty, or if it cannot be read.
SampleKind kind_of_sample(const std::string& path);

/// Returns all bytes of a file.  Throws CompileError as kind_of_sample() does.
std::string read_sample_file(const std::string& path);

/// Returns the description of a file by its first bytes, which are neither .npy, PNG nor JPEG, and
/// the remedy: "is a BMP picture; convert it to PNG".
std::string describe_other(const std::string& bytes);

/// Returns "holds NaN at element 5", counted from `first` on, if a value is not finite; else an
/// empty text.
std::string describe_not_finite(std::span<const float> values, std::size_t first = 0);

} // namespace overtake::compiler
