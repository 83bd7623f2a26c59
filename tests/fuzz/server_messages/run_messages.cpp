// SPDX-License-Identifier: MIT
#include "run_messages.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>

#include "server/served_queue.hpp"
#include "server/served_tasks.hpp"

namespace overtake::fuzz {

namespace {

using namespace server;

constexpr std::uint64_t program_address = std::uint64_t{1} << 16; ///< first address of a client

FirmwareHost& host() {
    static FirmwareHost host = [] {
        EmbeddedOptions options;
        options.cores = 2;
        options.stop_grace_ns = 1;
        return FirmwareHost(
            options, {.clients = 4,
                      .job_max_ns = 60'000'000'000,
                      .service = ServiceOptions{.policy = "priority",
                                                .settings = {.slots = 1,
                                                             .task_limit = 8,
                                                             .threshold_percent = 10,
                                                             .share = 1,
                                                             .insert_max_time_ns = 1'000'000'000,
                                                             .wait_dispatch_time_ns = 20'000'000,
                                                             .overdue_min_time_ns = 1'000'000,
                                                             .overdue_factor = 4}}});
    }();
    return host;
}

/// A queue as its client has it: the shared area and the other end of the channel.
template <class Area>
class ClientEnd {
public:
    template <class Served>
    explicit ClientEnd(const Served& served)
        : mapping_(served.client_descriptors()[0], round_to_pages(sizeof(Area))),
          channel_(served.client_descriptors()[1]) {}
    Area& area() { return *reinterpret_cast<Area*>(mapping_.data()); }
    /// Takes the server's wake-ups: otherwise the sockets would be full.
    void take_wake_ups() const { server::take_wake_ups(channel_); }
    void overwrite(std::span<const std::byte> bytes) {
        std::uint32_t offset = 0;
        if (bytes.size() < sizeof(offset))
            return;
        std::memcpy(&offset, bytes.data(), sizeof(offset));
        offset %= sizeof(Area);
        const std::size_t count = std::min(bytes.size() - sizeof(offset), sizeof(Area) - offset);
        std::memcpy(mapping_.data() + offset, bytes.data() + sizeof(offset), count);
    }

private:
    Mapping mapping_;
    int channel_;
};

class FuzzedClient {
public:
    FuzzedClient() {
        client_.memory = std::make_shared<MemoryAccount>(std::size_t{16} << 20);
        client_.scratch = ScratchMemory::make(client_.memory, true);
        auto program = std::make_shared<PrivateAllocation>(client_.memory, 4096);
        overtake_insn insn{};
        insn.opcode = OVERTAKE_OP_DELAY;
        insn.delay_cycles = 1;
        for (int i = 0; i < 8; i++)
            std::memcpy(program->data() + i * sizeof(insn), &insn, sizeof(insn));
        client_.addresses->map(std::move(program));
        queue_ = std::make_unique<ServedQueue>(host(), client_, QueueOptions{});
        tasks_ = std::make_unique<ServedTasks>(host(), client_, QueueOptions{}, 2,
                                               std::make_shared<KeptPlaces>(1));
        queue_end_ = std::make_unique<ClientEnd<QueueArea>>(*queue_);
        tasks_end_ = std::make_unique<ClientEnd<TaskArea>>(*tasks_);
    }

    void say(MessageKind kind, std::span<const std::byte> bytes) {
        switch (kind) {
        case MessageKind::jobs:
            copy_into(queue_end_->area().jobs, bytes);
            queue_end_->area().job_bytes = static_cast<std::uint32_t>(bytes.size());
            queue_end_->area().calls++;
            break;
        case MessageKind::tasks:
            if (bytes.empty())
                return;
            copy_into(tasks_end_->area().call, bytes.subspan(1));
            tasks_end_->area().operation = static_cast<std::uint32_t>(bytes[0]);
            tasks_end_->area().call_bytes = static_cast<std::uint32_t>(bytes.size() - 1);
            tasks_end_->area().calls++;
            break;
        case MessageKind::cancel:
            queue_->cancel(bytes.empty() ? 0 : static_cast<std::uint64_t>(bytes[0]));
            break;
        case MessageKind::overwrite:
            tasks_end_->overwrite(bytes);
            break;
        case MessageKind::queue_overwrite:
            queue_end_->overwrite(bytes);
            break;
        case MessageKind::count:
            return;
        }
        queue_->answer();
        tasks_->answer();
        queue_end_->take_wake_ups();
        tasks_end_->take_wake_ups();
    }

private:
    template <class Bytes>
    static void copy_into(Bytes& into, std::span<const std::byte> bytes) {
        if (!bytes.empty())
            std::memcpy(into.data(), bytes.data(), std::min(bytes.size(), into.size()));
    }

