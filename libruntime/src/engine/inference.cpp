// SPDX-License-Identifier: MIT
#include "engine/inference.hpp"

#include <cerrno>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "engine/transfer.hpp"
#include "network/host_regions.hpp"
#include "overtake_isa.h"

namespace overtake::engine {

Inference::Inference(std::shared_ptr<const Plan> plan)
    : execution_(std::move(plan)), lent_(this->plan().tensors().size()) {}

void Inference::lend(std::span<const TensorMemory> inputs, std::span<const TensorMemory> outputs) {
    const Model& model = plan().model();
    const auto check_count = [&](std::size_t given, std::size_t wanted, const char* kind) {
        if (given != wanted)
            throw Error(EINVAL, fmt::format("{}: {} {} given, it has {}", model.name(), given, kind,
                                            wanted));
    };
    check_count(inputs.size(), model.inputs().size(), "inputs");
    check_count(outputs.size(), model.outputs().size(), "outputs");
    lend(model.inputs(), inputs, "input", to_fill_, &layouts_);
    lend(model.outputs(), outputs, "output", to_drain_, nullptr);
}

void Inference::lend(std::span<const std::uint32_t> numbers, std::span<const TensorMemory> memory,
                     const char* kind, std::vector<Transfer>& transfers, PictureLayouts* layouts) {
    for (std::size_t i = 0; i < numbers.size(); i++) {
        const std::uint32_t number = numbers[i];
        const Tensor& tensor = plan().tensors()[number];
        check_memory(tensor, memory[i], kind, i);
        if (lent_[number] || !is_lendable(tensor, memory[i])) {
            transfers.push_back({number, memory[i]});
            continue;
        }
        lent_tensors_.push_back({number, lent_place(tensor, memory[i])});
        lent_[number] = true;
        if (layouts && lent_tensors_.back().place.row_stride != 0)
            (*layouts)[number] = layout_of(tensor, memory[i]);
    }
}

void Inference::use(std::shared_ptr<ExecutionMemory> memory, PicturePrograms& pictures) {
    memory_ = std::move(memory);
    execution_.bind(memory_->workspace, memory_->cpu.get(), lent_tensors_);
    if (!layouts_.empty())
        use_pictures(pictures);
}

void Inference::use_pictures(PicturePrograms& pictures) {
    if (plan().keeps() == PlanKeeps::running)
        throw Error(EINVAL,
                    fmt::format("input {}: a part of a picture, planes apart or rows of another "
                                "length need a program of their own, which record level 2 has "
                                "not; copy the picture, or use record level 1",
                                plan().tensors()[layouts_.begin()->first].name));
    for (const auto& [number, layout] : layouts_)
        if (!pictures.has_regions(number))
            throw Error(EINVAL, fmt::format("input {}: its segment has no room for planes apart or "
                                            "rows of another stride; copy it",
                                            plan().tensors()[number].name));
    picture_program_ = pictures.for_pictures(layouts_);
    for (std::size_t i = 0; i < plan().segments().size(); i++)
        if (plan().segments()[i].on_bpu())
            bind_pictures(pictures, i);
}

/// Binds pictures by their planes, and binds the program for their strides.
void Inference::bind_pictures(const PicturePrograms& pictures, std::size_t segment) {
    std::vector<overtake_binding>& bindings = execution_.bindings(segment);
    for (overtake_binding& binding : bindings)
        if (binding.region == OVERTAKE_REGION_PROGRAM)
            binding.address = picture_program_->address();
    for (const TensorBinding& bound : plan().segments()[segment].model->bindings) {
        const TensorPlace& place = execution_.places()[bound.tensor];
        if (place.row_stride == 0)
            continue;
        const std::uint64_t chroma_bytes = std::uint64_t{place.chroma_rows} * place.row_stride;
        for (overtake_binding& binding : bindings)
            if (binding.region == bound.region)
                binding.length = 2 * chroma_bytes;
        bindings.push_back({place.chroma_address, chroma_bytes,
                            *pictures.chroma_region(segment, bound.tensor), OVERTAKE_MAP_READ});
    }
}

void Inference::clear() noexcept {
    memory_.reset();
    picture_program_.reset();
    lent_.assign(lent_.size(), false);
    lent_tensors_.clear();
    to_fill_.clear();
    to_drain_.clear();
    layouts_.clear();
}

void Inference::describe(std::size_t segment, Job& job) const {
    execution_.describe(segment, job);
}

std::int32_t Inference::compute(std::size_t segment) {
    const std::size_t segments = plan().segments().size();
    const bool is_all = segments == 0; // then there are only the copies
    const bool has_units = plan().unit_table() != nullptr;
    if ((segment == 0 && !has_units) || segment == fill_segment() || is_all)
        fill_inputs();
    if (segment < segments)
        execution_.compute(segment);
    if ((segment + 1 == segments && !has_units) || segment == drain_segment() || is_all)
        drain_outputs();
    return 0;
}

std::int32_t Inference::execute(std::size_t segment, HostCore& core) const {
    Job job;
    execution_.describe(segment, job);
    return core.execute(job.fcs,
                        host_regions(plan(), segment, job.bindings, execution_.places(),
                                     picture_program_ ? picture_program_->data() : nullptr),
                        job.scratch_bytes);
}

void Inference::fill_inputs() const {
    for (const Transfer& in : to_fill_)
        fill(plan().tensors()[in.tensor], in.memory, execution_.places()[in.tensor]);
}

void Inference::drain_outputs() const {
    for (const Transfer& out : to_drain_)
        drain(plan().tensors()[out.tensor], execution_.places()[out.tensor], out.memory);
}

// InferencePool

InferencePool::InferencePool(std::shared_ptr<const Plan> plan)
    : plan_(std::move(plan)), first_cpu_(std::make_unique<CpuSegments>(plan_)) {}

template <class Thing>
std::shared_ptr<Thing> InferencePool::returning(std::unique_ptr<Thing> thing) {
    const auto back = [pool = weak_from_this()](Thing* used) {
        std::unique_ptr<Thing> owned(used);
        if (const auto alive = pool.lock())
            alive->give_back(std::move(owned));
    };
    return {thing.release(), back};
}

std::shared_ptr<Inference> InferencePool::take() {
    return returning(idle_or_new());
}

std::shared_ptr<ExecutionMemory> InferencePool::take_memory(const std::vector<bool>& lent) {
    return returning(idle_or_new(lent));
}

std::unique_ptr<Inference> InferencePool::idle_or_new() {
    {
        const std::lock_guard lock(mutex_);
        if (!inferences_.empty()) {
            std::unique_ptr<Inference> inference = std::move(inferences_.back());
            inferences_.pop_back();
            return inference;
        }
    }
    return std::make_unique<Inference>(plan_);
}

std::unique_ptr<ExecutionMemory> InferencePool::idle_or_new(const std::vector<bool>& lent) {
    std::unique_ptr<CpuSegments> cpu;
    {
        const std::lock_guard lock(mutex_);
        IdleMemory& idle = memory_[lent];
        if (!idle.empty()) {
            std::unique_ptr<ExecutionMemory> memory = std::move(idle.back());
            idle.pop_back();
            return memory;
        }
        cpu = std::move(first_cpu_);
    }
    if (!cpu)
        cpu = std::make_unique<CpuSegments>(plan_);
    return std::make_unique<ExecutionMemory>(plan_, lent, std::move(cpu));
}

void InferencePool::give_back(std::unique_ptr<Inference> inference) noexcept {
    inference->clear(); // without the lock: the inference gives back its memory, too
    const std::lock_guard lock(mutex_);
    try {
        inferences_.push_back(std::move(inference));
    } catch (const std::bad_alloc&) {
        // The next inference is made anew.
    }
}

void InferencePool::give_back(std::unique_ptr<ExecutionMemory> memory) noexcept {
    const std::lock_guard lock(mutex_);
    try {
        memory_[memory->lent].push_back(std::move(memory));
    } catch (const std::bad_alloc&) {
        // The next memory is made anew.
    }
}

} // namespace overtake::engine
