// SPDX-License-Identifier: MIT
#include "compiler/units/partition.hpp"

#include <algorithm>
#include <bit>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace overtake::compiler;

namespace {

constexpr std::uint64_t cpu = 1, npu = 2, dsp = 4;

// Reads a list such as "0-2,5" as numbers.
std::vector<std::size_t> listed_numbers(const std::string& text) {
    std::vector<std::size_t> result;
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');) {
        const std::size_t dash = part.find('-');
        const std::size_t first = std::stoul(part);
        const std::size_t last =
            dash == std::string::npos ? first : std::stoul(part.substr(dash + 1));
        for (std::size_t index = first; index <= last; ++index)
            result.push_back(index);
    }
    return result;
}

nlohmann::json magenta_file() {
    return nlohmann::json::parse(std::ifstream(TEST_DATA "/partition-magenta.json"));
}

// Makes so many copies of the network, each behind the one before.
OperatorGraph magenta(std::size_t copies = 1) {
    const nlohmann::json file = magenta_file();
    const auto unsupported = listed_numbers(file["npu_unsupported"]);
    const auto predecessors = file["pred"].get<std::vector<std::vector<std::size_t>>>();
    OperatorGraph graph;
    for (std::size_t copy = 0; copy < copies; ++copy)
        for (std::size_t index = 0; index < predecessors.size(); ++index) {
            const std::size_t first = copy * predecessors.size();
            graph.support.push_back(std::ranges::binary_search(unsupported, index) ? cpu
                                                                                   : cpu | npu);
            std::vector<std::size_t>& own = graph.predecessors.emplace_back();
            for (const std::size_t predecessor : predecessors[index])
                own.push_back(first + predecessor);
            if (own.empty() && copy > 0)
                own.push_back(first - 1);
        }
    return graph;
}

PartitionOptions options_of(std::uint64_t accelerators, std::size_t least,
                            std::size_t most = 1 << 20) {
    return {accelerators, least, most};
}

OperatorGraph random_graph(std::mt19937& random) {
    const auto below = [&](std::size_t limit) { return random() % limit; };
    OperatorGraph graph;
    const std::size_t count = 1 + below(60), reach = 1 + below(12), kinds = 1 + below(6);
    std::uint64_t support = cpu | npu | dsp;
    for (std::size_t index = 0; index < count; ++index) {
        if (below(kinds) == 0)
            support = cpu | (below(2) ? npu : 0) | (below(2) ? dsp : 0);
        graph.support.push_back(support);
        std::set<std::size_t> predecessors;
        for (std::size_t edges = below(4); edges > 0 && index > 0; --edges)
            predecessors.insert(index - 1 - below(std::min(index, reach)));
        graph.predecessors.emplace_back(predecessors.begin(), predecessors.end());
    }
    return graph;
}

// Finds the fronts as the documentation defines them, by looking at every operator again and again.
std::vector<std::vector<std::size_t>> slow_fronts(const OperatorGraph& graph,
                                                  const std::vector<std::uint64_t>& keys) {
    std::vector<bool> done(keys.size());
    const auto is_ready = [&](std::size_t index) {
        return !done[index] && std::ranges::all_of(graph.predecessors[index],
                                                   [&](std::size_t other) { return done[other]; });
    };
    std::vector<std::vector<std::size_t>> fronts;
    for (std::size_t taken = 0; taken < keys.size();) {
        std::size_t lowest = 0;
        while (!is_ready(lowest))
            ++lowest;
        std::vector<std::size_t>& front = fronts.emplace_back();
        for (bool grows = true; grows;) {
            grows = false;
            for (std::size_t index = 0; index < keys.size(); ++index)
                if (is_ready(index) && keys[index] == keys[lowest]) {
                    done[index] = grows = true;
                    front.push_back(index);
                    ++taken;
                }
        }
        std::ranges::sort(front);
    }
    return fronts;
}

std::vector<OperatorGroup> slow_partition(const OperatorGraph& graph, std::uint64_t accelerators,
                                          std::size_t least) {
    std::vector<std::uint64_t> kept = graph.support;
    for (const std::uint64_t own : {npu, dsp}) {
        std::vector<std::uint64_t> keys;
        for (const std::uint64_t support : graph.support)
            keys.push_back(support & own & accelerators);
        for (const auto& front : slow_fronts(graph, keys))
            if (front.size() < least && front.size() < keys.size())
                for (const std::size_t index : front)
                    kept[index] &= ~keys[index];
    }
    std::vector<OperatorGroup> units;
    for (const auto& front : slow_fronts(graph, kept))
        units.push_back({kept[front[0]], front});
    return units;
}

// Whether a path leaves the unit and enters it again.
bool is_left_and_entered(const OperatorGraph& graph, const OperatorGroup& unit) {
    const std::set<std::size_t> own(unit.operators.begin(), unit.operators.end());
    std::vector<bool> behind(graph.support.size()); // outside, and behind an operator of the unit
    for (std::size_t index = 0; index < graph.support.size(); ++index)
        for (const std::size_t predecessor : graph.predecessors[index]) {
            if (own.contains(index) && behind[predecessor])
                return true;
            if (!own.contains(index) && (own.contains(predecessor) || behind[predecessor]))
                behind[index] = true;
        }
    return false;
}

} // namespace

