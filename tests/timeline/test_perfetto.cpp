// SPDX-License-Identifier: MIT
//
// Traces for Perfetto, which the tests decode again.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "observe/timeline/perfetto.hpp"
#include "overtake/device.hpp"
#include "random_timeline.hpp"
#include "svg_contents.hpp"
#include "trace_packet.pb.h"

namespace overtake::timeline {
namespace {

struct Slice {
    std::string name;
    std::string category;
    std::string track; ///< names from the root, joined by /
    std::uint64_t uuid;
    std::size_t depth;
    std::uint64_t start_ns;
    std::uint64_t end_ns;
    std::vector<std::uint64_t> flows_out;
    std::vector<std::uint64_t> flows_in;
};

struct Decoded {
    std::vector<Slice> slices; ///< by begin
    std::vector<std::string> tracks;
    std::size_t instants = 0;
};

/// Reads the packets as trace_processor does, and checks the rules of its documentation.
class Decoder {
public:
    explicit Decoder(const proto::Trace& trace) {
        for (const auto& packet : trace.packet()) {
            EXPECT_EQ(packet.trusted_packet_sequence_id(), 1u);
            EXPECT_NE(packet.has_track_descriptor(), packet.has_track_event());
            if (packet.has_track_descriptor())
                add_track(packet.track_descriptor());
            else
                add_event(packet.timestamp(), packet.track_event());
        }
        for (const auto& [uuid, open] : open_)
            EXPECT_TRUE(open.empty()) << "slices never end on " << names_[uuid];
    }
    Decoded result;

private:
    void add_track(const proto::TrackDescriptor& track) {
        EXPECT_NE(track.uuid(), 0u);
        EXPECT_FALSE(names_.contains(track.uuid()));
        std::string name = track.name();
        if (track.has_parent_uuid()) {
            EXPECT_TRUE(names_.contains(track.parent_uuid()));
            name = names_[track.parent_uuid()] + "/" + name;
        }
        names_[track.uuid()] = name;
        result.tracks.push_back(name);
    }

    void add_event(std::uint64_t time, const proto::TrackEvent& event) {
        EXPECT_GE(time, last_);
        last_ = time;
        EXPECT_TRUE(names_.contains(event.track_uuid()));
        auto& open = open_[event.track_uuid()];
        switch (event.type()) {
        case proto::TrackEvent::TYPE_SLICE_BEGIN:
            open.push_back(result.slices.size());
            result.slices.push_back(
                {event.name(),
                 event.categories(0),
                 names_[event.track_uuid()],
                 event.track_uuid(),
                 open.size() - 1,
                 time,
                 0,
                 {event.flow_ids().begin(), event.flow_ids().end()},
                 {event.terminating_flow_ids().begin(), event.terminating_flow_ids().end()}});
            break;
        case proto::TrackEvent::TYPE_SLICE_END:
            ASSERT_FALSE(open.empty()) << names_[event.track_uuid()];
            result.slices[open.back()].end_ns = time;
            open.pop_back();
            break;
        default:
            EXPECT_EQ(event.type(), proto::TrackEvent::TYPE_INSTANT);
            result.instants++;
        }
    }

