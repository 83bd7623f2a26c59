// SPDX-License-Identifier: MIT
//
// RoiAlign: regions of pictures, each pooled to one size by samples between the pixels.
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "cpu/table.hpp"
#include "overtake/error.hpp"

namespace overtake::cpu {

namespace {

constexpr std::int64_t most_samples = 256; // of each output, along an axis
constexpr std::int64_t most_pixels = 4096; // of each output of a region, along an axis

constexpr std::size_t most_taps = 1 << 16; // of the columns that are computed at a time

// integers: RegionPool; whether the middle of a pixel is half a pixel after its number (1) or at it
// (0); the samples of each output along each axis, 0: one for each pixel.  reals: the pixels of the
// picture for 1 in the region's coordinates.  Inputs: pictures (batch, channels, height, width),
// regions (number, 4) as x and y of one corner and then of the other, and the number of each
// region's picture.
std::string check_regions(const Operation& operation) {
    if (operation.inputs.size() != 3 || operation.integers.size() != 3 ||
        operation.reals.size() != 1)
        return "needs three inputs, three integers and one real";
    const Shape &from = operation.inputs[0], &regions = operation.inputs[1], &to = operation.output;
    if (from.size() != 4 || regions.size() != 2 || regions[1] != 4 ||
        operation.inputs[2] != Shape{regions[0]} || to.size() != 4 || to[0] != regions[0] ||
        to[1] != from[1])
        return "shapes do not fit each other";
    const std::int64_t mode = operation.integers[0], half = operation.integers[1],
                       samples = operation.integers[2];
    if (mode < 0 || mode >= static_cast<std::int64_t>(RegionPool::count) || half < 0 || half > 1)
        return "no such mode";
    return samples < 0 || samples > most_samples ? "samples are out of range" : "";
}

// A position between two pixels; the first has the weight 1 - share, the second share.
struct Tap {
    std::size_t first, second;
    float share;
};

// One axis of a region.
struct Stretch {
    float start, step; // in pixels: its beginning, and the size of each output
    std::int64_t samples;

    static Stretch of(float begin, float end, std::int64_t outputs, bool is_half,
                      std::int64_t samples) {
        float size = end - begin;
        if (!is_half)
            size = std::max(size, 1.0f);
        const float step = size / static_cast<float>(outputs);
        if (samples == 0) {
            const float wanted = std::ceil(step);
            if (!(wanted <= static_cast<float>(most_pixels)))
                throw Error(ERANGE, "a region of RoiAlign has more than " +
                                        std::to_string(most_pixels) +
                                        " pixels for one output, or is none; check the inputs");
            samples = wanted < 0 ? 0 : static_cast<std::int64_t>(wanted);
        }
        return {begin, step, samples};
    }

    float position(std::size_t output, std::int64_t sample) const {
        return start + static_cast<float>(output) * step +
               (static_cast<float>(sample) + 0.5f) * step / static_cast<float>(samples);
    }

    // Returns the first sample for which `holds` is true; it is true for all later ones.
    template <typename Holds>
    std::int64_t first_sample(const Holds& holds) const {
        std::int64_t begin = 0, end = samples;
        while (begin < end) {
            const std::int64_t middle = begin + (end - begin) / 2;
            if (holds(middle))
                end = middle;
            else
                begin = middle + 1;
        }
        return begin;
    }

    // Appends the samples of an output that lie in the picture, to which a border of one pixel
    // belongs.  Positions rise or fall with the number of the sample, or all of them are NaN.
    void find(std::size_t output, std::int64_t pixels, std::vector<Tap>& taps) const {
        const auto end = static_cast<float>(pixels);
        const bool is_falling = step < 0;
        const auto is_reached = [&](std::int64_t sample) {
            const float at = position(output, sample);
            return is_falling ? at <= end : at >= -1;
        };
        const auto is_passed = [&](std::int64_t sample) {
            const float at = position(output, sample);
            return is_falling ? at < -1 : at > end;
        };
        const auto last = static_cast<std::size_t>(pixels - 1);
        const std::int64_t behind = first_sample(is_passed);
        for (std::int64_t sample = first_sample(is_reached); sample < behind; sample++) {
            const float at = std::max(position(output, sample), 0.0f);
            const auto first = static_cast<std::size_t>(at);
            if (first >= last)
                taps.push_back({last, last, 0});
            else
                taps.push_back({first, first + 1, at - static_cast<float>(first)});
        }
    }
};

// The samples in the picture of some adjacent outputs.
class Samples {
public:
    void find(const Stretch& stretch, std::size_t begin, std::size_t end, std::int64_t pixels) {
        taps_.clear();
        begin_ = begin;
        ends_.assign(1, 0);
        for (std::size_t output = begin; output < end; output++) {
            stretch.find(output, pixels, taps_);
            ends_.push_back(taps_.size());
        }
    }

    std::span<const Tap> of(std::size_t output) const {
        const std::size_t first = ends_[output - begin_];
        return std::span(taps_).subspan(first, ends_[output - begin_ + 1] - first);
    }

private:
    std::vector<Tap> taps_;
    std::size_t begin_ = 0;
    std::vector<std::size_t> ends_;
};

class Regions {
public:
    explicit Regions(const Operation& operation)
        : mode_(static_cast<RegionPool>(operation.integers[0])),
          is_half_(operation.integers[1] != 0), samples_(operation.integers[2]),
          scale_(operation.reals[0]), from_(operation.inputs[0]), to_(operation.output) {}

