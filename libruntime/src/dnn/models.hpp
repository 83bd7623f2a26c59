// SPDX-License-Identifier: MIT
//
// The models that the C interface has loaded.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "overtake/engine.hpp"

namespace overtake::dnn {

/// One input or output, and the data that its description points to.
struct Port {
    std::string name;
    const Tensor* tensor;
    bool is_input;
    float scale;            ///< of quantised elements, as the user sees them
    std::int8_t zero_point; ///< likewise; for U8 its bits
    TensorForm form;        ///< the form in which the user passes it
    Element element;        ///< the element of a dense tensor
    bool from_resizer = false;
};

/// A model, and the number of unreleased tasks that use it.
class Network {
public:
    explicit Network(std::shared_ptr<LoadedModel> loaded);

    const Model& model() const noexcept { return loaded->model(); }

    const std::shared_ptr<LoadedModel> loaded;
    const std::string name;
    std::vector<Port> inputs;
    std::vector<Port> outputs;
    std::atomic<unsigned> tasks{0};
    void* handle = nullptr;
};

/// The models of one call of hbDNNInitializeFrom*().
struct Pack {
    std::vector<std::shared_ptr<Network>> networks;
    std::vector<const char*> names; ///< the names of the networks

    std::shared_ptr<Network> find(const std::string& name) const;
    bool is_running() const;
};

} // namespace overtake::dnn
