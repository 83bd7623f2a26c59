// SPDX-License-Identifier: MIT
#include "run_import.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "compiler/compile.hpp"
#include "overtake/device.hpp"
#include "overtake/model.hpp"

namespace overtake::fuzz {

namespace {

// Most elements of a tensor: enough that every operator computes several elements.
constexpr std::uint64_t most_elements = 1u << 12;

/// A directory that has only the file that the compiler reads, and no other file that a model might
/// name.
class Directory {
public:
    Directory() {
        std::string path = std::filesystem::temp_directory_path() / "overtake-fuzz-XXXXXX";
        if (!mkdtemp(path.data())) {
            std::perror(path.c_str());
            std::exit(1);
        }
        path_ = path;
    }
    ~Directory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    std::string file() const { return path_ / "model.onnx"; }

private:
    std::filesystem::path path_;
};

[[noreturn]] void fail(const char* what, const char* text) {
    std::fprintf(stderr, "fuzz_onnx_import: %s: %s\n", what, text);
    std::abort();
}

// Checks that the message is one line, "PLACE: what is wrong".
void check_refusal(const Error& error) {
    const std::string_view text = error.what();
    if (error.code() != EINVAL || text.find(": ") == std::string_view::npos ||
        text.find('\n') != std::string_view::npos)
        fail("a refusal without place or reason", error.what());
}

} // namespace

Imported run_import(std::span<const std::uint8_t> bytes, std::string* reason) {
    static const Directory directory;
    compiler::CompileOptions options;
    options.model = directory.file();
    options.wants_noise = true;
    options.import.most_elements = most_elements;
    options.import.stay_on_bpu = {"recurrence"};
    // The number of bytes decides whether the program is split.
    options.max_time_per_fc_us = bytes.size() % 4 == 0 ? 1000 : 0;
    std::ofstream(options.model, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    std::vector<std::uint8_t> made;
    try {
        made = compiler::compile(options);
    } catch (const Error& error) {
        check_refusal(error);
        if (reason)
            *reason = error.what();
        return Imported::refused;
    }
    try {
        Model::from_bytes(std::as_bytes(std::span(made)));
    } catch (const Error& error) {
        fail("the runtime refuses what the compiler made", error.what());
    }
    return Imported::compiled;
}

} // namespace overtake::fuzz
