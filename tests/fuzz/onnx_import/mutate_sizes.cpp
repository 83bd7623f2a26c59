// SPDX-License-Identifier: MIT
#include "mutate_sizes.hpp"

#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace overtake::fuzz {

namespace {

using onnx::TensorProto;
using Sizes = std::vector<std::int64_t>;

constexpr std::int64_t most_elements = 4096;

std::int64_t count_of(const Sizes& sizes) {
    std::int64_t count = 1;
    for (const std::int64_t size : sizes)
        if (size < 0 || size > most_elements || (count *= size) > most_elements)
            return -1;
    return count;
}

// A tensor whose sizes the model states: a constant, or an input of the graph.
struct Shaped {
    TensorProto* constant;
    onnx::TensorShapeProto* input;

    Sizes sizes() const {
        if (constant)
            return {constant->dims().begin(), constant->dims().end()};
        Sizes result;
        for (const auto& dimension : input->dim())
            result.push_back(dimension.dim_value());
        return result;
    }
};

// Makes `count` elements: repeats the old ones from the first on.
template <typename Elements>
void repeat(Elements& elements, std::size_t count) {
    const Elements old = elements;
    elements.Clear();
    for (std::size_t index = 0; index < count; index++)
        elements.Add(old.empty() ? 0 : old[static_cast<int>(index) % old.size()]);
}

void repeat_raw(std::string& raw, std::size_t count, std::size_t old_count) {
    if (old_count == 0 || raw.size() % old_count != 0)
        return;
    const std::size_t each = raw.size() / old_count;
    const std::string old = raw;
    raw.clear();
    for (std::size_t index = 0; index < count; index++)
        raw += old.substr(index % old_count * each, each);
}

class SizeMutator {
public:
    SizeMutator(onnx::GraphProto& graph, const Below& below) : graph_(graph), below_(below) {
        std::set<std::string> constants;
        for (auto& tensor : *graph.mutable_initializer()) {
            add({&tensor, nullptr});
            constants.insert(tensor.name());
        }
        for (auto& input : *graph.mutable_input())
            if (input.type().tensor_type().has_shape() && !constants.contains(input.name()))
                add({nullptr, input.mutable_type()->mutable_tensor_type()->mutable_shape()});
        for (auto& node : *graph.mutable_node())
            for (auto& attribute : *node.mutable_attribute())
                if (attribute.has_t())
                    add({attribute.mutable_t(), nullptr});
    }

    void run() {
        switch (below_(8)) {
        case 0:
            return change_whole_number();
        case 1:
            return change_attribute();
        default:
            return change_shape();
        }
    }

private:
    void add(const Shaped& shaped) {
        shaped_.push_back(shaped);
        for (const std::int64_t size : shaped.sizes())
            pool_.push_back(size);
    }

    template <typename Element>
    Element& any(std::vector<Element>& list) {
        return list[below_(list.size())];
    }

    static std::int64_t wrapped(std::uint64_t size) { return static_cast<std::int64_t>(size); }

    // Returns a size that is in the model, or one next to `old`, 1 or twice `old`.
    std::int64_t size(std::int64_t old) {
        switch (below_(6)) {
        case 0:
            return wrapped(static_cast<std::uint64_t>(old) + 1);
        case 1:
            return wrapped(static_cast<std::uint64_t>(old) - 1);
        case 2:
            return 1;
        case 3:
            return wrapped(static_cast<std::uint64_t>(old) * 2);
        default:
            return pool_.empty() ? old : any(pool_);
        }
    }

    void change_shape() {
        if (shaped_.empty())
            return;
        const Shaped& chosen = any(shaped_);
        Sizes sizes = chosen.sizes();
        const std::size_t how = below_(10), place = below_(sizes.size());
        if (how == 0)
            sizes = any(shaped_).sizes();
        else if (how == 1 && !sizes.empty())
            sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(place));
        else if (how == 2)
            sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(place), size(1));
        else if (how == 3 && sizes.size() > 1)
            std::swap(sizes[place], sizes[below_(sizes.size())]);
        else if (!sizes.empty())
            sizes[place] = size(sizes[place]);
        set_sizes(chosen, sizes);
        forget_shapes();
    }

    void set_sizes(const Shaped& shaped, const Sizes& sizes) {
        const std::int64_t count = count_of(sizes), old = count_of(shaped.sizes());
        if (count < 0)
            return;
        if (shaped.input) {
            shaped.input->clear_dim();
            for (const std::int64_t one : sizes)
                shaped.input->add_dim()->set_dim_value(one);
            return;
        }
        TensorProto& tensor = *shaped.constant;
        tensor.mutable_dims()->Assign(sizes.begin(), sizes.end());
        const auto wanted = static_cast<std::size_t>(count);
        if (tensor.has_raw_data() && old >= 0)
            repeat_raw(*tensor.mutable_raw_data(), wanted, static_cast<std::size_t>(old));
        else if (tensor.data_type() == TensorProto::FLOAT)
            repeat(*tensor.mutable_float_data(), wanted);
        else if (tensor.data_type() == TensorProto::INT64)
            repeat(*tensor.mutable_int64_data(), wanted);
        else
            repeat(*tensor.mutable_int32_data(), wanted);
    }

    // Changes a number in a constant: a size, an axis, a position, a padding.
    void change_whole_number() {
        std::vector<TensorProto*> tensors;
        for (const Shaped& shaped : shaped_)
            if (shaped.constant && shaped.constant->data_type() == TensorProto::INT64)
                tensors.push_back(shaped.constant);
        if (tensors.empty())
            return change_shape();
        TensorProto& tensor = *any(tensors);
        std::string& raw = *tensor.mutable_raw_data();
        std::int64_t number = 0;
        if (raw.size() >= sizeof(number)) {
            char* const place = raw.data() + below_(raw.size() / sizeof(number)) * sizeof(number);
            std::memcpy(&number, place, sizeof(number));
            number = size(number);
            std::memcpy(place, &number, sizeof(number));
        } else if (tensor.int64_data_size() > 0) {
            tensor.clear_raw_data();
            const auto count = static_cast<std::size_t>(tensor.int64_data_size());
            const auto place = static_cast<int>(below_(count));
            tensor.set_int64_data(place, size(tensor.int64_data(place)));
        }
        forget_shapes();
    }

    void change_attribute() {
        std::vector<onnx::AttributeProto*> attributes;
        for (auto& node : *graph_.mutable_node())
            for (auto& attribute : *node.mutable_attribute())
                if (attribute.has_i() || attribute.ints_size() > 0)
                    attributes.push_back(&attribute);
        if (attributes.empty())
            return change_shape();
        onnx::AttributeProto& attribute = *any(attributes);
        if (attribute.has_i())
            attribute.set_i(size(attribute.i()));
        else if (const auto place =
                     static_cast<int>(below_(static_cast<std::size_t>(attribute.ints_size())));
                 true)
            attribute.set_ints(place, size(attribute.ints(place)));
        forget_shapes();
    }

    void forget_shapes() {
        if (below_(8) == 0)
            return;
        graph_.clear_value_info();
        // An output needs a shape, but its sizes may be any.
        for (auto& output : *graph_.mutable_output())
            if (output.type().tensor_type().has_shape())
                for (auto& dimension :
                     *output.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim())
                    dimension.clear_value();
    }

    onnx::GraphProto& graph_;
    const Below& below_;
    std::vector<Shaped> shaped_;
    Sizes pool_;
};

} // namespace

void mutate_sizes(onnx::GraphProto& graph, const Below& below) {
    SizeMutator(graph, below).run();
}

} // namespace overtake::fuzz
