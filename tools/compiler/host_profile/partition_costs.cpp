// SPDX-License-Identifier: MIT
#include "compiler/host_profile/partition_costs.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "compiler/host_profile/boosting.hpp"
#include "compiler/host_profile/host_profile.hpp"
#include "compiler/host_profile/network.hpp"
#include "compiler/host_profile/pieces.hpp"
#include "compiler/profile.hpp"

namespace overtake::host_profile {
namespace {

using namespace compiler;

constexpr unsigned most_meeting_cores = 8;
constexpr std::size_t meeting_count = 200;

using Report = std::function<void(const std::string& what, double done)>;

std::vector<PieceNetwork> networks_of(const PartitionOptions& options) {
    std::vector<PieceNetwork> networks;
    for (const std::string& path : options.networks)
        networks.push_back(read_piece_network(path));
    networks.push_back(piece_network(layers_of_every_kind()));
    networks.push_back(piece_network(pools_of_all_of_a_tensor()));
    return networks;
}

PieceProgress part_of(const Report& progress, const char* what) {
    return [&progress, what](double done) {
        if (progress)
            progress(what, done);
    };
}

// Takes the cost of a meeting and of an FC from the profile.
void take_from_profile(const ovt_profile& profile, LearnedCosts& costs) {
    const auto sync_ns = static_cast<double>(ovt_cycles_to_ns(&profile, profile.sync_cycles));
    costs.meeting = {{{{sync_ns, 0, 0}}}, false};
    costs.fc_ns = profile.fc_overhead_cycles * 1e6 / profile.clock_khz;
}

} // namespace

PartitionCosts learn_partition_costs(const PartitionOptions& options, const Report& progress) {
    std::optional<Boosting> boosting;
    if (options.trees)
        boosting.emplace();
    const std::shared_ptr<const DeviceProfile> profile =
        options.profile.empty() ? nullptr : find_profile(options.profile, "--of-profile");
    std::vector<PieceNetwork> networks = networks_of(options);
    const std::vector<Piece> pieces = pieces_of(networks, options.pieces);

    std::vector<CostSample> samples, meetings;
    FcBoundary boundary;
    if (profile) {
        samples = model_pieces(networks, pieces, profile->numbers);
    } else {
        boundary = measure_boundary(options.runs * 4);
        samples = measure_pieces(networks, pieces, options.runs, boundary.inside_ns,
                                 part_of(progress, "measuring pieces"));
        const unsigned cores = std::min(std::thread::hardware_concurrency(), most_meeting_cores);
        std::vector<PieceNetwork> tiny;
        tiny.push_back(piece_network(tiny_instructions(meeting_count)));
        meetings = measure_meetings(tiny, cores, options.runs, boundary.inside_ns,
                                    part_of(progress, "measuring meetings"));
    }

    PartitionCosts result;
    if (progress)
        progress("training", 0);
    GrowTrees grow;
    if (boosting)
        grow = [&](std::span<const std::vector<double>> rows, std::span<const double> targets) {
            return boosting->grow(rows, targets);
        };
    result.trained = train(samples, meetings, grow);
    LearnedCosts& costs = result.trained.costs;
    if (profile)
        take_from_profile(profile->numbers, costs);
    else
        costs.fc_ns = boundary.inside_ns;
    costs.source =
        profile ? "profile " + profile->name
                : fmt::format("this host, functional mode, the fastest of {} runs", options.runs);
    std::set<std::size_t> layers;
    for (const CostSample& sample : samples)
        layers.insert(sample.layer);
    result.pieces = samples.size();
    result.layers = layers.size();
    result.meetings = meetings.size();
    return result;
}

} // namespace overtake::host_profile
