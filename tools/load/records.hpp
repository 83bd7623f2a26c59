// SPDX-License-Identifier: MIT
//
// Requests as a CSV file, one line each, so that one process can judge another's.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "load/load.hpp"

namespace overtake::load {

void write_records(std::ostream& file, const std::vector<Request>& requests);

/// Throws Error naming the file and line.
std::vector<Request> read_records(const std::string& path);

} // namespace overtake::load
