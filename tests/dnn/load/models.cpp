// SPDX-License-Identifier: MIT
#include "models.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <span>
#include <stdexcept>

#include "board.hpp"
#include "model_spec.hpp"
#include "overtake/custom_operator.hpp"
#include "overtake/error.hpp"

namespace overtake::test {

namespace {

struct AddOne : CustomOperator {
    void compute(std::span<const std::span<const float>> in, std::span<float> out) override {
        std::ranges::transform(in[0], out.begin(), [](float value) { return value + 1; });
    }
};

struct Failing : CustomOperator {
    void compute(std::span<const std::span<const float>>, std::span<float>) override {
        throw Error(EIO, "an operator that fails");
    }
};

void register_operators() {
    static const bool once = [] {
        register_custom_operator("load", "AddOne",
                                 [](const auto&) { return std::make_unique<AddOne>(); });
        register_custom_operator("load", "Failing",
                                 [](const auto&) { return std::make_unique<Failing>(); });
        return true;
    }();
    static_cast<void>(once);
}

/// A segment for each letter: b copies on the BPU, c adds one on the CPU, f fails there.
ModelSpec chain(const std::string& letters) {
    ModelSpec spec;
    spec.name = letters;
    const auto add_tensor = [&] {
        TensorSpec tensor = device_tensor("t" + std::to_string(spec.tensors.size()), load_rows,
                                          load_width, load_channels, 1, 0);
        tensor.data_type = 2;
        spec.tensors.push_back(tensor);
    };
    const ModelSpec copying = copy_bytes();
    spec.program = copying.program;
    add_tensor();
    for (const char letter : letters) {
        const auto in = static_cast<std::uint32_t>(spec.tensors.size() - 1);
        add_tensor();
        SegmentSpec segment;
        if (letter == 'b') {
            segment = copying.segments[0];
            segment.bindings = {fbs::Binding(OVERTAKE_REGION_IO, in, false),
                                fbs::Binding(OVERTAKE_REGION_IO + 1, in + 1, true)};
        } else {
            segment.cpu = true;
            CpuOpSpec op;
            op.type = 20;
            op.inputs = {in};
            op.outputs = {in + 1};
            op.domain = "load";
            op.custom_type = letter == 'f' ? "Failing" : "AddOne";
            segment.ops = {op};
        }
        spec.segments.push_back(segment);
    }
    spec.inputs = {0};
    spec.outputs = {static_cast<std::uint32_t>(spec.tensors.size() - 1)};
    return spec;
}

LoadModel load(const ModelSpec& spec, LoadModel::Kind kind, int added) {
    const std::vector<std::byte> bytes = build(spec);
    const void* data = bytes.data();
    auto length = static_cast<std::int32_t>(bytes.size());
    LoadModel model{kind, spec.name, nullptr, nullptr, added};
    std::int32_t status = hbDNNInitializeFromDDR(&model.pack, &data, &length, 1);
    if (status == 0)
        status = hbDNNGetModelHandle(&model.model, model.pack, spec.name.c_str());
    if (status != 0)
        throw std::runtime_error(hbDNNGetErrorDesc(status));
    return model;
}

} // namespace

LoadModel load_chain(const std::string& segments) {
    register_operators();
    return load(chain(segments), LoadModel::Kind::chain,
                static_cast<int>(std::ranges::count(segments, 'c')));
}

std::vector<LoadModel> load_models() {
    std::vector<LoadModel> models;
    for (const char* letters : {"b", "cb", "bc", "bcb", "cbcbc", "c", "bb"})
        models.push_back(load_chain(letters));

    ModelSpec faulty = chain("bcb");
    faulty.name = "faulty";
    faulty.program[1].in[0].offset = 1 << 20; // outside of what it is bound to
    models.push_back(load(faulty, LoadModel::Kind::faulty, 0));
    models.push_back(load(chain("bf"), LoadModel::Kind::faulty, 0));

    ModelSpec region = picture_to_bytes();
    region.tensors[0].from_resizer = true;
    models.push_back(load(region, LoadModel::Kind::region, 0));
    return models;
}

} // namespace overtake::test
