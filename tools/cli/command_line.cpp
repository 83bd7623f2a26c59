// SPDX-License-Identifier: MIT
#include "command_line.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "compiler/configuration/value.hpp"
#include "option_checks.hpp"
#include "overtake/device.hpp"
#include "printable.hpp"

namespace overtake::command {
namespace {

constexpr int exit_failure = 1;
constexpr int exit_usage = 2;

/// Returns the text as one line, whatever names of the user it quotes.
std::string one_line(std::string_view text) {
    std::string line;
    while (!text.empty()) {
        const Utf8Character next = first_character(text);
        const std::string_view bytes = text.substr(0, next.bytes != 0 ? next.bytes : 1);
        if (next.bytes != 0 && !is_control_or_format(next.value))
            line += bytes;
        else if (bytes == "\n")
            line += "\\n";
        else if (bytes.size() == 1)
            line += fmt::format("\\x{:02x}", static_cast<unsigned char>(bytes.front()));
        else
            line += fmt::format("\\u{{{:x}}}", static_cast<std::uint32_t>(next.value));
        text.remove_prefix(bytes.size());
    }
    return line;
}

void complain(std::string_view what) {
    std::fprintf(stderr, "overtake: %s\n", one_line(what).c_str());
}

/// Returns the status, or a failure if the output could not be written, e.g. on a full disk.
int flushed(int status) {
    std::cout.flush();
    if (std::cout && std::fflush(stdout) == 0 && std::ferror(stdout) == 0)
        return status;
    complain(fmt::format("standard output: cannot be written: {}", std::strerror(errno)));
    return exit_failure;
}

/// Returns "a,b,c}" as "a, b, c".
std::string spaced(std::string_view set) {
    std::string text;
    for (const char c : set.substr(0, set.find('}')))
        text += c == ',' ? ", " : std::string(1, c);
    return text;
}

/// Returns CLI11's reason in plain words: CLI11 does not know which options are files or words.
std::string reason_of(const CLI::ParseError& error) {
    const std::string text = error.what();
    const std::string option = text.substr(0, text.find(": "));
    if (error.get_name() == "ArgumentMismatch")
        return option + (text.find("ost ") != std::string::npos ? ": is given more than once"
                                                                : ": needs a value");
    if (const std::size_t verb = text.find(" excludes ");
        error.get_name() == "ExcludesError" && verb != std::string::npos)
        return text.substr(0, verb) + ": cannot be given together with " +
               text.substr(verb + std::strlen(" excludes "));
    if (const std::size_t value = text.find(" = ");
        error.get_name() == "ConversionError" && value != std::string::npos)
        return text.substr(text.find("--"), value - text.find("--")) + ": '" +
               text.substr(value + 3) + "' is out of range";
    if (const std::size_t set = text.find(" not in {"); set != std::string::npos)
        return text.substr(0, set) + " is not one of " +
               spaced(text.substr(set + std::strlen(" not in {")));
    return text;
}

/// Formats help without details of CLI11: the value that a flag gives, and which options exclude
/// each other, which an error explains.
class HelpFormatter : public CLI::Formatter {
public:
    void set_example(const std::string& subcommand, const char* example) {
        examples_[subcommand] = example;
    }

private:
    std::string make_usage(const CLI::App* app, std::string name) const override {
        const auto example = examples_.find(app->get_name());
        return (example == examples_.end() ? "" : "Example: " + example->second + "\n") +
               CLI::Formatter::make_usage(app, std::move(name));
    }
    std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
        std::string name = CLI::Formatter::make_option_name(option, is_positional);
        if (const std::size_t value = name.find("{false}"); value != std::string::npos)
            name.erase(value, std::strlen("{false}"));
        return name;
    }
    std::string make_option_opts(const CLI::Option* option) const override {
        const std::string text = CLI::Formatter::make_option_opts(option);
        return text.substr(0, text.find(" Excludes:"));
    }

