// SPDX-License-Identifier: MIT
#include "compiler/lower/split.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "compiler/ir/error.hpp"
#include "compiler/lower/cost.hpp"
#include "compiler/lower/cut.hpp"
#include "overtake_accel.h"

namespace overtake::compiler {
namespace {

// An FC that has used nine tenths of its time is not filled by cutting: pieces cost overhead and
// reload weights.
constexpr std::uint64_t full_tenths = 9;

// So many FCs, with a tenth each to spare, can fill one that would stay empty.
constexpr std::size_t most_levelled = 10;

// Returns the greatest count in 1..limit for which fits(count), which is monotone, holds; 0 if
// none.
template <typename Fits>
std::uint32_t greatest(std::uint32_t limit, const Fits& fits) {
    std::uint32_t low = 0, high = limit;
    while (low < high) {
        const std::uint32_t middle = high - (high - low) / 2;
        if (fits(middle))
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

struct Cut {
    Step head;
    std::vector<Step> tail;   // in order
    std::uint64_t cycles = 0; // of all pieces together
};

class Splitter {
public:
    // Appends pieces and FCs to `steps` and `fcs`, and constants to `constants`.
    Splitter(Constants& constants, std::vector<Step>& steps, std::vector<FunctionCall>& fcs,
             const ovt_profile& profile, std::uint64_t max_cycles)
        : constants_(constants), steps_(steps), fcs_(fcs), profile_(profile),
          max_cycles_(max_cycles) {}

    // Returns false if a smallest piece does not fit.
    bool run(std::span<const Step> steps) {
        source_ = steps;
        while (!is_done()) {
            if (!open_fc(max_cycles_))
                return false;
            if (!is_done() && !is_full(fcs_.back().cycles))
                level();
        }
        return true;
    }

private:
    // The progress of splitting the steps.
    struct State {
        std::size_t next = 0;           // of the source's steps
        std::vector<Step> pending = {}; // rests of earlier steps after cuts, the last one first
        std::size_t steps = 0, fcs = 0; // made from them
        std::size_t constants = 0;      // bytes
        std::uint64_t outputs = 0;      // elements
    };

    bool is_done() const { return now_.pending.empty() && now_.next == source_.size(); }

    bool is_full(std::uint64_t cycles) const { return cycles * 10 >= max_cycles_ * full_tenths; }

    bool open_fc(std::uint64_t most) {
        now_.constants = constants_.bytes().size();
        checkpoints_.push_back(now_);
        if (checkpoints_.size() > most_levelled)
            checkpoints_.pop_front();
        return make_fc(most);
    }

    // Makes one FC of at most so many cycles; returns false if nothing fits.
    bool make_fc(std::uint64_t most) {
        count_ = 0;
        used_ = profile_.fc_overhead_cycles;
        while (!is_done() && most > used_ && take_next(most - used_))
            ;
        if (count_ == 0)
            return false;
        fcs_.push_back({static_cast<std::uint32_t>(steps_.size()) - count_, count_, used_});
        ++now_.fcs;
        return true;
    }

    // Takes the next step, or as much of it as fits and is needed.
    bool take_next(std::uint64_t room) {
        const bool is_rest = !now_.pending.empty();
        const Step step = is_rest ? now_.pending.back() : source_[now_.next];
        std::optional<Cut> cut;
        if (cost(step.insn, profile_) > room) {
            cut = count_ > 0 && is_full(used_) ? std::nullopt : cut_to_fit(step, room);
            if (!cut)
                return false;
        }
        if (is_rest)
            now_.pending.pop_back();
        else
            ++now_.next;
        if (cut)
            now_.pending.insert(now_.pending.end(), cut->tail.rbegin(), cut->tail.rend());
        take(cut ? cut->head : step);
        return true;
    }

    void take(const Step& step) {
        const overtake_operand& out = step.insn.out;
        steps_.push_back(step);
        used_ += cost(step.insn, profile_);
        ++count_;
        ++now_.steps;
        now_.outputs += std::uint64_t{out.height} * out.width * out.channels;
    }

    // Called when the smallest piece of the next step does not fit into the latest FC, which is not
    // full.  If the FCs before it can give it enough steps, makes the last FCs anew, as few as
    // possible.
    void level() {
        const State wall = now_;
        const std::size_t constants = constants_.bytes().size();
        std::uint64_t cycles = fcs_.back().cycles;
        for (std::size_t count = 2; count <= checkpoints_.size(); ++count) {
            cycles += fcs_[fcs_.size() - count].cycles;
            if (!is_full(cycles / count))
                continue;
            const std::deque<State> checkpoints = checkpoints_;
            const State first = checkpoints[checkpoints.size() - count];
            const std::vector<Step> steps(steps_.end() - distance(first.steps, wall.steps),
                                          steps_.end());
            const std::vector<FunctionCall> fcs(fcs_.end() - distance(first.fcs, wall.fcs),
                                                fcs_.end());
            go_back(first, count);
            if (make_full_fcs(count, cycles) && now_.outputs >= wall.outputs) {
                // Makes them once more, without the constants that other attempts have left.
                go_back(first, count);
                constants_.shrink(first.constants);
                make_full_fcs(count, cycles);
                return;
            }
            go_back(first, 0);
            constants_.shrink(constants);
            steps_.insert(steps_.end(), steps.begin(), steps.end());
            fcs_.insert(fcs_.end(), fcs.begin(), fcs.end());
            checkpoints_ = checkpoints;
            now_ = wall;
        }
    }

    static std::ptrdiff_t distance(std::size_t from, std::size_t to) {
        return static_cast<std::ptrdiff_t>(to - from);
    }

    // Goes back to the state `first`.  Drops the latest `fcs` checkpoints.
    void go_back(const State& first, std::size_t fcs) {
        steps_.erase(steps_.end() - distance(first.steps, now_.steps), steps_.end());
        fcs_.erase(fcs_.end() - distance(first.fcs, now_.fcs), fcs_.end());
        checkpoints_.erase(checkpoints_.end() - distance(0, fcs), checkpoints_.end());
        now_ = first;
    }

    // Makes so many FCs of so many cycles together.  Each takes as many cycles as it can without
    // leaving too few for the others.  Returns false if an FC is not full.
    bool make_full_fcs(std::size_t count, std::uint64_t cycles) {
        const std::uint64_t least = (max_cycles_ * full_tenths + 9) / 10;
        for (std::size_t others = count; others-- > 0;) {
            const std::uint64_t kept = least * others;
            const std::uint64_t most = cycles > kept ? cycles - kept : 0;
            if (!open_fc(others == 0 ? max_cycles_ : std::min(most, max_cycles_)) ||
                !is_full(fcs_.back().cycles))
                return false;
            cycles -= std::min(cycles, fcs_.back().cycles);
        }
        return true;
    }

    std::optional<Cut> cut_to_fit(const Step& step, std::uint64_t room) {
        const auto rows = by_rows(step, room);
        const auto channels = by_channels(step, room);
        if (rows && channels)
            return channels->cycles < rows->cycles ? make_channels(step, *channels) : rows;
        if (rows)
            return rows;
        if (channels)
            return make_channels(step, *channels);
        return by_pixels(step, room);
    }

    std::optional<Cut> by_rows(const Step& step, std::uint64_t room) const {
        const std::uint32_t height = step.insn.out.height, granule = row_step(step.insn);
        const std::uint32_t count =
            granule * greatest((height - 1) / granule, [&](std::uint32_t rows) {
                return cost(cut_rows(step.insn, 0, rows * granule), profile_) <= room;
            });
        if (count == 0)
            return std::nullopt;
        Cut cut{{cut_rows(step.insn, 0, count), step.node},
                {{cut_rows(step.insn, count, height - count), step.node}}};
        cut.cycles = cost(cut.head.insn, profile_) + cost(cut.tail[0].insn, profile_);
        return cut;
    }

    // A cut is weighed before it is made, since making it appends constants.
    struct ChannelCut {
        std::uint32_t count;
        std::uint64_t cycles;
    };

    std::optional<ChannelCut> by_channels(const Step& step, std::uint64_t room) const {
        const std::uint32_t granule = channel_step(step.insn);
        const std::uint32_t channels = step.insn.out.channels;
        if (granule == 0)
            return std::nullopt;
        const std::uint32_t count =
            granule * greatest((channels - 1) / granule, [&](std::uint32_t n) {
                return channel_cut_cycles(profile_, step.insn, n * granule) <= room;
            });
        if (count == 0)
            return std::nullopt;
        return ChannelCut{count, channel_cut_cycles(profile_, step.insn, count) +
                                     channel_cut_cycles(profile_, step.insn, channels - count)};
    }

    Cut make_channels(const Step& step, const ChannelCut& cut) {
        const std::uint32_t rest = step.insn.out.channels - cut.count;
        return {{cut_channels(step.insn, 0, cut.count, constants_), step.node},
                {{cut_channels(step.insn, cut.count, rest, constants_), step.node}},
                cut.cycles};
    }

    // Cuts one row that is too long: takes a part of its columns, or channels of its first pixel.
    std::optional<Cut> by_pixels(const Step& step, std::uint64_t room) {
        const std::uint32_t height = step.insn.out.height, width = step.insn.out.width;
        const std::uint32_t rows = row_step(step.insn), columns_each = column_step(step.insn);
        const Step row{cut_rows(step.insn, 0, rows), step.node};
        // Perhaps all columns: a row that is cut out may leave inputs that no window reads.
        const std::uint32_t count =
            columns_each * greatest(width / columns_each, [&](std::uint32_t columns) {
                return cost(cut_columns(row.insn, 0, columns * columns_each), profile_) <= room;
            });
        std::optional<Cut> cut;
        std::uint32_t done = count;
        if (count > 0) {
            cut = Cut{{cut_columns(row.insn, 0, count), step.node}, {}};
        } else {
            done = columns_each;
            const Step pixel{cut_columns(row.insn, 0, columns_each), step.node};
            const auto channels = by_channels(pixel, room);
            if (!channels)
                return std::nullopt;
            cut = make_channels(pixel, *channels);
        }
        if (done < width)
            cut->tail.push_back({cut_columns(row.insn, done, width - done), step.node});
        if (height > rows)
            cut->tail.push_back({cut_rows(step.insn, rows, height - rows), step.node});
        return cut;
    }

    Constants& constants_;
    std::vector<Step>& steps_;
    std::vector<FunctionCall>& fcs_;
    const ovt_profile& profile_;
    const std::uint64_t max_cycles_;
    std::span<const Step> source_;
    State now_;
    std::deque<State> checkpoints_; // the states in which the latest FCs began
    std::uint32_t count_ = 0;       // steps in the open FC
    std::uint64_t used_ = 0;        // cycles of the open FC
};

// Returns the cost of the dearest of an instruction's smallest pieces.  Windows read less at the
// borders, independently in rows and columns.
std::uint64_t smallest_piece(const overtake_insn& insn, const ovt_profile& profile) {
    std::uint64_t dearest = 0;
    overtake_insn row = insn;
    const std::uint32_t rows = row_step(insn), columns = column_step(insn);
    const auto inputs = [](const overtake_insn& piece) {
        return std::uint64_t{piece.in[0].height} * piece.in[0].width;
    };
    for (std::uint32_t y = 0; y < insn.out.height; y += rows) {
        const overtake_insn candidate = cut_rows(insn, y, rows);
        if (inputs(candidate) >= inputs(row) || y == 0)
            row = candidate;
    }
    const std::uint32_t granule = channel_step(insn);
    for (std::uint32_t x = 0; x < insn.out.width; x += columns) {
        const overtake_insn pixel = cut_columns(row, x, columns);
        const std::uint64_t cycles = granule == 0 || granule >= insn.out.channels
                                         ? cost(pixel, profile)
                                         : channel_cut_cycles(profile, pixel, granule);
        dearest = std::max(dearest, cycles);
    }
    return dearest;
}

// Replaces the steps by their pieces and makes the FCs, segment by segment.
bool split_segments(Program& program, const ovt_profile& profile, std::uint64_t max_cycles) {
    std::vector<Step> pieces;
    for (ProgramSegment& segment : program.segments) {
        const std::span<const Step> steps =
            std::span(program.steps).subspan(segment.first_step, segment.step_count);
        segment.first_step = pieces.size();
        segment.first_fc = program.fcs.size();
        if (!split_steps(steps, program.constants, profile, max_cycles, pieces, program.fcs))
            return false;
        segment.step_count = pieces.size() - segment.first_step;
        segment.fc_count = program.fcs.size() - segment.first_fc;
    }
    program.steps = std::move(pieces);
    return true;
}

} // namespace

std::uint64_t smallest_max_cycles(std::span<const Step> steps, const ovt_profile& profile) {
    std::uint64_t dearest = 0;
    for (const Step& step : steps)
        dearest = std::max(dearest, smallest_piece(step.insn, profile));
    return dearest + profile.fc_overhead_cycles;
}

std::uint64_t smallest_max_cycles(const Program& program, const ovt_profile& profile) {
    return smallest_max_cycles(program.steps, profile);
}

bool split_steps(std::span<const Step> source, Constants& constants, const ovt_profile& profile,
                 std::uint64_t max_cycles, std::vector<Step>& steps,
                 std::vector<FunctionCall>& fcs) {
    return Splitter(constants, steps, fcs, profile, max_cycles).run(source);
}

void split(const Graph& graph, Program& program, const ovt_profile& profile,
           std::uint64_t max_cycles) {
    program.fcs.clear();
    if (max_cycles == 0) {
        split_segments(program, profile, std::numeric_limits<std::uint64_t>::max());
        return;
    }
    const std::uint64_t smallest = smallest_max_cycles(program, profile);
    if (max_cycles < smallest || !split_segments(program, profile, max_cycles)) {
        const std::uint64_t microseconds =
            (smallest * 1000 + profile.clock_khz - 1) / profile.clock_khz;
        throw CompileError("--max-time-per-fc", "is below the smallest piece of '" + graph.name +
                                                    "'; the smallest possible value is " +
                                                    std::to_string(microseconds));
    }
    for (const ProgramSegment& segment : program.segments)
        if (segment.fc_count > OVERTAKE_MAX_FCS)
            throw CompileError("--max-time-per-fc", "gives " + std::to_string(segment.fc_count) +
                                                        " FCs, more than a job may have (" +
                                                        std::to_string(OVERTAKE_MAX_FCS) +
                                                        "); choose a greater value");
}

} // namespace overtake::compiler
