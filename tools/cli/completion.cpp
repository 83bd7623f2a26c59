// SPDX-License-Identifier: MIT
//
// overtake completion: prints the script with which a shell completes overtake's command lines. It
// is made from the parser itself, so no subcommand and no option is missing.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "commands.hpp"
#include "option_checks.hpp"

namespace overtake::command {
namespace {

/// The constant part: the words come from the functions _overtake_words and _overtake_values.
constexpr const char* bash_function = R"(
_overtake()
{
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words=
	# bash takes --option=VALUE apart at the equals sign.
	if [[ $current == = ]]; then
		current=
	elif [[ $previous == = ]] && ((COMP_CWORD > 2)); then
		previous=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	if ((COMP_CWORD == 1)); then
		words=$(_overtake_words '')
	elif [[ $current == -* ]]; then
		words=$(_overtake_words "${COMP_WORDS[1]}")
	else
		words=$(_overtake_values "${COMP_WORDS[1]} $previous")
	fi
	# Without an answer the shell completes names of files.
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o default -F _overtake overtake
)";

std::vector<const CLI::App*> shown_subcommands(const CLI::App& app) {
    return app.get_subcommands(
        [](const CLI::App* command) { return !command->get_group().empty(); });
}

/// Returns every spelling of an option: -o --output.
std::vector<std::string> spellings(const CLI::Option& option) {
    std::vector<std::string> names;
    for (const std::string& name : option.get_snames())
        names.push_back("-" + name);
    for (const std::string& name : option.get_lnames())
        names.push_back("--" + name);
    return names;
}

std::vector<std::string> option_words(const CLI::App& app) {
    std::vector<std::string> words;
    for (const CLI::Option* option : app.get_options())
        for (std::string& name : spellings(*option))
            words.push_back(std::move(name));
    return words;
}

/// Returns the values that an option may have: those of its one_of(), which describes itself as "a,
/// b or c"; for --device, the names that open_device() knows, and the nodes of this machine.
std::string values(const CLI::Option& option) {
    if (option.check_lname("device"))
        return "auto embedded kernel $(compgen -G '/dev/accel/accel*')";
    std::string words = option.get_type_name();
    words.erase(0, words.find(':') + 1);
    const std::size_t last = words.find(" or ");
    if (last == std::string::npos)
        return "";
    words.replace(last, 4, ", ");
    for (std::size_t comma = words.find(", "); comma != std::string::npos;
         comma = words.find(", ", comma))
        words.replace(comma, 2, " ");
    const bool only_words =
        words.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789- ") == std::string::npos;
    return only_words ? words : "";
}

std::string bash_words(const CLI::App& app) {
    std::vector<std::string> first;
    std::string cases;
    for (const CLI::App* command : shown_subcommands(app)) {
        first.push_back(command->get_name());
        cases += fmt::format("\t{}) echo \"{}\" ;;\n", command->get_name(),
                             fmt::join(option_words(*command), " "));
    }
    return fmt::format(
        "_overtake_words()\n{{\n\tcase $1 in\n\t'') echo \"{} {}\" ;;\n{}\tesac\n}}\n",
        fmt::join(first, " "), fmt::join(option_words(app), " "), cases);
}

std::string bash_values(const CLI::App& app) {
    std::string cases;
    for (const CLI::App* command : shown_subcommands(app))
        for (const CLI::Option* option : command->get_options()) {
            const std::string words = values(*option);
            if (words.empty())
                continue;
            std::vector<std::string> patterns;
            for (const std::string& name : spellings(*option))
                patterns.push_back(fmt::format("'{} {}'", command->get_name(), name));
            if (!patterns.empty())
                cases += fmt::format("\t{}) echo \"{}\" ;;\n", fmt::join(patterns, " | "), words);
        }
    return fmt::format("_overtake_values()\n{{\n\tcase $1 in\n{}\tesac\n}}\n", cases);
}

} // namespace

void add_completion(CLI::App& app, int&) {
    auto shell = std::make_shared<std::string>();
    auto* command = app.add_subcommand("completion", "Print the completion script of a shell");
    command->group(""); // packages and `make install` call it: --help does not list it
    command->add_option("SHELL", *shell, "bash")->required()->check(one_of({"bash"}));
    command->callback([shell, &app] {
        fmt::print("# Completes command lines of overtake in bash. Written by "
                   "`overtake completion bash`.\n{}\n{}{}",
                   bash_words(app), bash_values(app), bash_function);
    });
}

} // namespace overtake::command
