// SPDX-License-Identifier: MIT
//
// OVERTAKE_API marks the names of the library that a program may use.  All other names are hidden.
#pragma once

#if __cplusplus < 202002L
#error "overtake needs C++20: compile with -std=c++20"
#endif

/// Marks a class or function that the shared library exports.  libruntime/abi/libovertake.map lists
/// each such symbol.
#define OVERTAKE_API __attribute__((visibility("default")))
/// Marks a member that the library keeps to itself, inside a class that it exports.
#define OVERTAKE_HIDDEN __attribute__((visibility("hidden")))
