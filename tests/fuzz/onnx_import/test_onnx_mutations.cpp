// SPDX-License-Identifier: MIT
//
// test_onnx_mutations DIRECTORY: the fuzzer of ONNX import without its engine, on every file of the
// directory and some mutations of each.  Fails if there is no file, or if hardly any compiles.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "run_import.hpp"

/// Replaces the mutations of the engine.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t) {
    static std::mt19937 random(1);
    for (std::size_t change = 1 + random() % 4; size > 0 && change > 0; change--)
        data[random() % size] = static_cast<std::uint8_t>(random());
    return size;
}

namespace {

constexpr std::uint32_t mutations = 6; // of each file; make fuzz-onnx makes more
constexpr std::size_t largest = 1u << 14;

std::vector<std::uint8_t> read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2)
        return 2;
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(argv[1]))
        paths.push_back(entry.path());
    std::ranges::sort(paths);
    std::size_t compiled = 0, all = 0, mutated = 0;
    for (const auto& path : paths) {
        const std::vector<std::uint8_t> bytes = read_file(path);
        std::string reason = "compiles";
        const bool is_sound =
            overtake::fuzz::run_import(bytes, &reason) == overtake::fuzz::Imported::compiled;
        std::printf("%s: %s\n", path.filename().c_str(), reason.c_str());
        std::fflush(stdout); // the next line may end the process
        compiled += is_sound;
        all++;
        for (std::uint32_t number = 0; number < mutations; number++) {
            std::vector<std::uint8_t> changed = bytes;
            overtake::fuzz::mutate_onnx(changed, largest, static_cast<std::uint32_t>(all) + number);
            mutated += overtake::fuzz::run_import(changed) == overtake::fuzz::Imported::compiled;
        }
    }
    std::printf("%zu of %zu models compile, %zu of %zu mutations\n", compiled, all, mutated,
                all * mutations);
    return compiled >= 100 && mutated >= 25 ? 0 : 1;
}
