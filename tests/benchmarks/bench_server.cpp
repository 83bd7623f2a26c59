// SPDX-License-Identifier: MIT
//
// What a device server costs: an empty job through it over the same job on an embedded device, one
// at a time and 32 at once, beside a ping-pong between two processes with futexes.
//
//     bench_server [REPETITIONS]
//
// The server is a process of its own.  All ways take turns; printed are medians of the repetitions.
#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <linux/futex.h>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <sys/syscall.h>
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

/// A number there and back between two processes, in memory that they share, with futexes.
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
