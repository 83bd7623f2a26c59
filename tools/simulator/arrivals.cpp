// SPDX-License-Identifier: MIT
#include "simulator/arrivals.hpp"

#include <algorithm>
#include <cmath>

namespace overtake::simulator {
namespace {

constexpr double gap_max = 0x1p62;

std::uint64_t plus(std::uint64_t time, std::uint64_t gap) {
    return gap > ArrivalSource::never - time ? ArrivalSource::never : time + gap;
}

} // namespace

ArrivalSource::ArrivalSource(const Load& load, std::uint64_t seed)
    : load_(&load), random_(seed), base_(load.start) {
    if (load.arrivals == Arrivals::periodic)
        base_ = plus(base_, load.phase);
    if (load.arrivals == Arrivals::closed_loop)
        begun_.assign(load.depth, load.start);
    find_next();
}

void ArrivalSource::take() {
    taken_++;
    if (load_->arrivals == Arrivals::closed_loop)
        begun_.pop_front();
    find_next();
}

void ArrivalSource::task_ended(std::uint64_t now) {
    if (load_->arrivals != Arrivals::closed_loop)
        return;
    begun_.push_back(plus(now, load_->think));
    find_next();
}

void ArrivalSource::find_next() {
    next_ = load_->count && taken_ >= *load_->count ? never : draw();
    if (next_ >= load_->until)
        next_ = never;
}

/// Rounds a gap down and adds the fraction to the next gap, so that the mean stays the same.
std::uint64_t ArrivalSource::whole(double gap) {
    const double exact = std::min(gap, gap_max) + carried_;
    const double floor = std::floor(exact);
    carried_ = exact - floor;
    return static_cast<std::uint64_t>(floor);
}

std::uint64_t ArrivalSource::draw() {
    switch (load_->arrivals) {
    case Arrivals::periodic: {
        const std::uint64_t nominal = base_;
        base_ = plus(base_, load_->period);
        return plus(nominal, load_->jitter != 0 ? random_.between(0, load_->jitter) : 0);
    }
    case Arrivals::poisson:
        return base_ = plus(base_, whole(random_.exponential(load_->mean)));
    case Arrivals::log_normal: {
        // This mu makes load.mean the mean of the gaps.
        const double mu = std::log(load_->mean) - load_->sigma * load_->sigma / 2;
        return base_ = plus(base_, whole(std::exp(mu + load_->sigma * random_.normal())));
    }
    case Arrivals::closed_loop:
        return begun_.empty() ? never : begun_.front();
    case Arrivals::trace:
        return taken_ < load_->trace.size() ? plus(load_->start, load_->trace[taken_]) : never;
    }
    return never;
}

} // namespace overtake::simulator
