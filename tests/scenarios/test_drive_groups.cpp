// SPDX-License-Identifier: MIT
//
// Scenarios with groups on every backend of a device whose clock is stepped by hand: their
// timelines are exact to the microsecond. Compares the worked examples with their expected
// timelines, and random scenarios with the oracle. Checks the result records of groups, too.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "backends.hpp"
#include "embedded/core_faults.hpp"
#include "examples.hpp"
#include "groups_oracle.hpp"
#include "kernel_device.hpp"
#include "programs.hpp"
#include "random_groups.hpp"
#include "scenario.hpp"

namespace overtake::test {
namespace {

using nlohmann::json;

constexpr std::uint64_t ns_per_us = 1000;

/// A job or a group, ready to be submitted.
struct Prepared {
    std::vector<overtake_part> parts; ///< empty: no group
    std::vector<std::uint32_t> stages;
    std::unique_ptr<Program> program;
    std::unique_ptr<Buffer> record;
    unsigned core = 0;
};

class GroupDriver {
public:
    GroupDriver(Device& device, const json& scenario) : device_(device), scenario_(scenario) {
        queue_ = device_.create_queue({.max_priority = 255});
        for (const json& job : scenario.at("jobs"))
            prepare(job);
    }

    /// `take_fcs` is called once, after the last event, and returns the FCs that ran.
    json run(const std::function<std::vector<FcRecord>()>& take_fcs) {
        ManualClock& clock = *device_.manual_clock();
        origin_ns_ = clock.now_ns() + ns_per_us;
        std::set<std::uint64_t> instants;
        std::uint64_t over = 0;
        for (const char* list : {"jobs", "cancels"})
            for (const json& entry : scenario_.value(list, json::array()))
                instants.insert(entry.at("at").get<std::uint64_t>());
        const json expected = groups_timeline(scenario_);
        for (const json& fc : expected.at("fcs"))
            over = std::max(over, fc.at("end").get<std::uint64_t>());
        for (const std::uint64_t instant : instants) {
            clock.advance_to(origin_ns_ + instant * ns_per_us);
            act(instant);
        }
        over = std::max(over, *instants.rbegin());
        clock.advance_to(origin_ns_ + (over + 1) * ns_per_us);
        return timeline(take_fcs());
    }

private:
    void prepare(const json& job) {
        Prepared prepared;
        std::vector<std::uint64_t> fcs;
        if (job.contains("fcs")) {
            fcs = job["fcs"].get<std::vector<std::uint64_t>>();
            prepared.core = job.value("core", 0u);
        } else {
            for (const json& part : job.at("parts")) {
                const std::size_t before = fcs.size();
                const json& stages = part.at("stages");
                for (std::uint32_t stage = 0; stage < stages.size(); stage++)
                    for (const json& fc : stages[stage]) {
                        fcs.push_back(fc);
                        prepared.stages.push_back(stage);
                    }
                prepared.parts.push_back(
                    {static_cast<std::uint32_t>(fcs.size() - before), part.value("core", 0u)});
            }
            prepared.record =
                device_.create_buffer(sizeof(overtake_group_record) +
                                      prepared.parts.size() * sizeof(overtake_part_record));
        }
        prepared.program = std::make_unique<Program>(delays(device_, fcs));
        prepared_.push_back(std::move(prepared));
    }

    void act(std::uint64_t instant) {
        const json& jobs = scenario_.at("jobs");
        for (std::size_t i = 0; i < jobs.size(); i++) {
            if (jobs[i].at("at") != instant)
                continue;
            const Prepared& prepared = prepared_[i];
            Job job = prepared.program->job(i, jobs[i].value("priority", 0u), prepared.core);
            job.custom_id = jobs[i].value("custom_id", std::int64_t{0});
            job.deadline_ns = deadline_never;
            job.parts = prepared.parts;
            job.stages = prepared.stages;
            if (prepared.record)
                job.group_record = prepared.record->address();
            queue_->submit({&job, 1});
        }
        for (const json& cancel : scenario_.value("cancels", json::array()))
            if (cancel.at("at") == instant)
                for (std::size_t i = 0; i < jobs.size(); i++)
                    if (jobs[i].at("id") == cancel.at("id"))
                        queue_->cancel(i);
    }

    json timeline(std::vector<FcRecord> records) {
        json timeline = {{"version", 1}, {"fcs", json::array()}, {"jobs", json::array()}};
        std::ranges::stable_sort(records, {}, [](const FcRecord& record) {
            return std::pair(record.start_ns, record.core);
        });
        for (const FcRecord& record : records) {
            const Prepared& prepared = prepared_.at(record.tag);
            json fc = {{"job", scenario_["jobs"][record.tag].at("id")},
                       {"index", record.index},
                       {"core", record.core},
                       {"ring", record.high ? "high" : "normal"},
                       {"start", us(record.start_ns)},
                       {"end", us(record.end_ns)}};
            if (!prepared.parts.empty()) {
                std::uint32_t at = record.index;
                for (std::uint32_t part = 0; part < record.part; part++)
                    at += prepared.parts[part].fc_count;
                fc["part"] = record.part;
                fc["stage"] = prepared.stages.at(at);
            }
            timeline["fcs"].push_back(std::move(fc));
        }
        put_jobs(timeline["jobs"]);
        return timeline;
    }

