// SPDX-License-Identifier: MIT
//
// The memory that a device server keeps for one user, measured from outside, against the limit for
// the user; and the limit if none was set.
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sys/socket.h>
#include <vector>

#include "server/available_memory.hpp"
#include "service_clients.hpp"

namespace overtake::test {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::size_t share = 128 * mib;
/// Allows for memory that is not charged: the server's own memory, stacks of trusted clients, the
/// allocator's remains.
constexpr std::size_t allowance = 16 * mib;

/// Returns the memory of the process itself, without shared memory.
std::size_t anonymous_bytes(pid_t process) {
    std::ifstream in("/proc/" + std::to_string(process) + "/smaps_rollup");
    for (std::string key; in >> key;) {
        std::size_t kib = 0;
        if (key == "Anonymous:" && in >> kib)
            return kib * 1024;
    }
    ADD_FAILURE() << "no smaps_rollup of the server";
    return 0;
}

pid_t server_of(const RawClient& client) {
    ucred credentials{};
    socklen_t bytes = sizeof(credentials);
    EXPECT_EQ(getsockopt(client.socket_fd(), SOL_SOCKET, SO_PEERCRED, &credentials, &bytes), 0);
    return credentials.pid;
}

/// Everything that one user can make the server keep, in as many clients as needed.
class Greedy {
public:
    explicit Greedy(std::string path) : path_(std::move(path)) {}

    const std::string& path() const { return path_; }
    /// Returns the bytes of this user's memory files that the server has mapped.
    std::size_t files() const { return files_; }

