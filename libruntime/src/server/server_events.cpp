// SPDX-License-Identifier: MIT
#include "server/server_events.hpp"

#include <cerrno>
#include <new>

#include "embedded/event_ring.hpp"
#include "embedded/memory.hpp"
#include "server/client_channel.hpp"
#include "server/shared_memory.hpp"

namespace overtake::server {

namespace {

class ServerEvents final : public EventSource {
public:
    ServerEvents(std::shared_ptr<Device> device, std::shared_ptr<const Connection> connection,
                 std::uint32_t capacity)
        : device_(std::move(device)), connection_(std::move(connection)) {
        auto answer = connection_->call(Operation::create_events, capacity);
        id_ = answer.values[0];
        make_or_give_back(*connection_, Operation::destroy_events, id_, [&] {
            mapping_ =
                Mapping(answer.descriptors[0].get(), round_to_pages(event_ring_bytes(capacity)));
            reader_ = std::make_unique<EventReader>(
                *std::launder(reinterpret_cast<EventArea*>(mapping_.data())), capacity);
            channel_ = std::make_unique<ClientChannel>(connection_,
                                                       std::move(answer.descriptors[1]), false);
        });
    }
    ~ServerEvents() override {
        try {
            connection_->call(Operation::destroy_events, id_);
        } catch (const Error&) { // it was removed with the server
        }
    }

    std::size_t read(std::span<Event> out, std::int64_t deadline_ns) override {
        if (deadline_ns < 0)
            throw Error(EINVAL, "events: negative deadline");
        for (;;) {
            const std::size_t count = reader_->take(out);
            if (count != 0 || out.empty())
                return count;
            if (!channel_->wait(deadline_ns, reader_->waits(),
                                [&] { return !reader_->is_empty(); })) {
                channel_->require_open();
                return reader_->take(out);
            }
        }
    }
    std::uint64_t lost() const noexcept override { return reader_->lost(); }

private:
    std::shared_ptr<Device> device_;
    std::shared_ptr<const Connection> connection_;
    std::uint64_t id_ = 0;
    Mapping mapping_;
    std::unique_ptr<EventReader> reader_;
    std::unique_ptr<ClientChannel> channel_;
};

} // namespace

std::unique_ptr<EventSource> make_server_events(std::shared_ptr<Device> device,
                                                std::shared_ptr<const Connection> connection,
                                                const EventOptions& options) {
    return std::make_unique<ServerEvents>(std::move(device), std::move(connection),
                                          ring_capacity(options));
}

} // namespace overtake::server
