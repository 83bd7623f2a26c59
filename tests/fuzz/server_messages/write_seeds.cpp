// SPDX-License-Identifier: MIT
//
// write_seeds DIRECTORY: message_seeds() as files.
#include <fstream>
#include <string>

#include "run_messages.hpp"

int main(int argc, char** argv) {
    int number = 0;
    for (const auto& seed : overtake::fuzz::message_seeds()) {
        const std::string path =
            std::string(argc > 1 ? argv[1] : ".") + "/seed-" + std::to_string(number++);
        std::ofstream(path, std::ios::binary)
            .write(reinterpret_cast<const char*>(seed.data()),
                   static_cast<std::streamsize>(seed.size()));
    }
    return 0;
}
