// SPDX-License-Identifier: MIT
//
// A device server that gets no memory while it takes a task refuses the task, and nothing has
// changed.
#include <cerrno>
#include <chrono>
#include <thread>

#include "load/failing_new.hpp"
#include "service_clients.hpp"

namespace overtake::test {
namespace {

std::uint64_t memory_of(const std::string& path) {
    return nlohmann::json::parse(server_status(path)).at("clients")[0].at("memory_bytes");
}

/// Returns the memory once it stays the same, that is, once ended jobs have been freed.
std::uint64_t settled_memory_of(const std::string& path) {
    const std::int64_t deadline = patience();
    std::uint64_t before = memory_of(path);
    for (;;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        const std::uint64_t memory = memory_of(path);
        if (memory == before || in_ms(0) > deadline)
            return memory;
        before = memory;
    }
}

TEST(ServiceMemory, EachAllocationOfASubmissionIsRefusedOnce) {
    const MemoryForTests own; // for this thread: only the server's allocations are refused
    const TestServer server(options_of(1));
    ServiceProcess process(server.path());
    Program program(*process.device, {delay_insn(1)});
    program.fcs.resize(1000, program.fcs.front());
    Segments segments;
    for (int i = 0; i < 3; i++)
        segments.bpu(program).cpu(static_cast<std::uint64_t>(i));
    process.queue->submit(segments.task(0)); // memory for calls and answers stays
    EXPECT_EQ(process.next_end().status, 0);
    const std::uint64_t memory = settled_memory_of(server.path());
    std::uint64_t refused = 0;
    for (std::uint64_t number = 1;; number++) {
        ASSERT_LT(number, 10'000u);
        const std::uint64_t before = refused_allocations();
        refuse_allocation(number);
        bool is_taken = true;
        try {
            process.queue->submit(segments.task(number));
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ENOMEM) << error.what();
            is_taken = false;
        }
        refuse_allocation(0);
        if (refused_allocations() == before) { // it needs no more allocations
            EXPECT_TRUE(is_taken);
            EXPECT_EQ(process.next_end().status, 0);
            break;
        }
        EXPECT_FALSE(is_taken) << "allocation " << number;
        EXPECT_EQ(process.queue->live(), 0u);
        EXPECT_EQ(memory_of(server.path()), memory) << "allocation " << number;
        refused++;
    }
    EXPECT_GT(refused, 10u);
    EXPECT_EQ(settled_memory_of(server.path()), memory);
    RecordProperty("refused", static_cast<int>(refused));
    std::printf("%llu allocations were refused\n", static_cast<unsigned long long>(refused));
}

} // namespace
} // namespace overtake::test
