// SPDX-License-Identifier: MIT
//
// Sequences of tensors: lists that exist during import only, so their lengths and positions are
// known there.
#pragma once

#include "compiler/import/context.hpp"

namespace overtake::compiler {

void import_sequence_construct(Context& context);

void import_sequence_insert(Context& context);

void import_sequence_erase(Context& context);

void import_sequence_at(Context& context);

void import_sequence_length(Context& context);

void import_concat_from_sequence(Context& context);

void import_split_to_sequence(Context& context);

} // namespace overtake::compiler
