// SPDX-License-Identifier: MIT
#include "compiler/layout_costs_file.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "compiler/ir/error.hpp"

namespace overtake::compiler {
namespace {

constexpr const char* map_key = "cpu_layout_costs";
constexpr const char* remedy = "write the file anew with overtake calibrate --cpu";
constexpr double least_cost = 1e-6, greatest_cost = 1e9;

[[noreturn]] void refuse(const std::string& path, const YAML::Mark& mark,
                         const std::string& reason) {
    throw CompileError(mark.is_null() ? path : fmt::format("{}:{}", path, mark.line + 1),
                       reason + "; " + remedy);
}

YAML::Node loaded(const std::string& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error))
        throw CompileError("--cpu-costs " + path, "is a directory; name a file that overtake "
                                                  "calibrate --cpu wrote");
    try {
        return YAML::LoadFile(path);
    } catch (const YAML::ParserException& error) {
        refuse(path, error.mark, error.msg);
    } catch (const YAML::BadFile&) {
        throw CompileError("--cpu-costs " + path,
                           "cannot be read; overtake calibrate --cpu -o FILE writes such a file");
    }
}

} // namespace

std::string layout_costs_file(const cpu::LayoutCosts& costs, const std::string& machine) {
    std::string text = fmt::format("# {}\n{}: # nanoseconds\n", machine, map_key);
    for (const cpu::LayoutCost& cost : cpu::layout_cost_names())
        text += fmt::format("  {}: {}\n", cost.name, costs.*cost.number);
    return text;
}

cpu::LayoutCosts read_layout_costs(const std::string& path) {
    const YAML::Node root = loaded(path);
    if (!root.IsMap() || !root[map_key] || !root[map_key].IsMap())
        refuse(path, root.Mark(), fmt::format("has no map '{}'", map_key));
    cpu::LayoutCosts costs;
    std::set<std::string> seen;
    for (const auto& entry : root[map_key]) {
        const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
        const auto names = cpu::layout_cost_names();
        const auto known = std::ranges::find_if(
            names, [&](const cpu::LayoutCost& cost) { return key == cost.name; });
        if (known == names.end())
            refuse(path, entry.first.Mark(), fmt::format("key '{}' is not known", one_line(key)));
        if (!seen.insert(key).second)
            refuse(path, entry.first.Mark(), fmt::format("key '{}' is given twice", key));
        double value = 0;
        if (!entry.second.IsScalar() || !YAML::convert<double>::decode(entry.second, value) ||
            !(value >= least_cost && value <= greatest_cost))
            refuse(
                path, entry.second.Mark(),
                fmt::format("key '{}' needs a number in {}..{}", key, least_cost, greatest_cost));
        costs.*known->number = value;
    }
    for (const cpu::LayoutCost& cost : cpu::layout_cost_names())
        if (!seen.contains(cost.name))
            refuse(path, root[map_key].Mark(), fmt::format("key '{}' is missing", cost.name));
    return costs;
}

} // namespace overtake::compiler
