// SPDX-License-Identifier: MIT
#include "cpu_network.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "compiler/compile.hpp"

namespace overtake::command {

bool is_onnx(const std::string& path) {
    return std::filesystem::path(path).extension() == ".onnx";
}

std::shared_ptr<const Model> compile_for_cpu(const std::string& path,
                                             const compiler::ImportOptions& import,
                                             Warnings& warnings) {
    compiler::CompileOptions options;
    options.model = path;
    options.import = import;
    options.import.all_on_cpu = true;
    options.warn = options.import.warn = warnings.sink();
    const std::vector<std::uint8_t> bytes = compiler::compile(options);
    return Model::from_bytes(std::as_bytes(std::span(bytes)), path);
}

} // namespace overtake::command
