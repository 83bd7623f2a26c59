// SPDX-License-Identifier: MIT
//
// Files of learned costs: written, read, and refused if they are not sound.
#include "compiler/costs_file.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "compiler/ir/error.hpp"
#include "compiler/profile.hpp"

namespace overtake::compiler {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* costs_kind = "partition-costs";
constexpr unsigned costs_version = 1;
constexpr const char* anew = "write the file with overtake calibrate --partition";
constexpr std::size_t most_costs_levels = 8; // a costs file has six
constexpr std::size_t most_trees = 1024, most_tree_nodes = 1024, most_sums = 4;
constexpr std::size_t most_tree_levels = 16; // each price of a search walks through every tree
constexpr std::uintmax_t most_bytes = std::uintmax_t{1} << 28; // all trees of all nodes
constexpr double greatest_coefficient = 1e12, greatest_leaf = 1e3, greatest_bound = 1e30;

// Returns a key as messages show it.
std::string short_name(const std::string& key) {
    constexpr std::size_t most_bytes_shown = 60;
    const std::string line = one_line(key);
    if (line.size() <= most_bytes_shown)
        return line;
    std::size_t end = most_bytes_shown; // the start of a character
    while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80)
        --end;
    return line.substr(0, end) + "...";
}

// A value of the file, with its place.
class CostsPlace {
public:
    CostsPlace(const Json& value, const std::string& file, std::string path = "")
        : value_(value), file_(file), path_(std::move(path)) {}

    [[noreturn]] void fail(const std::string& what) const {
        throw CompileError(path_.empty() ? file_ : file_ + ": " + path_, what);
    }
    bool has(const char* key) const { return value_.is_object() && value_.contains(key); }

    CostsPlace member(const char* key) const {
        if (!value_.is_object())
            fail(fmt::format("is not an object {{...}}; {}", anew));
        const auto found = value_.find(key);
        if (found == value_.end())
            CostsPlace(value_, file_, join(key)).fail(fmt::format("is missing; {}", anew));
        return CostsPlace(*found, file_, join(key));
    }
    // Refuses other keys, which may be misspelt.
    void allow(std::initializer_list<std::string_view> keys) const {
        if (!value_.is_object())
            fail(fmt::format("is not an object {{...}}; {}", anew));
        for (const auto& [key, value] : value_.items())
            if (std::ranges::find(keys, std::string_view(key)) == keys.end())
                CostsPlace(value, file_, join(short_name(key)))
                    .fail(fmt::format("is no key of such a file; {}", anew));
    }
    std::vector<CostsPlace> entries(std::size_t least, std::size_t most) const {
        if (!value_.is_array())
            fail(fmt::format("is not a list [...]; {}", anew));
        if (value_.size() < least || value_.size() > most)
            fail(fmt::format(
                "has {} entries, not {}; {}", value_.size(),
                least == most ? std::to_string(least) : fmt::format("{}..{}", least, most), anew));
        std::vector<CostsPlace> entries;
        for (std::size_t i = 0; i < value_.size(); i++)
            entries.emplace_back(value_[i], file_, fmt::format("{}[{}]", path_, i));
        return entries;
    }
    std::string text() const {
        if (!value_.is_string())
            fail(fmt::format("is not a text; {}", anew));
        return value_.get<std::string>();
    }
    bool truth() const {
        if (!value_.is_boolean())
            fail(fmt::format("is neither true nor false; {}", anew));
        return value_.get<bool>();
    }
    std::uint64_t whole_number(std::uint64_t least, std::uint64_t most) const {
        const std::uint64_t number =
            value_.is_number_unsigned() ? value_.get<std::uint64_t>() : UINT64_MAX;
        if (number < least || number > most)
            fail(fmt::format("is not a whole number in {}..{}; {}", least, most, anew));
        return number;
    }
    double number(double least, double most) const {
        const double number = value_.is_number() ? value_.get<double>() : NAN;
        if (!(number >= least && number <= most))
            fail(fmt::format("is not a number in {}..{}; {}", least, most, anew));
        return number;
    }

private:
    std::string join(const std::string& key) const {
        return path_.empty() ? key : path_ + "." + key;
    }

    const Json& value_;
    const std::string& file_;
    std::string path_;
};

// Follows the parser.  Refuses repeated keys, which the parsed document would not show, and more
// than most_costs_levels levels.
class CostsStructure {
public:
    explicit CostsStructure(const std::string& file) : file_(file) {}

