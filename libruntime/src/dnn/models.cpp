// SPDX-License-Identifier: MIT
#include "dnn/models.hpp"

#include <algorithm>
#include <utility>

#include "overtake/model_contents.hpp"

namespace overtake::dnn {

namespace {

/// Describes the form in which the user passes a tensor.
void describe(Port& port) {
    const Tensor& tensor = *port.tensor;
    port.form = TensorForm::dense;
    port.element = Element::float32;
    switch (tensor.data_type) {
    case DataType::float32:
        break;
    case DataType::int8:
        port.element = Element::int8;
        if (tensor.on_device())
            port.form = TensorForm::device;
        break;
    case DataType::uint8:
        port.element = Element::uint8;
        port.zero_point = static_cast<std::int8_t>(port.zero_point ^ 0x80);
        break;
    case DataType::int64:
        port.element = Element::int64;
        break;
    case DataType::nv12:
        port.element = Element::uint8;
        port.form = TensorForm::device;
        break;
    }
}

std::vector<Port> ports_of(const Model& model, std::span<const std::uint32_t> numbers,
                           bool are_inputs) {
    std::vector<Port> ports;
    for (const std::uint32_t number : numbers) {
        const Tensor& tensor = model.tensors()[number];
        Port port{.name = std::string(tensor.name),
                  .tensor = &tensor,
                  .is_input = are_inputs,
                  .scale = tensor.scale,
                  .zero_point = static_cast<std::int8_t>(tensor.zero_point),
                  .form = TensorForm::dense,
                  .element = Element::float32,
                  .from_resizer = tensor.from_resizer};
        describe(port);
        ports.push_back(std::move(port));
    }
    return ports;
}

} // namespace

Network::Network(std::shared_ptr<LoadedModel> loaded_)
    : loaded(std::move(loaded_)), name(model().name()),
      inputs(ports_of(model(), model().inputs(), true)),
      outputs(ports_of(model(), model().outputs(), false)) {}

std::shared_ptr<Network> Pack::find(const std::string& name) const {
    const auto found = std::ranges::find(networks, name, &Network::name);
    return found == networks.end() ? nullptr : *found;
}

bool Pack::is_running() const {
    return std::ranges::any_of(networks, [](const auto& network) { return network->tasks != 0; });
}

} // namespace overtake::dnn
