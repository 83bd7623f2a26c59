// SPDX-License-Identifier: MIT
#include "engine/loaded_model.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "engine/transfer.hpp"
#include "overtake/model_contents.hpp"
#include "overtake_isa.h"

namespace overtake {

namespace engine {

namespace {

/// One inference: a desk, the places of all tensors, and what is to be copied.
struct Inference {
    struct Transfer {
        const Tensor* tensor;
        TensorMemory memory;
        std::uint32_t number;
    };

    void fill_inputs() const {
        for (const Transfer& in : to_fill)
            fill(*in.tensor, in.memory, places[in.number]);
    }
    void drain_outputs() const {
        for (const Transfer& out : to_drain)
            drain(*out.tensor, places[out.number], out.memory);
    }

    std::shared_ptr<const Upload> upload;
    std::shared_ptr<Buffer> picture_program; ///< null: the upload's will do
    std::shared_ptr<Desk> desk;
    std::vector<TensorPlace> places; ///< by tensor number
    std::vector<Transfer> to_fill;
    std::vector<Transfer> to_drain;
};

void check_count(std::size_t given, std::size_t wanted, const char* kind, const Model& model) {
    if (given != wanted)
        throw Error(EINVAL,
                    fmt::format("{}: {} {} given, it has {}", model.name(), given, kind, wanted));
}

/// Which tensors the caller lends, and the transfers of those that it does not.
class Lending {
public:
    explicit Lending(const Model& model)
        : model_(model), lent(model.tensors().size()), places(model.tensors().size()) {}

