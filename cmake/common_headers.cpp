// SPDX-License-Identifier: MIT
//
// A library needs a source: common_headers.hpp is what this one is for.
