// SPDX-License-Identifier: MIT
#include "server/served_client.hpp"

#include <cerrno>
#include <cstring>
#include <new>
#include <poll.h>
#include <sys/socket.h>

#include <fmt/format.h>

#include "monotonic_clock.hpp"
#include "refusal.hpp"

namespace overtake::server {

namespace {

/// As overtake_accel.h has it for clients without CAP_PERFMON.
constexpr std::uint64_t coarse_period_ns = 100'000'000;
constexpr std::uint64_t coarse_busy_ns = 10'000'000;
constexpr std::uint64_t coarse_count = 16;

/// A client's memory, mapped here as well.
class SharedAllocation final : public Allocation {
public:
    SharedAllocation(std::shared_ptr<MemoryAccount> account, std::shared_ptr<MappingCount> mappings,
                     int fd, std::size_t bytes)
        : account_(std::move(account)), mappings_(std::move(mappings)), charged_(bytes) {
        account_->charge(bytes);
        if (!mappings_->take()) {
            account_->release(bytes);
            throw Error(ENOSPC, "create buffer: the device server maps as many buffers as one user "
                                "may have, or as all may: free some, or make fewer and larger "
                                "ones");
        }
        try {
            allocate_pages(fd, bytes);
            mapping_ = std::make_unique<GuardedMapping>(fd, bytes);
        } catch (...) {
            mappings_->give_back();
            account_->release(bytes);
            throw;
        }
        data_ = mapping_->data();
        size_ = bytes;
    }
    ~SharedAllocation() override {
        mapping_.reset();
        mappings_->give_back();
        account_->release(charged_);
    }

private:
    std::shared_ptr<MemoryAccount> account_;
    std::shared_ptr<MappingCount> mappings_;
    std::size_t charged_;
    std::unique_ptr<GuardedMapping> mapping_;
};

template <class Value>
std::string text_of(const Value* values, std::size_t count) {
    return {reinterpret_cast<const char*>(values), count * sizeof(Value)};
}

std::uint32_t field(std::uint64_t value) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, UINT32_MAX));
}

} // namespace

ServedClient::ServedClient(SharedDevice& device, Descriptor connection, Peer peer, UserShare share)
    : device_(device), connection_(std::move(connection)), peer_(std::move(peer)),
      share_(std::move(share)) {
    client_.memory = std::make_shared<MemoryAccount>(OVERTAKE_MAX_CLIENT_BYTES, share_.memory);
}

void ServedClient::stop() noexcept {
    shutdown(connection_.get(), SHUT_RDWR);
}

void ServedClient::run() noexcept {
    try {
        while (serve_once()) {
        }
    } catch (const Violation&) { // it hears no more from us
    } catch (const Error&) {
    } catch (const std::bad_alloc&) {
    }
    queues_.clear();
    stop(); // the client sees it at once; the descriptor is closed with the session
    over_.store(true);
}

/// False once the connection is closed.
bool ServedClient::serve_once() {
    std::vector<pollfd> sources{{connection_.get(), POLLIN, 0}};
    std::vector<ServedQueue*> queues;
    for (const auto& [id, queue] : queues_) {
        sources.push_back({queue->channel(), POLLIN, 0});
        queues.push_back(queue.get());
    }
    if (poll(sources.data(), sources.size(), -1) < 0)
        return errno == EINTR;
    for (std::size_t i = 0; i < queues.size(); i++) {
        if (sources[i + 1].revents == 0)
            continue;
        if (!take_wake_ups(queues[i]->channel()))
            throw Violation("a queue's channel is closed before the queue");
        queues[i]->answer();
    }
    return sources[0].revents == 0 || answer_request();
}

bool ServedClient::answer_request() {
    Request request;
    std::optional<Packet> packet = receive_packet(
        connection_.get(), std::as_writable_bytes(std::span(&request, 1)), MSG_DONTWAIT);
    if (!packet)
        return errno == EAGAIN;
    if (packet->bytes == 0)
        return false;
    if (packet->bytes != sizeof(request) || !packet->whole || request.reserved != 0)
        throw Violation("no request");
    try {
        return reply(0, perform(request, *packet));
    } catch (const Error& error) {
        return reply(error.code(), {.payload = error.what()});
    } catch (const std::bad_alloc&) {
        return reply(ENOMEM, {.payload = "device server: no memory"});
    }
}

/// Never waits for a client that does not listen.
bool ServedClient::reply(std::int32_t code, const Answer& answer) {
    const Reply head{.code = code,
                     .bytes = static_cast<std::uint32_t>(answer.payload.size()),
                     .values = answer.values};
    const bool sent =
        send_packet(connection_.get(), bytes_of(head), std::as_bytes(std::span(answer.payload)),
                    answer.descriptors, MSG_DONTWAIT);
    if (answer.queue)
        answer.queue->forget_client_descriptors();
    return sent;
}

