// SPDX-License-Identifier: MIT
//
// An embedded device of which a test sees how many buffers it was asked for, and whose queues may
// say each completion twice, as a broken device would.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "overtake/device.hpp"

namespace overtake::test {

class WatchedDevice : public Device {
public:
    unsigned buffers = 0;       ///< that it was asked for
    bool says_it_twice = false; ///< of the queues made from now on

    std::string_view backend() const noexcept override { return device_->backend(); }
    drm_overtake_device_info info() const override { return device_->info(); }
    std::vector<drm_overtake_core_info> cores() const override { return device_->cores(); }
    std::unique_ptr<Buffer> create_buffer(std::size_t bytes) override {
        buffers++;
        return device_->create_buffer(bytes);
    }
    std::unique_ptr<overtake::Queue> create_queue(const QueueOptions& options = {}) override {
        auto queue = device_->create_queue(options);
        if (!says_it_twice)
            return queue;
        return std::make_unique<RepeatingQueue>(std::move(queue));
    }

private:
    class RepeatingQueue : public overtake::Queue {
    public:
        explicit RepeatingQueue(std::unique_ptr<overtake::Queue> queue)
            : queue_(std::move(queue)) {}

        void submit(std::span<const Job> jobs) override { queue_->submit(jobs); }
        std::size_t reap(std::span<Completion> out, std::int64_t deadline_ns) override {
            const std::size_t count = queue_->reap(out.first(out.size() / 2), deadline_ns);
            for (std::size_t i = 0; i < count; i++)
                out[count + i] = out[i];
            return 2 * count;
        }
        bool cancel(std::uint64_t tag) override { return queue_->cancel(tag); }
        std::size_t in_flight() const noexcept override { return queue_->in_flight(); }

    private:
        std::unique_ptr<overtake::Queue> queue_;
    };

    std::shared_ptr<Device> device_ = open_embedded();
};

} // namespace overtake::test