    /// Repeats `action` until the server has no more room, but at most `times` times.
    void repeat(int times, const std::function<void()>& action) {
        try {
            for (int i = 0; i < times; i++)
                action();
        } catch (const Error& refused) {
            // EBADF: a raw client that got no descriptor.
            EXPECT_TRUE(refused.code() == ENOSPC || refused.code() == EBUSY ||
                        refused.code() == ENOMEM || refused.code() == EBADF)
                << refused.what();
        }
    }
    const std::shared_ptr<Device>& connect() {
        devices_.push_back(open_server(path_));
        return devices_.back();
    }
    Queue& add_queue(Device& device) {
        queues_.push_back(device.create_queue());
        files_ += round_to_pages(sizeof(QueueArea));
        return *queues_.back();
    }
    ServiceQueue& add_tasks(Device& device) {
        tasks_.push_back(device.create_service_queue({}));
        files_ += round_to_pages(sizeof(TaskArea));
        return *tasks_.back();
    }
    void add_buffer(Device& device, std::size_t bytes) {
        buffers_.push_back(device.create_buffer(bytes));
        files_ += bytes;
    }
    /// Adds a queue and a call of the greatest possible length.
    void add_raw_queue() {
        raw_.push_back(std::make_unique<RawQueue>(path_));
        files_ += round_to_pages(sizeof(QueueArea));
        for (const bool are_fcs : {true, false}) {
            WireJob job{};
            constexpr std::size_t room = job_area_bytes - sizeof(job);
            if (are_fcs)
                job.fc_count = room / sizeof(overtake_fc);
            else
                job.binding_count = room / sizeof(overtake_binding);
            std::memcpy(raw_.back()->area().jobs.data(), &job, sizeof(job));
            raw_.back()->call(job_area_bytes);
            EXPECT_TRUE(raw_.back()->is_answered());
        }
    }
    /// Returns a program of FCs that take an hour, unless another time is given.
    const Program& program(Device& device, std::size_t fcs, std::uint64_t us = 3'600'000'000u) {
        programs_.push_back(std::make_unique<Program>(delays(device, {us})));
        files_ += programs_.back()->buffer->size();
        programs_.back()->fcs.assign(fcs, programs_.back()->fcs.front());
        return *programs_.back();
    }

private:
    const std::string path_;
    std::size_t files_ = 0;
    std::vector<std::shared_ptr<Device>> devices_;
    std::vector<std::unique_ptr<Buffer>> buffers_;
    std::vector<std::unique_ptr<Program>> programs_;
    std::vector<std::unique_ptr<Queue>> queues_;
    std::vector<std::unique_ptr<ServiceQueue>> tasks_;
    std::vector<std::unique_ptr<RawQueue>> raw_;
};

/// A group has at most one part for each core.
constexpr std::uint32_t most_parts = 16;
/// A queue of tasks that is closed waits for the running instruction.
constexpr std::uint64_t us_until_a_queue_closes = 20'000;

struct MemoryAttack {
    const char* name;
    void (*make)(Greedy&);
};

std::ostream& operator<<(std::ostream& out, const MemoryAttack& attack) {
    return out << attack.name;
}

void fill_with_jobs(Greedy& greedy, std::size_t fcs) {
    greedy.repeat(60, [&] {
        Device& device = *greedy.connect();
        const Program& program = greedy.program(device, fcs);
        for (int i = 0; i < 8; i++) {
            Queue& queue = greedy.add_queue(device);
            for (std::uint64_t tag = 0; tag < OVERTAKE_MAX_JOBS; tag++) {
                const Job job = program.job(tag);
                queue.submit({&job, 1});
            }
        }
    });
}

/// Fills the server with groups that have `fcs` FCs in each part, each in a stage of its own.
void fill_with_groups(Greedy& greedy, std::uint32_t parts, std::uint32_t fcs) {
    std::vector<overtake_part> all(parts);
    std::vector<std::uint32_t> stages;
    for (std::uint32_t part = 0; part < parts; part++) {
        all[part] = {fcs, core_any};
        for (std::uint32_t stage = 0; stage < fcs; stage++)
            stages.push_back(stage);
    }
    greedy.repeat(60, [&] {
        Device& device = *greedy.connect();
        const Program& program = greedy.program(device, stages.size());
        for (int i = 0; i < 8; i++) {
            Queue& queue = greedy.add_queue(device);
            for (std::uint64_t tag = 0; tag < OVERTAKE_MAX_JOBS; tag++) {
                Job job = program.job(tag);
                job.parts = all;
                job.stages = stages;
                queue.submit({&job, 1});
            }
        }
    });
}

void fill_with_wide_tasks(Greedy& greedy, std::size_t segments, std::size_t parts) {
    greedy.repeat(60, [&] {
        Device& device = *greedy.connect();
        const Program& program = greedy.program(device, 2, us_until_a_queue_closes);
        Segments all;
        for (std::size_t i = 0; i < segments; i++)
            all.group(program, parts);
        ServiceQueue& queue = greedy.add_tasks(device);
        for (std::uint64_t tag = 0; tag < OVERTAKE_MAX_TASKS; tag++)
            queue.submit(all.task(tag, 10));
    });
}

void fill_with_tasks(Greedy& greedy, std::size_t segments, std::size_t fcs) {
    greedy.repeat(60, [&] {
        Device& device = *greedy.connect();
        const Program& program = greedy.program(device, fcs);
        Segments all;
        for (std::size_t i = 0; i < segments; i++)
            fcs == 0 ? all.cpu(i) : all.bpu(program);
        ServiceQueue& queue = greedy.add_tasks(device);
        for (std::uint64_t tag = 0; tag < OVERTAKE_MAX_TASKS; tag++)
            queue.submit(all.task(tag, 10));
    });
}

const std::vector<MemoryAttack> attacks{
    {"calls_of_the_greatest_length",
     [](Greedy& greedy) { greedy.repeat(66, [&] { greedy.add_raw_queue(); }); }},
    {"queues_of_one_client",
     [](Greedy& greedy) {
         greedy.repeat(60, [&] {
             Device& device = *greedy.connect();
             greedy.repeat(64, [&] { greedy.add_queue(device); });
             greedy.repeat(64, [&] { greedy.add_tasks(device); });
         });
     }},
    {"jobs_of_one_FC", [](Greedy& greedy) { fill_with_jobs(greedy, 1); }},
    {"jobs_of_many_FCs", [](Greedy& greedy) { fill_with_jobs(greedy, 65'536); }},
    {"jobs_of_some_FCs", [](Greedy& greedy) { fill_with_jobs(greedy, 1'000); }},
    {"tasks_of_one_segment", [](Greedy& greedy) { fill_with_tasks(greedy, 1, 0); }},
    {"tasks_of_many_segments", [](Greedy& greedy) { fill_with_tasks(greedy, 1'024, 0); }},
    {"tasks_of_many_jobs", [](Greedy& greedy) { fill_with_tasks(greedy, 200, 1); }},
    {"groups_of_many_parts", [](Greedy& greedy) { fill_with_groups(greedy, most_parts, 1); }},
    {"groups_of_many_stages", [](Greedy& greedy) { fill_with_groups(greedy, 2, 4'096); }},
    {"tasks_of_many_parts", [](Greedy& greedy) { fill_with_wide_tasks(greedy, 1, most_parts); }},
    {"tasks_of_many_groups", [](Greedy& greedy) { fill_with_wide_tasks(greedy, 50, 2); }},
    {"buffers_of_one_page",
     [](Greedy& greedy) {
         greedy.repeat(60, [&] {
             Device& device = *greedy.connect();
             greedy.repeat(OVERTAKE_MAX_BUFFERS, [&] { greedy.add_buffer(device, 4096); });
         });
     }},
    {"everything_again_and_again",
     [](Greedy& greedy) {
         for (const std::size_t fcs : {1u, 100u, 30'000u}) {
             Greedy gone(greedy.path());
             fill_with_jobs(gone, fcs);
             fill_with_tasks(gone, 100, 0);
         }
         fill_with_jobs(greedy, 10);
     }},
};

class ServerMemory : public testing::TestWithParam<MemoryAttack> {};

TEST_P(ServerMemory, OfAUserIsItsShareAtMost) {
    ServerOptions options = options_of(most_parts, OVERTAKE_MODE_TIMED);
    options.memory_bytes = share;
    const TestServer server(options, ServerIn::process);
    Victim victim(server.path());
    RawClient observer(server.path());
    const pid_t process = server_of(observer);
    const std::size_t before = anonymous_bytes(process);
    Greedy greedy(server.path());
    GetParam().make(greedy);
    const std::size_t after = anonymous_bytes(process);
    const std::size_t kept = greedy.files() + (after > before ? after - before : 0);
    std::printf("%s: %zu MiB kept, of these %zu MiB of files; the share is %zu MiB\n",
                GetParam().name, kept / mib, greedy.files() / mib, share / mib);
    EXPECT_LE(kept, share + allowance);
}

#ifdef __SANITIZE_ADDRESS__ // its allocator keeps more than is asked for, and what was freed
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ServerMemory);
#else
INSTANTIATE_TEST_SUITE_P(Server, ServerMemory, testing::ValuesIn(attacks),
                         [](const auto& attack) { return std::string(attack.param.name); });
#endif

// The default limit

/// Control groups in a directory, in the form in which the system shows them.
class Groups {
public:
    Groups() {
        std::string name = "/tmp/overtake-cgroup-XXXXXX";
        EXPECT_NE(mkdtemp(name.data()), nullptr);
        root_ = name;
    }
    ~Groups() { std::filesystem::remove_all(root_); }
    Groups(const Groups&) = delete;
    Groups& operator=(const Groups&) = delete;

    void write(const std::string& file, const std::string& text) {
        const auto path = root_ / file;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << text << '\n';
    }
    std::size_t limit(const std::string& groups) const {
        return cgroup_memory_limit(groups, root_.string()).value_or(0);
    }

private:
    std::filesystem::path root_;
};

TEST(ServerMemoryLimit, IsTheTightestOfTheGroupsAbove) {
    Groups groups;
    EXPECT_EQ(groups.limit("0::/a/b\n"), 0u); // none
    groups.write("a/memory.max", "1000");
    groups.write("a/b/memory.max", "max");
    EXPECT_EQ(groups.limit("0::/a/b\n"), 1000u);
    groups.write("a/b/memory.max", "5000");
    EXPECT_EQ(groups.limit("0::/a/b\n"), 1000u);
    groups.write("a/b/memory.max", "500");
    EXPECT_EQ(groups.limit("0::/a/b\n"), 500u);
    EXPECT_EQ(groups.limit("0::/a\n"), 1000u);
    EXPECT_EQ(groups.limit("0::/\n"), 0u);
}

TEST(ServerMemoryLimit, IsThatOfTheContainerWherePathsBeginAboveIt) {
    Groups groups;
    groups.write("memory.max", "777");
    EXPECT_EQ(groups.limit("0::/\n"), 777u);
    EXPECT_EQ(groups.limit("0::/docker/0123\n"), 777u);
    EXPECT_EQ(groups.limit("0::/../..\n"), 777u);
}

TEST(ServerMemoryLimit, IsReadFromGroupsOfVersion1Too) {
    Groups groups;
    groups.write("memory/a/memory.limit_in_bytes", "4096");
    groups.write("memory/memory.limit_in_bytes", "9223372036854771712");
    EXPECT_EQ(groups.limit("5:cpu,memory:/a\n1:cpu:/\n0::/\n"), 4096u);
    EXPECT_EQ(groups.limit("5:cpu:/a\n"), 0u);
    EXPECT_EQ(groups.limit("nonsense\n::\n5:memory:/a/b"), 4096u);
    groups.write("unified/a/memory.max", "100");
    EXPECT_EQ(groups.limit("4:memory:/a\n0::/a\n"), 100u);
}

} // namespace
} // namespace overtake::test
