// SPDX-License-Identifier: MIT
#include "compiler/cores/features.hpp"

#include "compiler/cores/geometry.hpp"

namespace overtake::compiler {
namespace {

// A device on which an instruction takes one cycle for each unit of one quantity.
class CountingProfile {
public:
    explicit CountingProfile(u32 ovt_insn_cost::*field) {
        profile_ = *ovt_profile_find("ideal");
        for (ovt_insn_cost& cost : costs_) {
            cost.fixed_cycles = 1; // a cost of zeros alone would count as not measured
            cost.*field = 1u << OVT_COST_BITS;
        }
        profile_.costs = costs_.data();
    }
    CountingProfile(const CountingProfile&) = delete;
    CountingProfile& operator=(const CountingProfile&) = delete;

    double count(const overtake_insn& insn) const {
        return static_cast<double>(ovt_insn_cycles(&profile_, &insn) - 1);
    }

private:
    std::array<ovt_insn_cost, OVERTAKE_OP_COUNT> costs_{};
    ovt_profile profile_{};
};

} // namespace

const std::array<std::string_view, piece_features> piece_feature_names = {
    "one",         "operations",       "operations_in_tiles",
    "outputs",     "rows_of_channels", "constants",
    "inputs",      "opcode",           "rows",
    "columns",     "channels",         "in_columns",
    "in_channels", "kernel",           "stride"};

const std::array<std::string_view, meeting_features> meeting_feature_names = {"one", "cores",
                                                                              "bytes"};

PieceFeatures features_of(const overtake_insn& piece) {
    static const CountingProfile in_tiles(&ovt_insn_cost::per_operation);
    static const CountingProfile inputs(&ovt_insn_cost::per_input_byte);
    static const CountingProfile constants(&ovt_insn_cost::per_constant_byte);
    const overtake_operand& out = piece.out;
    return {1.0,
            static_cast<double>(operations(piece)),
            in_tiles.count(piece),
            static_cast<double>(elements(whole(piece))),
            static_cast<double>(std::uint64_t{out.height} * out.channels),
            constants.count(piece),
            inputs.count(piece),
            static_cast<double>(piece.opcode),
            static_cast<double>(out.height),
            static_cast<double>(out.width),
            static_cast<double>(out.channels),
            static_cast<double>(piece.in[0].width),
            static_cast<double>(piece.in[0].channels),
            static_cast<double>(piece.kernel_height * piece.kernel_width),
            static_cast<double>(piece.stride_height * piece.stride_width)};
}

MeetingFeatures features_of(const Meeting& meeting) {
    return {1.0, static_cast<double>(meeting.cores), static_cast<double>(meeting.bytes)};
}

} // namespace overtake::compiler
