// SPDX-License-Identifier: MIT
//
// Writes requests to a CSV file, one on each line, so that one process can judge the requests of
// another.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "load/load.hpp"

namespace overtake::load {

void write_records(std::ostream& file, const std::vector<Request>& requests);

/// Reads requests. Throws Error, which names the file and the line.
std::vector<Request> read_records(const std::string& path);

} // namespace overtake::load
