// SPDX-License-Identifier: MIT
//
// overtake compare: compares the outputs of two runs.
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "compiler/file/similarity.hpp"
#include "compiler/inputs/npy.hpp"
#include "huge_pages.hpp"
#include "json_text.hpp"
#include "option_checks.hpp"
#include "overtake/device.hpp"
#include "printable.hpp"

namespace overtake::command {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct CompareOptions {
    std::string a, b;
    std::optional<double> least_cosine;
    std::optional<double> max_error;
    bool exact = false;
    bool json = false;

    bool demands_something() const { return exact || least_cosine || max_error; }
};

/// Two arrays of one shape; B is the reference.
struct Difference {
    std::string name;
    std::vector<std::size_t> shape;
    std::size_t elements = 0;
    std::size_t differing = 0;
    double cosine = 0;
    double max_error = 0; ///< infinite if one value is not finite and the other differs
    double relative_error = 0;
};

struct Comparison {
    std::vector<Difference> outputs;
    std::vector<std::string> only_a, only_b;
    std::vector<std::string> other_shape; ///< "NAME (1x10 and 1x12)"

    bool is_complete() const { return only_a.empty() && only_b.empty() && other_shape.empty(); }
};

using Files = std::map<std::string, fs::path>; ///< by the output's name

Files files_in(const std::string& place) {
    std::error_code error;
    const fs::file_status status = fs::status(place, error);
    if (!fs::exists(status))
        throw Error(error ? error.value() : ENOENT,
                    fmt::format("{}: {}; name a directory that overtake run wrote to, or a .npy "
                                "file",
                                place, error ? error.message() : std::strerror(ENOENT)));
    if (!fs::is_directory(status))
        return {{fs::path(place).stem(), place}};
    Files files;
    for (const fs::directory_entry& entry : fs::directory_iterator(place, error))
        if (entry.path().extension() == ".npy")
            files[entry.path().stem()] = entry.path();
    if (error)
        throw Error(error.value(), fmt::format("{}: {}", place, error.message()));
    if (files.empty())
        throw Error(ENOENT, fmt::format("{}: holds no .npy file; name a directory that overtake "
                                        "run --output-dir wrote to",
                                        place));
    return files;
}

Difference difference_of(const std::string& name, const compiler::Array& a,
                         const compiler::Array& b) {
    Difference difference{.name = name, .shape = a.shape, .elements = a.elements()};
    for (std::size_t index = 0; index < a.data.size(); index++) {
        const double left = a.data[index];
        const double right = b.data[index];
        if (left == right || (std::isnan(left) && std::isnan(right)))
            continue;
        difference.differing++;
        const double error = std::abs(left - right);
        difference.max_error =
            std::max(difference.max_error,
                     std::isnan(error) ? std::numeric_limits<double>::infinity() : error);
    }
    compiler::Similarity similarity;
    similarity.add(a.data, b.data);
    difference.cosine = similarity.cosine();
    difference.relative_error = similarity.error();
    return difference;
}

std::string words(const std::vector<std::size_t>& shape) {
    return shape.empty() ? "a scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

void add(Comparison& comparison, const std::string& name, const fs::path& path_a,
         const fs::path& path_b) {
    const compiler::Array a = compiler::read_npy(path_a);
    const compiler::Array b = compiler::read_npy(path_b);
    if (a.shape == b.shape)
        comparison.outputs.push_back(difference_of(name, a, b));
    else
        comparison.other_shape.push_back(
            fmt::format("{} ({} and {})", name, words(a.shape), words(b.shape)));
}

Comparison compare(const CompareOptions& options) {
    std::error_code ignored;
    if (fs::is_directory(options.a, ignored) != fs::is_directory(options.b, ignored))
        throw Error(EINVAL, fmt::format("{} and {}: one is a directory and the other is not; name "
                                        "two directories or two .npy files",
                                        options.a, options.b));
    const Files a = files_in(options.a);
    const Files b = files_in(options.b);
    Comparison comparison;
    if (!fs::is_directory(options.a, ignored)) {
        add(comparison, a.begin()->first, options.a, options.b);
        return comparison;
    }
    for (const auto& [name, path] : a)
        if (b.contains(name))
            add(comparison, name, path, b.at(name));
        else
            comparison.only_a.push_back(name);
    for (const auto& [name, path] : b)
        if (!a.contains(name))
            comparison.only_b.push_back(name);
    return comparison;
}

/// Returns why two runs cannot be compared completely; empty if they can.
std::string gaps(const CompareOptions& options, const Comparison& comparison) {
    std::vector<std::string> parts;
    if (!comparison.only_a.empty())
        parts.push_back(
            fmt::format("only in {}: {}", options.a, fmt::join(comparison.only_a, ", ")));
    if (!comparison.only_b.empty())
        parts.push_back(
            fmt::format("only in {}: {}", options.b, fmt::join(comparison.only_b, ", ")));
    if (!comparison.other_shape.empty())
        parts.push_back(
            fmt::format("of different shapes: {}", fmt::join(comparison.other_shape, ", ")));
    return fmt::format("{}", fmt::join(parts, "; "));
}

/// Returns which demand of the options an output does not meet; empty if it meets all.
std::string complaint(const CompareOptions& options, const Difference& of) {
    if (options.exact && of.differing != 0)
        return fmt::format("{}: {} of {} elements differ", of.name, of.differing, of.elements);
    // The condition is written so that NaN does not meet it.
    if (options.least_cosine && !(of.cosine >= *options.least_cosine))
        return fmt::format("{}: cosine {:.6f} is below {}", of.name, of.cosine,
                           *options.least_cosine);
    if (options.max_error && !(of.max_error <= *options.max_error))
        return fmt::format("{}: error {:g} is above {}", of.name, of.max_error, *options.max_error);
    return "";
}

std::vector<std::string> complaints(const CompareOptions& options, const Comparison& comparison) {
    std::vector<std::string> all;
    if (!options.demands_something())
        return all;
    for (const Difference& output : comparison.outputs)
        if (const std::string text = complaint(options, output); !text.empty())
            all.push_back(text);
    if (!comparison.is_complete())
        all.push_back(gaps(options, comparison));
    return all;
}

Json number_or_null(double number) {
    return std::isfinite(number) ? Json(number) : Json();
}

Json to_json(const CompareOptions& options, const Comparison& comparison, bool is_within) {
    Json outputs = Json::array();
    std::size_t differing = 0;
    for (const Difference& output : comparison.outputs) {
        differing += output.differing;
        outputs.push_back({{"name", output.name},
                           {"shape", output.shape},
                           {"elements", output.elements},
                           {"differing", output.differing},
                           {"cosine", number_or_null(output.cosine)},
                           {"max_error", number_or_null(output.max_error)},
                           {"relative_error", number_or_null(output.relative_error)}});
    }
    return {{"a", options.a},
            {"b", options.b},
            {"outputs", outputs},
            {"only_in_a", comparison.only_a},
            {"only_in_b", comparison.only_b},
            {"different_shape", comparison.other_shape},
            {"equal", differing == 0 && comparison.is_complete()},
            {"within_tolerance", is_within}};
}

void print(const CompareOptions& options, const Comparison& comparison) {
    std::size_t width = 6;
    for (const Difference& output : comparison.outputs)
        width = std::max(width, printable(output.name).size());
    fmt::print("{:<{}}  {:>10}  {:>10}  {:>9}  {:>12}  {:>14}\n", "output", width, "elements",
               "differing", "cosine", "max error", "relative error");
    for (const Difference& output : comparison.outputs)
        fmt::print("{:<{}}  {:>10}  {:>10}  {:>9.6f}  {:>12.6g}  {:>14.6g}\n",
                   printable(output.name), width, output.elements, output.differing, output.cosine,
                   output.max_error, output.relative_error);
    if (!comparison.is_complete())
        fmt::print("not compared: {}\n", printable(gaps(options, comparison)));
}

int run_compare(const CompareOptions& options) {
    const Comparison comparison = compare(options);
    if (comparison.outputs.empty())
        throw Error(ENOENT, fmt::format("{} and {} have no output of one name and shape: {}",
                                        options.a, options.b, gaps(options, comparison)));
    const std::vector<std::string> failed = complaints(options, comparison);
    if (options.json)
        fmt::print("{}\n", text_of(to_json(options, comparison, failed.empty())));
    else
        print(options, comparison);
    if (!failed.empty())
        throw Error(EDOM, fmt::format("{} and {} differ: {}", options.a, options.b,
                                      fmt::join(failed, "; ")));
    return 0;
}

} // namespace

void add_compare(CLI::App& app, int& status) {
    auto options = std::make_shared<CompareOptions>();
    auto* command = app.add_subcommand("compare", "Compare the outputs of two runs");
    command
        ->add_option("A", options->a,
                     "Directory that overtake run wrote outputs to, or a .npy file")
        ->required();
    command->add_option("B", options->b, "The same for the run to compare with, the reference")
        ->required();
    command
        ->add_option("--cosine", options->least_cosine,
                     "Fail if an output's cosine similarity is below this")
        ->check(number(-1, 1));
    command
        ->add_option("--max-error", options->max_error,
                     "Fail if an element differs by more than this")
        ->check(non_negative_number());
    command->add_flag("--exact", options->exact, "Fail if an element differs at all");
    command->add_flag("--json", options->json, "Print JSON");
    command->callback([options, &status] {
        use_huge_pages();
        status = run_compare(*options);
    });
}

} // namespace overtake::command
