// SPDX-License-Identifier: MIT
//
// Random bytes are hardly ever a sound model file. So the mutator takes a sound file apart, changes
// its table of fields, and puts it together again.
#include <algorithm>
#include <cstring>
#include <limits>
#include <random>

#include "overtake_isa.h"
#include "run_model.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace overtake::fuzz {

namespace {

class Mutator {
public:
    explicit Mutator(std::uint32_t seed) : random_(seed) {}

    void mutate(fbs::ModelT& model) {
        if (!model.units.empty() && below(3) == 0)
            return units(model);
        if (model.core_plan && below(3) == 0)
            return core_plan(*model.core_plan, model);
        switch (below(12)) {
        case 0:
            return header(model);
        case 1:
            return numbers(below(2) ? model.inputs : model.outputs, model);
        case 2:
        case 3:
        case 4:
            return tensor(model);
        case 5:
        case 6:
            return instruction(model.program);
        case 7:
            return bytes(model.weights);
        default:
            return segments(model);
        }
    }

    std::size_t below(std::size_t limit) { return random_() % limit; }

private:
    std::int64_t interesting() {
        static constexpr std::int64_t values[] = {-1,
                                                  -2,
                                                  -8,
                                                  0,
                                                  1,
                                                  2,
                                                  3,
                                                  4,
                                                  5,
                                                  7,
                                                  8,
                                                  9,
                                                  16,
                                                  24,
                                                  32,
                                                  64,
                                                  127,
                                                  128,
                                                  255,
                                                  256,
                                                  4096,
                                                  65535,
                                                  65536,
                                                  1 << 20,
                                                  (1 << 20) + 1,
                                                  1 << 24,
                                                  1ll << 30,
                                                  (1ll << 31) - 1,
                                                  1ll << 31,
                                                  (1ll << 32) - 1,
                                                  1ll << 32,
                                                  1ll << 40,
                                                  1ll << 62,
                                                  INT64_MAX,
                                                  INT64_MIN,
                                                  INT64_MIN + 1,
                                                  -(1ll << 31),
                                                  -(1ll << 32),
                                                  -(1 << 20)};
        return values[below(std::size(values))];
    }

    template <typename Number>
    void change(Number& number) {
        auto wide = static_cast<std::uint64_t>(number);
        switch (below(6)) {
        case 0:
            wide++;
            break;
        case 1:
            wide--;
            break;
        case 2:
            wide *= 2;
            break;
        case 3:
            wide = static_cast<std::uint64_t>(interesting());
            break;
        default:
            wide = below(12);
        }
        number = static_cast<Number>(wide);
    }

    void change(float& number) {
        static constexpr float values[] = {0, 1, -1, 0.5f, 1e-30f, 1e30f, -1e30f, 255, 3e9f};
        number =
            below(10) ? values[below(std::size(values))] : std::numeric_limits<float>::quiet_NaN();
    }

    /// Adds, removes, swaps or changes elements of the list.
    template <typename Number>
    void list(std::vector<Number>& numbers) {
        const std::size_t how = below(6);
        if (how == 0 || numbers.empty()) {
            Number number{};
            change(number);
            numbers.insert(numbers.begin() + static_cast<std::ptrdiff_t>(below(numbers.size() + 1)),
                           number);
        } else if (how == 1) {
            numbers.erase(numbers.begin() + static_cast<std::ptrdiff_t>(below(numbers.size())));
        } else if (how == 2) {
            std::swap(numbers[below(numbers.size())], numbers[below(numbers.size())]);
        } else {
            change(numbers[below(numbers.size())]);
        }
    }

    template <typename Elements>
    auto& any(Elements& elements) {
        return elements[below(elements.size())];
    }

    void header(fbs::ModelT& model) {
        switch (below(6)) {
        case 0:
            return change(model.version);
        case 1:
            return change(model.isa_version);
        case 2:
            return change(model.profile->clock_khz);
        case 3:
            return change(model.max_time_per_fc_us);
        case 4:
            model.name.assign(below(40), 'n');
            return;
        default:
            model.nodes.clear();
            model.fc_shares.clear();
            model.scratch.clear();
        }
    }

