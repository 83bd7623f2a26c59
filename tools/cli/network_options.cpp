// SPDX-License-Identifier: MIT
#include "network_options.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace overtake::command {
namespace {

std::vector<std::int64_t> shape_in(const std::string& argument, std::size_t equals) {
    std::vector<std::int64_t> shape;
    bool is_sound = equals != std::string::npos && equals > 0;
    for (std::size_t at = equals + 1; is_sound && at <= argument.size();) {
        const std::size_t end = std::min(argument.find('x', at), argument.size());
        const std::string size = argument.substr(at, end - at);
        is_sound = !size.empty() && size.size() < 10 &&
                   size.find_first_not_of("0123456789") == std::string::npos;
        shape.push_back(is_sound ? std::stoll(size) : 0);
        is_sound = is_sound && shape.back() > 0;
        at = end + 1;
    }
    if (!is_sound)
        throw CLI::ValidationError("--input-shape", "'" + argument + "' is not NAME=1x3x224x224");
    return shape;
}

} // namespace

void add_network_options(CLI::App& command, NetworkOptions& options) {
    command
        .add_option("--input-shape", options.shapes,
                    "NAME=1x3x224x224: shape of an input with open dimensions; once per input")
        ->allow_extra_args(false);
    command
        .add_option("--set-input", options.values,
                    "NAME=VALUE: make the input a constant of this number, or of as many as it has "
                    "elements (1,2,3); once per input")
        ->allow_extra_args(false);
}

void read_network_options(const NetworkOptions& options, compiler::ImportOptions& import) {
    for (const std::string& argument : options.shapes) {
        const std::size_t equals = argument.rfind('=');
        import.input_shapes[argument.substr(0, equals)] = shape_in(argument, equals);
    }
    for (const std::string& argument : options.values) {
        const std::size_t equals = argument.rfind('=');
        if (equals == std::string::npos || equals == 0 || equals + 1 == argument.size())
            throw CLI::ValidationError("--set-input",
                                       "'" + argument + "' is not NAME=16000 or NAME=1,2,3");
        import.set_inputs[argument.substr(0, equals)] = argument.substr(equals + 1);
    }
}

} // namespace overtake::command
