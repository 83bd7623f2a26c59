// SPDX-License-Identifier: MIT
#include "resident_memory.hpp"

#include <fstream>
#include <sstream>
#include <string>

namespace overtake::command {

ResidentMemory resident_memory() {
    ResidentMemory memory;
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        std::istringstream words(line);
        std::string name;
        std::size_t kib = 0;
        words >> name >> kib;
        if (name == "RssAnon:")
            memory.anonymous_bytes = kib * 1024;
        else if (name == "RssFile:")
            memory.file_bytes = kib * 1024;
        else if (name == "RssShmem:")
            memory.shared_bytes = kib * 1024;
    }
    return memory;
}

} // namespace overtake::command
