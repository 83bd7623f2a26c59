// SPDX-License-Identifier: MIT
//
// The shares of cores in an instruction's output.
#include <algorithm>
#include <limits>
#include <numeric>

#include "compiler/cores/geometry.hpp"
#include "compiler/lower/cut.hpp"

namespace overtake::compiler {
namespace {

std::size_t count_working(const Shares& shares) {
    return static_cast<std::size_t>(
        std::ranges::count_if(shares, [](const auto& boxes) { return !boxes.empty(); }));
}

// Returns the shares if piece() can make them and at least two cores have one.
std::optional<Shares> if_sound(const overtake_insn& insn, Shares shares) {
    if (count_working(shares) < 2)
        return std::nullopt;
    for (const std::vector<Box>& boxes : shares)
        for (const Box& box : boxes)
            if (aligned(insn, box) != box)
                return std::nullopt;
    return shares;
}

// Divides one axis into stretches of whole steps, by core: first and count; the last may be less
// than a step.
std::vector<std::pair<std::uint32_t, std::uint32_t>>
stretches(std::uint32_t size, std::uint32_t step, std::span<const double> speeds) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> result;
    std::uint64_t first = 0;
    for (const std::uint64_t steps : apportion((size + step - 1) / step, speeds)) {
        const std::uint64_t end = std::min<std::uint64_t>(first + steps * step, size);
        result.emplace_back(first, end - first);
        first = end;
    }
    return result;
}

// Shares along one axis of the output, which is cut at multiples of `step`; 0: it is not cut.
Shares along(const overtake_insn& insn, std::span<const double> speeds, std::uint32_t step,
             std::uint32_t Box::*first, std::uint32_t Box::*count) {
    const Box all = whole(insn);
    Shares result(speeds.size());
    if (step == 0)
        return result;
    std::size_t core = 0;
    for (const auto& [begin, size] : stretches(all.*count, step, speeds)) {
        Box box = all;
        box.*first = begin;
        box.*count = size;
        if (size > 0)
            result[core] = {box};
        ++core;
    }
    return result;
}

// Places the cores in `rows` lines of `columns` each, in their order.
Shares by_grid(const overtake_insn& insn, std::span<const double> speeds, std::size_t rows,
               std::size_t columns) {
    std::vector<double> lines;
    for (std::size_t line = 0; line < rows; ++line) {
        const auto of = speeds.subspan(line * columns, columns);
        lines.push_back(std::accumulate(of.begin(), of.end(), 0.0));
    }
    Shares result;
    std::size_t line = 0;
    for (const auto& [row, height] : stretches(insn.out.height, row_step(insn), lines))
        for (const auto& [column, width] : stretches(insn.out.width, column_step(insn),
                                                     speeds.subspan(line++ * columns, columns)))
            result.push_back(height > 0 && width > 0 ? std::vector{Box{row, height, column, width,
                                                                       0, insn.out.channels}}
                                                     : std::vector<Box>{});
    return result;
}

// Returns the time of the share that takes longest, in elements of a core of speed 1, and the
// number of elements that all shares read.
std::pair<double, std::uint64_t> weight(const overtake_insn& insn, const Shares& shares,
                                        std::span<const double> speeds) {
    double longest = 0;
    std::uint64_t read = 0;
    for (std::size_t core = 0; core < shares.size(); ++core)
        for (const Box& box : shares[core]) {
            longest = std::max(longest, static_cast<double>(elements(box)) / speeds[core]);
            for (std::size_t input : {0, 1})
                read += elements(needed(insn, input, box));
        }
    return {longest, read};
}

Shares best_grid(const overtake_insn& insn, std::span<const double> speeds) {
    std::vector<std::size_t> cores;
    std::vector<double> working;
    for (std::size_t core = 0; core < speeds.size(); ++core)
        if (speeds[core] > 0) {
            cores.push_back(core);
            working.push_back(speeds[core]);
        }
    Shares best(speeds.size());
    std::pair<double, std::uint64_t> least{std::numeric_limits<double>::infinity(), 0};
    for (std::size_t rows = 2; rows * 2 <= working.size(); ++rows) {
        if (working.size() % rows != 0)
            continue;
        const auto grid = if_sound(insn, by_grid(insn, working, rows, working.size() / rows));
        const auto found = grid ? weight(insn, *grid, working) : least;
        if (found >= least)
            continue;
        least = found;
        for (std::size_t index = 0; index < cores.size(); ++index)
            best[cores[index]] = (*grid)[index];
    }
    return best;
}

} // namespace

