// SPDX-License-Identifier: MIT
//
// The features that learned costs know of a piece of a layer and of a meeting of cores.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "compiler/cores/prices.hpp"

namespace overtake::compiler {

/// Formulas weigh the first `formula_features`; trees use all.
enum class PieceFeature : std::size_t {
    one,
    operations,
    operations_in_tiles, ///< convolutions: including those that fill up tiles of weights
    outputs,
    rows_of_channels, ///< rows x channels of the output
    constants,        ///< bytes of weights, table and parameters
    inputs,           ///< bytes that are read
    opcode,
    rows,
    columns,
    channels,
    in_columns,
    in_channels,
    kernel,
    stride,
    count
};
constexpr std::size_t piece_features = static_cast<std::size_t>(PieceFeature::count);
constexpr std::size_t formula_features = static_cast<std::size_t>(PieceFeature::opcode);
using PieceFeatures = std::array<double, piece_features>;

/// The names in files.
extern const std::array<std::string_view, piece_features> piece_feature_names;

PieceFeatures features_of(const overtake_insn& piece);

/// The features of a meeting: 1, cores, bytes.
constexpr std::size_t meeting_features = 3;
using MeetingFeatures = std::array<double, meeting_features>;

extern const std::array<std::string_view, meeting_features> meeting_feature_names;

MeetingFeatures features_of(const Meeting& meeting);

} // namespace overtake::compiler
