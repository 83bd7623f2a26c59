// SPDX-License-Identifier: MIT
#include "core_plan_summary.hpp"

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "model_generated.h"

namespace overtake::command {
namespace {

using Json = nlohmann::ordered_json;

constexpr double plan_ns_per_us = 1000;

double core_us(std::uint64_t cycles, const fbs::Profile& profile) {
    return static_cast<double>(cycles) * 1000.0 / profile.clock_khz();
}

class CorePlanSummary {
public:
    explicit CorePlanSummary(const ModelContents& contents)
        : contents_(contents), plan_(*contents.core_plan), table_(*contents.table->core_plan()) {}

    Json of_plan() const {
        Json json = {{"are_alike", plan_.are_alike},
                     {"sync_us", core_us(table_.sync_cycles(), profile(0))},
                     {"one_core_us", static_cast<double>(plan_.one_core_ns) / plan_ns_per_us},
                     {"us", static_cast<double>(plan_.expected_ns) / plan_ns_per_us},
                     {"expected_ns", plan_.expected_ns},
                     {"bound_us", static_cast<double>(plan_.bound_ns) / plan_ns_per_us},
                     {"speed_up", ratio(plan_.one_core_ns, plan_.expected_ns)},
                     {"cores", cores()},
                     {"segments", segments()},
                     {"layers", Json::array()}};
        if (table_.layers())
            for (const fbs::CoreLayer* layer : *table_.layers())
                json["layers"].push_back(of_layer(*layer));
        return json;
    }

private:
    const fbs::Profile& profile(std::size_t core) const {
        return *table_.profiles()->Get(plan_.are_alike ? 0 : static_cast<unsigned>(core));
    }

    static double ratio(std::uint64_t one, std::uint64_t other) {
        return static_cast<double>(one) / static_cast<double>(std::max<std::uint64_t>(other, 1));
    }

    // Returns, for each core, its FCs and their time.
    Json cores() const {
        std::vector<std::size_t> fcs(plan_.profiles.size());
        std::vector<double> us(plan_.profiles.size());
        for (const CoreSegment& segment : plan_.segments) {
            std::size_t next = 0;
            for (const overtake_part& part : segment.parts) {
                fcs[part.core - 1] += part.fc_count;
                for (std::uint32_t fc = 0; fc < part.fc_count; ++fc)
                    us[part.core - 1] += core_us(segment.fc_cycles[next++], profile(part.core - 1));
            }
        }
        Json json = Json::array();
        for (std::size_t core = 0; core < fcs.size(); ++core)
            json.push_back(
                {{"profile", std::string(plan_.profiles[core])},
                 {"fc_overhead_us", core_us(profile(core).fc_overhead_cycles(), profile(core))},
                 {"fc_count", fcs[core]},
                 {"us", us[core]}});
        return json;
    }

    Json segments() const {
        Json json = Json::array();
        for (std::size_t index = 0; index < plan_.segments.size(); ++index) {
            const CoreSegment& segment = plan_.segments[index];
            if (segment.fcs.empty())
                continue;
            double longest = 0;
            std::size_t next = 0;
            for (const overtake_part& part : segment.parts)
                for (std::uint32_t fc = 0; fc < part.fc_count; ++fc)
                    longest = std::max(longest,
                                       core_us(segment.fc_cycles[next++], profile(part.core - 1)));
            json.push_back({{"segment", index},
                            {"parts", segment.parts.size()},
                            {"stages", segment.stage_count},
                            {"fc_count", segment.fcs.size()},
                            {"us", static_cast<double>(segment.expected_ns) / plan_ns_per_us},
                            {"longest_fc_us", longest},
                            {"scratch_bytes", segment.scratch_bytes}});
        }
        return json;
    }

    Json of_layer(const fbs::CoreLayer& layer) const {
        std::string scheme = fbs::EnumNameScheme(layer.scheme());
        scheme[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(scheme[0])));
        std::uint64_t outputs = 0;
        for (const std::uint64_t own : *layer.outputs())
            outputs += own;
        Json json = {{"node", layer.node()},
                     {"segment", layer.segment()},
                     {"scheme", scheme},
                     {"transmits", layer.transmits()},
                     {"share", Json::array()},
                     {"us", Json::array()},
                     {"operations", layer.operations()},
                     {"halo_operations", layer.halo_operations()}};
        for (unsigned core = 0; core < plan_.profiles.size(); ++core) {
            json["share"].push_back(ratio(layer.outputs()->Get(core), outputs));
            json["us"].push_back(core_us(layer.cycles()->Get(core), profile(core)));
        }
        return json;
    }

    const ModelContents& contents_;
    const CorePlan& plan_;
    const fbs::CorePlan& table_;
};

} // namespace

nlohmann::ordered_json summarise_core_plan(const ModelContents& contents) {
    return contents.core_plan ? CorePlanSummary(contents).of_plan() : Json();
}

} // namespace overtake::command
