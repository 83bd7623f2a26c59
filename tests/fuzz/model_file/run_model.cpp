// SPDX-License-Identifier: MIT
#include "run_model.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <string_view>

#include "overtake/model_contents.hpp"
#include "overtake/overtake.hpp"

namespace overtake::fuzz {

namespace {

// Greatest sizes and work of an input.
constexpr std::uint64_t most_elements = 1u << 16, most_bytes = 1u << 22, most_work = 1u << 22;
constexpr std::uint64_t most_cycles_of_fc = 20'000;
constexpr std::size_t most_fcs = 64;

// Checks that the message is "file: offset N: what".
void check_refusal(const Error& error, std::size_t size) {
    constexpr std::string_view start = "file: offset ";
    const std::string_view text = error.what();
    std::size_t offset = 0;
    const auto digits = std::from_chars(text.data() + std::min(start.size(), text.size()),
                                        text.data() + text.size(), offset);
    const std::string_view rest(digits.ptr, text.data() + text.size());
    if (error.code() == EINVAL && text.starts_with(start) && digits.ec == std::errc() &&
        rest.starts_with(": ") && rest.size() > 2 && offset <= size &&
        rest.find('\n') == std::string_view::npos)
        return;
    std::fprintf(stderr, "fuzz_model_file: a refusal without place or reason: %s\n", error.what());
    std::abort();
}

std::uint64_t work_of(const Model& model, const CpuOp& op) {
    const Tensor& output = model.tensors()[op.output];
    std::uint64_t inputs = 0;
    for (const std::uint32_t input : op.inputs)
        inputs += model.tensors()[input].elements();
    switch (op.type) {
    case CpuOpType::matrix_product:
        return output.elements() * model.tensors()[op.inputs[0]].shape.back();
    case CpuOpType::convolution: // each weight for each window, either way round
        return model.tensors()[op.inputs[1]].elements() * (output.elements() + inputs);
    case CpuOpType::recurrence: // each weight for each step and each of the batch
        return output.elements() + inputs * (model.tensors()[op.inputs[0]].elements() + 1);
    case CpuOpType::pool:
    case CpuOpType::non_max_suppression:
        return inputs * (output.elements() + inputs);
    case CpuOpType::interpolate:
        return output.elements() + op.reals.size() * inputs;
    default:
        return output.elements() + inputs;
    }
}

bool is_small(const Model& model) {
    std::uint64_t elements = 0, bytes = 0, work = 0;
    for (const Tensor& tensor : model.tensors()) {
        elements += tensor.elements();
        bytes += tensor.bytes;
    }
    if (elements > most_elements || bytes > most_bytes ||
        ModelContents::of(model).segments.size() > 16)
        return false;
    for (const Segment& segment : ModelContents::of(model).segments) {
        if (segment.scratch_bytes > most_bytes || segment.fcs.size() > most_fcs)
            return false;
        for (const CpuOp& op : segment.cpu_ops)
            work += work_of(model, op);
    }
    if (const auto& plan = ModelContents::of(model).core_plan)
        for (const CoreSegment& segment : plan->segments)
            if (segment.scratch_bytes > most_bytes || segment.fcs.size() > most_fcs)
                return false;
    return work <= most_work;
}

std::shared_ptr<Device> device() {
    static const std::shared_ptr<Device> only = [] {
        EmbeddedOptions options;
        options.cores = 2;
        options.watchdog_cycles = most_cycles_of_fc;
        return open_embedded(options);
    }();
    return only;
}

// Returns mostly small whole numbers, which may be indices, and numbers that break arithmetic.
float random_value(std::mt19937& random) {
    static constexpr float odd[] = {-1,
                                    0.5f,
                                    -2.5f,
                                    1e30f,
                                    -1e30f,
                                    16777216.0f,
                                    std::numeric_limits<float>::quiet_NaN(),
                                    std::numeric_limits<float>::infinity(),
                                    -std::numeric_limits<float>::infinity(),
                                    std::numeric_limits<float>::denorm_min()};
    if (random() % 16 == 0)
        return odd[random() % std::size(odd)];
    return static_cast<float>(random() % 4);
}

Outcome run(const std::shared_ptr<const Model>& model, std::uint32_t seed) {
    std::mt19937 random(seed);
    try {
        Session session(device(), model);
        Task task = session.create_task();
        for (std::size_t i = 0; i < model->inputs().size(); i++) {
            std::vector<float> values(model->input(i).elements());
            for (float& value : values)
                value = random_value(random);
            task.set_input(i, values);
        }
        task.start();
        task.wait();
        if (task.status() != 0)
            return Outcome::failed;
        for (std::size_t i = 0; i < model->outputs().size(); i++)
            task.output(i);
    } catch (const Error&) {
        return Outcome::impossible;
    }
    return Outcome::finished;
}

} // namespace

Outcome run_model(std::span<const std::byte> bytes) {
    std::vector<std::shared_ptr<const Model>> models;
    try {
        models = Model::all_from_bytes(bytes, "file");
    } catch (const Error& error) {
        check_refusal(error, bytes.size());
        return Outcome::refused;
    }
    const auto seed = static_cast<std::uint32_t>(
        std::hash<std::string_view>{}({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
    Outcome outcome = Outcome::finished;
    for (std::size_t i = 0; i < std::min<std::size_t>(models.size(), 2); i++)
        outcome = is_small(*models[i]) ? run(models[i], seed) : Outcome::too_large;
    return outcome;
}

} // namespace overtake::fuzz
