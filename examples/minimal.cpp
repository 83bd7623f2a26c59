// SPDX-License-Identifier: MIT
//
// Runs a compiled network once: minimal MODEL.ovm [auto|embedded|kernel|/dev/accel/accelN]
//
//     c++ -std=c++20 minimal.cpp $(pkg-config --cflags --libs overtake) -o minimal
#include <cstdio>
#include <exception>
#include <vector>

#include <overtake/overtake.hpp>

int main(int argc, char** argv) try {
    if (argc < 2)
        return std::fprintf(stderr, "usage: minimal MODEL.ovm [DEVICE]\n"), 2;
    const auto device = overtake::open_device(argc > 2 ? argv[2] : "auto");
    const auto model = overtake::Model::load(argv[1]);
    overtake::Session session(device, model);

    std::vector<float> input(model->input(0).elements());
    for (std::size_t i = 0; i < input.size(); i++)
        input[i] = static_cast<float>(i % 8);

    overtake::Task task = session.submit(input, {.priority = 10});
    task.wait();
    for (std::size_t output = 0; output < model->outputs().size(); output++) {
        std::printf("%.*s:", static_cast<int>(model->output(output).name.size()),
                    model->output(output).name.data());
        for (const float value : task.output(output))
            std::printf(" %g", value);
        std::printf("\n");
    }
    return 0;
} catch (const std::exception& error) {
    return std::fprintf(stderr, "minimal: %s\n", error.what()), 1;
}
