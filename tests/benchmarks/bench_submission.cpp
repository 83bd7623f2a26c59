// SPDX-License-Identifier: MIT
//
// The costs of an empty FC's way to the device and back, on each backend, one at a time and 128 at
// once, submitted and recorded. Beside them are floors without a device: io_uring commands on
// /dev/null, and the way to another thread and back by two eventfds or by two rings in memory. Then
// the time of the call alone that submits one job, by its FCs and its scratch, on a core whose
// clock stands still and whose ring is full.
//
//     bench_submission [DEVICE-NODE [DEVICE-NODE-WITH-MANUAL-CLOCK]] [REPETITIONS]
//
// Without a node: embedded and server alone.  All ways take turns; printed are medians of the
// repetitions, and each over its floor.
#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
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

/// Sends a number to a thread and back, by two eventfds.
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

/// Items of 64 bytes from one thread to another, in memory.
class Ring {
public:
    using Words = std::array<std::uint64_t, 8>;

    /// False: there is no room. By one thread.
    bool put(const Words& words) {
        if (next_put_ == head_.load(std::memory_order_acquire) + deep)
            return false;
        places_[next_put_ % deep].words = words;
        tail_.store(++next_put_, std::memory_order_release);
        return true;
    }
    /// False: there is nothing. By another thread.
    bool take(Words& words) {
        if (next_taken_ == tail_.load(std::memory_order_acquire))
            return false;
        words = places_[next_taken_ % deep].words;
        head_.store(++next_taken_, std::memory_order_release);
        return true;
    }

private:
    struct alignas(64) Item {
        Words words;
    };
    std::array<Item, deep> places_{};
    alignas(64) std::atomic<std::uint64_t> head_ = 0;
    alignas(64) std::atomic<std::uint64_t> tail_ = 0;
    alignas(64) std::uint64_t next_put_ = 0;
    alignas(64) std::uint64_t next_taken_ = 0;
};

/// Sends items through one ring to a thread, which sends each back through another ring; `deep`
/// items are on their way. A thread that finds no item polls again.
double rings_in_memory() {
    constexpr std::uint64_t items = items_of_a_turn * 64;
    Ring there, back;
    const double begin = now_us();
    std::thread other([&] {
        Ring::Words words{};
        for (std::uint64_t sent = 0; sent < items; sent++) {
            while (!there.take(words))
                std::this_thread::yield();
            while (!back.put(words))
                std::this_thread::yield();
        }
    });
    Ring::Words words{};
    bool has_changed = false;
    for (std::uint64_t sent = 0, taken = 0; taken < items;) {
        while (sent < items && sent - taken < deep) {
            words.fill(sent);
            if (!there.put(words))
                break;
            sent++;
        }
        const std::uint64_t before = taken;
        for (; back.take(words); taken++)
            has_changed |= words[0] != taken || words[7] != taken;
        if (taken == before)
            std::this_thread::yield();
    }
    const double took = now_us() - begin;
    other.join();
    if (has_changed)
        throw std::runtime_error("an item has changed on its way");
    return took * 1000 / static_cast<double>(items);
}

struct Way {
    std::string name;
    std::function<double()> run;
    std::optional<std::size_t> floor; ///< index of the way that is its floor
    std::vector<double> ns{};
};

bool read_number(const std::string& text, int& number) {
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    return read.ec == std::errc{} && read.ptr == end && number >= 1;
}

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

/// A device and its name in the output.
struct Backend {
    std::string name;
    std::shared_ptr<Device> device;
    std::size_t floor_of_one;
    std::size_t floor_of_many;
};

std::vector<Way> ways_of(const Backend& backend) {
    std::vector<Way> ways;
    for (const bool recorded : {false, true}) {
        const auto jobs = std::make_shared<EmptyJobs>(backend.device, JobShape{1, 0, recorded});
        for (const std::size_t depth : {std::size_t{1}, deep})
            ways.push_back(
                {fmt::format("{}{}, depth {}", backend.name, recorded ? ", recorded" : "", depth),
                 [jobs, depth] { return jobs->run(depth, items_of_a_turn) * 1000; },
                 depth == 1 ? backend.floor_of_one : backend.floor_of_many});
    }
    return ways;
}

