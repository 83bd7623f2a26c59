// SPDX-License-Identifier: MIT
//
// Groups whose client is killed or closes, groups that are cancelled or late, and groups with a
// part that faults, hangs, is stopped or has its core reset, at random moments.  Each group ends
// once, another client's jobs have right outputs, and nothing is left behind.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <iostream>
#include <random>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "backends.hpp"
#include "overtake/error.hpp"
#include "overtake/server.hpp"
#include "overtake_accel.h"
#include "programs.hpp"

namespace overtake::test {
namespace {

using Random = std::mt19937_64;

constexpr std::uint32_t read_write = OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE;

std::uint64_t pick(Random& random, std::uint64_t first, std::uint64_t last) {
    return std::uniform_int_distribution<std::uint64_t>(first, last)(random);
}

/// FC 0 copies, FC 1 takes 20 us where FCs take their modelled time, FC 2 never ends, FC 3 faults.
enum Kind : std::uint32_t { copies, waits, loops, faults };

struct Client {
    explicit Client(std::shared_ptr<Device> opened)
        : device(std::move(opened)), memory(device->create_buffer(4096)),
          program(*device, {copy_insn(64), delay_insn(20'000), jump_insn(2), bad_insn()}) {
        program.fcs = {{0, 1}, {1, 1}, {2, 1}, {3, 1}};
        program.bindings.push_back({memory->address(), 512, OVERTAKE_REGION_IO, read_write});
        program.bindings.push_back(
            {memory->address() + 512, 512, OVERTAKE_REGION_IO + 1, read_write});
    }

    static overtake_insn bad_insn() {
        overtake_insn insn{};
        insn.opcode = 0xffff;
        return insn;
    }

    std::shared_ptr<Device> device;
    std::unique_ptr<Buffer> memory;
    Program program;
};

/// A group with parts on some or all cores, in a few stages; one of its FCs is `odd`.
struct Group {
    Group(Random& random, const Client& client, std::uint64_t tag, Kind odd)
        : job(client.program.job(tag)) {
        const auto width = pick(random, 2, client.device->info().core_count);
        const auto most_stages = static_cast<std::uint32_t>(pick(random, 1, 5));
        for (std::uint64_t part = 0; part < width; part++) {
            const auto count = static_cast<std::uint32_t>(pick(random, 1, 6));
            parts.push_back({count, core_any});
            std::vector<std::uint32_t> of;
            for (std::uint32_t fc = 0; fc < count; fc++)
                of.push_back(static_cast<std::uint32_t>(pick(random, 0, most_stages - 1)));
            std::ranges::sort(of);
            stages.insert(stages.end(), of.begin(), of.end());
        }
        leave_no_stage_empty();
        fcs.assign(stages.size(), client.program.fcs[waits]);
        fcs[pick(random, 0, fcs.size() - 1)] = client.program.fcs[odd];
        job.fcs = fcs;
        job.parts = parts;
        job.stages = stages;
        job.group_record = client.memory->address() + 1024;
        job.priority = pick(random, 0, 3) == 0 ? 255 : 10;
    }
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    void leave_no_stage_empty() {
        std::vector<std::uint32_t> used = stages;
        std::ranges::sort(used);
        used.erase(std::unique(used.begin(), used.end()), used.end());
        for (std::uint32_t& stage : stages)
            stage =
                static_cast<std::uint32_t>(std::ranges::lower_bound(used, stage) - used.begin());
    }

    std::vector<overtake_part> parts;
    std::vector<std::uint32_t> stages;
    std::vector<overtake_fc> fcs;
    Job job;
};

/// A client that behaves well, with a job in flight while others end.
class Neighbour {
public:
    explicit Neighbour(std::shared_ptr<Device> device)
        : client_(std::move(device)), queue_(client_.device->create_queue({})) {}

    void begin(std::uint64_t tag) {
        fill_ = static_cast<int>(tag % 251 + 1);
        std::memset(client_.memory->data(), fill_, 512);
        std::memset(client_.memory->data() + 512, 0, 512);
        const std::array<overtake_fc, 3> fcs{client_.program.fcs[waits], client_.program.fcs[waits],
                                             client_.program.fcs[copies]};
        Job job = client_.program.job(tag);
        job.fcs = fcs;
        queue_->submit({&job, 1});
    }
    void expect_right_outputs() {
        const auto ended = reap_all(*queue_, 1);
        ASSERT_EQ(ended.size(), 1u);
        EXPECT_EQ(ended.front().status, 0);
        const std::byte* bytes = client_.memory->data();
        EXPECT_EQ(bytes[0], static_cast<std::byte>(fill_));
        EXPECT_EQ(std::memcmp(bytes, bytes + 512, 512), 0);
    }

private:
    Client client_;
    std::unique_ptr<Queue> queue_;
    int fill_ = 0;
};

/// The numbers of objects that all clients hold, as a server or the driver reports them.  An
/// embedded device reports none.
struct Held {
    std::uint64_t clients = 0, queues = 0, buffers = 0, jobs = 0;
    std::uint64_t bytes = 0; ///< the bytes of ended jobs are kept for others
    bool has_as_much(const Held& other) const {
        return clients == other.clients && queues == other.queues && buffers == other.buffers &&
               jobs == other.jobs;
    }
};

constexpr std::uint64_t most_kept_bytes = 65536;

std::ostream& operator<<(std::ostream& out, const Held& held) {
    return out << held.clients << " clients, " << held.queues << " queues, " << held.buffers
               << " buffers, " << held.jobs << " jobs, " << held.bytes << " bytes";
}

Held held_of_server(const std::string& path) {
    Held held;
    const auto status = nlohmann::json::parse(server_status(path));
    for (const auto& client : status.at("clients")) {
        held.clients++;
        held.queues += client.at("queues").get<std::uint64_t>();
        held.buffers += client.at("buffers").get<std::uint64_t>();
        held.jobs += client.at("jobs").get<std::uint64_t>();
        held.bytes += client.at("memory_bytes").get<std::uint64_t>();
    }
    return held;
}

/// Returns, as jobs, the command slots that all clients use.
Held held_of_driver(const char* node) {
    std::array<drm_overtake_limit, OVERTAKE_LIMIT_COUNT> limits{};
    drm_overtake_query query{};
    query.topic = OVERTAKE_QUERY_LIMITS;
    query.size = sizeof(limits);
    query.data = reinterpret_cast<std::uintptr_t>(limits.data());
    const int fd = open(node, O_RDWR | O_CLOEXEC);
    EXPECT_EQ(ioctl(fd, DRM_IOCTL_OVERTAKE_QUERY, &query), 0);
    close(fd);
    Held held;
    held.jobs = limits[OVERTAKE_LIMIT_COMMANDS].used;
    return held;
}

/// `stopped`: a part that never ends is cancelled.  `reset`: a core is reset, which only a driver
/// can do on request.
enum class Harm { killed, gone, cancelled, late, faulted, hung, stopped, reset };
constexpr std::array harms{Harm::killed,  Harm::gone, Harm::cancelled, Harm::late,
                           Harm::faulted, Harm::hung, Harm::stopped,   Harm::reset};
constexpr std::array harm_names{"killed",  "gone", "cancelled", "late",
                                "faulted", "hung", "stopped",   "reset"};

/// Makes the driver count FCs from now on, and reset the core of FC number `fc` while that FC runs.
void reset_core_at(std::uint64_t fc) {
    std::ofstream inject("/sys/kernel/debug/accel/overtake.0/inject");
    inject << "reset:" << fc << std::flush;
    EXPECT_TRUE(inject) << "inject cannot be written";
}

class GroupKillsTest : public testing::TestWithParam<Backend> {
protected:
    void SetUp() override {
        options_.cores = 4;
        options_.mode = GetParam().mode;
        options_.watchdog_cycles = 500'000;
        options_.stop_grace_ns = 1'000'000;
        if (GetParam().name.starts_with("server")) {
            ServerOptions options;
            options.device = options_;
            server_ = std::make_unique<TestServer>(options, ServerIn::process);
        }
        first_ = open();
        if (first_ && first_->info().mode == OVERTAKE_MODE_TIMED)
            [&] { GTEST_SKIP() << "SKIPPED: needs a device that computes"; }();
        if (testing::Test::IsSkipped())
            first_.reset();
    }

    /// Opens the device as another client; an embedded device has one client.
    std::shared_ptr<Device> open() {
        if (server_)
            return open_server(server_->path());
        if (first_ && is_made_here(GetParam()))
            return first_;
        return open_backend(GetParam(), {.manual_clock = false, .embedded = options_});
    }

    Held held() const {
        if (server_)
            return held_of_server(server_->path());
        return is_made_here(GetParam()) ? Held{}
                                        : held_of_driver(std::getenv("OVERTAKE_TEST_DEVICE"));
    }
    /// Waits until the numbers are as wanted: a device counts a killed client for another moment.
    void expect_held(const Held& wanted) const {
        const std::int64_t deadline = patience();
        Held now = held();
        while (!now.has_as_much(wanted) && in_ms(0) < deadline)
            now = held();
        ASSERT_TRUE(now.has_as_much(wanted)) << now << " rather than " << wanted;
        EXPECT_LE(now.bytes, wanted.bytes + most_kept_bytes);
    }

    /// Runs groups without end, some of which fault or hang, in a process that is killed.
    void kill_a_client(Random& random) {
        std::array<int, 2> ready{};
        ASSERT_EQ(pipe2(ready.data(), O_CLOEXEC), 0);
        const unsigned long seed = random();
        const pid_t child = fork_test();
        ASSERT_GE(child, 0);
        if (child == 0) {
            live(seed, ready[1]);
            _exit(0);
        }
        close(ready[1]);
        char byte;
        EXPECT_EQ(read(ready[0], &byte, 1), 1);
        close(ready[0]);
        usleep(static_cast<useconds_t>(pick(random, 0, 2000)));
        kill(child, SIGKILL);
        int status = 0;
        waitpid(child, &status, 0);
        EXPECT_TRUE(WIFSIGNALED(status)) << "the client ended by itself";
    }
    void live(unsigned long seed, int ready) {
        Random random(seed);
        try {
            const Client client(open());
            const auto queue = client.device->create_queue({.max_priority = 255});
            bool has_said_so = false;
            for (std::uint64_t tag = 0;; tag++) {
                const auto odd = static_cast<Kind>(pick(random, 0, 3));
                const Group group(random, client, tag, pick(random, 0, 3) > 0 ? waits : odd);
                queue->submit({&group.job, 1});
                if (!has_said_so && write(ready, "", 1) == 1)
                    has_said_so = true;
                Completion ended{};
                if (queue->in_flight() > 3)
                    queue->reap({&ended, 1}, patience());
            }
        } catch (const Error&) { // too many of its jobs have faulted
            for (;;)
                pause();
        }
    }

    void harm(Random& random, Harm how, std::uint64_t tag) {
        const Kind odd = how == Harm::faulted                        ? faults
                         : how == Harm::hung || how == Harm::stopped ? loops
                                                                     : waits;
        Group group(random, *attacker_, tag, odd);
        if (how == Harm::late)
            group.job.deadline_ns = in_ms(0) + static_cast<std::int64_t>(pick(random, 0, 300'000));
        if (how == Harm::reset)
            reset_core_at(pick(random, 1, group.fcs.size()));
        auto queue = attacker_->device->create_queue({.max_priority = 255});
        queue->submit({&group.job, 1});
        const auto until =
            std::chrono::steady_clock::now() + std::chrono::microseconds(pick(random, 0, 300));
        while (how != Harm::faulted && std::chrono::steady_clock::now() < until)
            ;
        if (how == Harm::gone)
            return;
        if (how == Harm::cancelled || how == Harm::stopped)
            queue->cancel(tag);
        const auto ended = reap_all(*queue, 1);
        ASSERT_EQ(ended.size(), 1u);
        expect_end(group, how, ended.front());
        EXPECT_EQ(queue->in_flight(), 0u);
        Completion again{};
        EXPECT_EQ(queue->reap({&again, 1}, 0), 0u) << "ended twice";
    }
    void expect_end(const Group& group, Harm how, const Completion& completion) const {
        EXPECT_EQ(completion.tag, group.job.tag);
        switch (how) {
        case Harm::faulted:
            EXPECT_EQ(completion.status, -ENOEXEC);
            break;
        case Harm::hung:
            EXPECT_EQ(completion.status, -ETIMEDOUT);
            break;
        case Harm::reset:
            EXPECT_EQ(completion.status, -EIO);
            EXPECT_EQ(completion.fault, static_cast<unsigned>(OVERTAKE_FAULT_RESET));
            break;
        case Harm::stopped: // the watchdog may be first
            EXPECT_TRUE(completion.status == -ECANCELED || completion.status == -ETIMEDOUT)
                << completion.status;
            break;
        default:
            EXPECT_TRUE(completion.status == 0 ||
                        completion.status == (how == Harm::late ? -ETIME : -ECANCELED))
                << completion.status;
        }
        EXPECT_TRUE(completion.status != 0 || completion.fcs_done == group.fcs.size());
        std::uint32_t done = 0;
        const std::byte* record = attacker_->memory->data() + 1024;
        for (std::size_t part = 0; part < group.parts.size(); part++) {
            overtake_part_record of;
            std::memcpy(&of, record + sizeof(overtake_group_record) + part * sizeof(of),
                        sizeof(of));
            EXPECT_LE(of.fcs_done, group.parts[part].fc_count);
            done += of.fcs_done;
        }
        EXPECT_EQ(done, completion.fcs_done);
    }

    EmbeddedOptions options_;
    std::unique_ptr<TestServer> server_;
    std::shared_ptr<Device> first_;
    std::unique_ptr<Client> attacker_;
};

std::uint64_t resets_of(const Device& device) {
    std::uint64_t sum = 0;
    for (const drm_overtake_core_info& core : device.cores())
        sum += core.resets;
    return sum;
}

/// Runs 100 rounds, or as many as OVERTAKE_GROUP_KILLS says.
TEST_P(GroupKillsTest, AGroupEndsOnceAndHarmsNoOtherClient) {
    SKIP_WITHOUT(first_);
    if (first_->info().core_count < 2)
        GTEST_SKIP() << "SKIPPED: needs a device of 2 cores";
    const char* wanted = std::getenv("OVERTAKE_GROUP_KILLS");
    const std::uint64_t rounds = wanted ? std::strtoull(wanted, nullptr, 10) : 100;
    Random random(37);
    Neighbour neighbour(open());
    attacker_ = std::make_unique<Client>(open());
    harm(random, Harm::faulted, 0); // memory of the first queue is kept
    const Held before = held();
    const std::uint64_t resets = resets_of(*first_);
    std::array<unsigned, harms.size()> counts{};
    for (std::uint64_t round = 0; round < rounds; round++) {
        // An embedded device ends with its process.
        const bool is_alone = GetParam().name.starts_with("embedded");
        const std::size_t index =
            pick(random, is_alone ? 1 : 0, harms.size() - (is_made_here(GetParam()) ? 2 : 1));
        SCOPED_TRACE(std::string("round ") + std::to_string(round) + ": " + harm_names[index]);
        neighbour.begin(round);
        if (harms[index] == Harm::reset) // so that the FC is one of the group
            neighbour.expect_right_outputs();
        if (harms[index] == Harm::killed)
            kill_a_client(random);
        else
            harm(random, harms[index], round);
        counts[index]++;
        if (harms[index] != Harm::reset)
            neighbour.expect_right_outputs();
        neighbour.begin(round);
        neighbour.expect_right_outputs();
        expect_held(before);
        if (HasFailure())
            return;
    }
    const Held after = held();
    const Group last(random, *attacker_, rounds, copies);
    const auto queue = attacker_->device->create_queue({.max_priority = 255});
    queue->submit({&last.job, 1});
    EXPECT_EQ(reap_all(*queue, 1).at(0).status, 0);
    std::cout << GetParam() << ": " << rounds << " groups";
    for (std::size_t index = 0; index < harms.size(); index++)
        std::cout << ", " << counts[index] << " " << harm_names[index];
    std::cout << "; " << resets_of(*first_) - resets << " resets of cores; held before: " << before
              << ", after: " << after << "\n";
}

INSTANTIATE_TEST_SUITE_P(All, GroupKillsTest,
                         testing::ValuesIn(std::vector<Backend>{
                             {"embedded"},
                             {"embedded_both", OVERTAKE_MODE_BOTH},
                             {"server"},
                             {"server_both", OVERTAKE_MODE_BOTH},
                             {"ioctl"},
                             {"io_uring"}}),
                         backend_name);

} // namespace
} // namespace overtake::test
