// SPDX-License-Identifier: MIT
//
// write_seeds DIRECTORY: the models of seed_models() as files, and two of them as a pack.
#include <cstdio>
#include <fstream>
#include <string>

#include "run_model.hpp"

namespace {

bool write_file(const std::string& path, const std::vector<std::uint8_t>& bytes) {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    if (!file.flush())
        std::perror(path.c_str());
    return static_cast<bool>(file);
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: write_seeds DIRECTORY\n");
        return 2;
    }
    const std::string directory = argv[1];
    std::size_t number = 0;
    bool written = true;
    for (const auto& model : overtake::fuzz::seed_models())
        written &= write_file(directory + "/seed-" + std::to_string(number++),
                              overtake::fuzz::pack(model));
    written &= write_file(directory + "/seed-pack", overtake::fuzz::seed_pack());
    return written ? 0 : 1;
}
