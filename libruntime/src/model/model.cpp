// SPDX-License-Identifier: MIT
#include "overtake/model.hpp"

#include <atomic>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "model/file_bytes.hpp"
#include "model/reader.hpp"
#include "model/verify.hpp"
#include "overtake/error.hpp"
#include "overtake/model_contents.hpp"

namespace overtake {

namespace {

/// Returns 1, 2, 3, ...
std::uint64_t next_number() noexcept {
    static std::atomic<std::uint64_t> last = 0;
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

} // namespace

struct Model::State {
    State(std::shared_ptr<const FileBytes> bytes, std::uint64_t file_number, const fbs::Model& root,
          const flatbuffers::Vector<std::uint8_t>& weights, const std::string& path)
        : file(std::move(bytes)), contents(read_model(root, weights, file->span(), path)) {
        contents.number = next_number();
        contents.file_number = file_number;
    }
    State(ModelContents made, std::shared_ptr<const void> owner_)
        : owner(std::move(owner_)), contents(std::move(made)) {
        contents.number = next_number();
    }

    /// Reads all models of a file; `path` is for messages.
    static std::vector<std::shared_ptr<const Model>>
    read_all(const std::shared_ptr<const FileBytes>& file, const std::string& path);

    std::shared_ptr<const FileBytes> file; ///< shared by the models of a pack; null: none
    std::shared_ptr<const void> owner;     ///< keeps the data of `contents`; null: the file does
    ModelContents contents;
};

const char* name_of(DataType type) noexcept {
    switch (type) {
    case DataType::float32:
        return "float32";
    case DataType::int8:
        return "int8";
    case DataType::int64:
        return "int64";
    case DataType::uint8:
        return "uint8";
    case DataType::nv12:
        return "nv12";
    }
    return "?";
}

std::size_t Tensor::elements() const noexcept {
    std::size_t count = 1;
    for (const std::uint32_t dimension : shape)
        count *= dimension;
    return count;
}

std::vector<std::shared_ptr<const Model>>
Model::State::read_all(const std::shared_ptr<const FileBytes>& file, const std::string& path) {
    std::vector<std::shared_ptr<const Model>> models;
    const std::uint64_t number = next_number();
    const auto add = [&](const fbs::Model& root, const flatbuffers::Vector<std::uint8_t>& weights) {
        models.emplace_back(new Model(std::make_unique<State>(file, number, root, weights, path)));
    };
    if (!is_pack(file->span())) {
        const fbs::Model& root = verified_root(file->span(), path);
        add(root, *root.weights());
        return models;
    }
    const fbs::ModelPack& pack = verified_pack(file->span(), path);
    if (pack.models()->size() == 0)
        throw Error(EINVAL,
                    fmt::format("{}: offset {}: models: none", path,
                                reinterpret_cast<const std::byte*>(&pack) - file->span().data()));
    for (const fbs::Model* root : *pack.models())
        add(*root, *pack.weights());
    return models;
}

std::vector<std::shared_ptr<const Model>> Model::load_all(const std::string& path) {
    return State::read_all(std::make_shared<const FileBytes>(FileBytes::map(path)), path);
}

std::vector<std::shared_ptr<const Model>> Model::all_from_bytes(std::span<const std::byte> bytes,
                                                                const std::string& name) {
    return State::read_all(std::make_shared<const FileBytes>(FileBytes::copy(bytes, name)), name);
}

std::shared_ptr<const Model> Model::load(const std::string& path, std::string_view name) {
    const auto models = load_all(path);
    if (name.empty() && models.size() == 1)
        return models.front();
    std::string names;
    for (const auto& model : models) {
        if (!name.empty() && model->name() == name)
            return model;
        names += (names.empty() ? "" : ", ") + std::string(model->name());
    }
    throw Error(EINVAL, name.empty()
                            ? fmt::format("{}: holds several models; name one of {}", path, names)
                            : fmt::format("{}: holds no model '{}' but {}", path, name, names));
}

std::shared_ptr<const Model> Model::from_bytes(std::span<const std::byte> bytes,
                                               const std::string& name) {
    auto file = std::make_shared<const FileBytes>(FileBytes::copy(bytes, name));
    const fbs::Model& root = verified_root(file->span(), name);
    return std::shared_ptr<const Model>(new Model(
        std::make_unique<State>(std::move(file), next_number(), root, *root.weights(), name)));
}

Model::Model(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Model::~Model() = default;

std::string_view Model::name() const noexcept {
    return state_->contents.name;
}
std::string_view Model::profile_name() const noexcept {
    return state_->contents.profile_name;
}

std::uint32_t Model::clock_khz() const noexcept {
    return state_->contents.clock_khz;
}

std::uint32_t Model::max_time_per_fc_us() const noexcept {
    return state_->contents.max_time_per_fc_us;
}

std::span<const Tensor> Model::tensors() const noexcept {
    return std::span(state_->contents.tensors).first(state_->contents.segment_tensors);
}
std::span<const std::uint32_t> Model::inputs() const noexcept {
    return state_->contents.inputs;
}
std::span<const std::uint32_t> Model::outputs() const noexcept {
    return state_->contents.outputs;
}

namespace {

const Tensor& tensor_at(const Model& model, std::span<const std::uint32_t> numbers,
                        std::size_t index, const char* kind) {
    if (index >= numbers.size())
        throw Error(EINVAL, fmt::format("{}: no {} {}, it has {}", model.name(), kind, index,
                                        numbers.size()));
    return model.tensors()[numbers[index]];
}

} // namespace

const Tensor& Model::input(std::size_t index) const {
    return tensor_at(*this, inputs(), index, "input");
}

const Tensor& Model::output(std::size_t index) const {
    return tensor_at(*this, outputs(), index, "output");
}

std::span<const std::byte> Model::program() const noexcept {
    return state_->contents.program;
}
std::span<const std::byte> Model::weights() const noexcept {
    return state_->contents.weights;
}
std::span<const std::byte> Model::file() const noexcept {
    return state_->file ? state_->file->span() : std::span<const std::byte>();
}

std::shared_ptr<const Model> ModelContents::make(ModelContents contents,
                                                 std::shared_ptr<const void> owner) {
    return std::shared_ptr<const Model>(
        new Model(std::make_unique<Model::State>(std::move(contents), std::move(owner))));
}

const ModelContents& ModelContents::of(const Model& model) noexcept {
    return model.state_->contents;
}

} // namespace overtake
