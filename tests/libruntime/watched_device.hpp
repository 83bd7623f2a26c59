// SPDX-License-Identifier: MIT
//
// An embedded device whose requests a test can see.  Its queues may refuse a submission, report
// each completion twice, or report a wrong one, as a broken device would.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "overtake/device.hpp"
#include "overtake/error.hpp"

namespace overtake::test {

class WatchedDevice : public Device {
public:
    std::atomic<unsigned> buffers = 0;        ///< buffers that were created
    std::atomic<unsigned> cancels = 0;        ///< jobs that were cancelled
    std::atomic<unsigned> submitted = 0;      ///< jobs
    std::atomic<unsigned> recorded = 0;       ///< recordings
    std::atomic<unsigned> forgotten = 0;      ///< recordings that were forgotten
    std::atomic<unsigned> replayed = 0;       ///< replays
    bool refuses_recordings = false;          ///< refuses each recording
    bool is_busy_next = false;                ///< the next replay: its recording is in flight
    bool says_it_twice = false;               ///< reports each completion twice
    bool refuses_next = false;                ///< refuses the next submission
    std::atomic<bool> is_gone = false;        ///< then each call of a queue fails with ENODEV
    std::function<void(Completion&)> changes; ///< changes each completion, if set
    std::string_view called{};                ///< the result of backend(), if set
    std::atomic<bool> is_stopped = false;     ///< calls hang, as with a server that gets SIGSTOP

    std::string_view backend() const noexcept override {
        return called.empty() ? device_->backend() : called;
    }
    drm_overtake_device_info info() const override { return device_->info(); }
    std::vector<drm_overtake_core_info> cores() const override { return device_->cores(); }
    std::unique_ptr<Buffer> create_buffer(std::size_t bytes) override {
        buffers++;
        return device_->create_buffer(bytes);
    }
    std::unique_ptr<overtake::Queue> create_queue(const QueueOptions& options = {}) override {
        return std::make_unique<WatchedQueue>(*this, device_->create_queue(options));
    }

private:
    class WatchedQueue : public overtake::Queue {
    public:
        WatchedQueue(WatchedDevice& device, std::unique_ptr<overtake::Queue> queue)
            : device_(device), queue_(std::move(queue)) {}

        void submit(std::span<const Job> jobs) override {
            require_device();
            device_.hang();
            if (std::exchange(device_.refuses_next, false)) {
                if (jobs.front().chosen_core)
                    *jobs.front().chosen_core = 0; // as if it had not been reported
                throw Error(ENOSPC, "the device has no room");
            }
            queue_->submit(jobs);
            device_.submitted += static_cast<unsigned>(jobs.size());
        }
        std::uint32_t record(const Job& job, unsigned instances) override {
            require_device();
            if (device_.refuses_recordings)
                throw Error(ENOSPC, "the device has no room for recordings");
            device_.recorded++;
            return queue_->record(job, instances);
        }
        void replay(std::span<const Replay> replays) override {
            require_device();
            device_.hang();
            if (std::exchange(device_.is_busy_next, false))
                throw Error(EBUSY, "all instances of the recording are in flight");
            queue_->replay(replays);
            device_.replayed += static_cast<unsigned>(replays.size());
        }
        void forget(std::uint32_t recording) override {
            queue_->forget(recording);
            device_.forgotten++;
        }
        std::size_t reap(std::span<Completion> out, std::int64_t deadline_ns) override {
            require_device();
            device_.hang();
            if (!device_.says_it_twice)
                return changed(out, queue_->reap(out, deadline_ns));
            const std::size_t count = queue_->reap(out.first(out.size() / 2), deadline_ns);
            for (std::size_t i = 0; i < count; i++)
                out[count + i] = out[i];
            return 2 * count;
        }
        bool cancel(std::uint64_t tag) override {
            device_.cancels++;
            device_.hang();
            return queue_->cancel(tag);
        }
        std::size_t in_flight() const noexcept override { return queue_->in_flight(); }
        void interrupt() override { queue_->interrupt(); }

    private:
        void require_device() const {
            if (device_.is_gone)
                throw Error(ENODEV, "the device is gone");
        }
        std::size_t changed(std::span<Completion> completions, std::size_t count) {
            for (Completion& completion : completions.first(count))
                if (device_.changes)
                    device_.changes(completion);
            return count;
        }

        WatchedDevice& device_;
        std::unique_ptr<overtake::Queue> queue_;
    };

    void hang() const {
        while (is_stopped)
            std::this_thread::yield();
    }

    std::shared_ptr<Device> device_ = open_embedded();
};

} // namespace overtake::test
