// SPDX-License-Identifier: MIT
#include "model/verify.hpp"

#include <cerrno>

#include <fmt/format.h>

#include "overtake/device.hpp"

namespace overtake {

namespace {

constexpr const char* pack_identifier = "OVP1";
constexpr std::size_t smallest_file = 2 * sizeof(flatbuffers::uoffset_t);
constexpr flatbuffers::uoffset_t deepest_table = 8;
constexpr flatbuffers::uoffset_t most_tables = 1'000'000;

/// Finds the broken part of a broken file, only for the message.
class Locator {
public:
    explicit Locator(std::span<const std::byte> file)
        : bytes_(reinterpret_cast<const std::uint8_t*>(file.data())),
          verifier_(bytes_, file.size(), deepest_table, most_tables),
          root_(file.size() >= smallest_file && root_in(file.size())
                    ? flatbuffers::GetRoot<flatbuffers::Table>(bytes_)
                    : nullptr) {}

    std::string broken_part() {
        if (!root_ || !root_->VerifyTableStart(verifier_))
            return fmt::format("offset {}: root table", root_ ? offset_of(root_) : 0);
        using Model = fbs::Model;
        std::string broken;
        const bool sound = string(Model::VT_NAME, "name", broken) &&
                           tables<fbs::Tensor>(Model::VT_TENSORS, "tensors", broken) &&
                           tables<fbs::Segment>(Model::VT_SEGMENTS, "segments", broken) &&
                           vector<std::uint32_t>(Model::VT_INPUTS, "inputs", broken) &&
                           vector<std::uint32_t>(Model::VT_OUTPUTS, "outputs", broken) &&
                           vector<std::uint8_t>(Model::VT_PROGRAM, "program", broken) &&
                           vector<std::uint8_t>(Model::VT_WEIGHTS, "weights", broken) &&
                           tables<fbs::NodeReport>(Model::VT_NODES, "nodes", broken) &&
                           tables<fbs::UnitClass>(Model::VT_UNIT_CLASSES, "unit_classes", broken) &&
                           tables<fbs::Unit>(Model::VT_UNITS, "units", broken) &&
                           tables<fbs::Tensor>(Model::VT_UNIT_TENSORS, "unit_tensors", broken) &&
                           table<fbs::CorePlan>(Model::VT_CORE_PLAN, "core_plan", broken);
        return sound ? fmt::format("offset {}: root table", offset_of(root_)) : broken;
    }

private:
    bool root_in(std::size_t size) const {
        const std::size_t offset = flatbuffers::ReadScalar<flatbuffers::uoffset_t>(bytes_);
        return offset >= smallest_file && offset % sizeof(flatbuffers::soffset_t) == 0 &&
               offset <= size - sizeof(flatbuffers::soffset_t);
    }

    std::size_t offset_of(const void* place) const {
        return static_cast<std::size_t>(static_cast<const std::uint8_t*>(place) - bytes_);
    }

    /// Returns the offset of a field, or of its table if the field would lie beyond the end.
    std::size_t place_of(flatbuffers::voffset_t field) const {
        const std::size_t place = offset_of(root_->GetAddressOf(field));
        return verifier_.Verify(place, sizeof(flatbuffers::uoffset_t)) ? place : offset_of(root_);
    }

    bool report(bool sound, flatbuffers::voffset_t field, const char* name, std::string& broken) {
        if (!sound)
            broken = fmt::format("offset {}: {}", place_of(field), name);
        return sound;
    }

    bool string(flatbuffers::voffset_t field, const char* name, std::string& broken) {
        return report(
            root_->VerifyOffset(verifier_, field) &&
                verifier_.VerifyString(root_->GetPointer<const flatbuffers::String*>(field)),
            field, name, broken);
    }

    template <typename Table>
    bool table(flatbuffers::voffset_t field, const char* name, std::string& broken) {
        const auto is_sound = [&] {
            const auto* found = root_->GetPointer<const Table*>(field);
            return !found || (verifier_.Verify(offset_of(found), sizeof(flatbuffers::soffset_t)) &&
                              found->Verify(verifier_));
        };
        return report(root_->VerifyOffset(verifier_, field) && is_sound(), field, name, broken);
    }

