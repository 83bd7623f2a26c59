// SPDX-License-Identifier: MIT
//
// A queue whose jobs are submitted and collected by ioctl: it works wherever the node can be
// opened.
//
// An interruptible queue has a thread that waits in the driver: interrupt() cannot end that ioctl,
// only a job's end, a deadline or the end of the context can.
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <list>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "kernel/kernel_context.hpp"
#include "monotonic_clock.hpp"

namespace overtake {

namespace {

class IoctlQueue final : public Queue {
public:
    IoctlQueue(std::shared_ptr<KernelFile> file, const QueueOptions& options)
        : context_(std::move(file), options) {}

    ~IoctlQueue() override { stop_collector(); }

    void submit(std::span<const Job> jobs) override { submit(DRM_IOCTL_OVERTAKE_SUBMIT, jobs); }
    void replay(std::span<const Replay> replays) override {
        submit(DRM_IOCTL_OVERTAKE_REPLAY, replays);
    }
    std::uint32_t record(const Job& job, unsigned instances) override {
        return context_.record(job, instances);
    }
    void forget(std::uint32_t recording) override { context_.forget(recording); }

    std::size_t reap(std::span<Completion> out, std::int64_t deadline_ns) override {
        if (deadline_ns < 0)
            throw Error(EINVAL, "reap: negative deadline");
        if (context_.options().interruptible)
            return reap_collected(out, deadline_ns);
        std::size_t count = 0;
        while (count < out.size() && in_flight_ != 0) {
            // Waits only for the first job.
            const auto ended = collect(count == 0 ? deadline_ns : 0);
            if (!ended)
                break;
            out[count++] = *ended;
            in_flight_--;
        }
        return count;
    }

    bool cancel(std::uint64_t tag) override { return context_.cancel(tag); }
    std::size_t in_flight() const noexcept override { return in_flight_; }
    void interrupt() override {
        require_interruptible(context_.options());
        const std::lock_guard lock(mutex_);
        interrupted_ = true;
        changed_.notify_all();
    }

private:
    template <class Item>
    void submit(unsigned long call, std::span<const Item> items) {
        for (const Item& item : items) {
            JobExtensions extensions;
            auto payload = context_.payload(item, 0, extensions);
            if (context_.options().interruptible)
                prepare_to_collect();
            if (const int code = context_.file().try_call(call, &payload))
                throw context_.refused(item, code);
            KernelContext::tell_core(item, extensions);
            in_flight_++;
            if (context_.options().interruptible)
                collect_one_more();
        }
    }

    /// Returns the job that ended first; none if no job has ended by the deadline.
    std::optional<Completion> collect(std::int64_t deadline_ns) {
        drm_overtake_wait wait{.tag = 0,
                               .deadline_ns = deadline_ns,
                               .context_id = context_.id(),
                               .flags = OVERTAKE_WAIT_ANY,
                               .result = {}};
        const int code = context_.file().try_call(DRM_IOCTL_OVERTAKE_WAIT, &wait);
        if (code == ETIMEDOUT)
            return std::nullopt;
        if (code != 0)
            throw Error(code,
                        fmt::format("{}: wait: {}", context_.file().path(), std::strerror(code)));
        return wait.result;
    }

    // For an interruptible queue: its thread waits in the driver, and reap() waits for the thread.

    /// Allocates before the submission, since there may be no memory after it.
    void prepare_to_collect() {
        const std::lock_guard lock(mutex_);
        if (spare_.size() <= to_collect_)
            spare_.emplace_back();
        if (collector_.joinable())
            return;
        try {
            collector_ = std::thread([this] { run_collector(); });
        } catch (const std::system_error& error) {
            throw Error(EAGAIN, fmt::format("queue: no thread can be had: {}", error.what()));
        }
    }

    void collect_one_more() {
        const std::lock_guard lock(mutex_);
        to_collect_++;
        changed_.notify_all();
    }

    void run_collector() {
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [&] { return stopping_ || to_collect_ != 0; });
            if (stopping_)
                return;
            lock.unlock();
            std::optional<Completion> ended;
            std::exception_ptr failure;
            try {
                ended = collect(deadline_never);
            } catch (...) {
                failure = std::current_exception();
            }
            lock.lock();
            if (ended) {
                spare_.front() = *ended;
                collected_.splice(collected_.end(), spare_, spare_.begin());
            }
            to_collect_--;
            if (failure && !stopping_)
                failure_ = failure;
            changed_.notify_all();
        }
    }

    void stop_collector() {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
            changed_.notify_all();
        }
        context_.destroy(); // ends the wait in the driver
        if (collector_.joinable())
            collector_.join();
    }

    std::size_t reap_collected(std::span<Completion> out, std::int64_t deadline_ns) {
        std::unique_lock lock(mutex_);
        const auto worth_waiting = [&] {
            return collected_.empty() && in_flight_ != 0 && !interrupted_ && !failure_;
        };
        while (worth_waiting() && !out.empty() &&
               static_cast<std::int64_t>(monotonic_ns()) < deadline_ns)
            wait_until(changed_, lock, static_cast<std::uint64_t>(deadline_ns));
        interrupted_ = false;
        std::size_t count = 0;
        for (; count < out.size() && !collected_.empty(); count++) {
            out[count] = collected_.front();
            spare_.splice(spare_.end(), collected_, collected_.begin());
            in_flight_--;
        }
        if (count == 0 && failure_)
            std::rethrow_exception(failure_);
        return count;
    }

    KernelContext context_;
    std::size_t in_flight_ = 0;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::thread collector_;
    std::list<Completion> collected_;
    std::list<Completion> spare_; ///< reused; at least one for each job to collect
    std::exception_ptr failure_;  ///< the collector's error, for the thread that reaps
    std::size_t to_collect_ = 0;  ///< jobs that the collector does not have yet
    bool interrupted_ = false;
    bool stopping_ = false;
};

} // namespace

std::unique_ptr<Queue> create_ioctl_queue(std::shared_ptr<KernelFile> file,
                                          const QueueOptions& options) {
    return std::make_unique<IoctlQueue>(std::move(file), options);
}

} // namespace overtake
