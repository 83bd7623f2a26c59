// SPDX-License-Identifier: MIT
#include "server/delivery.hpp"

#include <algorithm>
#include <utility>

namespace overtake::server {

Delivery::Delivery() : thread_([this] { run(); }) {}

void Delivery::stop() noexcept {
    if (!thread_.joinable())
        return;
    stopping_.store(true);
    wake_.raise();
    thread_.join();
}

void Delivery::run() noexcept {
    for (;;) {
        wake_.wait();
        if (stopping_.load())
            return;
        flush();
    }
}

void Delivery::flush() noexcept {
    flush_those(true);
    flush_those(false);
}

void Delivery::flush_those(bool are_urgent) noexcept {
    const std::lock_guard lock(mutex_);
    for (Source* source : sources_)
        if (source->is_urgent_ == are_urgent && source->due_.exchange(false))
            source->deliver_();
}

Delivery::Source::Source(Delivery& delivery, std::function<void()> deliver, bool is_urgent)
    : delivery_(delivery), deliver_(std::move(deliver)), is_urgent_(is_urgent) {
    const std::lock_guard lock(delivery_.mutex_);
    delivery_.sources_.push_back(this);
}

Delivery::Source::~Source() {
    const std::lock_guard lock(delivery_.mutex_);
    std::erase(delivery_.sources_, this);
}

} // namespace overtake::server
