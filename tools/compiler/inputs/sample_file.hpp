// SPDX-License-Identifier: MIT
//
// Files with samples: what they hold goes by their first bytes, not by their names.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace overtake::compiler {

enum class SampleKind { npy, picture, other };

/// What a file holds.  Throws CompileError if there is no such file, it is a directory or empty, or
/// it cannot be read.
SampleKind kind_of_sample(const std::string& path);

/// All bytes of a file.  Throws CompileError as kind_of_sample() does.
std::string read_sample_file(const std::string& path);

/// What these first bytes of a file, which are neither .npy, PNG nor JPEG, are and what to do about
/// it, in words: "is a BMP picture; convert it to PNG".
std::string describe_other(const std::string& bytes);

/// "holds NaN at element 5", counted from `first` on, where values are not all finite; otherwise
/// empty.
std::string describe_not_finite(std::span<const float> values, std::size_t first = 0);

} // namespace overtake::compiler
