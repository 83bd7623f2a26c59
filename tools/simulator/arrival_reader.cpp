// SPDX-License-Identifier: MIT
#include "simulator/arrival_reader.hpp"

#include <string>

#include <fmt/format.h>

#include "simulator/trace_file.hpp"

namespace overtake::simulator {
namespace {

/// The mean is exp(sigma^2 / 2) times the median. Above this sigma, the median is less than 10^-21
/// of the mean.
constexpr double sigma_max = 10;

void periodic(const Place& place, Load& load) {
    place.expect_object({"type", "period", "jitter", "phase"});
    load.arrivals = Arrivals::periodic;
    load.period = place.at("period").duration();
    if (place.has("jitter"))
        load.jitter = place.at("jitter").integer(0, load.period);
    if (place.has("phase"))
        load.phase = place.at("phase").time();
}

void random_arrivals(const Place& place, Load& load, bool poisson, const char* unit) {
    if (poisson)
        place.expect_object({"type", "mean"});
    else
        place.expect_object({"type", "mean", "sigma"});
    load.arrivals = poisson ? Arrivals::poisson : Arrivals::log_normal;
    load.mean = place.at("mean").number_above_zero();
    if (load.mean < 1)
        place.at("mean").fail(fmt::format("below 1 {} between two arrivals", unit));
    if (poisson)
        return;
    load.sigma = place.at("sigma").number_above_zero();
    if (load.sigma > sigma_max)
        place.at("sigma").fail(fmt::format("above {}, where arrivals come all at once", sigma_max));
}

void closed_loop(const Place& place, Load& load) {
    place.expect_object({"type", "depth", "think"});
    load.arrivals = Arrivals::closed_loop;
    if (place.has("depth"))
        load.depth = static_cast<std::uint32_t>(place.at("depth").integer(1, 1'000'000));
    if (place.has("think"))
        load.think = place.at("think").time();
}

void trace(const Place& place, const std::filesystem::path& directory, Load& load) {
    place.expect_object({"type", "file"});
    load.arrivals = Arrivals::trace;
    const Place file = place.at("file");
    load.trace = read_trace(file, directory / file.name());
}

} // namespace

void read_arrivals(const Place& place, const std::filesystem::path& directory,
                   std::uint64_t tick_ns, Load& load) {
    if (!place.value().is_object())
        place.fail("not an object");
    const std::string type = place.at("type").text();
    if (type == "periodic")
        periodic(place, load);
    else if (type == "poisson" || type == "log_normal")
        random_arrivals(place, load, type == "poisson", tick_ns == 1 ? "ns" : "us");
    else if (type == "closed_loop")
        closed_loop(place, load);
    else if (type == "trace")
        trace(place, directory, load);
    else
        place.at("type").fail(fmt::format(
            "\"{}\" is none of periodic, poisson, log_normal, closed_loop, trace", type));
}

} // namespace overtake::simulator
