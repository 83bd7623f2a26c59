// SPDX-License-Identifier: MIT
//
// Runs models with plans for several cores on embedded devices with these cores.  Every bit is that
// of one core, through sessions and engines, and the device's time is the time that the compiler
// predicts.
//
//     core_plans MODEL...
//
// Prints a line for each: the predicted times of one core and of the plan, and the device's.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "overtake/model_contents.hpp"
#include "overtake/overtake.hpp"

using namespace overtake;

namespace {

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "core_plans: %s\n", what.c_str());
    std::exit(1);
}

EmbeddedOptions device_of(const CorePlan& plan) {
    EmbeddedOptions options;
    options.cores = static_cast<unsigned>(plan.profiles.size());
    for (const std::string_view profile : plan.profiles)
        options.profiles.emplace_back(profile);
    options.queue_timeout_ns = 600'000'000'000;
    return options;
}

using Arrays = std::vector<std::vector<float>>;

Arrays random_inputs(const Model& model, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> values(0, 1);
    Arrays arrays;
    for (const std::uint32_t input : model.inputs()) {
        std::vector<float>& array = arrays.emplace_back(model.tensors()[input].elements());
        for (float& value : array)
            value = values(random);
    }
    return arrays;
}

std::size_t fcs_of(const CorePlan& plan) {
    std::size_t fcs = 0;
    for (const CoreSegment& segment : plan.segments)
        fcs += segment.fcs.size();
    return fcs;
}

Arrays by_session(Session& session, const Arrays& inputs, unsigned core, std::size_t fcs) {
    const std::vector<std::span<const float>> spans(inputs.begin(), inputs.end());
    Task task = session.submit(spans, {.core = core});
    task.wait();
    std::size_t done = 0;
    for (const Completion& completion : task.completions())
        done += completion.fcs_done;
    if (fcs != 0 && done != fcs)
        fail("a session's request ran " + std::to_string(done) + " FCs, but the plan has " +
             std::to_string(fcs));
    Arrays outputs;
    for (std::size_t i = 0; i < session.model().outputs().size(); i++)
        outputs.push_back(task.output(i));
    return outputs;
}

TensorMemory memory_of(std::vector<float>& values) {
    TensorMemory memory;
    memory.data = reinterpret_cast<std::byte*>(values.data());
    return memory;
}

Arrays by_engine(Engine& engine, const std::shared_ptr<LoadedModel>& model, Arrays inputs,
                 bool takes_plan, std::size_t fcs) {
    std::vector<TensorMemory> from, to;
    Arrays outputs;
    for (std::vector<float>& input : inputs)
        from.push_back(memory_of(input));
    for (const std::uint32_t output : model->model().outputs())
        outputs.emplace_back(model->model().tensors()[output].elements());
    for (std::vector<float>& output : outputs)
        to.push_back(memory_of(output));
    const auto request = engine.create_request();
    request->add(model, from, to);
    request->submit({});
    request->wait();
    if (request->status() != 0)
        fail("an engine's request: " + request->error());
    std::size_t done = 0;
    for (const SegmentRecord& segment : request->segments())
        done += segment.job.fcs_done;
    std::size_t of_one_core = 0;
    for (const Segment& segment : ModelContents::of(model->model()).segments)
        of_one_core += segment.fcs.size();
    if (done != (takes_plan ? fcs : of_one_core))
        fail("an engine's request ran " + std::to_string(done) + " FCs");
    return outputs;
}

void check_bits(const std::shared_ptr<const Model>& model, const CorePlan& plan) {
    const auto device = open_embedded(device_of(plan));
    Session session(device, model);
    Engine engine(device);
    const auto loaded = engine.load(model);
    for (unsigned seed = 1; seed <= 2; seed++) {
        const Arrays inputs = random_inputs(*model, seed);
        const Arrays expected = by_session(session, inputs, 1, 0);
        if (by_session(session, inputs, core_any, fcs_of(plan)) != expected)
            fail("bits of a session differ from those of one core");
        if (by_engine(engine, loaded, inputs, plan.are_alike, fcs_of(plan)) != expected)
            fail("bits of an engine differ from those of one core");
    }
}

/// Returns the device time from the first FC to the last of each segment.
std::uint64_t device_ns(const std::shared_ptr<const Model>& model, const CorePlan& plan,
                        unsigned core) {
    EmbeddedOptions options = device_of(plan);
    options.mode = OVERTAKE_MODE_TIMED;
    options.manual_clock = true;
    const auto device = open_embedded(options);
    Session session(device, model);
    Task task = session.create_task();
    task.start({.core = core});
    while (!task.poll())
        device->manual_clock()->advance_to(device->manual_clock()->now_ns() + 10'000'000);
    if (task.status() != 0)
        fail("a request ended with " + std::to_string(task.status()));
    std::uint64_t ns = 0;
    for (const Completion& completion : task.completions())
        ns += completion.end_ns - completion.start_ns;
    return ns;
}

void check_time(const char* what, std::uint64_t device, std::uint64_t predicted) {
    const double difference = static_cast<double>(device) / static_cast<double>(predicted) - 1;
    if (std::abs(difference) > 0.005)
        fail(std::string(what) + ": the device took " + std::to_string(device) +
             " ns, but predicted were " + std::to_string(predicted));
}

void check(const std::string& path) {
    const auto model = Model::load(path);
    const auto& plan = ModelContents::of(*model).core_plan;
    if (!plan)
        fail(path + ": has no plan");
    const std::uint64_t several = device_ns(model, *plan, core_any);
    check_time("several cores", several, plan->expected_ns);
    std::uint64_t one = 0;
    if (plan->are_alike) {
        one = device_ns(model, *plan, 1);
        check_time("one core", one, plan->one_core_ns);
    }
    check_bits(model, *plan);
    std::printf("%s: one core %llu ns, %zu cores %llu ns, %.2f times as fast; device %llu ns\n",
                path.c_str(), static_cast<unsigned long long>(plan->one_core_ns),
                plan->profiles.size(), static_cast<unsigned long long>(plan->expected_ns),
                static_cast<double>(plan->one_core_ns) / static_cast<double>(plan->expected_ns),
                static_cast<unsigned long long>(several));
}

} // namespace

int main(int count, char** arguments) {
    try {
        for (int i = 1; i < count; i++)
            check(arguments[i]);
    } catch (const Error& error) {
        fail(error.what());
    }
    return 0;
}
