// SPDX-License-Identifier: MIT
//
// Units give the bits that segments give, on every class of processor.  The test runs the model
// files that OVERTAKE_UNIT_MODELS names, with the device's operators in this process.
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <ovt_port.h>
#include <ovt_simd_port.h>

extern "C" {
#include "hw/decode.h"
#include "hw/operators.h"
#include "hw/simd/simd.h"
}

#include <gtest/gtest.h>

#include "cpu/operation.hpp"
#include "cpu/tensor_layout.hpp"
#include "overtake/model_contents.hpp"

namespace overtake {
namespace {

// The tensors of one inference.
class Tensors {
public:
    Tensors(const ModelContents& contents, std::uint32_t seed) : contents_(contents) {
        for (const Tensor& tensor : contents.tensors) {
            bytes_.emplace_back(tensor.on_device() ? tensor.bytes : 0, std::byte{0x5a});
            reals_.emplace_back(tensor.on_device() ? 0 : tensor.elements(), 1e9f);
            if (tensor.is_constant())
                reals_.back().assign(tensor.data.begin(), tensor.data.end());
        }
        std::mt19937 random(seed);
        for (const std::uint32_t input : contents.inputs) {
            for (std::byte& byte : bytes_[input])
                byte = static_cast<std::byte>(random());
            for (float& real : reals_[input])
                real = static_cast<float>(random() % 1000) / 500 - 1;
        }
    }

    void run(const Segment& segment) {
        for (const CpuOp& op : segment.cpu_ops)
            compute(op);
        if (!segment.on_bpu())
            return;
        std::vector<std::byte> scratch(segment.scratch_bytes, std::byte{0xa5});
        std::array<ovt_region, OVERTAKE_MAX_REGIONS> regions{};
        const auto bind = [&](std::uint32_t region, std::span<const std::byte> memory,
                              bool writable) {
            regions[region].base = const_cast<u8*>(reinterpret_cast<const u8*>(memory.data()));
            regions[region].length = memory.size();
            regions[region].flags = OVT_REGION_READ | (writable ? OVT_REGION_WRITE : 0u);
        };
        bind(OVERTAKE_REGION_WEIGHTS, contents_.weights, false);
        bind(OVERTAKE_REGION_SCRATCH, scratch, true);
        for (const TensorBinding& binding : segment.bindings)
            bind(binding.region, bytes_[binding.tensor], binding.writable);
        for (const overtake_fc& fc : segment.fcs)
            for (std::uint32_t index = 0; index < fc.insn_count; index++)
                execute(fc.first_insn + index, regions);
    }

    std::vector<std::byte> outputs() const {
        std::vector<std::byte> all;
        for (const std::uint32_t output : contents_.outputs) {
            all.insert(all.end(), bytes_[output].begin(), bytes_[output].end());
            const auto reals = std::as_bytes(std::span(reals_[output]));
            all.insert(all.end(), reals.begin(), reals.end());
        }
        return all;
    }

private:
    void execute(std::uint32_t number, std::array<ovt_region, OVERTAKE_MAX_REGIONS>& regions) {
        overtake_insn insn;
        std::memcpy(&insn, contents_.program.data() + std::size_t{number} * sizeof(insn),
                    sizeof(insn));
        ovt_operands operands{};
        ASSERT_EQ(ovt_insn_check(&insn, regions.data(), &operands), OVERTAKE_FAULT_NONE);
        ovt_cursor cursor{};
        s64 work = INT64_MAX;
        ovt_simd_section section;
        ovt_simd_begin(&section);
        const bool is_covered = ovt_simd_supported() && ovt_simd_covers(&insn);
        if (is_covered)
            while (!ovt_simd_run(&insn, &operands, simd_.get(), &cursor, &work))
                ;
        ovt_simd_end(&section);
        while (!is_covered && !ovt_operator_run(&insn, &operands, &cursor, &work))
            ;
    }

    void compute(const CpuOp& op) {
        const auto values = [&](std::uint32_t number) {
            const Tensor& tensor = contents_.tensors[number];
            if (!tensor.on_device())
                return reals_[number];
            std::vector<float> result(tensor.elements());
            from_device(tensor, bytes_[number], result);
            return result;
        };
        std::vector<std::vector<float>> inputs;
        for (const std::uint32_t input : op.inputs)
            inputs.push_back(values(input));
        const Tensor& output = contents_.tensors[op.output];
        std::vector<float> result(output.elements());
        cpu::Operation operation = cpu::operation_of(contents_.tensors, op);
        operation.blocks = cpu::blocks_of_this_cpu();
        cpu::make_kernel(operation)(cpu::Inputs(inputs.begin(), inputs.end()), result);
        if (output.on_device())
            to_device(output, result, bytes_[op.output]);
        else
            reals_[op.output] = result;
    }

    const ModelContents& contents_;
    std::vector<std::vector<std::byte>> bytes_; // by tensor
    std::vector<std::vector<float>> reals_;     // by tensor
    const std::unique_ptr<ovt_simd_scratch> simd_ = std::make_unique<ovt_simd_scratch>();
};

// Returns the work of class `index` if it supports the unit; else that of the first class that
// does.
const UnitWork& work_of(const Unit& unit, std::size_t index) {
    if (unit.work[index])
        return *unit.work[index];
    for (const auto& work : unit.work)
        if (work)
            return *work;
    throw std::logic_error("no class supports the unit");
}

void expect_same_bits(const std::string& path) {
    const auto model = Model::load(path);
    const ModelContents& contents = ModelContents::of(*model);
    ASSERT_FALSE(contents.units.empty());
    Tensors by_segments(contents, 1);
    for (const Segment& segment : contents.segments)
        by_segments.run(segment);
    const std::vector<std::byte> expected = by_segments.outputs();
    std::mt19937 random(2);
    // Each class computes all units that it supports; in the last two rounds the classes are
    // random.
    for (std::size_t round = 0; round < contents.classes.size() + 2; round++) {
        Tensors by_units(contents, 1);
        for (const Unit& unit : contents.units)
            for (const Segment& segment :
                 work_of(unit, round < contents.classes.size() ? round
                                                               : random() % contents.classes.size())
                     .segments)
                by_units.run(segment);
        EXPECT_TRUE(by_units.outputs() == expected) << "round " << round;
    }
}

TEST(UnitBits, AreThoseOfSegmentsOnEveryClass) {
    const char* models = std::getenv("OVERTAKE_UNIT_MODELS");
    ASSERT_NE(models, nullptr) << "names model files";
    std::istringstream paths(models);
    for (std::string path; std::getline(paths, path, ':');) {
        SCOPED_TRACE(path);
        expect_same_bits(path);
    }
}

} // namespace
} // namespace overtake