    std::map<std::string, std::string> examples_; // by subcommand
};

/// Returns the name of the command whose --help explains the right usage.
std::string name_of_chosen(const CLI::App& app) {
    const auto chosen = app.get_subcommands();
    return app.get_name() + (chosen.empty() ? "" : " " + chosen.front()->get_name());
}

/// Returns "; did you mean --priority?" for a word that is nearly a known one, or begins only one.
std::string suggestion(const std::string& word, const std::vector<std::string>& known) {
    const std::string bare = word.substr(std::min(word.find_first_not_of('-'), word.size()));
    if (bare.size() < 2)
        return "";
    std::vector<std::string> longer;
    for (const std::string& name : known)
        if (name.starts_with(bare))
            longer.push_back(name);
    const std::string nearest =
        longer.size() == 1 ? longer[0] : compiler::nearest_name(bare, known, bare.size() / 3 + 1);
    return nearest.empty()
               ? ""
               : fmt::format("; did you mean {}{}?", word.starts_with('-') ? "--" : "", nearest);
}

/// Returns the long options of a command, or the names of its subcommands.
std::vector<std::string> words_of(const CLI::App& app, bool are_options) {
    std::vector<std::string> words;
    for (const CLI::Option* option : app.get_options())
        if (are_options)
            for (const std::string& name : option->get_lnames())
                words.push_back(name);
    for (const CLI::App* command : app.get_subcommands({}))
        if (!are_options)
            words.push_back(command->get_name());
    return words;
}

/// Returns the message about a wrong command line. CLI11 first reports a missing argument, although
/// an argument that no option takes is the likelier mistake.
std::string wrong_usage(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
    const auto chosen = app.get_subcommands();
    const CLI::App& command = chosen.empty() ? app : *chosen.front();
    const auto what_is = [&](const std::string& word, const char* argument) {
        const bool is_option = word.starts_with('-');
        return word + (is_option ? ": is not an option" : argument) +
               suggestion(word.substr(0, word.find('=')), words_of(command, is_option));
    };
    if (argc > 1 && (argv[1][0] == '-' || app.get_subcommands().empty()))
        return fmt::format("{}; see {} --help", what_is(argv[1], ": is not a subcommand"),
                           app.get_name());
    const std::string see = fmt::format("; see {} --help", name_of_chosen(app));
    const std::string text = error.what();
    const std::vector<std::string> rest = app.remaining(true);
    // The error's name is the subcommand's.
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError))
        return what_is(rest.empty() ? text.substr(text.find(": ") + 2) : rest.front(),
                       ": is one argument too many") +
               see;
    if (error.get_name() == "RequiredError" && !rest.empty())
        return what_is(rest.front(), ": is one argument too many") + see;
    return reason_of(error) + see;
}

int parse_and_run(CLI::App& app, int argc, char** argv, int& status) {
    try {
        app.parse(argc, argv);
        return status;
    } catch (const CLI::ParseError& error) {
        // --help and --version arrive here, too, as success.
        if (error.get_exit_code() == 0)
            return app.exit(error);
        complain(wrong_usage(app, error, argc, argv));
        return exit_usage;
    } catch (const std::bad_alloc&) {
        complain("it needs more memory than there is; give it smaller tensors or fewer samples");
        return exit_failure;
    } catch (const std::system_error& error) {
        errno = error.code().value();
        if (std::ferror(stdout) == 0) // otherwise flushed() reports it
            complain(error.what());
        return exit_failure;
    } catch (const std::exception& error) {
        complain(error.what());
        return exit_failure;
    }
}

} // namespace

int run_command_line(int argc, char** argv, std::span<const Subcommand> commands) {
    CLI::App app{"Compile neural networks for the Overtake NPU, run them and watch them run"};
    app.name("overtake");
    const auto formatter = std::make_shared<HelpFormatter>();
    app.formatter(formatter);
    app.set_version_flag("--version", "overtake " OVERTAKE_VERSION);
    app.require_subcommand(1);
    int status = 0;
    for (const Subcommand& command : commands) {
        command.add(app, status);
        CLI::App& added = *app.get_subcommands({}).back();
        if (!added.get_group().empty()) // a command without a group is not listed
            added.group(command.group);
        formatter->set_example(added.get_name(), command.example);
        check_numbers(added);
    }
    if (argc == 1) {
        fmt::print("{}", app.help());
        return flushed(0);
    }
    return flushed(parse_and_run(app, argc, argv, status));
}

} // namespace overtake::command