    void see(Json::parse_event_t event, const Json& value) {
        switch (event) {
        case Json::parse_event_t::object_start:
        case Json::parse_event_t::array_start:
            if (levels_.size() == most_costs_levels)
                throw CompileError(file_, fmt::format("is nested too deeply; {}", anew));
            levels_.emplace_back();
            return;
        case Json::parse_event_t::key:
            if (!levels_.back().insert(value.get<std::string>()).second)
                throw CompileError(file_, fmt::format("has '{}' twice in one place; {}",
                                                      short_name(value.get<std::string>()), anew));
            return;
        case Json::parse_event_t::object_end:
        case Json::parse_event_t::array_end:
            levels_.pop_back();
            return;
        case Json::parse_event_t::value:
            return;
        }
    }

private:
    const std::string& file_;
    std::vector<std::set<std::string>> levels_; // the keys of each level
};

Json parse_costs_json(const std::string& text, const std::string& file) {
    CostsStructure structure(file);
    const auto look = [&](int, Json::parse_event_t event, const Json& value) {
        structure.see(event, value);
        return true;
    };
    try {
        return Json::parse(text, look);
    } catch (const Json::exception& error) {
        std::string what = error.what(); // "[json.exception.parse_error.101] parse error at ..."
        if (const auto end = what.find("] "); end != std::string::npos)
            what = what.substr(end + 2);
        throw CompileError(file, fmt::format("{}; {}", one_line(what), anew));
    }
}

CostFormula parse_formula(const CostsPlace& place, std::size_t features) {
    CostFormula formula;
    for (const CostsPlace& sum : place.entries(1, most_sums)) {
        std::vector<double>& coefficients = formula.sums.emplace_back();
        for (const CostsPlace& entry : sum.entries(features, features))
            coefficients.push_back(entry.number(0, greatest_coefficient));
    }
    return formula;
}

CostTree parse_tree(const CostsPlace& place, std::size_t features) {
    CostTree tree;
    const auto nodes = place.entries(1, most_tree_nodes);
    std::vector<std::size_t> levels(nodes.size(), 1);
    for (std::size_t index = 0; index < nodes.size(); ++index) {
        CostTree::Node& node = tree.nodes.emplace_back();
        if (nodes[index].has("value")) {
            nodes[index].allow({"value"});
            node.value = nodes[index].member("value").number(-greatest_leaf, greatest_leaf);
            continue;
        }
        nodes[index].allow({"feature", "below", "left", "right"});
        node.feature = nodes[index].member("feature").whole_number(0, features - 1);
        node.below = static_cast<float>(
            nodes[index].member("below").number(-greatest_bound, greatest_bound));
        // The child has to come after this node: so every way through the tree ends.
        if (index + 1 == nodes.size())
            nodes[index].fail(fmt::format("has nothing behind it; {}", anew));
        node.left = nodes[index].member("left").whole_number(index + 1, nodes.size() - 1);
        node.right = nodes[index].member("right").whole_number(index + 1, nodes.size() - 1);
        if (levels[index] == most_tree_levels)
            place.fail(fmt::format("has more than {} levels; {}", most_tree_levels, anew));
        for (const std::size_t child : {node.left, node.right})
            levels[child] = std::max(levels[child], levels[index] + 1);
    }
    return tree;
}

CostTrees parse_trees(const CostsPlace& place, std::size_t features) {
    CostTrees trees;
    for (const CostsPlace& entry : place.entries(0, most_trees))
        trees.trees.push_back(parse_tree(entry, features));
    return trees;
}

void parse_names(const CostsPlace& place, std::span<const std::string_view> names) {
    const auto entries = place.entries(names.size(), names.size());
    for (std::size_t index = 0; index < names.size(); ++index)
        if (entries[index].text() != names[index])
            entries[index].fail(fmt::format("is not '{}'; {}", names[index], anew));
}

template <typename Names>
Json names_of(const Names& names) {
    Json list = Json::array();
    for (const std::string_view name : names)
        list.push_back(std::string(name));
    return list;
}

Json trees_of(const CostTrees& trees) {
    Json list = Json::array();
    for (const CostTree& tree : trees.trees) {
        Json nodes = Json::array();
        for (const CostTree::Node& node : tree.nodes)
            if (node.left == 0)
                nodes.push_back({{"value", node.value}});
            else
                nodes.push_back({{"feature", node.feature},
                                 {"below", static_cast<double>(node.below)},
                                 {"left", node.left},
                                 {"right", node.right}});
        list.push_back(std::move(nodes));
    }
    return list;
}

} // namespace

