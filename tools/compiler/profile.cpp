// SPDX-License-Identifier: MIT
#include "compiler/profile.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <limits>
#include <numeric>
#include <set>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "compiler/ir/error.hpp"

namespace overtake::compiler {
namespace {

constexpr double cost_unit = 1u << OVT_COST_BITS;

struct NumberKey {
    const char* name;
    u32 ovt_profile::*field;
    std::uint32_t least;
};

// The bound of the clock keeps times within 64 bits; rates are divisors.
constexpr NumberKey number_keys[] = {
    {"clock_khz", &ovt_profile::clock_khz, 1},
    {"macs_per_cycle", &ovt_profile::macs_per_cycle, 1},
    {"vector_per_cycle", &ovt_profile::vector_per_cycle, 1},
    {"bytes_per_cycle", &ovt_profile::bytes_per_cycle, 1},
    {"insn_overhead_cycles", &ovt_profile::insn_overhead_cycles, 0},
    {"fc_overhead_cycles", &ovt_profile::fc_overhead_cycles, 0},
};

/// Optional; the default is that of the profile `default`.
constexpr const char* sync_key = "sync_cycles";

u64 usual_sync() {
    return ovt_profile_find("default")->sync_cycles;
}

struct CpuKey {
    const char* name;
    std::uint32_t CpuRates::*field;
    std::uint32_t least;
};

constexpr CpuKey cpu_keys[] = {
    {"cpu_macs_per_us", &CpuRates::macs_per_us, 1},
    {"cpu_bytes_per_us", &CpuRates::bytes_per_us, 1},
    {"cpu_operator_ns", &CpuRates::operator_ns, 0},
};

struct RateKey {
    const char* name;
    u32 ovt_insn_cost::*field;
};

constexpr RateKey rate_keys[] = {
    {"per_operation", &ovt_insn_cost::per_operation},
    {"per_output", &ovt_insn_cost::per_output},
    {"per_input_byte", &ovt_insn_cost::per_input_byte},
    {"per_constant_byte", &ovt_insn_cost::per_constant_byte},
};

struct OpcodeName {
    const char* name;
    unsigned opcode;
};

constexpr OpcodeName opcode_names[] = {
    {"CONV", OVERTAKE_OP_CONV},
    {"DEPTHWISE", OVERTAKE_OP_DEPTHWISE},
    {"MATMUL", OVERTAKE_OP_MATMUL},
    {"ADD", OVERTAKE_OP_ADD},
    {"MAX_POOL", OVERTAKE_OP_MAX_POOL},
    {"AVERAGE_POOL", OVERTAKE_OP_AVERAGE_POOL},
    {"TABLE", OVERTAKE_OP_TABLE},
    {"COPY", OVERTAKE_OP_COPY},
    {"JUMP", OVERTAKE_OP_JUMP},
    {"SUB", OVERTAKE_OP_SUB},
    {"MUL", OVERTAKE_OP_MUL},
    {"MAX", OVERTAKE_OP_MAX},
    {"MIN", OVERTAKE_OP_MIN},
    {"REQUANTISE", OVERTAKE_OP_REQUANTISE},
    {"TRANSPOSED_CONV", OVERTAKE_OP_TRANSPOSED_CONV},
    {"PAD", OVERTAKE_OP_PAD},
    {"PERMUTE", OVERTAKE_OP_PERMUTE},
    {"DEPTH_TO_SPACE", OVERTAKE_OP_DEPTH_TO_SPACE},
    {"SPACE_TO_DEPTH", OVERTAKE_OP_SPACE_TO_DEPTH},
    {"RESIZE_NEAREST", OVERTAKE_OP_RESIZE_NEAREST},
    {"RESIZE_BILINEAR", OVERTAKE_OP_RESIZE_BILINEAR},
    {"REDUCE_SUM", OVERTAKE_OP_REDUCE_SUM},
    {"REDUCE_MAX", OVERTAKE_OP_REDUCE_MAX},
    {"REDUCE_MIN", OVERTAKE_OP_REDUCE_MIN},
    {"QUANTISE", OVERTAKE_OP_QUANTISE},
    {"DEQUANTISE", OVERTAKE_OP_DEQUANTISE},
    {"NV12", OVERTAKE_OP_NV12},
};
static_assert(std::size(opcode_names) == OVERTAKE_OP_COUNT - 2, "all but 0 and DELAY");

// Reads one file; its messages begin with FILE:LINE.
class ProfileReader {
public:
    ProfileReader(const std::string& path, const char* option) : path_(path), option_(option) {}

