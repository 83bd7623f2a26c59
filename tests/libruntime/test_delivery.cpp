// SPDX-License-Identifier: MIT
//
// The threads of a device server that deliver to a client, and those that free its ended jobs.
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "backends.hpp"
#include "embedded/disposal.hpp"
#include "embedded/job.hpp"
#include "server/delivery.hpp"

namespace overtake::test {
namespace {

using server::Delivery;
using std::this_thread::get_id;

/// A source that notes which thread delivered last.
struct Noted {
    explicit Noted(Delivery& delivery, bool is_urgent = true)
        : source(
              delivery, [this] { note(); }, is_urgent) {}
    void note() {
        by.store(get_id());
        times++;
        times.notify_all();
    }
    /// Whether it was delivered once, and by this thread.
    bool is_delivered_here() const { return times == 1 && by.load() == get_id(); }

    std::atomic<std::thread::id> by;
    std::atomic<int> times = 0;
    Delivery::Source source;
};

void post_elsewhere(Noted& noted) {
    std::thread([&] { noted.source.post(); }).join();
}

TEST(Delivery, IsMadeByAThreadOfItsOwn) {
    Delivery delivery;
    Noted noted(delivery);
    noted.source.post();
    noted.times.wait(0);
    EXPECT_NE(noted.by.load(), get_id());
}

TEST(Delivery, IsMadeByTheThreadThatStandsIn) {
    Delivery delivery;
    Noted warm_up(delivery);
    warm_up.source.post();
    warm_up.times.wait(0);
    // The delivery's own thread may be about to fall asleep: then it delivers.
    const std::int64_t deadline = patience();
    for (bool is_delivered_here = false; !is_delivered_here;) {
        ASSERT_LT(in_ms(0), deadline);
        Noted noted(delivery);
        {
            Delivery::StandIn stand_in(delivery);
            post_elsewhere(noted);
            stand_in.deliver_briefly([&] { return noted.times != 0; });
        }
        noted.times.wait(0);
        EXPECT_EQ(noted.times, 1);
        is_delivered_here = noted.is_delivered_here();
    }
}

TEST(Delivery, IsMadeWhenTheThreadThatStoodInStepsBack) {
    Delivery delivery;
    Noted noted(delivery);
    {
        const Delivery::StandIn stand_in(delivery);
        noted.source.post();
    }
    noted.times.wait(0); // it is delivered by then
    post_elsewhere(noted);
    noted.times.wait(1);
    EXPECT_NE(noted.by.load(), get_id()) << "no thread stands in any more";
}

TEST(Delivery, EndsAWaitThatSleeps) {
    Delivery delivery;
    Noted noted(delivery);
    const std::int64_t deadline = patience();
    std::atomic<bool> ends = false;
    std::thread posts([&] {
        while (!ends) {
            noted.source.post();
            std::this_thread::yield();
        }
    });
    for (int waits = 0; waits < 1000; waits++) {
        Delivery::StandIn stand_in(delivery);
        const int before = noted.times;
        while (noted.times == before && in_ms(0) < deadline)
            stand_in.deliver_briefly([&] { return noted.times != before; });
        EXPECT_NE(noted.times, before);
    }
    ends = true;
    posts.join();
}

TEST(Delivery, OfASourceThatIsNotUrgentWaitsUntilTheClientIsAnswered) {
    Delivery delivery;
    Noted freeing(delivery, false);
    {
        Delivery::StandIn stand_in(delivery);
        freeing.source.post();
        stand_in.deliver_briefly([] { return false; });
        // Its own thread may have been about to look when the flag was raised.
        EXPECT_FALSE(freeing.is_delivered_here());
    }
    freeing.times.wait(0);
    EXPECT_EQ(freeing.times, 1);
}

// Freeing

/// Memory that notes which thread freed it.
class NotedMemory final : public Allocation {
public:
    explicit NotedMemory(std::atomic<std::thread::id>& by) : by_(by) {}
    ~NotedMemory() override {
        by_.store(get_id());
        by_.notify_all();
    }

private:
    std::atomic<std::thread::id>& by_;
};

std::shared_ptr<EmbeddedJob> job_with(std::shared_ptr<Allocation> memory) {
    auto job = std::make_shared<EmbeddedJob>();
    job->memory.push_back(std::move(memory));
    return job;
}

TEST(Disposal, FreesAJobThatAloneHasMemoryInAThreadOfItsOwn) {
    std::atomic<int> small = 0;
    Disposal disposal([&] { small++; });
    std::atomic<std::thread::id> by;
    disposal.push(job_with(std::make_shared<NotedMemory>(by)));
    by.wait(std::thread::id());
    EXPECT_NE(by.load(), get_id());
    EXPECT_EQ(small, 0);
    disposal.drain();
}

TEST(Disposal, FreesASmallJobInTheCallingThread) {
    int asked = 0;
    Disposal disposal([&] { asked++; });
    std::atomic<std::thread::id> by;
    const auto buffer = std::make_shared<NotedMemory>(by);
    std::vector<std::weak_ptr<EmbeddedJob>> jobs;
    for (int i = 0; i < 3; i++) {
        auto job = job_with(buffer);
        jobs.push_back(job);
        disposal.push(std::move(job));
    }
    EXPECT_EQ(asked, 3);
    EXPECT_FALSE(jobs[0].expired()) << "freed under the device's lock";
    disposal.free_small();
    for (const auto& job : jobs)
        EXPECT_TRUE(job.expired());
    EXPECT_EQ(by.load(), std::thread::id()) << "the buffer is not the jobs' alone";
}

TEST(Disposal, FreesAllJobsBeforeDrainReturns) {
    Disposal disposal([] {});
    std::atomic<std::thread::id> by;
    const auto buffer = std::make_shared<NotedMemory>(by);
    auto small = job_with(buffer);
    auto large = job_with(std::make_shared<NotedMemory>(by));
    const std::array<std::weak_ptr<EmbeddedJob>, 2> jobs{small, large};
    disposal.push(std::move(small));
    disposal.push(std::move(large));
    disposal.drain();
    EXPECT_TRUE(jobs[0].expired());
    EXPECT_TRUE(jobs[1].expired());
}

/// The caller of drain() may be the only thread that would free the jobs.
TEST(Disposal, DrainDoesNotWaitForJobsThatNoThreadFrees) {
    Disposal disposal([] {});
    std::atomic<std::thread::id> by;
    const auto buffer = std::make_shared<NotedMemory>(by);
    std::atomic<bool> ends = false;
    std::thread pushes([&] {
        for (int i = 0; i < 20'000; i++)
            disposal.push(job_with(buffer));
        ends = true;
    });
    while (!ends)
        disposal.drain();
    pushes.join();
    disposal.drain();
    EXPECT_EQ(buffer.use_count(), 1);
}

TEST(Disposal, FreesTheRemainingJobsWhenItStops) {
    Disposal disposal([] {});
    std::atomic<std::thread::id> by;
    const auto buffer = std::make_shared<NotedMemory>(by);
    auto small = job_with(buffer);
    const std::weak_ptr<EmbeddedJob> job = small;
    disposal.push(std::move(small));
    disposal.stop();
    EXPECT_TRUE(job.expired());
}

} // namespace
} // namespace overtake::test
