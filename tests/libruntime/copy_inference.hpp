// SPDX-License-Identifier: MIT
//
// An inference of copy_and_softmax() (model_spec.hpp) in the test's own arrays.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <numeric>
#include <vector>

#include "overtake/engine.hpp"

namespace overtake::test {

inline TensorMemory dense_floats(std::vector<float>& values) {
    TensorMemory memory;
    memory.data = reinterpret_cast<std::byte*>(values.data());
    return memory;
}

/// The inputs and outputs of an inference.  The output `copied` is to equal the input `in`.
struct CopyInference {
    static constexpr std::size_t elements = 4 * 5 * 3;

    explicit CopyInference(float first = 1) { std::iota(in.begin(), in.end(), first); }

    /// This object lives until the request has ended.
    void add_to(Request& request, const std::shared_ptr<LoadedModel>& model) {
        const TensorMemory from = dense_floats(in);
        const std::array to = {dense_floats(softmax), dense_floats(copied)};
        request.add(model, {&from, 1}, to);
    }
    std::shared_ptr<Request> submit(Engine& engine, const std::shared_ptr<LoadedModel>& model,
                                    const TaskOptions& options = {}) {
        auto request = engine.create_request();
        add_to(*request, model);
        request->submit(options);
        return request;
    }
    std::shared_ptr<Request> submit(Engine& engine, const std::shared_ptr<LoadedModel>& model,
                                    const char* on) {
        TaskOptions options;
        options.on = on;
        return submit(engine, model, options);
    }
    bool operator==(const CopyInference& other) const {
        return softmax == other.softmax && copied == other.copied;
    }

    std::vector<float> in = std::vector<float>(elements);
    std::vector<float> softmax = std::vector<float>(elements);
    std::vector<float> copied = std::vector<float>(elements);
};

} // namespace overtake::test