/// Medians of `repetitions` turns, each of many calls.
void measure_calls(const std::string& node, int repetitions) {
    EmbeddedOptions options;
    options.mode = OVERTAKE_MODE_TIMED;
    options.manual_clock = true;
    std::vector<std::pair<std::string, std::shared_ptr<Device>>> devices{
        {"embedded", open_embedded(options)}};
    if (!node.empty()) {
        devices.push_back({"ioctl", open_kernel(node, KernelBackend::ioctl)});
        devices.push_back({"io_uring", open_kernel(node, KernelBackend::io_uring)});
    }
    constexpr std::uint32_t fc_counts[] = {1, 100, 10'000};
    constexpr std::uint32_t scratch[] = {0, 1'400 * 1024};
    constexpr std::size_t calls = 50;
    fmt::print("\n{:<10} {:>8} {:>10} {:>14} {:>14} {:>8}\n", "one call", "FCs", "scratch",
               "submitted ns", "recorded ns", "over");
    for (const auto& [name, device] : devices)
        for (const std::uint32_t bytes : scratch)
            for (const std::uint32_t fcs : fc_counts) {
                EmptyJobs submitted(device, {fcs, bytes, false, 1});
                EmptyJobs recorded(device, {fcs, bytes, true, 1});
                std::vector<double> of_submit, of_replay;
                for (int i = 0; i < repetitions; i++) {
                    of_submit.push_back(submitted.call(calls) * 1000);
                    of_replay.push_back(recorded.call(calls) * 1000);
                }
                fmt::print("{:<10} {:>8} {:>10} {:>14.0f} {:>14.0f} {:>8.2f}\n", name, fcs, bytes,
                           median(of_submit), median(of_replay),
                           median(of_submit) / median(of_replay));
            }
}

} // namespace

int main(int argc, char** argv) try {
    std::vector<std::string> arguments(argv + 1, argv + argc);
    std::string node, stepped_node;
    for (std::string* const each : {&node, &stepped_node})
        if (!arguments.empty() && arguments[0].starts_with('/')) {
            *each = arguments[0];
            arguments.erase(arguments.begin());
        }
    int repetitions = 11;
    if (arguments.size() > 1 || (!arguments.empty() && !read_number(arguments[0], repetitions))) {
        std::fprintf(stderr,
                     "usage: bench_submission [DEVICE-NODE [DEVICE-NODE-WITH-MANUAL-CLOCK]] "
                     "[REPETITIONS]\n");
        return EXIT_FAILURE;
    }
    const ServerProcess server; // before there are threads
    std::vector<Way> ways{{"rings in memory there and back", rings_in_memory, {}},
                          {"eventfd there and back", eventfd_round_trips, {}}};
    std::vector<Backend> backends{{"embedded", open_embedded(), 1, 0},
                                  {"server", open_server(server.path()), 1, 0}};
    std::optional<NullCommands> null;
    if (!node.empty()) {
        null.emplace();
        const std::size_t floor = ways.size();
        for (const std::size_t depth : {std::size_t{1}, deep})
            ways.push_back({fmt::format("uring_cmd on /dev/null, depth {}", depth),
                            [&null, depth] { return null->run(depth); },
                            {}});
        backends.push_back({"ioctl", open_kernel(node, KernelBackend::ioctl), floor, floor + 1});
        backends.push_back(
            {"io_uring", open_kernel(node, KernelBackend::io_uring), floor, floor + 1});
    }
    for (const Backend& backend : backends)
        for (Way& way : ways_of(backend))
            ways.push_back(std::move(way));
    measure(ways, repetitions);
    measure_calls(stepped_node, repetitions);
    return EXIT_SUCCESS;
} catch (const std::exception& error) {
    std::fprintf(stderr, "bench_submission: %s\n", error.what());
    return EXIT_FAILURE;
}
