// SPDX-License-Identifier: MIT
#include "server/served_events.hpp"

#include <new>
#include <tuple>

namespace overtake::server {

ServedEvents::ServedEvents(FirmwareHost& host, Client& client, std::uint32_t capacity)
    : host_(host), charge_(client.memory, round_to_pages(event_ring_bytes(capacity))) {
    const std::size_t bytes = round_to_pages(event_ring_bytes(capacity));
    memory_ = make_shared_memory("overtake events", bytes);
    mapping_ = std::make_unique<GuardedMapping>(memory_.get(), bytes, client.server_ends);
    auto* area = new (mapping_->data()) EventArea{};
    std::tie(channel_, client_end_) = make_channel();
    news_.emplace(client.delivery, [this, &client] { client.wake_ups.send(channel_.get()); });
    writer_ = std::make_unique<EventWriter>(*area, capacity, [this] { news_->post(); });
    host_.watch(*writer_);
}

ServedEvents::~ServedEvents() {
    host_.forget(*writer_);
}

void ServedEvents::forget_client_descriptors() {
    memory_ = Descriptor();
    client_end_ = Descriptor();
}

} // namespace overtake::server