    void run(const Inputs& in, std::span<float> out) {
        const std::size_t of_region = elements(to_) / static_cast<std::size_t>(to_[0]);
        const std::size_t of_picture = elements(from_) / static_cast<std::size_t>(from_[0]);
        for (std::size_t region = 0; region < static_cast<std::size_t>(to_[0]); region++)
            run_region(in[0].data() + picture(in[2][region]) * of_picture,
                       in[1].data() + 4 * region, out.data() + region * of_region);
    }

private:
    // Returns the number of the picture.  A negative number counts from the end, for example that
    // of an unused row of NonMaxSuppression, -1.
    std::size_t picture(float number) const {
        const auto count = static_cast<float>(from_[0]);
        const float position = number < 0 ? number + count : number;
        if (!(position >= 0 && position < count))
            throw Error(ERANGE, "a region of RoiAlign is of picture " + std::to_string(number) +
                                    ", and there are " + std::to_string(from_[0]) +
                                    "; check the inputs");
        return static_cast<std::size_t>(position);
    }

    void run_region(const float* pictures, const float* corners, float* out) {
        const float offset = is_half_ ? 0.5f : 0.0f;
        const auto pixel = [&](int number) { return corners[number] * scale_ - offset; };
        const Stretch across = Stretch::of(pixel(0), pixel(2), to_[3], is_half_, samples_);
        const Stretch down = Stretch::of(pixel(1), pixel(3), to_[2], is_half_, samples_);
        const auto height = static_cast<std::size_t>(to_[2]),
                   width = static_cast<std::size_t>(to_[3]),
                   channels = static_cast<std::size_t>(to_[1]);
        const std::size_t area =
            static_cast<std::size_t>(from_[2]) * static_cast<std::size_t>(from_[3]);
        const std::int64_t all = across.samples * down.samples;
        const std::size_t block =
            most_taps / static_cast<std::size_t>(std::max<std::int64_t>(across.samples, 1));
        for (std::size_t begin = 0; begin < width; begin += block) {
            const std::size_t end = std::min(begin + block, width);
            columns_.find(across, begin, end, from_[3]);
            for (std::size_t y = 0; y < height; y++) {
                rows_.clear();
                down.find(y, from_[2], rows_);
                for (std::size_t x = begin; x < end; x++)
                    for (std::size_t channel = 0; channel < channels; channel++)
                        out[(channel * height + y) * width + x] =
                            pooled(pictures + channel * area, columns_.of(x), all);
            }
        }
    }

    float pooled(const float* plane, std::span<const Tap> columns, std::int64_t all) const {
        return mode_ == RegionPool::average ? average(plane, columns, all)
                                            : greatest(plane, columns, all);
    }

    // Samples outside count as 0.
    float average(const float* plane, std::span<const Tap> columns, std::int64_t all) const {
        double sum = 0;
        for (const Tap& row : rows_) {
            const float* first = plane + row.first * static_cast<std::size_t>(from_[3]);
            const float* second = plane + row.second * static_cast<std::size_t>(from_[3]);
            for (const Tap& column : columns) {
                const auto between = [&](const float* line) {
                    return (1 - column.share) * line[column.first] +
                           column.share * line[column.second];
                };
                sum += (1 - row.share) * between(first) + row.share * between(second);
            }
        }
        return static_cast<float>(sum / static_cast<double>(std::max<std::int64_t>(all, 1)));
    }

    // As in ONNX, the maximum is not of the samples, but of the four pixels around each, times
    // their weights.
    float greatest(const float* plane, std::span<const Tap> columns, std::int64_t all) const {
        const auto inside = static_cast<std::int64_t>(rows_.size() * columns.size());
        float result = all == 0 || inside < all ? 0.0f : -std::numeric_limits<float>::infinity();
        for (const Tap& row : rows_) {
            const float* first = plane + row.first * static_cast<std::size_t>(from_[3]);
            const float* second = plane + row.second * static_cast<std::size_t>(from_[3]);
            for (const Tap& column : columns) {
                const float up = 1 - row.share, left = 1 - column.share;
                result = std::max({result, up * left * first[column.first],
                                   up * column.share * first[column.second],
                                   row.share * left * second[column.first],
                                   row.share * column.share * second[column.second]});
            }
        }
        return result;
    }

    const RegionPool mode_;
    const bool is_half_;
    const std::int64_t samples_;
    const float scale_;
    const Shape from_, to_;
    Samples columns_;       // for a block of outputs
    std::vector<Tap> rows_; // for one output
};

Kernel make_regions(const Operation& operation) {
    return [regions = Regions(operation)](const Inputs& in, std::span<float> out) mutable {
        regions.run(in, out);
    };
}

constexpr Entry region_table[] = {
    {CpuOpType::roi_align, "RoiAlign", check_regions, make_regions},
};

} // namespace

std::span<const Entry> region_operators() {
    return region_table;
}

} // namespace overtake::cpu
