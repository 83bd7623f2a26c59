// SPDX-License-Identifier: MIT
//
// Reads the text in pictures: pages in, lines of text out.
//
//     read_text DETECTION.ovm RECOGNITION.ovm CHARACTERS.txt [--device DEVICE] PAGE.png...
//
// Two networks of PP-OCRv4 share the device (`make zoo` compiles both and runs this program;
// docs/use/zoo.md). Detection looks for lines on a whole page, which takes long; all pages are
// handed in at once, with priority 10. Recognition reads one line, which is short, and has priority
// 255: as soon as a page's lines are known, they overtake the detection of the pages behind it, at
// the next boundary of its FCs. So the first page is read while the others wait.
//
// On a kernel device priority 255 needs CAP_SYS_NICE.
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <png.h>

#include <overtake/overtake.hpp>

namespace {

constexpr unsigned page_priority = 10;
constexpr unsigned line_priority = 255;

// Rows of pixels, each blue, green, red: the order that these networks were trained with.
struct Picture {
    std::size_t width = 0, height = 0;
    std::vector<std::uint8_t> pixels;
};

// A rectangle of a page, in its pixels.
struct Box {
    float left, top, right, bottom;
};

// A network gets value * factor + offset, per channel.
struct Normalisation {
    float factor[3], offset[3];
};

constexpr Normalisation of_pages = {{1 / (255 * 0.225f), 1 / (255 * 0.224f), 1 / (255 * 0.229f)},
                                    {-0.406f / 0.225f, -0.456f / 0.224f, -0.485f / 0.229f}};
constexpr Normalisation of_lines = {{1 / 127.5f, 1 / 127.5f, 1 / 127.5f}, {-1, -1, -1}};

Picture load_png(const std::string& path) {
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    Picture picture;
    if (png_image_begin_read_from_file(&image, path.c_str())) {
        image.format = PNG_FORMAT_BGR;
        picture = {image.width, image.height, std::vector<std::uint8_t>(PNG_IMAGE_SIZE(image))};
        const png_color white = {255, 255, 255}; // behind what is transparent
        png_image_finish_read(&image, &white, picture.pixels.data(), 0, nullptr);
    }
    if (PNG_IMAGE_FAILED(image))
        throw std::runtime_error(path + ": " + image.message);
    return picture;
}

// One channel of a picture between its pixels.
float between(const Picture& picture, float y, float x, std::size_t channel) {
    y = std::clamp(y, 0.f, static_cast<float>(picture.height - 1));
    x = std::clamp(x, 0.f, static_cast<float>(picture.width - 1));
    const auto top = static_cast<std::size_t>(y), left = static_cast<std::size_t>(x);
    const std::size_t bottom = std::min(top + 1, picture.height - 1);
    const std::size_t right = std::min(left + 1, picture.width - 1);
    const float down = y - static_cast<float>(top), across = x - static_cast<float>(left);
    const auto at = [&](std::size_t row, std::size_t column) {
        return static_cast<float>(picture.pixels[(row * picture.width + column) * 3 + channel]);
    };
    const float upper = at(top, left) * (1 - across) + at(top, right) * across;
    const float lower = at(bottom, left) * (1 - across) + at(bottom, right) * across;
    return upper * (1 - down) + lower * down;
}

// Part of a picture, scaled to width x height pixels, in the upper left corner of an input of the
// shape {1, 3, rows, columns}; the rest is 0.
std::vector<float> planes(const Picture& picture, const Box& part, std::size_t width,
                          std::size_t height, const overtake::Tensor& input,
                          const Normalisation& normalisation) {
    const std::size_t rows = input.shape[2], columns = input.shape[3];
    std::vector<float> result(input.elements());
    const float down = (part.bottom - part.top) / static_cast<float>(height);
    const float across = (part.right - part.left) / static_cast<float>(width);
    for (std::size_t channel = 0; channel < 3; channel++)
        for (std::size_t y = 0; y < height; y++)
            for (std::size_t x = 0; x < width; x++)
                result[(channel * rows + y) * columns + x] =
                    between(picture, part.top + (static_cast<float>(y) + 0.5f) * down - 0.5f,
                            part.left + (static_cast<float>(x) + 0.5f) * across - 0.5f, channel) *
                        normalisation.factor[channel] +
                    normalisation.offset[channel];
    return result;
}

// Connected regions of pixels that are text.
class Regions {
public:
    Regions(const std::vector<float>& chances, std::size_t width, float least)
        : chances_(chances), width_(width), parents_(chances.size()) {
        std::iota(parents_.begin(), parents_.end(), std::size_t{0});
        for (std::size_t pixel = 0; pixel < chances.size(); pixel++) {
            if (chances[pixel] <= least)
                continue;
            const std::size_t column = pixel % width;
            const auto join = [&](bool exists, std::size_t distance) {
                if (exists && chances[pixel - distance] > least)
                    parents_[root(pixel)] = root(pixel - distance);
            };
            join(column > 0, 1);
            join(pixel >= width, width);
            join(pixel >= width && column > 0, width + 1);
            join(pixel >= width && column + 1 < width, width - 1);
        }
    }

