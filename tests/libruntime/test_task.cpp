// SPDX-License-Identifier: MIT
//
// Tasks: the errors of tasks without outputs, their operands, and the core that a task keeps.
#include <cerrno>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backends.hpp"
#include "model_spec.hpp"
#include "overtake/overtake.hpp"
#include "programs.hpp"
#include "watched_device.hpp"

namespace overtake::test {
namespace {

const std::vector<float> ones(60, 1.0f);

std::shared_ptr<const Model> load(const ModelSpec& spec) {
    return Model::from_bytes(build(spec));
}

std::shared_ptr<Device> timed_device(unsigned cores = 1) {
    EmbeddedOptions options;
    options.mode = OVERTAKE_MODE_TIMED;
    options.profile = "ideal";
    options.manual_clock = true;
    options.cores = cores;
    return open_embedded(options);
}

void advance(Device& device, std::uint64_t ns) {
    device.manual_clock()->advance_to(device.manual_clock()->now_ns() + ns);
}

/// Returns the code and the text of the error that the action throws.
std::string code_and_text_of(const std::function<void()>& action) {
    try {
        action();
        return "accepted";
    } catch (const Error& error) {
        return std::to_string(error.code()) + " " + error.what();
    }
}

std::string refusal_of_output(const Task& task) {
    return code_and_text_of([&] { task.output(0); });
}

std::string with_code(int code, const std::string& text) {
    return std::to_string(code) + " " + text;
}

TEST(Session, WaitsForAnyOfItsTasks) {
    const auto device = timed_device(2);
    ModelSpec spec = copy_and_softmax();
    spec.program = {delay_insn(100'000)};
    spec.segments[0].fcs = {fbs::Fc(0, 1, 100'000)};
    Session session(device, load(spec));
    EXPECT_FALSE(session.wait_any()); // there is no task
    Task first = session.submit(ones, {.core = 1});
    Task behind = session.submit(ones, {.core = 1});
    Task other = session.submit(ones, {.core = 2});
    EXPECT_FALSE(session.wait_any(0));
    advance(*device, 50'000);
    EXPECT_FALSE(session.wait_any(0));
    advance(*device, 60'000);
    while (first.status() == -EINPROGRESS || other.status() == -EINPROGRESS)
        ASSERT_TRUE(session.wait_any());
    EXPECT_EQ(behind.status(), -EINPROGRESS);
    EXPECT_FALSE(session.wait_any(0));
    advance(*device, 100'000);
    EXPECT_TRUE(session.wait_any());
    EXPECT_EQ(behind.status(), 0);
    EXPECT_FALSE(session.wait_any());
}

TEST(Task, ReportsWhyItHasNoOutputs) {
    const auto device = timed_device();
    Session session(device, load(copy_and_softmax()));
    Task task = session.create_task();
    EXPECT_EQ(refusal_of_output(task), with_code(EINVAL, "task: it was never started"));
    task.set_input(0, ones);
    task.start();
    EXPECT_EQ(refusal_of_output(task),
              with_code(EINPROGRESS, "task: it is still running; wait() first"));
    task.cancel();
    advance(*device, 1'000'000'000);
    ASSERT_TRUE(task.wait(patience()));
    EXPECT_EQ(refusal_of_output(task), with_code(ECANCELED, "task: it was cancelled"));
    task.start({.deadline_ns = static_cast<std::int64_t>(device->manual_clock()->now_ns())});
    advance(*device, 1'000'000'000);
    ASSERT_TRUE(task.wait(patience()));
    EXPECT_EQ(
        refusal_of_output(task),
        with_code(
            ETIME,
            "task: its deadline or the device's queue timeout passed: give it more time, or raise "
            "the queue timeout (queue_timeout_ms of the kernel module, overtake serve "
            "--queue-timeout-ms, EmbeddedOptions::queue_timeout_ns)"));
}

TEST(Task, NamesTheFaultThatEndedIt) {
    const auto device = std::make_shared<WatchedDevice>();
    Session session(device, load(copy_and_softmax()));
    const auto reason = [&](int code, std::uint32_t fault) {
        device->changes = [=](Completion& completion) {
            completion.status = -code;
            completion.fault = fault;
            completion.fault_insn = 7;
        };
        Task task = session.submit(ones);
        EXPECT_TRUE(task.wait(patience()));
        EXPECT_EQ(task.status(), -code);
        return refusal_of_output(task);
    };
    EXPECT_EQ(reason(ETIMEDOUT, OVERTAKE_FAULT_CLOCK),
              with_code(ETIMEDOUT,
                        "task: one of its FCs took the host longer than the device allows: compile "
                        "the model with --max-time-per-fc 2000, or with less if it has that "
                        "already, or raise the limit (fc_clock_ms of the kernel module, overtake "
                        "serve --fc-clock-ms, EmbeddedOptions::fc_clock_ns)"));
    EXPECT_EQ(reason(ETIMEDOUT, OVERTAKE_FAULT_WATCHDOG),
              with_code(ETIMEDOUT,
                        "task: one of its FCs executed for longer than the device's watchdog "
                        "allows: compile the model with a --max-time-per-fc of less than that, or "
                        "raise the watchdog's limit (watchdog_ms of the kernel module, "
                        "EmbeddedOptions::watchdog_cycles)"));
    EXPECT_EQ(reason(ENOEXEC, OVERTAKE_FAULT_SHAPE),
              with_code(ENOEXEC, "task: its job failed with errno " + std::to_string(ENOEXEC) +
                                     ", fault " + std::to_string(OVERTAKE_FAULT_SHAPE) +
                                     " at instruction 7"));
}

TEST(Task, NamesTheFaultOfAnArgument) {
    const auto device = open_embedded();
    Session session(device, load(softmax_and_copy()));
    Task task = session.create_task();
    EXPECT_EQ(code_and_text_of([&] { task.output(1); }),
              with_code(EINVAL, "task: no output 1, the model has 1"));
    EXPECT_EQ(code_and_text_of([&] { task.set_input(2, ones); }),
              with_code(EINVAL, "task: no input 2, the model has 1"));
    EXPECT_EQ(code_and_text_of([&] { task.set_input(0, std::vector<float>(59)); }),
              with_code(EINVAL, "input 0 (input): 59 values, but its shape [1, 4, 5, 3] has 60"));
    EXPECT_EQ(code_and_text_of([&] { task.input_buffer(0); }),
              with_code(EINVAL, "input 0 (input): not in device memory"));
    EXPECT_EQ(code_and_text_of([&] { session.submit(std::span<const std::span<const float>>()); }),
              with_code(EINVAL, "test: 0 inputs given, but it has 1"));
}

TEST(Task, WaitsNoLongerThanItsDeadline) {
    const auto device = timed_device();
    Session session(device, load(copy_and_softmax()));
    Task task = session.submit(ones);
    EXPECT_FALSE(task.wait(0));
    EXPECT_EQ(task.status(), -EINPROGRESS);
    EXPECT_EQ(code_and_text_of([&] { task.start(); }),
              with_code(EBUSY, "task: it is running; wait for its end first"));
    EXPECT_EQ(code_and_text_of([&] { task.set_input(0, ones); }),
              with_code(EBUSY, "task: it is running; wait for its end before setting inputs"));
    advance(*device, 1'000'000'000);
    EXPECT_TRUE(task.wait(0));
    EXPECT_TRUE(task.wait(0)) << "and again";
}

TEST(Task, KeepsTheCoreOfItsFirstSegment) {
    const auto device = timed_device(2);
    ModelSpec twice = copy_and_softmax();
    twice.segments.push_back(twice.segments[0]);
    Session session(device, load(twice));
    const Task other = session.submit(ones, {.core = 1});
    Task task = session.submit(ones);
    advance(*device, 1'000'000'000);
    EXPECT_FALSE(task.poll());
    ASSERT_EQ(task.completions().size(), 1u);
    EXPECT_EQ(task.completions()[0].core, 2u) << "core 1 had a job";
    Task idle = session.submit(ones);
    advance(*device, 1'000'000'000);
    EXPECT_TRUE(task.wait(0));
    ASSERT_EQ(task.completions().size(), 2u);
    EXPECT_EQ(task.completions()[1].core, 2u);
    advance(*device, 1'000'000'000);
    idle.poll();
    advance(*device, 1'000'000'000);
}

TEST(Task, ConstantsAreOperandsAndOutputs) {
    const auto file = unpacked(copy_and_softmax());
    auto constant = std::make_unique<fbs::TensorT>(*file->tensors[2]);
    constant->name = "constant";
    constant->data.resize(60);
    std::iota(constant->data.begin(), constant->data.end(), 100.0f);
    const std::vector<float> values = constant->data;
    file->tensors.push_back(std::move(constant));
    fbs::CpuOpT& op = *file->segments[1]->cpu->ops[0];
    op.type = fbs::CpuOpType::Binary;
    op.integers = {0}; // a sum
    op.inputs = {3, 1};
    Session session(open_embedded(), loaded(*file));
    Task task = session.submit(ones);
    ASSERT_TRUE(task.wait(patience()));
    std::vector<float> sums = values;
    for (float& sum : sums)
        sum += 1;
    EXPECT_EQ(task.output(0), sums);
}

TEST(Task, ItsWeightsAreARegionOfItsJobs) {
    ModelSpec spec = copy_and_softmax();
    for (int i = 0; i < 160; i++)
        spec.weights.push_back(static_cast<std::uint8_t>(i % 8 < 3 ? i % 100 : 0));
    for (overtake_insn& insn : spec.program)
        insn.in[0].region = OVERTAKE_REGION_WEIGHTS;
    Session session(open_embedded(), load(spec));
    Task task = session.submit(ones);
    ASSERT_TRUE(task.wait(patience()));
    ASSERT_EQ(task.status(), 0);
    const std::vector<float> copied = task.output(1);
    for (std::size_t c = 0; c < 3; c++)
        for (std::size_t pixel = 0; pixel < 20; pixel++)
            EXPECT_EQ(copied[c * 20 + pixel],
                      0.5f * (static_cast<float>(spec.weights[pixel * 8 + c]) + 3));
}

TEST(Task, PutsAnOutputWhereItsCallerWantsIt) {
    Session session(open_embedded(), load(copy_and_softmax()));
    Task task = session.create_task();
    std::vector<float> values(60, -1.0f);
    EXPECT_EQ(code_and_text_of([&] { task.output(0, values); }),
              with_code(EINVAL, "task: it was never started"));
    task.set_input(0, ones);
    task.start();
    ASSERT_TRUE(task.wait(patience()));
    EXPECT_EQ(code_and_text_of([&] { task.output(2, values); }),
              with_code(EINVAL, "task: no output 2, the model has 2"));
    for (const std::size_t count : {59, 61})
        EXPECT_EQ(code_and_text_of(
                      [&, room = std::vector<float>(count)]() mutable { task.output(1, room); }),
                  with_code(EINVAL, "output 1 (copied): room for " + std::to_string(count) +
                                        " values, but its shape [1, 3, 4, 5] has 60"));
    EXPECT_EQ(values, std::vector<float>(60, -1.0f));
    for (const std::size_t index : {0, 1}) { // in host memory, and on the device
        task.output(index, values);
        EXPECT_EQ(values, task.output(index));
        EXPECT_NE(values, std::vector<float>(60, -1.0f));
    }
}

/// A model that chooses rows of a tensor by its own elements, which are no valid indices.
ModelSpec choosing_outside(std::uint32_t from, std::uint32_t to) {
    ModelSpec spec = copy_and_softmax();
    spec.tensors.push_back(host_tensor("chosen", {60, 3, 4, 5}));
    SegmentSpec gather;
    gather.cpu = true;
    gather.ops = {{.type = static_cast<std::uint8_t>(fbs::CpuOpType::Gather),
                   .inputs = {from, from},
                   .outputs = {to}}};
    spec.segments.insert(spec.segments.begin() + (from == 0 ? 0 : 1), gather);
    return spec;
}

TEST(Task, AnOperatorThatDataMakeImpossibleEndsItWithItsName) {
    const std::string reason =
        "operator 'op': an index leaves the 1 elements that it chooses from; check the inputs";
    for (const std::uint32_t from : {0, 1}) { // in the first segment, and after the BPU segment
        const auto file = unpacked(choosing_outside(from, 3));
        for (const auto& segment : file->segments)
            if (segment->cpu && segment->cpu->ops[0]->type == fbs::CpuOpType::Gather)
                segment->cpu->ops[0]->integers = {0};
        Session session(open_embedded(), loaded(*file));
        Task task = session.create_task();
        task.set_input(0, std::vector<float>(60, 5.0f));
        const std::string refusal = code_and_text_of([&] { task.start(); });
        EXPECT_EQ(refusal, from == 0 ? with_code(ERANGE, reason) : "accepted");
        EXPECT_TRUE(task.wait(patience()));
        EXPECT_EQ(task.status(), -ERANGE);
        EXPECT_EQ(refusal_of_output(task), with_code(ERANGE, "task: " + reason));
        EXPECT_GT(task.ended_ns(), 0);
    }
}

} // namespace
} // namespace overtake::test