    std::shared_ptr<const DeviceProfile> read() {
        YAML::Node root;
        std::error_code error;
        if (std::filesystem::is_directory(path_, error))
            throw CompileError(option_ + " " + path_, "is a directory; name a profile file, or one "
                                                      "of those built in: " +
                                                          built_in_names());
        try {
            root = YAML::LoadFile(path_);
        } catch (const YAML::ParserException& error) {
            fail(error.mark, error.msg);
        } catch (const YAML::BadFile&) {
            throw CompileError(option_ + " " + path_,
                               "is neither the name of a built-in profile (" + built_in_names() +
                                   ") nor a file that can be read");
        }
        std::vector<const char*> keys = {"name", "source", "instructions", "without", sync_key};
        for (const NumberKey& key : number_keys)
            keys.push_back(key.name);
        for (const CpuKey& key : cpu_keys)
            keys.push_back(key.name);
        expect_keys(root, "profile", keys);

        auto profile = std::make_shared<DeviceProfile>();
        profile->name = text(root, "name");
        if (root["source"])
            profile->source = text(root, "source");
        profile->numbers = {};
        for (const NumberKey& key : number_keys)
            profile->numbers.*key.field =
                static_cast<u32>(number(required(root, key.name), key.name, key.least,
                                        std::numeric_limits<u32>::max(), true));
        profile->numbers.sync_cycles =
            root[sync_key] ? static_cast<u64>(number(root[sync_key], sync_key, 0,
                                                     std::numeric_limits<u32>::max(), true))
                           : usual_sync();
        for (const CpuKey& key : cpu_keys)
            if (root[key.name])
                profile->cpu.*key.field = static_cast<std::uint32_t>(number(
                    root[key.name], key.name, key.least, std::numeric_limits<u32>::max(), true));
        if (root["instructions"])
            read_costs(root["instructions"], *profile);
        if (root["without"])
            profile->numbers.without = opcodes(root["without"]);
        profile->numbers.name = profile->name.c_str();
        return profile;
    }

    static std::string built_in_names() {
        std::string names;
        for (u32 index = 0; const ovt_profile* profile = ovt_profile_at(index); ++index)
            names += (index == 0 ? "" : ", ") + std::string(profile->name);
        return names;
    }

private:
    [[noreturn]] void fail(const YAML::Mark& mark, const std::string& reason) const {
        const std::string place =
            mark.is_null() ? path_ : fmt::format("{}:{}", path_, mark.line + 1);
        throw CompileError(place, reason);
    }

    YAML::Node required(const YAML::Node& map, const char* key) const {
        if (!map[key])
            fail(map.Mark(), fmt::format("key '{}' is missing", key));
        return map[key];
    }

    std::string text(const YAML::Node& map, const char* key) const {
        const YAML::Node node = required(map, key);
        if (!node.IsScalar() || node.Scalar().empty())
            fail(node.Mark(), fmt::format("key '{}' needs a text", key));
        return node.Scalar();
    }

    double number(const YAML::Node& node, const char* key, double least, double most,
                  bool whole) const {
        double value = 0;
        const bool is_number = node.IsScalar() && YAML::convert<double>::decode(node, value);
        if (!is_number || !(value >= least && value <= most) ||
            (whole && value != std::floor(value)))
            fail(node.Mark(), fmt::format("key '{}' needs a {} in {}..{}", key,
                                          whole ? "whole number" : "number", least, most));
        return value;
    }

    void expect_keys(const YAML::Node& map, const std::string& what,
                     const std::vector<const char*>& keys) const {
        if (!map.IsMap())
            fail(map.Mark(), what + " is not a map of keys to values");
        std::set<std::string> seen;
        for (const auto& entry : map) {
            const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
            if (!std::ranges::any_of(keys, [&](const char* known) { return key == known; }))
                fail(entry.first.Mark(), fmt::format("key '{}' is not known; did you mean '{}'?",
                                                     key, nearest(key, keys)));
            if (!seen.insert(key).second)
                fail(entry.first.Mark(), fmt::format("key '{}' is given twice", key));
        }
    }

    void read_costs(const YAML::Node& map, DeviceProfile& profile) const {
        std::vector<const char*> opcodes;
        for (const OpcodeName& opcode : opcode_names)
            opcodes.push_back(opcode.name);
        expect_keys(map, "key 'instructions'", opcodes);
        std::vector<const char*> keys = {"fixed_cycles"};
        for (const RateKey& key : rate_keys)
            keys.push_back(key.name);
        for (const OpcodeName& opcode : opcode_names) {
            const YAML::Node entry = map[opcode.name];
            if (!entry)
                continue;
            expect_keys(entry, fmt::format("key '{}'", opcode.name), keys);
            ovt_insn_cost& cost = profile.costs[opcode.opcode];
            cost.fixed_cycles =
                static_cast<u32>(number(required(entry, "fixed_cycles"), "fixed_cycles", 1,
                                        std::numeric_limits<u32>::max(), true));
            for (const RateKey& key : rate_keys)
                if (entry[key.name])
                    cost.*key.field = static_cast<u32>(std::lround(
                        number(entry[key.name], key.name, 0, OVT_COST_MAX / cost_unit, false) *
                        cost_unit));
        }
        profile.numbers.costs = profile.costs.data();
    }