    // Outlines of those that are large and certain enough to be lines.
    std::vector<Box> lines(float least) {
        struct Region {
            std::size_t count = 0, left = SIZE_MAX, top = SIZE_MAX, right = 0, bottom = 0;
            double sum = 0;
        };
        std::vector<Region> regions(parents_.size());
        for (std::size_t pixel = 0; pixel < parents_.size(); pixel++) {
            if (chances_[pixel] <= least)
                continue;
            Region& region = regions[root(pixel)];
            region.count++;
            region.sum += chances_[pixel];
            region.left = std::min(region.left, pixel % width_);
            region.right = std::max(region.right, pixel % width_ + 1);
            region.top = std::min(region.top, pixel / width_);
            region.bottom = std::max(region.bottom, pixel / width_ + 1);
        }
        std::vector<Box> result;
        for (const Region& region : regions) {
            if (region.count < 30 || region.sum / static_cast<double>(region.count) < 0.6)
                continue;
            const auto wide = static_cast<float>(region.right - region.left);
            const auto high = static_cast<float>(region.bottom - region.top);
            // The network marks the core of a line; its outline lies this far outside.
            const float margin = wide * high * 1.5f / (2 * (wide + high));
            result.push_back({static_cast<float>(region.left) - margin,
                              static_cast<float>(region.top) - margin,
                              static_cast<float>(region.right) + margin,
                              static_cast<float>(region.bottom) + margin});
        }
        return result;
    }

private:
    std::size_t root(std::size_t pixel) {
        while (parents_[pixel] != pixel)
            pixel = parents_[pixel] = parents_[parents_[pixel]];
        return pixel;
    }