std::vector<std::uint64_t> apportion(std::uint64_t count, std::span<const double> speeds) {
    const double sum = std::accumulate(speeds.begin(), speeds.end(), 0.0);
    std::vector<std::uint64_t> result;
    double before = 0;
    std::uint64_t first = 0;
    for (const double speed : speeds) {
        before += speed;
        const double end = static_cast<double>(count) * (sum > 0 ? before / sum : 0);
        const std::uint64_t next =
            std::clamp<std::uint64_t>(static_cast<std::uint64_t>(end + 0.5), first, count);
        result.push_back(speed > 0 ? next - first : 0);
        first = speed > 0 ? next : first;
    }
    // Sums of reals may end slightly short.
    for (std::size_t core = speeds.size(); core-- > 0 && first < count;)
        if (speeds[core] > 0) {
            result[core] += count - first;
            first = count;
        }
    return result;
}

Shares single_share(const overtake_insn& insn, std::size_t core, std::size_t cores) {
    Shares result(cores);
    result[core] = {whole(insn)};
    return result;
}

std::uint64_t position_count(const overtake_insn& insn) {
    return std::uint64_t{insn.out.height / row_step(insn)} * (insn.out.width / column_step(insn));
}

std::optional<Shares> balanced_shares(const overtake_insn& insn,
                                      std::span<const std::uint64_t> positions) {
    const std::uint32_t rows_each = row_step(insn), columns_each = column_step(insn);
    const std::uint64_t width = insn.out.width / columns_each;
    Shares result;
    std::uint64_t first = 0;
    for (const std::uint64_t count : positions) {
        std::vector<Box>& boxes = result.emplace_back();
        const std::uint64_t end = first + count;
        const auto add = [&](std::uint64_t row, std::uint64_t rows, std::uint64_t column,
                             std::uint64_t columns) {
            if (rows > 0 && columns > 0)
                boxes.push_back({static_cast<std::uint32_t>(row * rows_each),
                                 static_cast<std::uint32_t>(rows * rows_each),
                                 static_cast<std::uint32_t>(column * columns_each),
                                 static_cast<std::uint32_t>(columns * columns_each), 0,
                                 insn.out.channels});
        };
        if (first / width == end / width) { // it is within a row
            add(first / width, 1, first % width, count);
        } else {
            const std::uint64_t from = (first + width - 1) / width, to = end / width;
            add(first / width, 1, first % width, from * width - first);
            add(from, to - from, 0, width);
            add(to, 1, 0, end - to * width);
        }
        first = end;
    }
    return if_sound(insn, std::move(result));
}

std::optional<Shares> shares(const overtake_insn& insn, Scheme scheme,
                             std::span<const double> speeds) {
    if (scheme == Scheme::single)
        return single_share(
            insn, static_cast<std::size_t>(std::ranges::max_element(speeds) - speeds.begin()),
            speeds.size());
    if (!can_cut(insn))
        return std::nullopt;
    switch (scheme) {
    case Scheme::row:
        return if_sound(insn, along(insn, speeds, row_step(insn), &Box::row, &Box::rows));
    case Scheme::column:
        return if_sound(insn, along(insn, speeds, column_step(insn), &Box::column, &Box::columns));
    case Scheme::grid:
        return if_sound(insn, best_grid(insn, speeds));
    case Scheme::channel:
        return if_sound(insn,
                        along(insn, speeds, channel_step(insn), &Box::channel, &Box::channels));
    default:
        return balanced_shares(insn, apportion(position_count(insn), speeds));
    }
}

} // namespace overtake::compiler
