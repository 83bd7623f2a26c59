// SPDX-License-Identifier: MIT
//
// What a device server costs: an empty job through it over the same job on an embedded device, one
// at a time and 32 at once, beside a ping-pong between two processes, by a pipe each way.
//
//     bench_server [REPETITIONS]
//
// The server is a process of its own.  All ways take turns; printed are medians of the repetitions.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "overtake/server.hpp"
#include "programs.hpp"

using namespace overtake;
using namespace overtake::test;

namespace {

constexpr std::uint64_t jobs_of_a_turn = 2048;
constexpr std::size_t deep = 32;

double now_us() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

/// In a child, until it is killed.
void serve(const std::string& path, int ready) {
    ServerOptions options;
    options.socket_path = path;
    Server server(options);
    (void)!write(ready, "r", 1);
    server.run();
}

class Jobs {
public:
    explicit Jobs(const std::shared_ptr<Device>& device)
        : queue_(device->create_queue()), program_(*device, {delay_insn(1)}) {}

    /// Microseconds for each job.
    double run(std::size_t depth) {
        std::vector<Completion> completions(depth);
        const double begin = now_us();
        for (std::uint64_t done = 0; done < jobs_of_a_turn; done += depth) {
            std::vector<Job> jobs;
            for (std::size_t i = 0; i < depth; i++)
                jobs.push_back(program_.job(++tag_));
            queue_->submit(jobs);
            for (std::size_t reaped = 0; reaped < depth;)
                reaped += queue_->reap(completions, deadline_never);
        }
        return (now_us() - begin) / static_cast<double>(jobs_of_a_turn);
    }

private:
    std::unique_ptr<Queue> queue_;
    Program program_;
    std::uint64_t tag_ = 0;
};

class PingPong {
public:
    PingPong() {
        if (pipe(there_.data()) != 0 || pipe(back_.data()) != 0)
            std::exit(EXIT_FAILURE);
        child_ = fork();
        if (child_ == 0) {
            close(there_[1]);
            char byte;
            while (read(there_[0], &byte, 1) == 1)
                (void)!write(back_[1], &byte, 1);
            _exit(0);
        }
        close(there_[0]);
    }
    ~PingPong() {
        close(there_[1]);
        waitpid(child_, nullptr, 0);
    }
    double run() {
        char byte = 0;
        const double begin = now_us();
        for (std::uint64_t i = 0; i < jobs_of_a_turn; i++) {
            (void)!write(there_[1], &byte, 1);
            (void)!read(back_[0], &byte, 1);
        }
        return (now_us() - begin) / static_cast<double>(jobs_of_a_turn);
    }

private:
    std::array<int, 2> there_{};
    std::array<int, 2> back_{};
    pid_t child_;
};

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

} // namespace

int main(int argc, char** argv) {
    const int repetitions = argc > 1 ? std::atoi(argv[1]) : 11;
    std::string directory = "/tmp/overtake-bench-XXXXXX";
    std::array<int, 2> ready{};
    if (repetitions < 1 || !mkdtemp(directory.data()) || pipe(ready.data()) != 0) {
        std::fprintf(stderr, "usage: bench_server [REPETITIONS]\n");
        return EXIT_FAILURE;
    }
    const std::string path = directory + "/device";
    PingPong ping_pong;
    const pid_t child = fork();
    if (child == 0) {
        serve(path, ready[1]);
        _exit(0);
    }
    char byte;
    (void)!read(ready[0], &byte, 1);

    Jobs embedded(open_embedded());
    Jobs served(open_server(path));
    struct Way {
        const char* name;
        std::function<double()> run;
        std::vector<double> times{};
    };
    std::array<Way, 5> ways{{{"embedded, one at a time", [&] { return embedded.run(1); }},
                             {"server, one at a time", [&] { return served.run(1); }},
                             {"embedded, 32 at once", [&] { return embedded.run(deep); }},
                             {"server, 32 at once", [&] { return served.run(deep); }},
                             {"ping-pong of two processes", [&] { return ping_pong.run(); }}}};
    for (int i = 0; i < repetitions; i++)
        for (Way& way : ways)
            way.times.push_back(way.run());
    std::array<double, 5> us{};
    for (std::size_t i = 0; i < ways.size(); i++) {
        us[i] = median(ways[i].times);
        fmt::print("{:<28} {:8.2f} us\n", ways[i].name, us[i]);
    }
    fmt::print("\nserver over embedded: {:.2f} times one at a time, {:.2f} times 32 at once\n",
               us[1] / us[0], us[3] / us[2]);
    fmt::print("server over a ping-pong: {:.2f} times one at a time\n", us[1] / us[4]);
    kill(child, SIGTERM);
    waitpid(child, nullptr, 0);
    std::filesystem::remove_all(directory);
    return EXIT_SUCCESS;
}