std::string costs_file(const LearnedCosts& costs) {
    Json kinds = Json::array();
    for (const auto& [opcode, kind] : costs.kinds)
        kinds.push_back({{"instruction", opcode_name(opcode)},
                         {"formula", kind.formula.sums},
                         {"trees", kind.uses_trees}});
    Json file = {{"version", costs_version},
                 {"kind", costs_kind},
                 {"source", costs.source},
                 {"fc_ns", costs.fc_ns},
                 {"features", names_of(piece_feature_names)},
                 {"instructions", std::move(kinds)},
                 {"others", costs.others.sums},
                 {"compute", trees_of(costs.compute)},
                 {"exchange_features", names_of(meeting_feature_names)},
                 {"exchange_formula", costs.meeting.formula.sums},
                 {"exchange_trees", costs.meeting.uses_trees},
                 {"exchange", trees_of(costs.exchange)}};
    // Writes a line for each member, and for each of their entries.
    std::string text = "{\n";
    for (const auto& [key, value] : file.items()) {
        text += text.size() > 2 ? ",\n" : "";
        text += fmt::format(" {}: ", Json(key).dump());
        if (!value.is_array() || value.empty() || !value[0].is_structured()) {
            text += value.dump(-1, ' ', false, Json::error_handler_t::replace);
            continue;
        }
        text += "[";
        for (std::size_t index = 0; index < value.size(); ++index)
            text += (index > 0 ? ",\n  " : "\n  ") + value[index].dump();
        text += "\n ]";
    }
    return text + "\n}\n";
}

LearnedCosts parse_costs(const std::string& text, const std::string& name) {
    const Json document = parse_costs_json(text, name);
    const CostsPlace root(document, name);
    if (!root.has("kind") || root.member("kind").text() != costs_kind)
        root.fail(fmt::format("is no file of costs; {}", anew));
    if (const std::uint64_t version = root.member("version").whole_number(0, UINT32_MAX);
        version != costs_version)
        root.member("version").fail(
            fmt::format("{}, but this release reads {}; {}", version, costs_version, anew));
    root.allow({"version", "kind", "source", "fc_ns", "features", "instructions", "others",
                "compute", "exchange_features", "exchange_formula", "exchange_trees", "exchange"});
    LearnedCosts costs;
    costs.source = root.member("source").text();
    costs.fc_ns = root.member("fc_ns").number(0, greatest_coefficient);
    parse_names(root.member("features"), piece_feature_names);
    parse_names(root.member("exchange_features"), meeting_feature_names);
    for (const CostsPlace& entry : root.member("instructions").entries(0, OVERTAKE_OP_COUNT)) {
        entry.allow({"instruction", "formula", "trees"});
        const std::optional<unsigned> opcode = opcode_of(entry.member("instruction").text());
        if (!opcode)
            entry.member("instruction").fail(fmt::format("is no instruction; {}", anew));
        if (!costs.kinds
                 .try_emplace(*opcode, LearnedCosts::Kind{parse_formula(entry.member("formula"),
                                                                        formula_features),
                                                          entry.member("trees").truth()})
                 .second)
            entry.member("instruction").fail(fmt::format("is there before; {}", anew));
    }
    costs.others = parse_formula(root.member("others"), formula_features);
    costs.compute = parse_trees(root.member("compute"), piece_features);
    costs.meeting.formula = parse_formula(root.member("exchange_formula"), meeting_features);
    costs.meeting.uses_trees = root.member("exchange_trees").truth();
    costs.exchange = parse_trees(root.member("exchange"), meeting_features);
    return costs;
}

LearnedCosts read_costs(const std::string& path) {
    const std::string option = "--costs " + path;
    // Does not wait for a pipe, nor read a device that never ends.
    std::error_code error;
    if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error))
        throw CompileError(option, fmt::format("is not a regular file; {}", anew));
    std::ifstream file(path, std::ios::binary);
    if (!file)
        throw CompileError(option, fmt::format("is no file that can be read; {}", anew));
    if (const auto bytes = std::filesystem::file_size(path, error); bytes > most_bytes)
        throw CompileError(option, fmt::format("has {} bytes, but at most {} are read; {}", bytes,
                                               most_bytes, anew));
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return parse_costs(text, path);
}

} // namespace overtake::compiler