    void put_jobs(json& list) {
        std::map<std::uint64_t, Completion> completions;
        std::vector<Completion> some(prepared_.size());
        while (const std::size_t count = queue_->reap(some, 0))
            for (std::size_t i = 0; i < count; i++)
                completions[some[i].tag] = some[i];
        std::vector<std::size_t> order(prepared_.size());
        for (std::size_t i = 0; i < order.size(); i++)
            order[i] = i;
        std::ranges::stable_sort(order, {}, [&](std::size_t i) {
            return scenario_["jobs"][i].at("at").get<std::uint64_t>();
        });
        for (const std::size_t i : order)
            list.push_back(entry(i, completions.at(i)));
    }

    json entry(std::size_t i, const Completion& completion) const {
        json entry = {{"id", scenario_["jobs"][i].at("id")},
                      {"core", completion.core},
                      {"arrival", us(completion.queued_ns)},
                      {"start", or_null(completion.start_ns)},
                      {"end", us(completion.end_ns)},
                      {"preemptions", completion.preemptions},
                      {"cancelled", completion.status == -ECANCELED}};
        if (!prepared_[i].record)
            return entry;
        overtake_group_record record;
        std::memcpy(&record, prepared_[i].record->data(), sizeof(record));
        EXPECT_EQ(record.part_count, prepared_[i].parts.size());
        EXPECT_EQ(record.part_bytes, sizeof(overtake_part_record));
        std::uint64_t executed_ns = 0, fcs_done = 0;
        for (std::uint32_t p = 0; p < record.part_count; p++) {
            overtake_part_record part;
            std::memcpy(&part, prepared_[i].record->data() + sizeof(record) + p * record.part_bytes,
                        sizeof(part));
            entry["parts"].push_back({{"core", part.core},
                                      {"start", or_null(part.start_ns)},
                                      {"end", or_null(part.end_ns)},
                                      {"preemptions", part.preemptions}});
            executed_ns += part.executed_ns;
            fcs_done += part.fcs_done;
        }
        EXPECT_EQ(executed_ns, completion.executed_ns);
        EXPECT_EQ(fcs_done, completion.fcs_done);
        if (completion.status == 0)
            EXPECT_EQ(record.alone_ns, alone_us(i) * ns_per_us);
        else
            EXPECT_LE(record.alone_ns, alone_us(i) * ns_per_us);
        return entry;
    }

    /// Returns the time that the group takes alone.
    std::uint64_t alone_us(std::size_t i) const {
        const json& parts = scenario_["jobs"][i].at("parts");
        const std::uint64_t sync = scenario_.value("sync", std::uint64_t{0});
        std::uint64_t sum = 0;
        for (std::size_t stage = 0; stage < parts[0]["stages"].size(); stage++) {
            std::size_t before = 0; // parts with FCs in the stage before
            for (const json& part : parts)
                before += stage != 0 && !part["stages"][stage - 1].empty();
            std::uint64_t longest = 0;
            for (const json& part : parts) {
                std::uint64_t time = 0;
                for (const json& fc : part["stages"][stage])
                    time += fc.get<std::uint64_t>();
                const bool alone_before =
                    stage != 0 && before == 1 && !part["stages"][stage - 1].empty();
                if (time != 0 && stage != 0 && !alone_before)
                    time += sync;
                longest = std::max(longest, time);
            }
            sum += longest;
        }
        return sum;
    }

    std::uint64_t us(std::uint64_t time_ns) const {
        EXPECT_EQ((time_ns - origin_ns_) % ns_per_us, 0u);
        return (time_ns - origin_ns_) / ns_per_us;
    }
    json or_null(std::uint64_t time_ns) const {
        return time_ns == 0 ? json(nullptr) : json(us(time_ns));
    }