    /// Changes numbers of tensors, mostly to numbers of existing tensors.
    void numbers(std::vector<std::uint32_t>& list_, const fbs::ModelT& model) {
        list(list_);
        if (!list_.empty() && below(4))
            any(list_) = static_cast<std::uint32_t>(below(model.tensors.size() + 1));
    }

    static std::uint64_t elements(const fbs::TensorT& tensor) {
        std::uint64_t count = 1;
        for (const std::uint32_t size : tensor.shape)
            count *= size;
        return count;
    }

    /// Makes the other fields fit the shape, as the reader requires.
    void settle(fbs::TensorT& tensor) {
        if (tensor.height == 0) {
            tensor.bytes = elements(tensor) * sizeof(float);
            if (!tensor.data.empty() && tensor.bytes <= 1 << 16)
                tensor.data.resize(elements(tensor), 1);
            return;
        }
        tensor.pixel_stride = (tensor.channels + 7) / 8 * 8;
        tensor.row_stride = tensor.width * tensor.pixel_stride;
        tensor.bytes = std::uint64_t{tensor.height} * tensor.row_stride;
        tensor.shape = tensor.order == fbs::Order::Rows
                           ? std::vector{1u, tensor.height, tensor.width, tensor.channels}
                           : std::vector{1u, tensor.channels, tensor.height, tensor.width};
    }

    void tensor(fbs::ModelT& model) {
        if (model.tensors.empty())
            return;
        fbs::TensorT& tensor = *any(model.tensors);
        switch (below(16)) {
        case 0:
            change(tensor.height);
            break;
        case 1:
            change(tensor.width);
            break;
        case 2:
            change(tensor.channels);
            break;
        case 3:
            change(tensor.row_stride);
            return;
        case 4:
            change(tensor.pixel_stride);
            return;
        case 5:
            change(tensor.scale);
            return;
        case 6:
            change(tensor.zero_point);
            if (below(2) == 0) {
                tensor.is_int16 = !tensor.is_int16;
                tensor.zero_point = 0;
            }
            return;
        case 7:
            change(tensor.bytes);
            return;
        case 8:
            tensor.order = static_cast<fbs::Order>(below(3));
            break;
        case 9:
            tensor.data_type = static_cast<fbs::DataType>(below(7));
            return;
        case 10:
            list(tensor.data);
            return;
        case 11:
            tensor.shape = any(model.tensors)->shape;
            break;
        case 12: // a copy of any tensor of the model
            model.tensors.push_back(std::make_unique<fbs::TensorT>(*any(model.tensors)));
            return;
        default:
            list(tensor.shape);
        }
        if (below(4))
            settle(tensor);
    }

    void bytes(std::vector<std::uint8_t>& data) {
        if (data.empty() || below(8) == 0)
            data.resize(below(256));
        else
            any(data) = static_cast<std::uint8_t>(random_());
    }

    void instruction(std::vector<std::uint8_t>& program) {
        const std::size_t count = program.size() / sizeof(overtake_insn);
        if (count == 0 || below(16) == 0) {
            program.resize(below(4) * sizeof(overtake_insn) + (below(16) == 0));
            return;
        }
        std::uint8_t* insn = program.data() + below(count) * sizeof(overtake_insn);
        const std::size_t size = std::size_t{1} << below(4);
        const std::size_t at = below(sizeof(overtake_insn) / size) * size;
        std::uint64_t value = 0;
        std::memcpy(&value, insn + at, size);
        change(value);
        std::memcpy(insn + at, &value, size);
    }

    void segments(fbs::ModelT& model) {
        if (model.segments.empty())
            return;
        const std::size_t how = below(24);
        if (how == 0 && model.segments.size() < 16) {
            auto copy = std::make_unique<fbs::SegmentT>(*any(model.segments));
            model.segments.push_back(std::move(copy));
            return;
        }
        if (how == 1) {
            std::swap(any(model.segments), any(model.segments));
            return;
        }
        segment(*any(model.segments), how, model);
    }

    void segment(fbs::SegmentT& segment, std::size_t how, const fbs::ModelT& model) {
        if (how == 2) {
            (below(2) ? segment.bpu.reset() : segment.cpu.reset());
        } else if (segment.bpu) {
            bpu(*segment.bpu, model);
        } else if (segment.cpu && !segment.cpu->ops.empty()) {
            if (how == 3)
                segment.cpu->ops.push_back(std::make_unique<fbs::CpuOpT>(*any(segment.cpu->ops)));
            else
                cpu(*any(segment.cpu->ops), model);
        }
    }

