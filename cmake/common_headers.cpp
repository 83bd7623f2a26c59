// SPDX-License-Identifier: MIT
//
// A library needs a source: this one is for common_headers.hpp.
