// SPDX-License-Identifier: MIT
#include "summary.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "core_plan_summary.hpp"
#include "cpu_time.hpp"
#include "model_generated.h"
#include "overtake/model.hpp"
#include "overtake/model_contents.hpp"
#include "overtake_isa.h"
#include "unit_summary.hpp"

namespace overtake::command {
namespace {

using Json = nlohmann::ordered_json;

std::string text(const flatbuffers::String* string) {
    return string ? string->str() : "";
}

double microseconds(std::uint64_t cycles, const fbs::Profile& profile) {
    return static_cast<double>(cycles) * 1000.0 / profile.clock_khz();
}

// Returns 1, or the number of images of a batch.
std::uint64_t images_of(const fbs::Tensor& tensor) {
    std::uint64_t elements = 1;
    for (std::uint32_t size : *tensor.shape())
        elements *= size;
    return elements / (std::uint64_t{tensor.height()} * tensor.width() * tensor.channels());
}

Json tensor(const fbs::Tensor& tensor) {
    Json json = {{"name", text(tensor.name())},
                 {"shape", Json::array()},
                 {"data_type", name_of(static_cast<DataType>(tensor.data_type()))}};
    if (tensor.from_resizer())
        json["from_resizer"] = true;
    for (std::uint32_t size : *tensor.shape())
        json["shape"].push_back(size);
    for (const auto& [key, numbers] : {std::pair{"pixel_mean", tensor.pixel_mean()},
                                       std::pair{"pixel_scale", tensor.pixel_scale()}})
        if (numbers)
            json[key] = std::vector<float>(numbers->begin(), numbers->end());
    json["bytes"] = tensor.bytes();
    json["on_device"] = tensor.height() > 0;
    if (tensor.height() > 0) {
        json["layout"] = {{"type", tensor.data_type() == fbs::DataType::Nv12 ? "NV12"
                                   : tensor.is_int16()                       ? "int16 NHWC"
                                                                             : "int8 NHWC"},
                          {"images", images_of(tensor)},
                          {"height", tensor.height()},
                          {"width", tensor.width()},
                          {"channels", tensor.channels()},
                          {"row_stride", tensor.row_stride()},
                          {"pixel_stride", tensor.pixel_stride()}};
        json["scale"] = tensor.scale();
        json["zero_point"] = tensor.zero_point();
    }
    return json;
}

Json tensors(const fbs::Model& model, const flatbuffers::Vector<std::uint32_t>& numbers) {
    Json json = Json::array();
    for (std::uint32_t number : numbers)
        json.push_back(tensor(*model.tensors()->Get(number)));
    return json;
}

// Returns null if the time is not known.
Json expected_ns(const Segment& segment) {
    return segment.expected_ns == 0 ? Json() : Json(segment.expected_ns);
}

// `us`: the times of its operators.
Json cpu_segment(const fbs::CpuSegment& segment, std::span<const double> us) {
    Json ops = Json::array();
    for (const fbs::CpuOp* op : *segment.ops())
        ops.push_back({{"name", text(op->name())},
                       {"type", fbs::EnumNameCpuOpType(op->type())},
                       {"us", us[ops.size()]}});
    return {{"processor", "CPU"}, {"us", std::accumulate(us.begin(), us.end(), 0.0)}, {"ops", ops}};
}

// Returns how full FCs are, except the last; null if there is no limit, or only one FC. An FC below
// nine tenths ended early, because the smallest next piece did not fit.
Json fullness(const Json& fcs, double limit_us) {
    if (limit_us == 0 || fcs.size() < 2)
        return nullptr;
    constexpr double full = 0.9;
    double least = 1;
    std::size_t early = 0;
    for (std::size_t index = 0; index + 1 < fcs.size(); ++index) {
        const double share = fcs[index]["us"].get<double>() / limit_us;
        least = std::min(least, share);
        early += share < full;
    }
    return {{"least", least}, {"ended_early", early}};
}

Json bpu_segment(const fbs::Model& model, const fbs::Segment& segment) {
    Json fcs = Json::array();
    double total = 0, longest = 0;
    for (const fbs::Fc* fc : *segment.bpu()->fcs()) {
        const double us = microseconds(fc->cycles(), *model.profile());
        fcs.push_back({{"first_insn", fc->first_insn()},
                       {"insn_count", fc->insn_count()},
                       {"cycles", fc->cycles()},
                       {"us", us}});
        total += us;
        longest = std::max(longest, us);
    }
    return {{"processor", "BPU"},
            {"fc_count", fcs.size()},
            {"us", total},
            {"longest_fc_us", longest},
            {"fullness", fullness(fcs, model.max_time_per_fc_us())},
            {"scratch_bytes", segment.bpu()->scratch_bytes()},
            {"fcs", fcs}};
}

// Returns null for a number that is not finite: nothing was compared.
Json number(float real) {
    return std::isfinite(real) ? Json(real) : Json();
}

// Returns a modelled time for the BPU, and an estimate for the CPU.
double time_of(const fbs::Model& model, const fbs::NodeReport& node,
               std::span<const double>& on_cpu) {
    if (node.on_bpu())
        return microseconds(node.cycles(), *model.profile());
    if (on_cpu.empty())
        return 0;
    const double us = on_cpu.front();
    on_cpu = on_cpu.subspan(1);
    return us;
}

Json nodes(const fbs::Model& model, std::span<const double> on_cpu) {
    Json json = Json::array();
    if (!model.nodes())
        return json;
    for (const fbs::NodeReport* node : *model.nodes())
        json.push_back({{"name", text(node->name())},
                        {"type", text(node->op_type())},
                        {"processor", node->on_bpu() ? "BPU" : "CPU"},
                        {"macs", node->macs()},
                        {"bytes", node->bytes()},
                        {"cycles", node->cycles()},
                        {"us", time_of(model, *node, on_cpu)},
                        {"cosine", number(node->cosine())},
                        {"error", number(node->error())},
                        {"own_error", number(node->own_error())}});
    return json;
}

Json fc_shares(const fbs::Model& model) {
    Json json = Json::array();
    if (!model.fc_shares())
        return json;
    for (const fbs::FcShare* share : *model.fc_shares())
        json.push_back({{"fc", share->fc()},
                        {"node", share->node()},
                        {"insn_count", share->insn_count()},
                        {"us", microseconds(share->cycles(), *model.profile())}});
    return json;
}

Json scratch(const fbs::Model& model) {
    Json json = Json::array();
    if (!model.scratch())
        return json;
    for (const fbs::ScratchUse* use : *model.scratch())
        json.push_back({{"name", text(use->name())},
                        {"offset", use->offset()},
                        {"bytes", use->bytes()},
                        {"first_node", use->first_node()},
                        {"last_node", use->last_node()}});
    return json;
}

// Returns the bytes of inputs, outputs and all else that crosses the border of a segment, each
// counted once.
std::uint64_t boundary_bytes(const fbs::Model& model) {
    std::uint64_t bytes = 0;
    for (const fbs::Tensor* tensor : *model.tensors())
        if (tensor->height() > 0)
            bytes += tensor->bytes();
    return bytes;
}

Json profile(const fbs::Profile& profile) {
    return {{"name", text(profile.name())},
            {"clock_khz", profile.clock_khz()},
            {"macs_per_cycle", profile.macs_per_cycle()},
            {"vector_per_cycle", profile.vector_per_cycle()},
            {"bytes_per_cycle", profile.bytes_per_cycle()},
            {"insn_overhead_cycles", profile.insn_overhead_cycles()},
            {"fc_overhead_cycles", profile.fc_overhead_cycles()},
            {"cpu_macs_per_us", profile.cpu_macs_per_us()},
            {"cpu_bytes_per_us", profile.cpu_bytes_per_us()},
            {"cpu_operator_ns", profile.cpu_operator_ns()}};
}

} // namespace

nlohmann::ordered_json summarise(const Model& loaded) {
    const ModelContents& contents = ModelContents::of(loaded);
    const fbs::Model& model = *contents.table;
    const std::vector<double> cpu_us = estimated_cpu_us(model);
    Json json = {{"name", text(model.name())},
                 {"producer", text(model.producer())},
                 {"isa_version",
                  fmt::format("{}.{}", model.isa_version() >> 16, model.isa_version() & 0xffff)},
                 {"profile", profile(*model.profile())},
                 {"max_time_per_fc_us", model.max_time_per_fc_us()},
                 {"calibration",
                  {{"samples", model.calibration_samples()},
                   {"noise", model.noise()},
                   {"compared", model.compared_samples()}}},
                 {"inputs", tensors(model, *model.inputs())},
                 {"outputs", tensors(model, *model.outputs())},
                 {"segments", Json::array()},
                 {"nodes", nodes(model, cpu_us)},
                 {"fc_shares", fc_shares(model)},
                 {"scratch", scratch(model)}};
    double us = 0, longest = 0;
    std::size_t fcs = 0;
    std::uint64_t most_scratch = 0, macs = 0, macs_on_cpu = 0;
    std::span<const double> ops(cpu_us);
    const auto* segment = contents.segments.data();
    for (const fbs::Segment* part : *model.segments()) {
        Json& entry = json["segments"].emplace_back();
        const Json expected = expected_ns(*segment++);
        if (const fbs::CpuSegment* cpu = part->cpu()) {
            const std::size_t count = cpu->ops()->size();
            entry = cpu_segment(*cpu, ops.first(count));
            entry["expected_ns"] = expected;
            ops = ops.subspan(count);
            continue;
        }
        entry = bpu_segment(model, *part);
        entry["expected_ns"] = expected;
        us += entry["us"].get<double>();
        longest = std::max(longest, entry["longest_fc_us"].get<double>());
        fcs += entry["fc_count"].get<std::size_t>();
        most_scratch = std::max(most_scratch, entry["scratch_bytes"].get<std::uint64_t>());
    }
    if (Json units = summarise_units(contents); !units.is_null())
        json["units"] = std::move(units);
    if (Json plan = summarise_core_plan(contents); !plan.is_null())
        json["core_plan"] = std::move(plan);
    std::size_t on_bpu = 0;
    Json least_cosine; // null if nothing was compared
    for (const Json& node : json["nodes"]) {
        const bool is_on_bpu = node["processor"] == "BPU";
        on_bpu += is_on_bpu ? 1 : 0;
        (is_on_bpu ? macs : macs_on_cpu) += node["macs"].get<std::uint64_t>();
        const Json& cosine = node["cosine"];
        if (!cosine.is_null() && (least_cosine.is_null() || cosine < least_cosine))
            least_cosine = cosine;
    }
    json["total"] = {{"nodes_on_bpu", on_bpu},
                     {"nodes_on_cpu", json["nodes"].size() - on_bpu},
                     {"least_cosine", least_cosine},
                     {"us", us},
                     {"cpu_us", std::accumulate(cpu_us.begin(), cpu_us.end(), 0.0)},
                     {"fc_count", fcs},
                     {"longest_fc_us", longest},
                     {"insn_count", model.program()->size() / sizeof(overtake_insn)},
                     {"macs", macs},
                     {"macs_on_cpu", macs_on_cpu},
                     {"program_bytes", model.program()->size()},
                     {"weights_bytes", loaded.weights().size()},
                     {"scratch_bytes", most_scratch},
                     {"tensor_bytes", boundary_bytes(model)},
                     {"file_bytes", loaded.file().size()}};
    return json;
}

std::string one_line_summary(const nlohmann::ordered_json& summary) {
    const Json& total = summary["total"];
    const auto fcs = total["fc_count"].get<std::size_t>();
    const auto on_cpu = total["macs_on_cpu"].get<std::uint64_t>();
    const std::string on_several =
        !summary.contains("core_plan")
            ? ""
            : fmt::format(", {:.1f} us on {} cores", summary["core_plan"]["us"].get<double>(),
                          summary["core_plan"]["cores"].size());
    return fmt::format(
        "{} FC{}, {:.1f} us modelled (longest {:.1f} us){}, {:.1f} MMAC{}, weights {} KiB, "
        "scratch {} KiB",
        fcs, fcs == 1 ? "" : "s", total["us"].get<double>(), total["longest_fc_us"].get<double>(),
        on_several, static_cast<double>(total["macs"].get<std::uint64_t>()) / 1e6,
        on_cpu == 0 ? ""
                    : fmt::format(" (and {:.1f} on the CPU)", static_cast<double>(on_cpu) / 1e6),
        (total["weights_bytes"].get<std::uint64_t>() + 1023) / 1024,
        (total["scratch_bytes"].get<std::uint64_t>() + 1023) / 1024);
}

} // namespace overtake::command