    Device& device_;
    const json& scenario_;
    std::unique_ptr<Queue> queue_;
    std::vector<Prepared> prepared_;
    std::uint64_t origin_ns_ = 0;
};

unsigned floor_of(const json& scenario) {
    const json floor = scenario.value("normal_floor", json(0));
    return floor.is_number() ? floor.get<unsigned>() : 0;
}

std::vector<unsigned> limits_of(const json& scenario) {
    const json limits = scenario.value("core_limit", json(0));
    if (limits.is_array())
        return limits;
    return std::vector<unsigned>(scenario.at("cores"), limits.get<unsigned>());
}

/// Returns the options of an embedded or a served device for the scenario.
EmbeddedOptions options_of(const json& scenario, std::vector<FcRecord>& records) {
    EmbeddedOptions options;
    options.cores = scenario.at("cores");
    options.core_limits = limits_of(scenario);
    options.normal_floor = floor_of(scenario);
    options.mode = OVERTAKE_MODE_TIMED;
    options.profile = "ideal";
    options.manual_clock = true;
    options.watchdog_cycles = ~0ull >> 1;
    options.on_fc = [](void* context, const FcRecord& record) {
        static_cast<std::vector<FcRecord>*>(context)->push_back(record);
    };
    options.on_fc_context = &records;
    return options;
}

json drive_embedded(const json& scenario) {
    std::vector<FcRecord> records;
    const EmbeddedOptions options = options_of(scenario, records);
    // A cycle of the profile `ideal` is a nanosecond.
    ovt_profile profile = *ovt_profile_find("ideal");
    profile.sync_cycles = scenario.value("sync", std::uint64_t{0}) * ns_per_us;
    const auto device =
        open_faulty(options, std::vector<ovt_profile>(options.cores, profile)).device;
    return GroupDriver(*device, scenario).run([&] { return records; });
}

json drive_served(const json& scenario) {
    std::vector<FcRecord> records;
    const MadeDevice made({"server"}, options_of(scenario, records));
    return GroupDriver(*made(), scenario).run([&] { return records; });
}

json drive_kernel(Device& device, const json& scenario) {
    const CoreLimits limits(std::getenv("OVERTAKE_TEST_DEVICE"), limits_of(scenario));
    FcTrace trace;
    return GroupDriver(device, scenario).run([&] { return trace.take(); });
}

/// Whether the backend's device fits the scenario: a kernel device has its own number of cores and
/// floor, and the synchronisation time of its profile.
bool fits(const Backend& backend, const json& scenario, unsigned cores) {
    if (scenario["kind"] != "fc" || !scenario.value("normal_floor", json(0)).is_number())
        return false;
    if (backend.name == "embedded")
        return true;
    if (scenario.value("sync", 0) != 0)
        return false;
    return backend.name == "server" || (scenario["cores"] == cores && floor_of(scenario) == 0);
}

class DriveGroups : public testing::TestWithParam<Backend> {
protected:
    void SetUp() override {
        if (is_made_here(GetParam()))
            return;
        device_ = open_backend(GetParam(), {.manual_clock = true, .embedded = {}});
        if (!device_)
            return;
        if (device_is_fair()) {
            [] { GTEST_SKIP() << "SKIPPED: needs fair=0"; }();
            return;
        }
        cores_ = device_->info().core_count;
    }
    json drive(const json& scenario) {
        if (device_)
            return drive_kernel(*device_, scenario);
        return GetParam().name == "embedded" ? drive_embedded(scenario) : drive_served(scenario);
    }
    bool fits_here(const json& scenario) const { return fits(GetParam(), scenario, cores_); }

    std::shared_ptr<Device> device_; ///< the kernel device; null for other backends
    unsigned cores_ = 0;
};

TEST_P(DriveGroups, ExamplesHaveTheirExactTimelines) {
    std::size_t driven = 0;
    for (const std::string& name : examples("groups-")) {
        const json scenario = read_json(example_file(name + ".json"));
        if (!fits_here(scenario))
            continue;
        EXPECT_EQ(drive(scenario), groups_timeline(scenario)) << name;
        driven++;
    }
    if (device_ && driven == 0) {
        [] { GTEST_SKIP() << "SKIPPED: no example is of so many cores"; }();
        return;
    }
    EXPECT_GE(driven, device_ ? 1u : GetParam().name == "embedded" ? 7u : 2u);
}

/// Runs 500 scenarios, or OVERTAKE_TEST_SCENARIOS of them; fewer on backends that take longer.
TEST_P(DriveGroups, RandomScenariosHaveTheTimelineThatTheOracleSays) {
    std::uint64_t count = GetParam().name == "embedded" ? 500 : 100;
#ifdef __SANITIZE_ADDRESS__
    count /= 5;
#endif
    if (device_)
        count = 25;
    if (const char* wanted = std::getenv("OVERTAKE_TEST_SCENARIOS"))
        count = std::strtoull(wanted, nullptr, 10);
    std::uint64_t driven = 0;
    for (std::uint64_t seed = 1; driven < count; seed++) {
        json scenario = random_groups(seed, false);
        if (GetParam().name != "embedded")
            scenario.erase("sync");
        if (device_)
            scenario.erase("normal_floor");
        if (!fits_here(scenario))
            continue;
        driven++;
        ASSERT_EQ(drive(scenario), groups_timeline(scenario))
            << "seed " << seed << ": " << scenario;
    }
}

INSTANTIATE_TEST_SUITE_P(All, DriveGroups, testing::ValuesIn(all_backends()), backend_name);

} // namespace
} // namespace overtake::test
