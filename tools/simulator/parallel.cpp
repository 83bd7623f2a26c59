// SPDX-License-Identifier: MIT
#include "simulator/parallel.hpp"

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace overtake::simulator {

void for_each_index(std::size_t count, unsigned threads,
                    const std::function<void(double)>& progress,
                    const std::function<void(std::size_t)>& work) {
    std::atomic<std::size_t> next = 0;
    std::mutex mutex;
    std::size_t done = 0;
    std::size_t failed_index = count;
    std::exception_ptr failure;
    const auto worker = [&] {
        for (std::size_t i; (i = next++) < count;) {
            std::exception_ptr caught;
            try {
                work(i);
            } catch (...) {
                caught = std::current_exception();
            }
            const std::scoped_lock lock(mutex);
            if (caught && i < failed_index) {
                failed_index = i;
                failure = caught;
                next = count;
            }
            done++;
            if (progress)
                progress(static_cast<double>(done) / static_cast<double>(count));
        }
    };
    {
        std::vector<std::jthread> pool;
        for (unsigned i = 1; i < threads && i < count; i++)
            pool.emplace_back(worker);
        worker();
    }
    if (failure)
        std::rethrow_exception(failure);
}

} // namespace overtake::simulator
