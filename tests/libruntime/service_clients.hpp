// SPDX-License-Identifier: MIT
//
// Processes of service mode in tests: one that behaves well, and the segments of its tasks.
#pragma once

#include <cerrno>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "overtake/service.hpp"
#include "server_clients.hpp"

namespace overtake::test {

inline constexpr std::uint64_t ms = 1'000'000; ///< in nanoseconds

/// The segments of one task.  They live until the task has been submitted.
class Segments {
public:
    Segments& bpu(const Program& program) {
        ServiceSegment& segment = segments_.emplace_back();
        segment.fcs = program.fcs;
        segment.bindings = program.bindings;
        return *this;
    }
    Segments& cpu(std::uint64_t key, std::uint64_t expected_ns = 0) {
        ServiceSegment& segment = segments_.emplace_back();
        segment.cpu_key = key;
        segment.expected_ns = expected_ns;
        return *this;
    }
    /// Adds a group of `parts` parts, each with all FCs of the program in stages of their own.
    Segments& group(const Program& program, std::size_t parts) {
        bpu(program);
        Group& group = *groups_.emplace_back(std::make_shared<Group>());
        for (std::size_t i = 0; i < parts; i++) {
            group.fcs.insert(group.fcs.end(), program.fcs.begin(), program.fcs.end());
            group.parts.push_back({static_cast<std::uint32_t>(program.fcs.size()), core_any});
            for (std::uint32_t stage = 0; stage < program.fcs.size(); stage++)
                group.stages.push_back(stage);
        }
        segments_.back().fcs = group.fcs;
        segments_.back().parts = group.parts;
        segments_.back().stages = group.stages;
        return *this;
    }
    /// Returns the last segment, which a test may spoil.
    ServiceSegment& last() { return segments_.back(); }
    std::vector<overtake_part>& last_parts() { return groups_.back()->parts; }
    std::vector<std::uint32_t>& last_stages() { return groups_.back()->stages; }
    ServiceTask task(std::uint64_t tag, unsigned priority = 0) const {
        ServiceTask task;
        task.tag = tag;
        task.segments = segments_;
        task.priority = priority;
        return task;
    }

private:
    struct Group {
        std::vector<overtake_fc> fcs;
        std::vector<overtake_part> parts;
        std::vector<std::uint32_t> stages;
    };
    std::vector<ServiceSegment> segments_;
    std::vector<std::shared_ptr<Group>> groups_; ///< segments point to these, also in copies
};

/// A process with a queue of service mode; each has a connection of its own.
class ServiceProcess {
public:
    explicit ServiceProcess(std::shared_ptr<Device> opened, const ServiceQueueOptions& options = {})
        : device(std::move(opened)), queue(device->create_service_queue(options)) {}
    explicit ServiceProcess(const std::string& path, const ServiceQueueOptions& options = {})
        : ServiceProcess(open_server(path), options) {}

    /// Returns the next event; the test fails if none comes.
    ServiceEvent next() {
        while (events_.empty()) {
            events_ = queue->reap(patience());
            if (events_.empty()) {
                ADD_FAILURE() << "no event";
                return {};
            }
        }
        ServiceEvent event = std::move(events_.front());
        events_.erase(events_.begin());
        return event;
    }
    /// Reports the CPU segments of its events as computed, until a task has ended.
    ServiceEvent next_end() {
        for (;;) {
            ServiceEvent event = next();
            if (event.type == ServiceEvent::Type::ended)
                return event;
            queue->cpu_done(event.tag, event.segment, 0);
        }
    }

    std::shared_ptr<Device> device;
    std::unique_ptr<ServiceQueue> queue;

private:
    std::vector<ServiceEvent> events_;
};

/// A client that behaves well: it copies bytes on the device twice, with a CPU segment in between,
/// and checks every byte.
class ServiceVictim {
public:
    explicit ServiceVictim(const std::string& path) : ServiceVictim(open_server(path)) {}
    explicit ServiceVictim(std::shared_ptr<Device> device)
        : process_(std::move(device)), source_(process_.device->create_buffer(4096)),
          target_(process_.device->create_buffer(4096)),
          program_(*process_.device, {copy_insn(64)}) {
        program_.bind(OVERTAKE_REGION_IO, *source_, OVERTAKE_MAP_READ);
        program_.bind(OVERTAKE_REGION_IO + 1, *target_, OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE);
    }

    void expect_to_work() {
        const int value = ++rounds_ % 255 + 1;
        std::memset(source_->data(), value, 512);
        std::memset(target_->data(), 0, 512);
        const auto tag = static_cast<std::uint64_t>(rounds_);
        process_.queue->submit(Segments().bpu(program_).cpu(1).bpu(program_).task(tag, 200));
        const ServiceEvent ended = process_.next_end();
        EXPECT_EQ(ended.tag, tag);
        EXPECT_EQ(ended.status, 0);
        EXPECT_EQ(std::memcmp(source_->data(), target_->data(), 512), 0);
        worst_ns_ = std::max(worst_ns_, ended.ended_ns - ended.arrived_ns);
    }
    /// The most device time that one of its tasks took.
    std::uint64_t worst_ns() const noexcept { return worst_ns_; }
    int tasks() const noexcept { return rounds_; }
    ServiceSettings settings() const { return process_.queue->settings(); }

private:
    ServiceProcess process_;
    std::unique_ptr<Buffer> source_;
    std::unique_ptr<Buffer> target_;
    Program program_;
    int rounds_ = 0;
    std::uint64_t worst_ns_ = 0;
};

/// Returns options for mode timed with a clock that the test steps, and exact times.
inline ServerOptions stepped_options(unsigned cores = 1) {
    ServerOptions options = options_of(cores, OVERTAKE_MODE_TIMED);
    options.device.profile = "ideal";
    options.device.manual_clock = true;
    return options;
}

} // namespace overtake::test
