// SPDX-License-Identifier: MIT
//
// Runs a compiled network as one queue of one device does, and then by COUNT random plans.  A plan
// is made by an engine whose processors claim random times for the network's units, so that each
// plan goes another way.  All outputs must have the same bits.  Prints how many different ways
// there were.
//
//     unit_plans MODEL.ovm COUNT SEED
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "overtake/engine.hpp"
#include "overtake/error.hpp"
#include "overtake/processor.hpp"

namespace overtake::test {
namespace {

using Arrays = std::vector<std::vector<float>>;

/// Computes each call at once, and expects a random time for each unit.
class RandomProcessor final : public OwnProcessor {
public:
    explicit RandomProcessor(std::mt19937& random) : random_(random) {}
    std::int32_t prepare(const UnitDescription&, std::uint64_t& expected_ns) override {
        expected_ns = std::uint64_t{1} << random_() % 24;
        return random_() % 5 == 0 ? -ENOTSUP : 0;
    }
    void start(std::shared_ptr<UnitCall> call) override { call->done(call->compute()); }

private:
    std::mt19937& random_;
};

Arrays arrays_for(const Model& model, std::span<const std::uint32_t> numbers) {
    Arrays arrays;
    for (const std::uint32_t number : numbers)
        arrays.emplace_back(model.tensors()[number].elements());
    return arrays;
}

std::vector<TensorMemory> memory_of(Arrays& arrays) {
    std::vector<TensorMemory> memory;
    for (std::vector<float>& array : arrays)
        memory.emplace_back().data = reinterpret_cast<std::byte*>(array.data());
    return memory;
}

/// Throws Error if the run fails.
Arrays run(Engine& engine, const std::shared_ptr<const Model>& model, Arrays& inputs,
           std::string& way) {
    Arrays outputs = arrays_for(*model, model->outputs());
    const auto request = engine.create_request();
    request->add(engine.load(model), memory_of(inputs), memory_of(outputs));
    request->submit();
    request->wait();
    for (const RunRecord& each : request->runs())
        way += std::to_string(each.units) + ":" + each.processor + " ";
    if (request->status() != 0)
        throw Error(-request->status(), "errno " + std::to_string(-request->status()) + ": " +
                                            request->error() + " " + way);
    return outputs;
}

EngineOptions random_options(std::mt19937& random) {
    EngineOptions options;
    options.policy = std::vector{"priority", "shortest-latency", "heft", "heft-reserved",
                                 "least-slack"}[random() % 5];
    options.processors.resize(5);
    options.processors[0].name = "npu";
    options.processors[0].depth = 1 + random() % 2;
    options.processors[1].name = "cpu";
    options.processors[1].workers = 1 + random() % 2;
    for (std::size_t i = 2; i < options.processors.size(); i++) {
        options.processors[i].name = "own" + std::to_string(i);
        options.processors[i].own = std::make_shared<RandomProcessor>(random);
    }
    return options;
}

int check(const std::string& path, int count, unsigned seed) {
    const std::shared_ptr<const Model> model = Model::load(path);
    std::mt19937 random(seed);
    Arrays inputs = arrays_for(*model, model->inputs());
    for (std::vector<float>& input : inputs)
        for (float& value : input)
            value = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 500;
    const std::shared_ptr<Device> device = open_embedded({});
    std::string none;
    Engine usual(device);
    const Arrays wanted = run(usual, model, inputs, none);
    std::set<std::string> ways;
    for (int i = 0; i < count; i++) {
        std::string way;
        Engine engine(device, random_options(random));
        const Arrays given = run(engine, model, inputs, way);
        for (std::size_t output = 0; output < given.size(); output++)
            if (std::memcmp(given[output].data(), wanted[output].data(),
                            given[output].size() * sizeof(float)) != 0) {
                std::printf("plan %d: output %zu differs: %s\n", i, output, way.c_str());
                return 1;
            }
        ways.insert(way);
    }
    std::printf("%d plans, %zu different ways\n", count, ways.size());
    return 0;
}

} // namespace
} // namespace overtake::test

int main(int count, char** arguments) {
    if (count != 4) {
        std::fprintf(stderr, "usage: unit_plans MODEL.ovm COUNT SEED\n");
        return 2;
    }
    try {
        return overtake::test::check(arguments[1], std::atoi(arguments[2]),
                                     static_cast<unsigned>(std::atoi(arguments[3])));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", arguments[1], error.what());
        return 1;
    }
}