    void units(fbs::ModelT& model) {
        fbs::UnitT& unit = *any(model.units);
        switch (below(12)) {
        case 0:
            return change(unit.after);
        case 1:
            return change(unit.operations);
        case 2:
            return std::swap(any(model.units), any(model.units));
        case 3:
            if (model.units.size() < 70)
                model.units.push_back(std::make_unique<fbs::UnitT>(unit));
            return;
        case 4:
            return model.units.pop_back();
        case 5:
            return classes(model);
        case 6:
            if (!model.unit_tensors.empty())
                change(any(model.unit_tensors)->bytes);
            return;
        default:
            return work(unit, model);
        }
    }

    void core_plan(fbs::CorePlanT& plan, const fbs::ModelT& model) {
        const std::size_t how = below(12);
        if (how == 0)
            return change(plan.core_count);
        if (how == 1)
            return plan.profiles.push_back(std::make_unique<fbs::ProfileT>(*model.profile));
        if (how == 2)
            return plan.profiles.empty() ? void() : change(any(plan.profiles)->clock_khz);
        if (plan.segments.empty())
            return;
        fbs::CoreSegmentT& segment = *any(plan.segments);
        if (how == 3)
            return change(segment.segment);
        if (how == 4)
            return change(segment.scratch_bytes);
        if (how == 5)
            return plan.segments.push_back(std::make_unique<fbs::CoreSegmentT>(segment));
        if (segment.parts.empty())
            return;
        if (how == 6 && segment.parts.size() < 8)
            return segment.parts.push_back(std::make_unique<fbs::CorePartT>(*any(segment.parts)));
        fbs::CorePartT& part = *any(segment.parts);
        if (how == 7)
            return change(part.core);
        if (part.fcs.empty() || part.stages.empty())
            return;
        if (how == 8 && part.fcs.size() < 32) {
            part.fcs.push_back(any(part.fcs));
            part.stages.push_back(part.stages.back() + static_cast<std::uint32_t>(below(2)));
            return;
        }
        if (how == 9)
            return change(any(part.stages));
        const fbs::Fc& fc = any(part.fcs);
        std::uint32_t first = fc.first_insn(), count = fc.insn_count();
        change(below(2) ? first : count);
        any(part.fcs) = fbs::Fc(first, count, fc.cycles());
    }

    void classes(fbs::ModelT& model) {
        if (model.unit_classes.empty() || below(4) == 0)
            model.unit_classes.push_back(std::make_unique<fbs::UnitClassT>());
        fbs::UnitClassT& of = *any(model.unit_classes);
        if (below(3) == 0)
            of.name.assign(below(3), 'n');
        else if (of.profile && below(2))
            change(of.profile->clock_khz);
        else
            of.profile = below(2) ? std::make_unique<fbs::ProfileT>(*model.profile) : nullptr;
    }

    void work(fbs::UnitT& unit, const fbs::ModelT& model) {
        if (unit.work.empty())
            return;
        fbs::UnitWorkT& work = *any(unit.work);
        const std::size_t how = below(10);
        if (how == 0)
            return change(work.class_index);
        if (how == 1)
            return std::swap(any(unit.work), any(unit.work));
        if (how == 2)
            return unit.work.pop_back();
        if (work.segments.empty())
            return;
        if (how == 3 && work.segments.size() < 8)
            work.segments.push_back(std::make_unique<fbs::SegmentT>(*any(work.segments)));
        else
            segment(*any(work.segments), below(24), model);
    }

    void bpu(fbs::BpuSegmentT& segment, const fbs::ModelT& model) {
        const std::size_t how = below(4);
        if (how == 0)
            return change(segment.scratch_bytes);
        if (how == 1 && !segment.fcs.empty()) {
            fbs::Fc& fc = any(segment.fcs);
            std::uint32_t first = fc.first_insn(), count = fc.insn_count();
            change(below(2) ? first : count);
            fc = fbs::Fc(first, count, fc.cycles());
        } else if (how == 2 && segment.fcs.size() < 100) {
            segment.fcs.push_back(fbs::Fc(static_cast<std::uint32_t>(below(4)), 1, 1));
        } else if (!segment.bindings.empty()) {
            fbs::Binding& binding = any(segment.bindings);
            std::uint32_t region = binding.region(), number = binding.tensor();
            if (below(2))
                change(region);
            else
                number = static_cast<std::uint32_t>(below(model.tensors.size() + 1));
            binding = fbs::Binding(region, number, below(4) ? binding.writable() : below(2) != 0);
            if (below(8) == 0)
                segment.bindings.push_back(binding);
        }
    }