    Client client_;
    std::unique_ptr<ServedQueue> queue_;
    std::unique_ptr<ServedTasks> tasks_;
    std::unique_ptr<ClientEnd<QueueArea>> queue_end_;
    std::unique_ptr<ClientEnd<TaskArea>> tasks_end_;
};

// Seeds

void put(std::vector<std::byte>& into, const auto& value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    into.insert(into.end(), bytes, bytes + sizeof(value));
}

std::vector<std::byte> message(MessageKind kind, const std::vector<std::byte>& bytes) {
    std::vector<std::byte> all{static_cast<std::byte>(kind)};
    put(all, static_cast<std::uint16_t>(bytes.size()));
    all.insert(all.end(), bytes.begin(), bytes.end());
    return all;
}

std::vector<std::byte> call(TaskCall operation, const auto&... values) {
    std::vector<std::byte> bytes{static_cast<std::byte>(operation)};
    (put(bytes, values), ...);
    return message(MessageKind::tasks, bytes);
}

constexpr overtake_binding program_binding{.address = program_address,
                                           .length = 4096,
                                           .region = OVERTAKE_REGION_PROGRAM,
                                           .flags = OVERTAKE_MAP_READ};

std::vector<std::byte> job(std::uint64_t tag) {
    WireJob wire{};
    wire.tag = tag;
    wire.fc_count = 2;
    wire.binding_count = 1;
    std::vector<std::byte> bytes;
    put(bytes, wire);
    put(bytes, overtake_fc{0, 1});
    put(bytes, overtake_fc{1, 2});
    put(bytes, program_binding);
    return message(MessageKind::jobs, bytes);
}

/// Returns a recording with two instances and scratch.
std::vector<std::byte> recording() {
    WireJob wire{};
    wire.fc_count = 2;
    wire.binding_count = 1;
    wire.scratch_bytes = 5000;
    wire.instances = 2;
    std::vector<std::byte> bytes;
    put(bytes, wire);
    put(bytes, overtake_fc{0, 1});
    put(bytes, overtake_fc{1, 2});
    put(bytes, program_binding);
    return message(MessageKind::jobs, bytes);
}

/// Returns a replay of the first recording.
std::vector<std::byte> replay(std::uint64_t tag) {
    WireJob wire{};
    wire.tag = tag;
    wire.recording = 1;
    std::vector<std::byte> bytes;
    put(bytes, wire);
    return message(MessageKind::jobs, bytes);
}

/// Returns a group with a part on each of two cores, and with a stage for each FC.
std::vector<std::byte> group(std::uint64_t tag) {
    WireJob wire{};
    wire.tag = tag;
    wire.fc_count = 3;
    wire.binding_count = 1;
    wire.part_count = 2;
    wire.stage_count = 3;
    std::vector<std::byte> bytes;
    put(bytes, wire);
    for (std::uint32_t fc = 0; fc < wire.fc_count; fc++)
        put(bytes, overtake_fc{fc, 1});
    put(bytes, program_binding);
    put(bytes, overtake_part{.fc_count = 2, .core = 1});
    put(bytes, overtake_part{.fc_count = 1, .core = 2});
    for (const std::uint32_t stage : {0u, 2u, 1u, 0u}) // and padding
        put(bytes, stage);
    return message(MessageKind::jobs, bytes);
}

/// Returns a task of segments on CPU, device, CPU.
std::vector<std::byte> task(std::uint64_t tag) {
    const WireTask wire{.tag = tag,
                        .custom_id = 0,
                        .model = 0,
                        .deadline_ns = 0,
                        .priority = 7,
                        .core = 0,
                        .segment_count = 3,
                        .width = 0};
    const WireSegment on_cpu{.cpu_key = tag,
                             .expected_ns = 5,
                             .fc_count = 0,
                             .binding_count = 0,
                             .scratch_bytes = 0,
                             .part_count = 0,
                             .stage_count = 0,
                             .reserved = 0};
    WireSegment on_device{};
    on_device.fc_count = 1;
    on_device.binding_count = 1;
    return call(TaskCall::submit, wire, on_cpu, on_device, overtake_fc{0, 3}, program_binding,
                on_cpu);
}

/// Returns a task of a group and a job of two FCs.
std::vector<std::byte> wide_task(std::uint64_t tag) {
    WireTask wire{};
    wire.tag = tag;
    wire.segment_count = 2;
    wire.width = 2;
    WireSegment group{}, plain{};
    group.fc_count = 3;
    group.binding_count = plain.binding_count = 1;
    group.part_count = 2;
    group.stage_count = 3;
    plain.fc_count = 1;
    return call(TaskCall::submit, wire, group, overtake_fc{0, 1}, overtake_fc{1, 1},
                overtake_fc{2, 1}, program_binding, overtake_part{.fc_count = 2, .core = 0},
                overtake_part{.fc_count = 1, .core = 0},
                std::array<std::uint32_t, 4>{0, 2, 1, 0}, // and padding
                plain, overtake_fc{0, 3}, program_binding);
}

std::vector<std::byte> together(std::initializer_list<std::vector<std::byte>> messages) {
    std::vector<std::byte> all;
    for (const std::vector<std::byte>& one : messages)
        all.insert(all.end(), one.begin(), one.end());
    return all;
}

} // namespace

std::size_t run_messages(std::span<const std::byte> input) {
    FuzzedClient client;
    std::size_t messages = 0;
    try {
        while (input.size() >= 3) {
            const auto kind =
                static_cast<MessageKind>(static_cast<std::uint8_t>(input[0]) %
                                         static_cast<std::uint8_t>(MessageKind::count));
            std::uint16_t length;
            std::memcpy(&length, input.data() + 1, sizeof(length));
            input = input.subspan(3);
            const std::size_t bytes = std::min<std::size_t>(length, input.size());
            messages++;
            client.say(kind, input.first(bytes));
            input = input.subspan(bytes);
        }
    } catch (const Violation&) { // the server would drop this client
    }
    return messages;
}

std::vector<std::vector<std::byte>> message_seeds() {
    const WireCpuDone first{.tag = 1, .segment = 0, .status = 0};
    const WireCpuDone last{.tag = 1, .segment = 2, .status = 0};
    const auto events = call(TaskCall::events);
    return {
        together({group(1), group(2), job(3), message(MessageKind::cancel, {std::byte{2}})}),
        together({job(1), job(2), message(MessageKind::cancel, {std::byte{2}})}),
        together({recording(), replay(1), replay(2), replay(3), job(4), replay(5),
                  message(MessageKind::cancel, {std::byte{2}}), recording(), replay(6)}),
        together({task(1), events, call(TaskCall::cpu_done, first), events, events,
                  call(TaskCall::cpu_done, last), events}),
        together({wide_task(1), wide_task(2), task(3), events, call(TaskCall::cancel, last.tag),
                  events}),
        together({task(1), task(2), task(3), call(TaskCall::cancel, std::uint64_t{2}), events,
                  call(TaskCall::cpu_done, first), call(TaskCall::cpu_done, first), events}),
        together({task(1), job(1), message(MessageKind::overwrite, std::vector<std::byte>(64)),
                  message(MessageKind::queue_overwrite, std::vector<std::byte>(64)), events}),
    };
}

} // namespace overtake::fuzz