    const std::vector<float>& chances_;
    std::size_t width_;
    std::vector<std::size_t> parents_;
};

// Returns the scale at which a page fits into the input of the detection, at most 1.
float scale_of(const Picture& page, const overtake::Tensor& input) {
    return std::min({1.f, static_cast<float>(input.shape[3]) / static_cast<float>(page.width),
                     static_cast<float>(input.shape[2]) / static_cast<float>(page.height)});
}

std::vector<float> page_input(const Picture& page, const overtake::Tensor& input) {
    const float scale = scale_of(page, input);
    const Box all = {0, 0, static_cast<float>(page.width), static_cast<float>(page.height)};
    const auto scaled = [&](std::size_t size) {
        return std::max<std::size_t>(1, static_cast<std::size_t>(static_cast<float>(size) * scale));
    };
    return planes(page, all, scaled(page.width), scaled(page.height), input, of_pages);
}

// Returns the boxes of a page's lines, from top to bottom.
std::vector<Box> find_lines(const overtake::Task& task, const Picture& page,
                            const overtake::Tensor& input) {
    constexpr float least = 0.3f;
    const std::vector<float> chances = task.output(0);
    std::vector<Box> lines = Regions(chances, input.shape[3], least).lines(least);
    const float scale = scale_of(page, input);
    for (Box& line : lines)
        line = {std::max(0.f, line.left / scale), std::max(0.f, line.top / scale),
                std::min(static_cast<float>(page.width), line.right / scale),
                std::min(static_cast<float>(page.height), line.bottom / scale)};
    std::sort(lines.begin(), lines.end(), [](const Box& one, const Box& other) {
        return std::pair(one.top + one.bottom, one.left) <
               std::pair(other.top + other.bottom, other.left);
    });
    return lines;
}

// Returns the line as high as the input, and as wide as that makes the line, but not wider than the
// input.
std::vector<float> line_input(const Picture& page, const Box& line, const overtake::Tensor& input) {
    const float wide =
        (line.right - line.left) * static_cast<float>(input.shape[2]) / (line.bottom - line.top);
    const auto width = static_cast<std::size_t>(
        std::clamp(std::ceil(wide), 1.f, static_cast<float>(input.shape[3])));
    return planes(page, line, width, input.shape[2], input, of_lines);
}

// Returns the text of each class of the recognition: nothing, the lines of the file, a space.
std::vector<std::string> load_characters(const std::string& path, std::size_t classes) {
    std::ifstream file(path);
    if (!file)
        throw std::runtime_error(path + ": " + std::strerror(errno));
    std::vector<std::string> result(1);
    for (std::string line; std::getline(file, line);)
        result.push_back(line);
    result.push_back(" ");
    if (result.size() != classes)
        throw std::runtime_error(path + ": " + std::to_string(result.size() - 2) +
                                 " characters, but the network tells " +
                                 std::to_string(classes - 2) + " apart");
    return result;
}

// Returns the text of the likeliest class at each step, without repetitions and empty classes
// (CTC).
std::string text_of(const overtake::Task& task, const std::vector<std::string>& characters) {
    const std::vector<float> chances = task.output(0);
    std::string text;
    std::size_t last = 0;
    for (auto step = chances.begin(); step != chances.end();) {
        const auto end = step + static_cast<std::ptrdiff_t>(characters.size());
        const auto best = static_cast<std::size_t>(std::max_element(step, end) - step);
        if (best != last)
            text += characters[best];
        last = best;
        step = end;
    }
    const std::size_t first = text.find_first_not_of(' ');
    return first == std::string::npos ? ""
                                      : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

struct Arguments {
    std::string detection, recognition, characters, device = "auto";
    std::vector<std::string> pages;
};

bool takes_pictures(const overtake::Model& model) {
    if (model.inputs().size() != 1 || model.outputs().size() != 1)
        return false;
    const auto& shape = model.input(0).shape;
    return shape.size() == 4 && shape[0] == 1 && shape[1] == 3;
}

// From a picture to the chance of each of its pixels.
bool is_detection(const overtake::Model& model) {
    return takes_pictures(model) &&
           model.output(0).elements() ==
               std::size_t{model.input(0).shape[2]} * model.input(0).shape[3];
}

// From a picture to the chance of each character, step by step.
bool is_recognition(const overtake::Model& model) {
    return takes_pictures(model) && model.output(0).shape.size() == 3 && !is_detection(model);
}

void read_pages(const Arguments& arguments) {
    const auto device = overtake::open_device(arguments.device);
    const auto detection = overtake::Model::load(arguments.detection);
    const auto recognition = overtake::Model::load(arguments.recognition);
    if (!is_detection(*detection))
        throw std::runtime_error(arguments.detection + ": finds no text, give a detection first");
    if (!is_recognition(*recognition))
        throw std::runtime_error(arguments.recognition +
                                 ": reads no lines, give a recognition second");
    overtake::Session detect(device, detection);
    overtake::Session recognise(device, recognition, {.max_priority = 255, .core_limit = 1});
    const auto characters =
        load_characters(arguments.characters, recognition->output(0).shape.back());

    std::vector<Picture> pages;
    std::vector<overtake::Task> found;
    for (const std::string& path : arguments.pages) {
        pages.push_back(load_png(path));
        found.push_back(detect.submit(page_input(pages.back(), detection->input(0)),
                                      {.priority = page_priority}));
    }
    for (std::size_t number = 0; number < pages.size(); number++) {
        found[number].wait();
        std::vector<overtake::Task> lines;
        for (const Box& box : find_lines(found[number], pages[number], detection->input(0)))
            lines.push_back(recognise.submit(line_input(pages[number], box, recognition->input(0)),
                                             {.priority = line_priority}));
        if (pages.size() > 1)
            std::printf("%s:\n", arguments.pages[number].c_str());
        for (overtake::Task& line : lines) {
            line.wait();
            std::printf("%s\n", text_of(line, characters).c_str());
        }
        std::fflush(stdout);
    }
}

} // namespace

int main(int argc, char** argv) try {
    std::vector<std::string> given(argv + 1, argv + argc);
    Arguments arguments;
    const auto option = std::find(given.begin(), given.end(), "--device");
    if (option != given.end() && option + 1 != given.end()) {
        arguments.device = option[1];
        given.erase(option, option + 2);
    }
    if (given.size() < 4 || std::count(given.begin(), given.end(), "--device"))
        return std::fprintf(stderr, "usage: read_text DETECTION.ovm RECOGNITION.ovm "
                                    "CHARACTERS.txt [--device DEVICE] PAGE.png...\n"),
               2;
    arguments.detection = given[0];
    arguments.recognition = given[1];
    arguments.characters = given[2];
    arguments.pages.assign(given.begin() + 3, given.end());
    read_pages(arguments);
    return 0;
} catch (const std::exception& error) {
    return std::fprintf(stderr, "read_text: %s\n", error.what()), 1;
}