    void cpu(fbs::CpuOpT& op, const fbs::ModelT& model) {
        switch (below(10)) {
        case 0:
            op.type = static_cast<fbs::CpuOpType>(
                below(static_cast<std::size_t>(fbs::CpuOpType::MAX) + 2));
            return;
        case 1:
        case 2:
            return numbers(op.inputs, model);
        case 3:
            return numbers(op.outputs, model);
        case 4:
            return change(op.axis);
        case 5:
            return list(op.reals);
        default:
            return list(op.integers);
        }
    }

    std::mt19937 random_;
};

template <typename Root>
bool verifies(const std::vector<std::uint8_t>& bytes, const char* identifier) {
    flatbuffers::Verifier verifier(bytes.data(), bytes.size(), 8, 100'000);
    return bytes.size() >= 8 && verifier.VerifyBuffer<Root>(identifier);
}

template <typename Elements>
bool is_aligned(const Elements* elements) {
    return !elements ||
           reinterpret_cast<std::uintptr_t>(elements->Data()) % alignof(std::uint64_t) == 0;
}

bool is_aligned(const fbs::Segment& segment) {
    bool all = !segment.bpu() || is_aligned(segment.bpu()->fcs());
    if (segment.cpu())
        for (const fbs::CpuOp* op : *segment.cpu()->ops())
            all = all && is_aligned(op->integers());
    return all;
}

/// Returns whether all vectors are aligned. The reader checks this, but the verifier does not.
bool is_aligned(const fbs::Model& model) {
    bool all = is_aligned(model.fc_shares());
    for (const fbs::Segment* segment : *model.segments())
        all = all && is_aligned(*segment);
    if (model.units())
        for (const fbs::Unit* unit : *model.units())
            for (const fbs::UnitWork* work : *unit->work())
                for (const fbs::Segment* segment : *work->segments())
                    all = all && is_aligned(*segment);
    return all;
}

/// Returns the file with changed parts, or nothing if the file is not sound.
std::vector<std::uint8_t> mutated(const std::vector<std::uint8_t>& bytes, Mutator& mutator) {
    const std::size_t changes = 1 + mutator.below(4);
    if (verifies<fbs::Model>(bytes, fbs::ModelIdentifier()) &&
        is_aligned(*fbs::GetModel(bytes.data()))) {
        fbs::ModelT model;
        fbs::GetModel(bytes.data())->UnPackTo(&model);
        for (std::size_t i = 0; i < changes; i++)
            mutator.mutate(model);
        return pack(model);
    }
    if (verifies<fbs::ModelPack>(bytes, pack_identifier)) {
        fbs::ModelPackT models;
        const auto& root = *flatbuffers::GetRoot<fbs::ModelPack>(bytes.data());
        for (const fbs::Model* model : *root.models())
            if (!is_aligned(*model))
                return {};
        root.UnPackTo(&models);
        for (std::size_t i = 0; i < changes && !models.models.empty(); i++)
            mutator.mutate(*models.models[mutator.below(models.models.size())]);
        return pack(models);
    }
    return {};
}

} // namespace

void mutate_model(std::vector<std::uint8_t>& bytes, std::size_t most, std::uint32_t seed) {
    Mutator mutator(seed);
    if (mutator.below(12) != 0) {
        // The copy has the alignment that the file would have.
        const std::vector<std::uint8_t> changed = mutated(bytes, mutator);
        if (!changed.empty() && changed.size() <= most) {
            bytes = changed;
            return;
        }
    }
    const std::size_t size = bytes.size();
    bytes.resize(most);
    bytes.resize(LLVMFuzzerMutate(bytes.data(), std::min(size, most), most));
}

} // namespace overtake::fuzz
