// SPDX-License-Identifier: MIT
//
// A small board program for tests: a loaded model with its tensors.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dnn/hb_dnn.h"
#include "dnn/process.hpp"
#include "model_spec.hpp"

namespace overtake::test {

/// A process of the C interface on an embedded device.  It is the thread's process while the object
/// lives.
class BoardDevice {
public:
    explicit BoardDevice(const EmbeddedOptions& options = {}, const EngineOptions& engine = {});
    ~BoardDevice();

    /// Makes this process that of the calling thread.
    void use() { dnn::Process::use_in_this_thread(process.get()); }

    std::shared_ptr<Device> device;
    std::unique_ptr<dnn::Process> process;
};

/// Counts the FCs of an embedded device, by core.
class FcCounter {
public:
    EmbeddedOptions options() {
        EmbeddedOptions options;
        options.on_fc = [](void* counter, const FcRecord& record) {
            static_cast<FcCounter*>(counter)->counts_.at(record.core - 1)++;
        };
        options.on_fc_context = this;
        return options;
    }
    unsigned on_core(unsigned core) const { return counts_.at(core - 1); }

private:
    std::array<std::atomic<unsigned>, 2> counts_{};
};

/// Makes a model that copies int8 rows: input and output of 4 x 5 pixels of 3 channels, padded to
/// 8.
ModelSpec copy_bytes();

/// Makes a model that converts an NV12 picture of 4 x 18 pixels to red, green and blue, as int8
/// less 128, in two FCs.
ModelSpec picture_to_bytes();

/// A model, and memory for one inference.
class BoardModel {
public:
    explicit BoardModel(const ModelSpec& spec = copy_and_softmax());
    ~BoardModel();

    /// Returns the default parameters.
    hbDNNInferCtrlParam control() const;
    std::int32_t infer(hbDNNTaskHandle_t* task, hbDNNInferCtrlParam wishes);
    std::int32_t infer(hbDNNTaskHandle_t* task) { return infer(task, control()); }

    hbPackedDNNHandle_t pack = nullptr;
    hbDNNHandle_t model = nullptr;
    std::vector<std::byte> bytes;
    std::vector<hbDNNTensor> inputs, outputs; ///< with memory of their own
};

} // namespace overtake::test
