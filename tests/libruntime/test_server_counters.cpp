// SPDX-License-Identifier: MIT
//
// A device server's counters do not show a stranger the durations of others' FCs.
#include <array>
#include <cstdio>
#include <random>

#include "server_clients.hpp"

namespace overtake::test {
namespace {

constexpr std::uint64_t ns_per_us = 1'000;
constexpr std::uint64_t step_us = 10'000;    ///< the step in which strangers see a core's time
constexpr std::uint64_t period_us = 100'000; ///< the period in which it changes
constexpr std::uint64_t probe_us = 500;
constexpr int rounds = 24;
constexpr std::array<std::uint64_t, 4> secrets_us{2'000, 4'000, 6'000, 8'000};

/// Runs FCs on a device whose clock is stepped.
class Worker {
public:
    explicit Worker(const std::string& path)
        : device_(open_server(path)), queue_(device_->create_queue()) {}

    void run(std::uint64_t microseconds) {
        const Program program = delays(*device_, {microseconds});
        const Job job = program.job(1);
        queue_->submit({&job, 1});
        ManualClock& clock = *device_->manual_clock();
        clock.advance_to(clock.now_ns() + period_us * ns_per_us);
        EXPECT_EQ(reap_all(*queue_, 1).size(), 1u);
    }

private:
    std::shared_ptr<Device> device_;
    std::unique_ptr<Queue> queue_;
};

/// Returns the busy time that a new client sees, which has seen nothing before.
std::uint64_t seen_busy_us(const std::string& path) {
    return open_server(path)->cores().front().busy_ns / ns_per_us;
}

/// After each FC of the victim, the attacker runs short FCs until the shown sum has grown by a
/// step.  If the server rounded the sum of all FCs, the victim's FC would have taken the rest of
/// the step.
int recover(const std::string& path) {
    Worker victim(path);
    Worker attacker(path);
    std::mt19937 random(33);
    std::uint64_t rest_us = 0; // the attacker's guess of the sum's excess over the last step
    int recovered = 0;
    for (int round = 0; round < rounds; round++) {
        const std::uint64_t before_us = seen_busy_us(path);
        const std::uint64_t secret_us = secrets_us[random() % secrets_us.size()];
        victim.run(secret_us);
        std::uint64_t own_us = 0;
        while (seen_busy_us(path) == before_us && own_us < 2 * step_us) {
            attacker.run(probe_us);
            own_us += probe_us;
        }
        const std::uint64_t guess_us = (3 * step_us - rest_us - own_us) % step_us;
        recovered += guess_us == secret_us;
        rest_us = (rest_us + guess_us + own_us) % step_us;
    }
    return recovered;
}

TEST(ServerCounters, AStrangerLearnsNoDurationsOfOthers) {
    SKIP_UNLESS_ROOT();
    ServerOptions options = options_of(1, OVERTAKE_MODE_TIMED);
    options.device.manual_clock = true;
    options.device.profile = "ideal";
    const TestServer server(options, ServerIn::process);
    open_to_all(server);
    const int recovered = as_stranger({}, [&] { return recover(server.path()); });
    std::printf("%d of %d durations recovered, %d by chance\n", recovered, rounds,
                rounds / static_cast<int>(secrets_us.size()));
    EXPECT_LE(recovered, rounds / 2);
}

TEST(ServerCounters, TheDeviceTimeOfAClientIsThatOfItsFcs) {
    ServerOptions options = options_of(1, OVERTAKE_MODE_TIMED);
    options.device.manual_clock = true;
    options.device.profile = "ideal";
    const TestServer server(options);
    Worker one(server.path()), other(server.path()), idle(server.path());
    one.run(2'000);
    other.run(3'000);
    one.run(4'000);
    std::vector<nlohmann::json> busy_ns;
    const auto status = nlohmann::json::parse(server_status(server.path()));
    for (const nlohmann::json& client : status.at("clients"))
        busy_ns.push_back(client.at("busy_ns"));
    EXPECT_EQ(busy_ns, (std::vector<nlohmann::json>{
                           {{1, 0, 6'000'000}}, {{1, 0, 3'000'000}}, nlohmann::json::array()}));
}

TEST(ServerCounters, MoreClientsThanAReplyHoldsAreAllShown) {
    constexpr std::size_t count = 200; // some 300 bytes each; a reply has 32,768
    ServerOptions options = options_of(1);
    options.clients = count;
    const TestServer server(options);
    std::vector<std::shared_ptr<Device>> devices;
    for (std::size_t i = 0; i < count; i++)
        devices.push_back(open_server(server.path()));
    EXPECT_EQ(clients_of(server.path()), count);
    const ServerReport report = server_report(server.path(), std::chrono::minutes(1));
    EXPECT_EQ(nlohmann::json::parse(report.status).at("clients").size(), count);
}

} // namespace
} // namespace overtake::test
