// SPDX-License-Identifier: MIT
//
// Each allocation of a load and of a run fails in turn, also inside oneDNN.  The failure is
// reported in words, nothing crashes, and the next round works.
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <new>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cpu/operation.hpp"
#include "cpu_run.hpp"
#include "model_spec.hpp"
#include "overtake/device.hpp"
#include "overtake/error.hpp"
#include "overtake/model.hpp"
#include "overtake/session.hpp"

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
}

namespace {

/// Allocations of this thread until one fails; 0: none fails.
thread_local unsigned long until_refusal = 0;

bool is_refused() {
    if (until_refusal == 0 || --until_refusal != 0)
        return false;
    errno = ENOMEM;
    return true;
}

} // namespace

extern "C" {
void* malloc(std::size_t size) {
    return is_refused() ? nullptr : __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
    return is_refused() ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) {
    return is_refused() ? nullptr : __libc_realloc(memory, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
    return is_refused() ? nullptr : __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
    return is_refused() ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
    *memory = is_refused() ? nullptr : __libc_memalign(alignment, size);
    return *memory != nullptr ? 0 : ENOMEM;
}
}

namespace overtake::test {
namespace {

constexpr unsigned long most_allocations = 20'000;

/// Runs `round` with its first allocation refused, then its second, ... until it needs no more
/// allocations, and without a refusal after each.  Returns how many rounds were refused.
unsigned long refuse_each(const std::function<void()>& round) {
    for (unsigned long number = 1; number < most_allocations; number++) {
        until_refusal = number;
        bool is_refused = false;
        int code = ENOMEM;
        try {
            round();
        } catch (const Error& error) {
            is_refused = true;
            code = error.code();
        } catch (const std::bad_alloc&) {
            is_refused = true;
        }
        const bool was_reached = until_refusal == 0;
        until_refusal = 0;
        EXPECT_EQ(code, ENOMEM) << "allocation " << number;
        EXPECT_TRUE(!is_refused || was_reached) << "allocation " << number;
        EXPECT_NO_THROW(round()) << "after allocation " << number << " was refused";
        if (!was_reached || testing::Test::HasFailure())
            return number - 1;
    }
    ADD_FAILURE() << "it never ends";
    return most_allocations;
}

/// Does the same with a new process for each refusal, so that the operation is the process's first.
unsigned long refuse_each_of_first(const cpu::Operation& operation) {
    enum Result : std::uint8_t { passed, failed, not_reached };
    std::vector<std::vector<float>> values;
    for (const cpu::Shape& shape : operation.inputs)
        values.emplace_back(cpu::elements(shape), 0.5f);
    for (unsigned long number = 1; number < most_allocations; number++) {
        const pid_t child = fork();
        if (child == 0) {
            Result result = passed;
            until_refusal = number;
            try {
                cpu::run(operation, values);
            } catch (const Error& error) {
                result = error.code() == ENOMEM ? passed : failed;
            } catch (const std::bad_alloc&) {
            }
            if (until_refusal != 0)
                result = not_reached;
            until_refusal = 0;
            cpu::run(operation, values);
            _exit(result);
        }
        int status = 0;
        waitpid(child, &status, 0);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) != failed)
            << "allocation " << number << ": status " << status;
        if (WEXITSTATUS(status) == not_reached || testing::Test::HasFailure())
            return number - 1;
    }
    ADD_FAILURE() << "it never ends";
    return most_allocations;
}

/// Runs the operation once before any refusal: the next test is for the first product of a process.
unsigned long refuse_each_of_later(const cpu::Operation& operation) {
    std::vector<std::vector<float>> values;
    for (const cpu::Shape& shape : operation.inputs)
        values.emplace_back(cpu::elements(shape), 0.5f);
    cpu::run(operation, values);
    return refuse_each([&] { cpu::run(operation, values); });
}

/// Tests runs of a kernel that has been made.
unsigned long refuse_each_of_runs(const cpu::Operation& operation) {
    std::vector<std::vector<float>> values;
    for (const cpu::Shape& shape : operation.inputs)
        values.emplace_back(cpu::elements(shape), 0.5f);
    const cpu::Inputs inputs(values.begin(), values.end());
    std::vector<float> out(cpu::elements(operation.output));
    const cpu::Kernel kernel = cpu::make_kernel(operation);
    return refuse_each([&] { kernel(inputs, out); });
}

TEST(MemoryPressure, OperatorsRefuseInWordsAndWorkAfterwards) {
    EXPECT_GT(refuse_each_of_first({CpuOpType::softmax, {1}, {}, {{4, 300}}, {4, 300}}), 2u);
    EXPECT_GT(refuse_each_of_first({CpuOpType::softmax, {0}, {}, {{30, 5, 7}}, {30, 5, 7}}), 2u);
    EXPECT_GT(
        refuse_each_of_later({CpuOpType::matrix_product, {}, {}, {{40, 70}, {70, 50}}, {40, 50}}),
        2u);
    const cpu::Operation convolution = {CpuOpType::convolution,
                                        {0, 1, 1, 1, 1, 1, 1, 1},
                                        {},
                                        {{1, 3, 20, 20}, {8, 3, 3, 3}},
                                        {1, 8, 20, 20}};
    // A new thread does not have the memory yet that its operators share.
    std::thread([&] { EXPECT_GT(refuse_each_of_runs(convolution), 0u); }).join();
}

/// Returns the bytes of addresses that this process uses.
std::size_t addresses() {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// Runs `round` in a new process, with `room` more bytes of addresses than it uses, and then
/// without a limit.  Returns true if the round was refused.
bool is_refused_with(std::size_t room, const std::function<void()>& round) {
    enum Result : std::uint8_t { passed, refused, failed };
    const pid_t child = fork();
    if (child == 0) {
        rlimit limit{};
        getrlimit(RLIMIT_AS, &limit);
        const rlim_t before = limit.rlim_cur;
        limit.rlim_cur = addresses() + room;
        setrlimit(RLIMIT_AS, &limit);
        Result result = passed;
        try {
            round();
        } catch (const Error& error) {
            result = error.code() == ENOMEM ? refused : failed;
        } catch (const std::bad_alloc&) {
            result = refused;
        }
        limit.rlim_cur = before;
        setrlimit(RLIMIT_AS, &limit);
        round();
        _exit(result);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) != failed)
        << "with " << room << " bytes: status " << status;
    return WIFEXITED(status) && WEXITSTATUS(status) == refused;
}

// oneDNN 2.6.3 crashes if a single allocation fails while it makes a primitive.  So this test fails
// no single allocation, but limits the addresses of the process, with more room each time.
TEST(MemoryPressure, TheFirstPrimitiveOfOneDnnIsRefusedInWordsAndWorksLater) {
    const cpu::Operation operations[] = {
        {CpuOpType::convolution,
         {0, 1, 1, 1, 1, 1, 1, 1},
         {},
         {{1, 3, 20, 20}, {8, 3, 3, 3}},
         {1, 8, 20, 20}},
        {CpuOpType::convolution,
         {1, 1, 2, 2, 1, 1, 0, 0},
         {},
         {{1, 16, 100, 100}, {16, 16, 2, 2}},
         {1, 16, 200, 200}},
        // Padding is cut off, for which oneDNN has no convolution.
        {CpuOpType::convolution,
         {0, 1, 1, 1, 1, 1, -1, -1},
         {},
         {{1, 3, 20, 20}, {8, 3, 3, 3}},
         {1, 8, 16, 16}},
        {CpuOpType::matrix_product, {}, {}, {{40, 70}, {70, 50}}, {40, 50}},
    };
    for (const cpu::Operation& operation : operations) {
        std::vector<std::vector<float>> values;
        for (const cpu::Shape& shape : operation.inputs)
            values.emplace_back(cpu::elements(shape), 0.5f);
        constexpr std::size_t step = 512 << 10, most = 160;
        std::size_t refused = 0;
        while (refused < most && !HasFailure() &&
               is_refused_with(refused * step, [&] { cpu::run(operation, values); }))
            refused++;
        EXPECT_GT(refused, 2u);
        EXPECT_LT(refused, most);
    }
}

TEST(MemoryPressure, ALoadAndARunRefuseInWordsAndWorkAfterwards) {
    const std::vector<std::byte> bytes = build(copy_and_softmax());
    const auto device = open_device("embedded");
    const auto refused = refuse_each([&] {
        const auto model = Model::from_bytes(bytes);
        Session session(device, model);
        const std::vector<float> input(model->input(0).elements(), 1.0f);
        Task task = session.submit(input);
        task.wait();
        const std::vector<float> output = task.output(0);
        EXPECT_FLOAT_EQ(output.at(0), 1.0f / 3);
    });
    EXPECT_GT(refused, 50u);
}

} // namespace
} // namespace overtake::test