    void add(std::span<const std::uint32_t> numbers, std::span<const TensorMemory> memory,
             const char* kind, std::vector<Inference::Transfer>& transfers) {
        for (std::size_t i = 0; i < numbers.size(); i++) {
            const std::uint32_t number = numbers[i];
            const Tensor& tensor = model_.tensors()[number];
            check_memory(tensor, memory[i], kind, i);
            if (!lent[number] && is_lendable(tensor, memory[i])) {
                lent[number] = true;
                places[number] = lent_place(tensor, memory[i]);
            } else {
                transfers.push_back({&tensor, memory[i], number});
            }
        }
    }

private:
    const Model& model_;

public:
    std::vector<bool> lent;
    std::vector<TensorPlace> places;
};

std::shared_ptr<Desk> desk_for(DeskPool& pool, RequestMemory& memory,
                               const std::vector<bool>& lent) {
    std::shared_ptr<Desk>& desk = memory.desks[{&pool, lent}];
    if (!desk)
        desk = pool.take(lent);
    return desk;
}

/// Pictures are bound by their planes, and the program is the one for their strides.
void bind_pictures(const Inference& inference, const PicturePrograms& pictures, std::size_t number,
                   const Segment& segment, std::vector<overtake_binding>& bindings) {
    for (overtake_binding& binding : bindings)
        if (binding.region == OVERTAKE_REGION_PROGRAM)
            binding.address = inference.picture_program->address();
    for (const TensorBinding& bound : segment.bindings) {
        const TensorPlace& place = inference.places[bound.tensor];
        if (place.row_stride == 0)
            continue;
        const std::uint64_t chroma_bytes = std::uint64_t{place.chroma_rows} * place.row_stride;
        for (overtake_binding& binding : bindings)
            if (binding.region == bound.region)
                binding.length = 2 * chroma_bytes;
        bindings.push_back({place.chroma_address, chroma_bytes,
                            *pictures.chroma_region(number, bound.tensor), OVERTAKE_MAP_READ});
    }
}

Step bpu_step(const Inference& inference, const PicturePrograms& pictures, std::size_t number,
              const Segment& segment, std::shared_ptr<Estimate> estimate) {
    Step step;
    step.fcs = segment.fcs;
    step.bindings = bindings_of(*inference.upload, segment, inference.places);
    if (inference.picture_program)
        bind_pictures(inference, pictures, number, segment, step.bindings);
    step.scratch_bytes = segment.scratch_bytes;
    step.estimate = std::move(estimate);
    return step;
}

} // namespace

DeskPool::DeskPool(std::shared_ptr<const Upload> upload) : upload_(std::move(upload)) {
    kernels_.push_back(make_kernels(*upload_->model));
}

std::shared_ptr<Desk> DeskPool::take(const std::vector<bool>& lent) {
    std::unique_ptr<Desk> desk = make(lent);
    const auto back = [pool = weak_from_this()](Desk* used) {
        std::unique_ptr<Desk> owned(used);
        if (const auto alive = pool.lock())
            alive->give_back(std::move(owned));
    };
    return {desk.release(), back};
}

std::unique_ptr<Desk> DeskPool::make(const std::vector<bool>& lent) {
    Kernels kernels;
    {
        const std::lock_guard lock(mutex_);
        std::vector<std::unique_ptr<Desk>>& free = desks_[lent];
        if (!free.empty()) {
            std::unique_ptr<Desk> desk = std::move(free.back());
            free.pop_back();
            return desk;
        }
        if (!kernels_.empty()) {
            kernels = std::move(kernels_.back());
            kernels_.pop_back();
        }
    }
    if (kernels.empty())
        kernels = make_kernels(*upload_->model);
    // Not make_unique: clang before 16 initialises no aggregate in parentheses.
    return std::unique_ptr<Desk>(new Desk{Workspace(upload_, lent), std::move(kernels), lent});
}

void DeskPool::give_back(std::unique_ptr<Desk> desk) noexcept {
    const std::lock_guard lock(mutex_);
    try {
        desks_[desk->lent].push_back(std::move(desk));
    } catch (const std::bad_alloc&) {
        // Then the next one is made anew.
    }
}

} // namespace engine

LoadedModel::State::State(const std::shared_ptr<Device>& device,
                          const std::shared_ptr<const Model>& model)
    : upload(upload_once(device, model)), fill(std::make_shared<engine::Estimate>(0)),
      drain(std::make_shared<engine::Estimate>(0)),
      desks(std::make_shared<engine::DeskPool>(upload)),
      pictures(std::make_unique<engine::PicturePrograms>(upload)) {
    for (const Segment& segment : ModelContents::of(*model).segments)
        estimates.push_back(std::make_shared<engine::Estimate>(segment.expected_ns));
}

void LoadedModel::State::add_steps(std::vector<engine::Step>& steps, engine::RequestMemory& memory,
                                   std::span<const TensorMemory> inputs,
                                   std::span<const TensorMemory> outputs) {
    engine::check_count(inputs.size(), model().inputs().size(), "inputs", model());
    engine::check_count(outputs.size(), model().outputs().size(), "outputs", model());
    const auto inference = std::make_shared<engine::Inference>();
    engine::Lending lending(model());
    lending.add(model().inputs(), inputs, "input", inference->to_fill);
    lending.add(model().outputs(), outputs, "output", inference->to_drain);
    inference->upload = upload;
    inference->desk = engine::desk_for(*desks, memory, lending.lent);
    inference->places = inference->desk->workspace.places();
    for (std::size_t i = 0; i < lending.lent.size(); i++)
        if (lending.lent[i])
            inference->places[i] = lending.places[i];

    engine::PictureLayouts layouts;
    for (std::size_t i = 0; i < inputs.size(); i++) {
        const std::uint32_t number = model().inputs()[i];
        if (inference->places[number].row_stride == 0)
            continue;
        const Tensor& tensor = model().tensors()[number];
        if (!pictures->has_regions(number))
            throw Error(EINVAL, fmt::format("input {}: its segment has no room for planes apart or "
                                            "rows of another stride; copy it",
                                            tensor.name));
        layouts[number] = engine::layout_of(tensor, inputs[i]);
    }
    if (!layouts.empty())
        inference->picture_program = pictures->for_pictures(layouts);

    std::vector<engine::Step> made;
    const std::vector<Segment>& segments = ModelContents::of(model()).segments;
    // The steps do not own what they work on: that goes when the request has ended.
    const engine::Inference* work = inference.get();
    const auto cpu_step = [&](std::shared_ptr<engine::Estimate> estimate, auto compute) {
        engine::Step& step = made.emplace_back();
        step.estimate = std::move(estimate);
        step.compute = [compute] {
            compute();
            return 0;
        };
    };
    const bool fills = !work->to_fill.empty();
    const bool drains = !work->to_drain.empty();
    if (segments.empty())
        cpu_step(drain, [work] {
            work->fill_inputs();
            work->drain_outputs();
        });
    if (fills && !segments.empty() && segments.front().on_bpu())
        cpu_step(fill, [work] { work->fill_inputs(); });
    for (std::size_t i = 0; i < segments.size(); i++) {
        const Segment& segment = segments[i];
        if (segment.on_bpu()) {
            made.push_back(engine::bpu_step(*work, *pictures, i, segment, estimates[i]));
            continue;
        }
        const bool fills_here = fills && i == 0;
        const bool drains_here = drains && i + 1 == segments.size();
        cpu_step(estimates[i], [work, &segment, i, fills_here, drains_here] {
            if (fills_here)
                work->fill_inputs();
            compute_segment(*work->upload->model, segment, work->desk->kernels[i], work->places);
            if (drains_here)
                work->drain_outputs();
        });
    }
    if (drains && !segments.empty() && segments.back().on_bpu())
        cpu_step(drain, [work] { work->drain_outputs(); });

    memory.kept.push_back(inference);
    steps.insert(steps.end(), std::make_move_iterator(made.begin()),
                 std::make_move_iterator(made.end()));
}

// The public face

LoadedModel::LoadedModel(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
LoadedModel::~LoadedModel() {
    if (!state_->origin.is_here()) // custom operators, too, may have threads in the parent
        (void)state_.release();
}

const Model& LoadedModel::model() const noexcept {
    return state_->model();
}

std::uint64_t LoadedModel::estimate_ns(std::size_t segment) const {
    state_->origin.require("loaded model");
    if (segment >= state_->estimates.size())
        throw Error(EINVAL, fmt::format("{}: no segment {}, it has {}", model().name(), segment,
                                        state_->estimates.size()));
    return state_->estimates[segment]->ns();
}

} // namespace overtake
