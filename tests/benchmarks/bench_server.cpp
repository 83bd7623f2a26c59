// SPDX-License-Identifier: MIT
//
// The costs of a device server: the time of an empty job through it over that of the same job on an
// embedded device, one at a time and 32 at once, beside a ping-pong between two processes with
// futexes.
//
//     bench_server [REPETITIONS]
//
// The server is a process of its own.  All ways take turns; printed are medians of the repetitions.
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "empty_jobs.hpp"
#include "server_process.hpp"

using namespace overtake;
using namespace overtake::test;

namespace {

constexpr std::uint64_t jobs_of_a_turn = 2048;
constexpr std::size_t deep = 32;

/// Sends a number to another process and back, in shared memory, with futexes.
class PingPong {
public:
    PingPong()
        : words_(static_cast<std::uint32_t*>(
              mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
        if (words_ == MAP_FAILED) // NOLINT(performance-no-int-to-ptr): the system's own macro
            std::exit(EXIT_FAILURE);
        child_ = fork();
        if (child_ != 0)
            return;
        for (std::uint32_t seen = 0;;) {
            seen = wait_for_change(0, seen);
            set(1, seen);
        }
    }
    ~PingPong() {
        kill(child_, SIGKILL);
        waitpid(child_, nullptr, 0);
        munmap(words_, 4096);
    }
    double run() {
        const double begin = now_us();
        for (std::uint64_t i = 0; i < jobs_of_a_turn; i++) {
            const std::uint32_t seen = round_++;
            set(0, round_);
            wait_for_change(1, seen);
        }
        return (now_us() - begin) / static_cast<double>(jobs_of_a_turn);
    }

private:
    void set(std::size_t word, std::uint32_t value) {
        std::atomic_ref(words_[word]).store(value);
        syscall(SYS_futex, &words_[word], FUTEX_WAKE, 1, nullptr, nullptr, 0);
    }
    std::uint32_t wait_for_change(std::size_t word, std::uint32_t seen) {
        for (;;) {
            const std::uint32_t now = std::atomic_ref(words_[word]).load();
            if (now != seen)
                return now;
            syscall(SYS_futex, &words_[word], FUTEX_WAIT, seen, nullptr, nullptr, 0);
        }
    }

    std::uint32_t* words_; // [0] there, [1] back
    std::uint32_t round_ = 0;
    pid_t child_;
};

} // namespace

int main(int argc, char** argv) {
    const int repetitions = argc > 1 ? std::atoi(argv[1]) : 11;
    if (repetitions < 1) {
        std::fprintf(stderr, "usage: bench_server [REPETITIONS]\n");
        return EXIT_FAILURE;
    }
    const ServerProcess server;
    PingPong ping_pong;

    EmptyJobs embedded(open_embedded());
    EmptyJobs served(open_server(server.path()));
    struct Way {
        const char* name;
        std::function<double()> run;
        std::vector<double> times{};
    };
    std::array<Way, 5> ways{
        {{"embedded, one at a time", [&] { return embedded.run(1, jobs_of_a_turn); }},
         {"server, one at a time", [&] { return served.run(1, jobs_of_a_turn); }},
         {"embedded, 32 at once", [&] { return embedded.run(deep, jobs_of_a_turn); }},
         {"server, 32 at once", [&] { return served.run(deep, jobs_of_a_turn); }},
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
    return EXIT_SUCCESS;
}