ServedClient::Answer ServedClient::perform(const Request& request, Packet& packet) {
    const auto [first, second] = request.arguments;
    if (!said_hello_ && request.operation != Operation::hello)
        throw Violation("no hello");
    switch (request.operation) {
    case Operation::hello:
        if (first != protocol_version)
            throw Error(EPROTO, fmt::format("the device server speaks version {} of its protocol, "
                                            "this program version {}: install the same version",
                                            protocol_version, first));
        said_hello_ = true;
        return {.values = {protocol_version, device_.host.core_count()}, .payload = info()};
    case Operation::info:
        return {.payload = info()};
    case Operation::cores:
        return {.payload = cores()};
    case Operation::create_buffer:
        return create_buffer(packet);
    case Operation::destroy_buffer:
        if (!client_.addresses->unmap(first))
            throw Error(ENOENT, fmt::format("no buffer is at device address {:#x}", first));
        buffer_count_--;
        return {};
    case Operation::create_queue:
        return create_queue(request);
    case Operation::destroy_queue:
        queue(first);
        queues_.erase(first);
        queue_count_--;
        return {};
    case Operation::cancel:
        return {.values = {queue(first).cancel(second)}};
    case Operation::clock_now:
        return {.values = {device_.host.manual_now()}};
    case Operation::clock_advance:
        if (!device_.host.has_manual_clock())
            throw Error(EINVAL, "the device's clock is not stepped by hand");
        device_.host.advance_to(first);
        return {};
    case Operation::status:
        return {.payload = device_.status(*this)};
    }
    throw Violation("an operation that is none");
}

ServedClient::Answer ServedClient::create_buffer(Packet& packet) {
    Descriptor memory = std::move(packet.descriptors[0]);
    if (!memory)
        throw Violation("a buffer without memory");
    const std::size_t bytes = sealed_bytes(memory.get());
    if (const auto refusal = buffer_refusal(bytes))
        throw *refusal;
    auto allocation =
        std::make_shared<SharedAllocation>(client_.memory, share_.mappings, memory.get(), bytes);
    const std::uint64_t address = client_.addresses->map(std::move(allocation));
    buffer_count_++;
    return {.values = {address, bytes}};
}

ServedClient::Answer ServedClient::create_queue(const Request& request) {
    QueueOptions options;
    options.max_priority = field(request.arguments[0]);
    options.core_limit = field(request.arguments[1]);
    if (const auto refusal = queue_refusal(options))
        throw *refusal;
    if (options.max_priority == priority_high && !peer_.may_use_high)
        throw Error(EPERM, fmt::format("create queue: priority {} is not for user {}: {}",
                                       priority_high, peer_.uid, device_.allowed));
    auto made = std::make_unique<ServedQueue>(device_.host, client_, options);
    const auto descriptors = made->client_descriptors();
    const std::uint64_t id = next_queue_++;
    Answer answer{.values = {id},
                  .descriptors = {descriptors.begin(), descriptors.end()},
                  .queue = made.get()};
    queues_.emplace(id, std::move(made));
    queue_count_++;
    return answer;
}

ServedQueue& ServedClient::queue(std::uint64_t id) {
    const auto found = queues_.find(id);
    if (found == queues_.end())
        throw Error(ENOENT, fmt::format("there is no queue {}", id));
    return *found->second;
}

std::string ServedClient::info() const {
    const drm_overtake_device_info info = device_.host.info();
    return text_of(&info, 1);
}

/// A client must not learn how long the FCs of others take.
std::string ServedClient::cores() {
    std::vector<drm_overtake_core_info> cores = device_.host.cores();
    if (peer_.is_trusted)
        return text_of(cores.data(), cores.size());
    const std::uint64_t now = monotonic_ns();
    if (coarse_cores_.empty() || now / coarse_period_ns != coarse_ns_ / coarse_period_ns) {
        coarse_ns_ = now;
        coarse_cores_ = cores;
        for (drm_overtake_core_info& core : coarse_cores_) {
            core.busy_ns -= core.busy_ns % coarse_busy_ns;
            core.fcs_high -= core.fcs_high % coarse_count;
            core.fcs_normal -= core.fcs_normal % coarse_count;
            core.preemptions -= core.preemptions % coarse_count;
        }
    }
    for (std::size_t i = 0; i < cores.size(); i++)
        coarse_cores_[i].core_limit = cores[i].core_limit;
    return text_of(coarse_cores_.data(), coarse_cores_.size());
}

ClientStatus ServedClient::status() const {
    return {.peer = peer_,
            .queues = queue_count_.load(),
            .buffers = buffer_count_.load(),
            .jobs = device_.host.jobs_of(client_.counts),
            .memory_bytes = client_.memory->bytes()};
}

} // namespace overtake::server