    std::uint64_t opcodes(const YAML::Node& list) const {
        if (!list.IsSequence())
            fail(list.Mark(), "key 'without' needs a list of opcodes, as in [RESIZE_BILINEAR]");
        std::vector<const char*> names;
        for (const OpcodeName& opcode : opcode_names)
            names.push_back(opcode.name);
        std::uint64_t bits = 0;
        for (const YAML::Node& entry : list) {
            const std::string name = entry.IsScalar() ? entry.Scalar() : "";
            const auto* known = std::ranges::find_if(
                opcode_names, [&](const OpcodeName& opcode) { return name == opcode.name; });
            if (known == std::end(opcode_names))
                fail(entry.Mark(), fmt::format("key 'without': no opcode '{}'; did you mean '{}'?",
                                               name, nearest(name, names)));
            bits |= std::uint64_t{1} << known->opcode;
        }
        return bits;
    }

    // Returns the key at the smallest edit distance.
    static std::string nearest(const std::string& word, const std::vector<const char*>& keys) {
        const auto distance = [&](const std::string& key) {
            std::vector<std::size_t> row(key.size() + 1);
            std::iota(row.begin(), row.end(), std::size_t{0});
            for (std::size_t i = 0; i < word.size(); ++i) {
                std::size_t diagonal = row[0]++;
                for (std::size_t j = 0; j < key.size(); ++j) {
                    const std::size_t above = row[j + 1];
                    row[j + 1] =
                        std::min({above + 1, row[j] + 1, diagonal + (word[i] == key[j] ? 0u : 1u)});
                    diagonal = above;
                }
            }
            return row.back();
        };
        return *std::ranges::min_element(keys, {}, distance);
    }

    std::string path_;
    std::string option_; // the option that named the file
};

std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : text)
        result += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    return result + '"';
}

} // namespace

std::shared_ptr<const DeviceProfile> find_profile(const std::string& name_or_path,
                                                  const char* option) {
    const ovt_profile* built_in = ovt_profile_find(name_or_path.c_str());
    if (!built_in)
        return ProfileReader(name_or_path, option).read();
    auto profile = std::make_shared<DeviceProfile>();
    profile->name = built_in->name;
    profile->source = "built in; docs/design/profiles.md";
    profile->numbers = *built_in;
    return profile;
}

std::string profile_file(const DeviceProfile& profile) {
    std::string text =
        "name: " + quoted(profile.name) + "\nsource: " + quoted(profile.source) + "\n";
    for (const NumberKey& key : number_keys)
        text += fmt::format("{}: {}\n", key.name, profile.numbers.*key.field);
    if (profile.numbers.sync_cycles != usual_sync())
        text += fmt::format("{}: {}\n", sync_key, profile.numbers.sync_cycles);
    for (const CpuKey& key : cpu_keys)
        if (profile.cpu != CpuRates{})
            text += fmt::format("{}: {}\n", key.name, profile.cpu.*key.field);
    std::string without;
    for (const OpcodeName& opcode : opcode_names)
        if (profile.numbers.without >> opcode.opcode & 1)
            without += (without.empty() ? "" : ", ") + std::string(opcode.name);
    if (!without.empty())
        text += fmt::format("without: [{}]\n", without);
    if (!profile.numbers.costs)
        return text;
    text += "instructions:\n";
    for (const OpcodeName& opcode : opcode_names) {
        const ovt_insn_cost& cost = profile.costs[opcode.opcode];
        if (cost.fixed_cycles == 0)
            continue;
        text += fmt::format("  {}: {{fixed_cycles: {}", opcode.name, cost.fixed_cycles);
        for (const RateKey& key : rate_keys)
            if (cost.*key.field != 0)
                text += fmt::format(", {}: {:.10g}", key.name, cost.*key.field / cost_unit);
        text += "}\n";
    }
    return text;
}

std::string_view opcode_name(unsigned opcode) {
    const auto found = std::ranges::find(opcode_names, opcode, &OpcodeName::opcode);
    return found == std::end(opcode_names) ? "none" : found->name;
}

std::optional<unsigned> opcode_of(std::string_view name) {
    const auto found = std::ranges::find_if(
        opcode_names, [&](const OpcodeName& each) { return name == each.name; });
    return found == std::end(opcode_names) ? std::nullopt : std::optional(found->opcode);
}

} // namespace overtake::compiler
