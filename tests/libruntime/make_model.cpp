// SPDX-License-Identifier: MIT
//
// Writes a small model file: make_model FILE.ovm
#include <cstdio>
#include <fstream>

#include "model_spec.hpp"

int main(int argc, char** argv) {
    if (argc != 2)
        return std::fprintf(stderr, "usage: make_model FILE.ovm\n"), 2;
    const auto bytes = overtake::test::build(overtake::test::copy_and_softmax(2, 1, 2));
    std::ofstream file(argv[1], std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return file.flush() ? 0 : 1;
}
