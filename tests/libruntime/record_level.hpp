// SPDX-License-Identifier: MIT
//
// The common parts of tests of record levels: a model that copies, and a device that counts.
#pragma once

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "model_spec.hpp"
#include "overtake/overtake.hpp"
#include "watched_device.hpp"

namespace overtake::test {

inline std::shared_ptr<const Model> model_of(const ModelSpec& spec) {
    return Model::from_bytes(build(spec));
}

/// Returns values that quantisation by 0.5 and zero point -3 does not change.
inline std::vector<float> half_steps(std::size_t count, int seed) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; i++)
        values[i] = 0.5f * static_cast<float>((static_cast<int>(i) * 37 + seed * 11) % 200 - 100);
    return values;
}

inline SessionOptions at_record_level(unsigned level) {
    SessionOptions options;
    options.record = level;
    return options;
}

class RecordLevelTest : public testing::Test {
protected:
    void expect_counts(unsigned submitted, unsigned recordings, unsigned replayed) {
        EXPECT_EQ(device->submitted, submitted);
        EXPECT_EQ(device->recorded, recordings);
        EXPECT_EQ(device->replayed, replayed);
    }
    static void run(Task& task, int seed) {
        task.set_input(0, half_steps(60, seed));
        task.start();
        ASSERT_TRUE(task.wait());
        ASSERT_EQ(task.status(), 0);
        EXPECT_EQ(task.output(1), half_steps(60, seed));
    }

    /// Runs five rounds of seven tasks that are in flight together, each with its own input.
    static void run_seven_at_a_time(Session& session) {
        std::vector<Task> tasks;
        for (int i = 0; i < 7; i++)
            tasks.push_back(session.create_task());
        for (int round = 0; round < 5; round++) {
            for (int i = 0; i < 7; i++) {
                tasks[i].set_input(0, half_steps(60, 10 * round + i));
                tasks[i].start();
            }
            for (int i = 0; i < 7; i++) {
                ASSERT_TRUE(tasks[i].wait());
                EXPECT_EQ(tasks[i].output(1), half_steps(60, 10 * round + i));
            }
        }
    }

    std::shared_ptr<WatchedDevice> device = std::make_shared<WatchedDevice>();
};

} // namespace overtake::test