    std::map<std::uint64_t, std::string> names_;
    std::map<std::uint64_t, std::vector<std::size_t>> open_; ///< by track, indices of slices
    std::uint64_t last_ = 0;
};

Decoded written_and_decoded(const Timeline& timeline) {
    const ScratchDirectory directory;
    const std::string path = directory.path() / "trace.pftrace";
    write_perfetto(timeline, path);
    EXPECT_EQ(directory.files(), 1u);
    std::ifstream file(path, std::ios::binary);
    proto::Trace trace;
    EXPECT_TRUE(trace.ParseFromIstream(&file));
    return Decoder(trace).result;
}

std::vector<Slice> on_track(const Decoded& decoded, const std::string& track) {
    std::vector<Slice> slices;
    for (const Slice& slice : decoded.slices)
        if (slice.track == track)
            slices.push_back(slice);
    return slices;
}

Timeline one_preemption() {
    return {.title = "three FCs",
            .fcs = {{"large", 7, 0, 1, false, 0, 100},
                    {"large", 7, 1, 1, false, 100, 150},
                    {"small", 8, 0, 1, true, 150, 300},
                    {"large", 7, 2, 1, false, 300, 400}},
            .preemptions = {{1, 150, 7}},
            .cpu = {{"large", 7, 1, 400, 450}}};
}

TEST(Perfetto, APreemptedJobIsTwoSlicesJoinedByAFlow) {
    const Decoded decoded = written_and_decoded(one_preemption());
    EXPECT_EQ(decoded.tracks,
              (std::vector<std::string>{
                  "Cores", "Cores/Core 1", "Cores/Core 1/Core 1 HIGH", "Cores/Core 1/Core 1 NORMAL",
                  "Cores/Core 1/Core 1 preemptions", "Tasks", "Tasks/large", "Tasks/small"}));
    EXPECT_EQ(decoded.instants, 1u);
    EXPECT_EQ(on_track(decoded, "Cores/Core 1/Core 1 HIGH").size(), 1u);
    EXPECT_EQ(on_track(decoded, "Cores/Core 1/Core 1 NORMAL").size(), 3u);
    const auto large = on_track(decoded, "Tasks/large");
    ASSERT_EQ(large.size(), 6u);
    const std::vector<std::string> names = {"large",         "large #0", "large #1",
                                            "large goes on", "large #2", "large CPU 1"};
    const std::vector<std::size_t> depths = {0, 1, 1, 0, 1, 0};
    const std::vector<std::pair<std::uint64_t, std::uint64_t>> times = {
        {0, 150}, {0, 100}, {100, 150}, {300, 400}, {300, 400}, {400, 450}};
    for (std::size_t at = 0; at < large.size(); at++) {
        EXPECT_EQ(large[at].name, names[at]);
        EXPECT_EQ(large[at].depth, depths[at]) << names[at];
        EXPECT_EQ(std::pair(large[at].start_ns, large[at].end_ns), times[at]) << names[at];
    }
    ASSERT_EQ(large[0].flows_out.size(), 1u);
    EXPECT_EQ(large[3].flows_in, large[0].flows_out);
    EXPECT_TRUE(large[3].flows_out.empty());
}

TEST(Perfetto, JobsOfATaskSideBySideHaveTracksOfOneName) {
    Timeline timeline;
    timeline.fcs = {{"a", 1, 0, 1, false, 0, 100},
                    {"a", 2, 0, 2, false, 50, 150},
                    {"a", 3, 0, 1, false, 100, 200}};
    const Decoded decoded = written_and_decoded(timeline);
    EXPECT_EQ(std::count(decoded.tracks.begin(), decoded.tracks.end(), "Tasks/a"), 2);
    for (const Slice& slice : on_track(decoded, "Tasks/a"))
        EXPECT_EQ(slice.depth, slice.category == "fc" ? 1u : 0u);
}

/// Two parts that run at the same time, and a task whose name is in between.
TEST(Perfetto, EachPartOfAGroupHasATrackOfItsOwn) {
    Timeline timeline;
    timeline.fcs = {
        {.task = "a", .tag = 1, .index = 0, .core = 1, .high = false, .start_ns = 0, .end_ns = 50},
        {.task = "a", .tag = 1, .index = 0, .core = 2, .high = false, .start_ns = 0, .end_ns = 90},
        {.task = "a", .tag = 1, .index = 1, .core = 1, .high = false, .start_ns = 90, .end_ns = 99},
        {.task = "a0", .tag = 2, .index = 0, .core = 3, .high = false, .start_ns = 0, .end_ns = 9},
    };
    for (const std::size_t at : {0u, 1u, 2u}) {
        timeline.fcs[at].part = at == 1;
        timeline.fcs[at].stage = at == 2;
    }
    const Decoded decoded = written_and_decoded(timeline);
    std::vector<std::string> tracks;
    for (const std::string& track : decoded.tracks)
        if (track.starts_with("Tasks/"))
            tracks.push_back(track);
    EXPECT_EQ(tracks, (std::vector<std::string>{"Tasks/a", "Tasks/a part 1", "Tasks/a0"}));
    EXPECT_EQ(on_track(decoded, "Tasks/a").size(), 3u);
    const auto second = on_track(decoded, "Tasks/a part 1");
    ASSERT_EQ(second.size(), 2u);
    EXPECT_EQ(second[0].name, "a part 1");
    EXPECT_EQ(second[1].name, "a part 1 #0");
    EXPECT_EQ(fc_text(timeline.fcs[2]), "part 0 FC 1 of stage 1");
    EXPECT_EQ(fc_text(timeline.fcs[3]), "FC 0");
}

TEST(Perfetto, AJobThatBeginsAnewUnderItsTagIsAnotherSlice) {
    Timeline timeline;
    timeline.fcs = {{"a", 0, 0, 1, false, 0, 100},
                    {"a", 0, 1, 1, false, 100, 200},
                    {"a", 0, 0, 1, false, 300, 400}};
    std::size_t jobs = 0;
    for (const Slice& slice : written_and_decoded(timeline).slices)
        jobs += slice.category == "job";
    EXPECT_EQ(jobs, 2u);
}

TEST(Perfetto, EverySliceNestsAndEveryFlowHasTwoEnds) {
    const Timeline timeline =
        random_timeline({.cores = 4, .fcs_per_core = 1000, .tasks = 4, .cpu = true}, 7);
    const Decoded decoded = written_and_decoded(timeline);
    std::map<std::string, std::size_t> counted;
    std::map<std::uint64_t, const Slice*> from;
    std::map<std::uint64_t, const Slice*> to;
    for (const Slice& slice : decoded.slices) {
        counted[slice.category]++;
        EXPECT_EQ(slice.depth,
                  slice.track.starts_with("Tasks/") && slice.category == "fc" ? 1u : 0u);
        for (std::uint64_t flow : slice.flows_out)
            EXPECT_TRUE(from.emplace(flow, &slice).second);
        for (std::uint64_t flow : slice.flows_in)
            EXPECT_TRUE(to.emplace(flow, &slice).second);
    }
    std::set<std::uint64_t> jobs;
    for (const Fc& fc : timeline.fcs)
        jobs.insert(fc.tag);
    ASSERT_GT(timeline.preemptions.size(), 100u);
    EXPECT_EQ(from.size(), timeline.preemptions.size());
    EXPECT_EQ(to.size(), from.size());
    for (const auto& [flow, slice] : from) {
        ASSERT_TRUE(to.contains(flow));
        EXPECT_LT(slice->end_ns, to[flow]->start_ns);
        EXPECT_EQ(slice->track, to[flow]->track);
    }
    EXPECT_EQ(counted["fc"], 2 * timeline.fcs.size());
    EXPECT_EQ(counted["job"], jobs.size() + timeline.preemptions.size());
    EXPECT_EQ(counted["cpu"], timeline.cpu.size());
    EXPECT_EQ(decoded.instants, timeline.preemptions.size());
}

/// The field numbers are those of Perfetto's documentation, and do not come from
/// trace_packet.proto.
TEST(Perfetto, HasTheFieldNumbersOfTracePacket) {
    Timeline timeline;
    timeline.fcs = {{"a", 5, 2, 1, true, 1000, 1500}};
    const ScratchDirectory directory;
    const std::string path = directory.path() / "trace.pftrace";
    write_perfetto(timeline, path);
    const std::string raw = output_of("protoc --decode_raw < " + path);
    // TracePacket: trusted_packet_sequence_id 10, track_descriptor 60 { uuid 1, name 2,
    // child_ordering 11 = EXPLICIT 3, sibling_order_rank 12 }
    EXPECT_NE(raw.find("1 {\n  10: 1\n  60 {\n    1: 8031718527715076965\n    2: \"Cores\"\n"
                       "    11: 3\n    12: 0\n  }\n}\n"),
              std::string::npos)
        << raw;
    // timestamp 8, track_event 11 { type 9 = SLICE_END 2, track_uuid 11 }
    EXPECT_NE(raw.find("1 {\n  8: 1500\n  10: 1\n  11 {\n    9: 2\n    11: 80317185277150769"),
              std::string::npos)
        << raw;
    // type 9 = SLICE_BEGIN 1, categories 22, name 23
    EXPECT_NE(raw.find("    9: 1\n    11: 80317185277150769"), std::string::npos) << raw;
    EXPECT_NE(raw.find("    22: \"fc\"\n    23: \"a #2\"\n"), std::string::npos) << raw;
    // debug_annotations 4 { uint_value 3, name 10 } and { string_value 6, name 10 }
    EXPECT_NE(raw.find("    4 {\n      3: 5\n      10: \"tag\"\n    }\n"), std::string::npos)
        << raw;
    EXPECT_NE(raw.find("    4 {\n      6: \"HIGH\"\n      10: \"ring\"\n    }\n"),
              std::string::npos)
        << raw;
}

TEST(Perfetto, TakesNamesThatAreNotUtf8AndFcsThatTakeNoTime) {
    Timeline timeline;
    timeline.fcs = {{"\xff", 1, 0, 1, false, 5, 5}, {"\xff", 1, 1, 1, false, 5, 9}};
    const Decoded decoded = written_and_decoded(timeline);
    EXPECT_EQ(decoded.tracks.back(), "Tasks/\uFFFD");
    EXPECT_EQ(decoded.slices.size(), 5u);
}

TEST(Perfetto, NamesThePathThatCannotBeWritten) {
    try {
        write_perfetto(one_preemption(), "/dev/full");
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.what(),
                  std::string("/dev/full: cannot be written: No space left on device; make room, "
                              "or name another place"));
    }
    const ScratchDirectory directory;
    EXPECT_THROW(write_perfetto(one_preemption(), directory.path() / "missing" / "t"), Error);
    EXPECT_EQ(directory.files(), 0u);
}

} // namespace
} // namespace overtake::timeline
