// SPDX-License-Identifier: MIT
#include "commands.hpp"
#include "compile_command.hpp"
#include "compiler/host_profile/measured_shares.hpp"

namespace overtake::command {

void add_compile_measuring(CLI::App& app, int& status) {
    constexpr unsigned runs = 5;
    const auto pieces = std::make_shared<std::size_t>(0);
    add_compile_with(app, status,
                     {[pieces] { return host_profile::measured_shares(runs, pieces); }, pieces});
}

} // namespace overtake::command