TEST(Partition, OfAPublicNetworkIsTheLoggedOne) {
    const OperatorGraph graph = magenta();
    EXPECT_EQ(partition(graph, options_of(npu, 1)).units.size(), 73u);
    const Partition found = partition(graph, options_of(npu, 7));
    ASSERT_EQ(found.units.size(), 3u);
    const nlohmann::json file = magenta_file();
    for (std::size_t unit = 0; unit < 3; ++unit) {
        EXPECT_EQ(found.units[unit].operators,
                  listed_numbers(file["logged_units"][std::to_string(unit)]));
        EXPECT_EQ(found.units[unit].support,
                  file["logged_available"]["NPU"][unit] == 1 ? cpu | npu : cpu);
    }
}

TEST(Partition, IsWhatThePageSays) {
    std::mt19937 random(1);
    for (int round = 0; round < 3000; ++round) {
        const OperatorGraph graph = random_graph(random);
        const std::size_t least = 1 + random() % 8;
        const std::uint64_t accelerators = random() % 8 & (npu | dsp);
        const Partition found = partition(graph, options_of(accelerators, least));
        const auto expected = slow_partition(graph, accelerators, least);
        ASSERT_EQ(found.units.size(), expected.size()) << "round " << round;
        ASSERT_EQ(found.fronts, expected.size());
        for (std::size_t unit = 0; unit < expected.size(); ++unit) {
            ASSERT_EQ(found.units[unit].operators, expected[unit].operators) << "round " << round;
            ASSERT_EQ(found.units[unit].support, expected[unit].support) << "round " << round;
        }
    }
}

TEST(Partition, JoinsNeighboursThatHaveAClassInCommon) {
    std::mt19937 random(2);
    for (int round = 0; round < 3000; ++round) {
        const OperatorGraph graph = random_graph(random);
        const std::size_t most = 1 + random() % 12;
        const Partition found = partition(graph, options_of(npu | dsp, 1 + random() % 4, most));
        ASSERT_LE(found.units.size(), most) << "all have the CPU in common";
        ASSERT_TRUE(is_sound(graph, found.units)) << "round " << round;
        for (const OperatorGroup& unit : found.units) {
            ASSERT_FALSE(is_left_and_entered(graph, unit)) << "round " << round;
            ASSERT_TRUE(std::ranges::is_sorted(unit.operators));
            ASSERT_NE(unit.support, 0u);
            for (const std::size_t index : unit.operators)
                ASSERT_EQ(unit.support & ~graph.support[index], 0u) << "operator " << index;
        }
    }
}

TEST(Partition, JoinsTheSmallestFirst) {
    OperatorGraph graph; // units of 3, 1, 2, 1 operators
    for (const std::uint64_t support :
         {npu | cpu, npu | cpu, npu | cpu, cpu, dsp | cpu, dsp | cpu, cpu}) {
        graph.predecessors.emplace_back();
        if (!graph.support.empty())
            graph.predecessors.back() = {graph.support.size() - 1};
        graph.support.push_back(support);
    }
    const Partition found = partition(graph, options_of(npu | dsp, 1, 3));
    ASSERT_EQ(found.units.size(), 3u);
    EXPECT_EQ(found.fronts, 4u);
    EXPECT_EQ(found.units[0].operators, (std::vector<std::size_t>{0, 1, 2}));
    EXPECT_EQ(found.units[0].support, npu | cpu);
    EXPECT_EQ(found.units[1].operators, (std::vector<std::size_t>{3, 4, 5}));
    EXPECT_EQ(found.units[1].support, cpu);
}

TEST(Partition, DoesNotJoinWhatNoClassSupports) {
    const OperatorGraph graph{{npu, dsp, npu}, {{}, {0}, {1}}};
    EXPECT_EQ(partition(graph, options_of(npu | dsp, 1, 1)).units.size(), 3u);
}

TEST(Partition, LeavesAnOperatorItsOnlyClassAndANetworkItsAccelerator) {
    const OperatorGraph only_npu{{npu, cpu}, {{}, {0}}};
    const Partition found = partition(only_npu, options_of(npu, 7));
    ASSERT_EQ(found.units.size(), 2u);
    EXPECT_EQ(found.units[0].support, npu);
    const OperatorGraph small{{npu | cpu, npu | cpu}, {{}, {0}}};
    EXPECT_EQ(partition(small, options_of(npu, 7)).units[0].support, npu | cpu);
}

TEST(Partition, TakesStepsInProportionToTheNetwork) {
    for (const std::size_t copies : {1, 10, 1000}) {
        const OperatorGraph graph = magenta(copies);
        std::size_t size = graph.support.size();
        for (const auto& predecessors : graph.predecessors)
            size += predecessors.size();
        // Joining moves each operator a few times; finding the fronts looks at each one once for
        // each class.
        EXPECT_LT(partition(graph, options_of(npu, 1, 64)).steps, 6 * size) << copies << " copies";
    }
}

TEST(Partition, IsCheckedForSoundness) {
    const OperatorGraph chain{{cpu, npu, cpu}, {{}, {0}, {1}}};
    EXPECT_TRUE(is_sound(chain, {{cpu, {0}}, {npu, {1}}, {cpu, {2}}}));
    EXPECT_FALSE(is_sound(chain, {{cpu, {0, 2}}, {npu, {1}}})) << "a path leaves it and comes back";
    EXPECT_FALSE(is_sound(chain, {{cpu, {0}}, {npu, {1}}})) << "one operator is missing";
    EXPECT_FALSE(is_sound(chain, {{cpu, {0, 1}}, {npu, {1}}, {cpu, {2}}})) << "one is there twice";
    EXPECT_FALSE(is_sound(chain, {{npu, {1}}, {cpu, {0}}, {cpu, {2}}})) << "wrong order";
}
