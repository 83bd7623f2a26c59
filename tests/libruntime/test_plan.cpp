// SPDX-License-Identifier: MIT
//
// Plans and uploads that the library remembers.
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "model_spec.hpp"
#include "network/plan.hpp"

namespace overtake::test {
namespace {

TEST(Plan, PlansOfReleasedModelsAreForgotten) {
    const auto device = open_embedded();
    ModelSpec spec = copy_and_softmax();
    spec.weights = {1, 2, 3};
    std::vector<std::shared_ptr<const Model>> models;
    for (int i = 0; i < 3; i++)
        models.push_back(Model::from_bytes(build(spec)));
    for (const auto& model : models) {
        const auto plan = plan_once(device, model);
        EXPECT_EQ(known_plans(), 1u);
        EXPECT_EQ(known_weights(), 1u);
    }
}

TEST(Plan, IsMadeOnceForAModelOnADevice) {
    const auto device = open_embedded(), other = open_embedded();
    const auto model = Model::from_bytes(build(copy_and_softmax()));
    const auto plan = plan_once(device, model);
    EXPECT_EQ(plan_once(device, model), plan);
    EXPECT_NE(plan_once(other, model), plan);
}

TEST(Plan, HasTheBindingsOfItsJobsButForAddresses) {
    ModelSpec spec = copy_and_softmax();
    spec.weights = {1, 2, 3};
    const auto model = Model::from_bytes(build(spec));
    const auto plan = plan_once(open_embedded(), model);
    ASSERT_EQ(plan->segments().size(), 2u);
    const PlanSegment& copy = plan->segments()[0];
    ASSERT_TRUE(copy.on_bpu());
    ASSERT_EQ(copy.fixed_bindings, 2u);
    ASSERT_EQ(copy.bindings.size(), 2 + copy.model->bindings.size());
    EXPECT_EQ(copy.bindings[0].region, OVERTAKE_REGION_PROGRAM);
    EXPECT_EQ(copy.bindings[1].region, OVERTAKE_REGION_WEIGHTS);
    EXPECT_NE(copy.bindings[1].address, 0u);
    for (std::size_t i = 0; i < copy.model->bindings.size(); i++) {
        const TensorBinding& bound = copy.model->bindings[i];
        const overtake_binding& binding = copy.bindings[2 + i];
        EXPECT_EQ(binding.region, bound.region);
        EXPECT_EQ(binding.length, model->tensors()[bound.tensor].bytes);
        EXPECT_EQ((binding.flags & OVERTAKE_MAP_WRITE) != 0, bound.writable);
        EXPECT_EQ(binding.address, 0u);
    }
    const PlanSegment& softmax = plan->segments()[1];
    EXPECT_FALSE(softmax.on_bpu());
    EXPECT_TRUE(softmax.bindings.empty());
    ASSERT_EQ(plan->cpu_programs().size(), 2u);
    EXPECT_TRUE(plan->cpu_programs()[0].steps.empty());
    const CpuProgram& program = plan->cpu_programs()[1];
    EXPECT_EQ(program.most_inputs, 1u);
    EXPECT_EQ(program.own_floats, 64u) << "the values of its operand, which is on the device";
}

/// Returns the set of cores, 0 for all, that take the jobs of a model that was compiled for
/// "default" on a device with these profiles.
std::uint64_t cores_of(std::vector<std::string> profiles) {
    EmbeddedOptions options;
    options.cores = static_cast<unsigned>(profiles.size());
    options.profiles = std::move(profiles);
    return plan_once(open_embedded(options), Model::from_bytes(build(copy_and_softmax())))->cores();
}

TEST(Plan, JobsAreForTheCoresOfTheModelsProfile) {
    EXPECT_EQ(cores_of({"default", "default"}), 0u) << "all, as where no profile is named";
    EXPECT_EQ(cores_of({"ideal", "ideal", "ideal"}), 0u);
    EXPECT_EQ(cores_of({"ideal", "default"}), 0b10u);
    EXPECT_EQ(cores_of({"default", "ideal", "default"}), 0b101u);
    EXPECT_EQ(cores_of({"ideal", "rk3588-core", "ideal"}), 0b101u)
        << "like core 1: none is named so";
}

} // namespace
} // namespace overtake::test