    template <typename Element>
    bool vector(flatbuffers::voffset_t field, const char* name, std::string& broken) {
        return report(root_->VerifyOffset(verifier_, field) &&
                          verifier_.VerifyVector(
                              root_->GetPointer<const flatbuffers::Vector<Element>*>(field)),
                      field, name, broken);
    }

    template <typename Element>
    bool tables(flatbuffers::voffset_t field, const char* name, std::string& broken) {
        using Elements = flatbuffers::Vector<flatbuffers::Offset<Element>>;
        if (!vector<flatbuffers::Offset<Element>>(field, name, broken))
            return false;
        const auto* elements = root_->GetPointer<const Elements*>(field);
        for (flatbuffers::uoffset_t i = 0; elements && i < elements->size(); i++) {
            const std::size_t entry =
                offset_of(elements->Data()) + i * sizeof(flatbuffers::uoffset_t);
            const auto* element = reinterpret_cast<const std::uint8_t*>(elements->Get(i));
            const bool inside =
                verifier_.Verify(entry, sizeof(flatbuffers::uoffset_t)) &&
                verifier_.Verify(offset_of(element), sizeof(flatbuffers::soffset_t));
            if (inside && elements->Get(i)->Verify(verifier_))
                continue;
            broken = fmt::format("offset {}: {}[{}]", inside ? offset_of(element) : entry, name, i);
            return false;
        }
        return true;
    }

    const std::uint8_t* bytes_;
    flatbuffers::Verifier verifier_;
    const flatbuffers::Table* root_;
};

/// Returns the offset of the root table.  If the offset is beyond the end, returns 0, the place of
/// the offset itself.
std::size_t root_offset(std::span<const std::byte> file) {
    const std::size_t offset = flatbuffers::ReadScalar<std::uint32_t>(file.data());
    return offset < file.size() ? offset : 0;
}

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
    throw Error(EINVAL, fmt::format("{}: {}", path, what));
}

} // namespace

const fbs::Model& verified_root(std::span<const std::byte> file, const std::string& path) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(file.data());
    if (file.size() < smallest_file)
        refuse(path, fmt::format("offset 0: {} bytes are too few for a model file", file.size()));
    if (file.size() >= FLATBUFFERS_MAX_BUFFER_SIZE)
        refuse(path, fmt::format("offset 0: {} bytes are too many for a model file", file.size()));
    if (!fbs::ModelBufferHasIdentifier(bytes))
        refuse(path, "offset 4: not a model file (no OVM1 there); overtake compile writes one");
    flatbuffers::Verifier verifier(bytes, file.size(), deepest_table, most_tables);
    if (!fbs::VerifyModelBuffer(verifier))
        refuse(path, Locator(file).broken_part() +
                         " is damaged (an offset or a size leaves the file, or a required field "
                         "is missing); compile the model again");
    return *fbs::GetModel(bytes);
}

bool is_pack(std::span<const std::byte> file) {
    return file.size() >= smallest_file &&
           flatbuffers::BufferHasIdentifier(file.data(), pack_identifier);
}

const fbs::ModelPack& verified_pack(std::span<const std::byte> file, const std::string& path) {
    if (file.size() >= FLATBUFFERS_MAX_BUFFER_SIZE)
        refuse(path, fmt::format("offset 0: {} bytes are too many for a model file", file.size()));
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(file.data());
    flatbuffers::Verifier verifier(bytes, file.size(), deepest_table, most_tables);
    if (!verifier.VerifyBuffer<fbs::ModelPack>(pack_identifier))
        refuse(path, fmt::format("offset {}: the pack is damaged (an offset or a size leaves the "
                                 "file, or a required field is missing); make it again",
                                 root_offset(file)));
    return *flatbuffers::GetRoot<fbs::ModelPack>(bytes);
}

} // namespace overtake
