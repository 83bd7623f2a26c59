// SPDX-License-Identifier: MIT
#include "network/host_regions.hpp"

namespace overtake {

namespace {

/// Returns the data of a binding that is neither program nor weights.
const std::byte* data_of(const overtake_binding& binding, const std::vector<TensorBinding>& bound,
                         std::span<const TensorPlace> places) {
    for (const TensorBinding& each : bound)
        if (each.region == binding.region)
            return places[each.tensor].device.data();
    for (const TensorBinding& each : bound)
        if (const TensorPlace& place = places[each.tensor];
            place.row_stride != 0 && place.chroma_address == binding.address)
            return place.chroma;
    return nullptr;
}

} // namespace

HostRegions host_regions(const Plan& plan, std::size_t segment,
                         std::span<const overtake_binding> bindings,
                         std::span<const TensorPlace> places, const std::byte* program) {
    HostRegions regions{};
    for (const overtake_binding& binding : bindings) {
        const std::byte* data;
        if (binding.region == OVERTAKE_REGION_PROGRAM)
            data = program ? program : plan.model().program().data();
        else if (binding.region == OVERTAKE_REGION_WEIGHTS)
            data = plan.model().weights().data();
        else
            data = data_of(binding, plan.segments()[segment].model->bindings, places);
        if (!data)
            continue;
        const u32 flags =
            OVT_REGION_READ | (binding.flags & OVERTAKE_MAP_WRITE ? OVT_REGION_WRITE : 0);
        // A region that must not be written has no OVT_REGION_WRITE.
        regions[binding.region] = {reinterpret_cast<u8*>(const_cast<std::byte*>(data)),
                                   binding.length, flags, 0};
    }
    return regions;
}

} // namespace overtake
