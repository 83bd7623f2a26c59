// SPDX-License-Identifier: MIT
//
// What the way of an empty FC to the device and back costs, on each backend, one at a time and 128
// at once; beside floors that have no device behind them: io_uring commands that /dev/null takes,
// an eventfd there and back between two threads, and a ring in memory that one thread fills and
// another empties.
//
//     bench_submission [DEVICE-NODE] [REPETITIONS]
//
// Without a node: embedded and server alone.  All ways take turns; printed are medians of the
// repetitions, and each over its floor.
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <liburing.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "empty_jobs.hpp"
#include "server_process.hpp"

using namespace overtake;
using namespace overtake::test;

namespace {

constexpr std::uint64_t items_of_a_turn = 4096;
constexpr std::size_t deep = 128;

/// io_uring commands on /dev/null, which ends each at once.
class NullCommands {
public:
    NullCommands() : file_(open("/dev/null", O_RDWR)) {
        if (file_ < 0 ||
            io_uring_queue_init(deep, &ring_, IORING_SETUP_SQE128 | IORING_SETUP_CQE32) != 0 ||
            io_uring_register_files(&ring_, &file_, 1) != 0)
            throw std::runtime_error("no io_uring, or no /dev/null");
    }
    ~NullCommands() {
        io_uring_queue_exit(&ring_);
        close(file_);
    }
    NullCommands(const NullCommands&) = delete;
    NullCommands& operator=(const NullCommands&) = delete;

    /// Nanoseconds for each.
    double run(std::size_t depth) {
        const double begin = now_us();
        for (std::uint64_t done = 0; done < items_of_a_turn; done += depth) {
            for (std::size_t i = 0; i < depth; i++) {
                io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
                std::memset(entry, 0, 2 * sizeof(*entry));
                entry->opcode = IORING_OP_URING_CMD;
                entry->flags = IOSQE_FIXED_FILE;
            }
            if (io_uring_submit_and_wait(&ring_, static_cast<unsigned>(depth)) < 0)
                throw std::runtime_error("io_uring_submit_and_wait");
            for (std::size_t i = 0; i < depth; i++) {
                io_uring_cqe* end = nullptr;
                if (io_uring_wait_cqe(&ring_, &end) != 0 || end->res < 0)
                    throw std::runtime_error("/dev/null takes no io_uring commands here");
                io_uring_cqe_seen(&ring_, end);
            }
        }
        return (now_us() - begin) * 1000 / static_cast<double>(items_of_a_turn);
    }

private:
    int file_;
    io_uring ring_{};
};

/// A number to a thread and back, by two eventfds.
double eventfd_round_trips() {
    const int there = eventfd(0, 0), back = eventfd(0, 0);
    std::thread other([&] {
        std::uint64_t value = 0;
        for (std::uint64_t i = 0; i < items_of_a_turn; i++)
            if (read(there, &value, sizeof(value)) < 0 || write(back, &value, sizeof(value)) < 0)
                std::abort();
    });
    const double begin = now_us();
    std::uint64_t value = 1;
    for (std::uint64_t i = 0; i < items_of_a_turn; i++)
        if (write(there, &value, sizeof(value)) < 0 || read(back, &value, sizeof(value)) < 0)
            std::abort();
    const double took = now_us() - begin;
    other.join();
    close(there);
    close(back);
    return took * 1000 / static_cast<double>(items_of_a_turn);
}

/// Items of 64 bytes through a ring of `deep` places. A thread that finds it full or empty looks
/// again.
double ring_in_memory() {
    struct alignas(64) Item {
        std::array<std::uint64_t, 8> words;
    };
    constexpr std::uint64_t items = items_of_a_turn * 64;
    std::array<Item, deep> ring{};
    alignas(64) std::atomic<std::uint64_t> head = 0;
    alignas(64) std::atomic<std::uint64_t> tail = 0;
    const double begin = now_us();
    std::thread other([&] {
        std::uint64_t sum = 0;
        for (std::uint64_t next = 0; next < items;) {
            const std::uint64_t end = tail.load(std::memory_order_acquire);
            if (next == end)
                std::this_thread::yield();
            for (; next < end; next++)
                sum += ring[next % deep].words[0];
            head.store(next, std::memory_order_release);
        }
        if (sum != items * (items - 1) / 2)
            std::abort();
    });
    for (std::uint64_t next = 0; next < items; next++) {
        while (next - head.load(std::memory_order_acquire) == deep)
            std::this_thread::yield();
        ring[next % deep].words.fill(next);
        tail.store(next + 1, std::memory_order_release);
    }
    other.join();
    return (now_us() - begin) * 1000 / static_cast<double>(items);
}

struct Way {
    std::string name;
    std::function<double()> run;
    std::optional<std::size_t> floor; ///< which way is its floor
    std::vector<double> ns{};
};

void measure(std::vector<Way>& ways, int repetitions) {
    for (int i = 0; i < repetitions; i++)
        for (Way& way : ways)
            way.ns.push_back(way.run());
    fmt::print("{:<34} {:>10}  {}\n", "an empty FC, or an item", "ns", "over its floor");
    for (const Way& way : ways) {
        const double ns = median(way.ns);
        fmt::print("{:<34} {:>10.0f}", way.name, ns);
        if (way.floor)
            fmt::print("  {:.1f} x {}", ns / median(ways[*way.floor].ns), ways[*way.floor].name);
        fmt::print("\n");
    }
}

} // namespace

int main(int argc, char** argv) try {
    const std::string node = argc > 1 && argv[1][0] == '/' ? argv[1] : "";
    const char* const last = argc > 1 ? argv[argc - 1] : "";
    const int repetitions = argc > 1 && last[0] != '/' ? std::atoi(last) : 11;
    if (argc > 3 || repetitions < 1) {
        std::fprintf(stderr, "usage: bench_submission [DEVICE-NODE] [REPETITIONS]\n");
        return EXIT_FAILURE;
    }
    const ServerProcess server; // before there are threads
    std::vector<Way> ways{{"ring in memory", ring_in_memory, {}},
                          {"eventfd there and back", eventfd_round_trips, {}}};
    std::vector<std::unique_ptr<EmptyJobs>> devices;
    const auto add = [&](const std::string& name, const std::shared_ptr<Device>& device,
                         std::size_t floor_of_one, std::size_t floor_of_many) {
        EmptyJobs& jobs = *devices.emplace_back(std::make_unique<EmptyJobs>(device));
        for (const std::size_t depth : {std::size_t{1}, deep})
            ways.push_back({fmt::format("{}, depth {}", name, depth),
                            [&jobs, depth] { return jobs.run(depth, items_of_a_turn) * 1000; },
                            depth == 1 ? floor_of_one : floor_of_many});
    };
    add("embedded", open_embedded(), 1, 0);
    add("server", open_server(server.path()), 1, 0);
    std::optional<NullCommands> null;
    if (!node.empty()) {
        null.emplace();
        const std::size_t floor = ways.size();
        for (const std::size_t depth : {std::size_t{1}, deep})
            ways.push_back({fmt::format("uring_cmd on /dev/null, depth {}", depth),
                            [&null, depth] { return null->run(depth); },
                            {}});
        add("ioctl", open_kernel(node, KernelBackend::ioctl), floor, floor + 1);
        add("io_uring", open_kernel(node, KernelBackend::io_uring), floor, floor + 1);
    }
    measure(ways, repetitions);
    return EXIT_SUCCESS;
} catch (const std::exception& error) {
    std::fprintf(stderr, "bench_submission: %s\n", error.what());
    return EXIT_FAILURE;
}
