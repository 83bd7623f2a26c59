// SPDX-License-Identifier: MIT
//
// Each track's events are made in order and properly nested. A stable sort by time merges the
// tracks and keeps the order in each.
#include "observe/timeline/perfetto.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include "observe/timeline/canvas.hpp"
#include "observe/timeline/jobs.hpp"
#include "observe/timeline/legend.hpp"
#include "observe/timeline/whole_file.hpp"
#include "overtake/device.hpp"
#include "trace_packet.pb.h"

namespace overtake::timeline {
namespace {

/// All packets are one sequence, whose id only has to differ from 0.
constexpr std::uint32_t sequence_id = 1;
/// Track ids count from this number, so that they are unlikely to be those of another trace.
constexpr std::uint64_t first_uuid = 0x6f76657274616b65;

/// The FCs of a job on its core between two preemptions.
struct JobPart {
    const Job* job;
    std::size_t begin; ///< positions in job->fcs
    std::size_t end;
    std::uint64_t flow_in;  ///< 0: none
    std::uint64_t flow_out; ///< 0: none

    std::uint64_t start_ns() const { return job->fcs[begin]->start_ns; }
    std::uint64_t end_ns() const { return job->fcs[end - 1]->end_ns; }
    const Fc& first() const { return *job->fcs[begin]; }
};

/// A task, and the number of the part in its groups.
using TaskPart = std::pair<std::string_view, std::uint32_t>;

struct Event {
    std::uint64_t time_ns;
    std::uint64_t track;
    proto::TrackEvent::Type type;
    /// The item that begins or happens; nothing for an end.
    std::variant<std::monostate, const Fc*, const JobPart*, const CpuSegment*, const Preemption*,
                 const Condition*>
        subject;
};

class Trace {
public:
    explicit Trace(const Timeline& timeline) : timeline_(timeline), jobs_(jobs_of(timeline)) {
        find_parts();
        add_cores();
        add_tasks();
        std::stable_sort(events_.begin(), events_.end(),
                         [](const Event& a, const Event& b) { return a.time_ns < b.time_ns; });
    }

    void write(google::protobuf::io::CodedOutputStream& out) const {
        for (const proto::TrackDescriptor& track : tracks_) {
            proto::TracePacket packet;
            *packet.mutable_track_descriptor() = track;
            write_packet(packet, out);
        }
        for (const Event& event : events_) {
            proto::TracePacket packet;
            packet.set_timestamp(event.time_ns);
            auto& track_event = *packet.mutable_track_event();
            track_event.set_type(event.type);
            track_event.set_track_uuid(event.track);
            std::visit([&](auto subject) { describe(subject, track_event); }, event.subject);
            write_packet(packet, out);
        }
    }

private:
    /// Writes a packet. A Trace message consists of its packets, one after the other.
    static void write_packet(proto::TracePacket& packet,
                             google::protobuf::io::CodedOutputStream& out) {
        constexpr std::uint32_t packet_tag = proto::Trace::kPacketFieldNumber << 3 | 2;
        packet.set_trusted_packet_sequence_id(sequence_id);
        out.WriteTag(packet_tag);
        out.WriteVarint32(static_cast<std::uint32_t>(packet.ByteSizeLong()));
        packet.SerializeWithCachedSizes(&out);
    }

    void find_parts() {
        std::uint64_t flow = 0;
        for (const Job& job : jobs_) {
            JobPart part{&job, 0, 0, 0, 0};
            for (std::size_t at : job.preempted_before) {
                part.end = at;
                part.flow_out = ++flow;
                parts_.push_back(part);
                part = {&job, at, 0, flow, 0};
            }
            part.end = job.fcs.size();
            parts_.push_back(part);
        }
    }

    /// Children are shown in the order in which they are added.
    std::uint64_t add_track(std::string_view name, std::uint64_t parent) {
        proto::TrackDescriptor track;
        const std::uint64_t uuid = first_uuid + tracks_.size();
        track.set_uuid(uuid);
        track.set_name(valid_utf8(name));
        if (parent != 0)
            track.set_parent_uuid(parent);
        track.set_child_ordering(proto::TrackDescriptor::EXPLICIT);
        track.set_sibling_order_rank(static_cast<int>(tracks_.size()));
        tracks_.push_back(std::move(track));
        return uuid;
    }

    template <typename Subject>
    void begin(std::uint64_t track, std::uint64_t time_ns, const Subject* subject) {
        events_.push_back({time_ns, track, proto::TrackEvent::TYPE_SLICE_BEGIN, subject});
    }
    void end(std::uint64_t track, std::uint64_t time_ns) {
        events_.push_back({time_ns, track, proto::TrackEvent::TYPE_SLICE_END, {}});
    }

    std::string name_of(unsigned core) const {
        return core <= timeline_.lanes.size() ? timeline_.lanes[core - 1].name
                                              : fmt::format("Core {}", core);
    }

    void add_conditions(unsigned core, std::uint64_t parent) {
        std::uint64_t track = 0;
        for (const Condition& condition : timeline_.conditions) {
            if (condition.core != core)
                continue;
            if (track == 0)
                track = add_track(name_of(core) + " state", parent);
            begin(track, condition.from_ns, &condition);
            end(track, condition.to_ns);
        }
    }

    void add_cores() {
        std::map<unsigned, std::vector<const Fc*>[2]> lanes;
        for (unsigned lane = 1; lane <= timeline_.lanes.size(); lane++)
            lanes.try_emplace(lane);
        for (const Fc& fc : timeline_.fcs)
            lanes[fc.core][fc.high].push_back(&fc);
        for (const Preemption& preemption : timeline_.preemptions)
            lanes.try_emplace(preemption.core);
        const std::uint64_t root = add_track("Cores", 0);
        for (auto& [core, rings] : lanes) {
            const std::string name = name_of(core);
            const bool has_rings = core > timeline_.lanes.size() || timeline_.lanes[core - 1].rings;
            const std::uint64_t of_core = add_track(name, root);
            add_conditions(core, of_core);
            for (bool high : {true, false}) {
                if (high && !has_rings)
                    continue;
                const auto track =
                    has_rings
                        ? add_track(fmt::format("{} {}", name, high ? "HIGH" : "NORMAL"), of_core)
                        : of_core;
                std::stable_sort(rings[high].begin(), rings[high].end(),
                                 [](auto* a, auto* b) { return a->start_ns < b->start_ns; });
                for (const Fc* fc : rings[high]) {
                    begin(track, fc->start_ns, fc);
                    end(track, fc->end_ns);
                }
            }
            if (!has_rings)
                continue;
            const auto track = add_track(fmt::format("{} preemptions", name), of_core);
            for (const Preemption& preemption : timeline_.preemptions)
                if (preemption.core == core)
                    events_.push_back(
                        {preemption.time_ns, track, proto::TrackEvent::TYPE_INSTANT, &preemption});
        }
    }

    /// A task's jobs and CPU segments may run in parallel, so each goes on the task's first track
    /// that is free. Tracks of one name are shown as one, so the parts of groups, except the first,
    /// have names of their own.
    void add_tasks() {
        using Item = std::variant<const JobPart*, const CpuSegment*>;
        const auto start_of = [](const Item& item) {
            return std::holds_alternative<const JobPart*>(item)
                       ? std::get<const JobPart*>(item)->start_ns()
                       : std::get<const CpuSegment*>(item)->start_ns;
        };
        const auto before = [](const TaskPart& a, const TaskPart& b) {
            return a.first != b.first ? natural_less(a.first, b.first) : a.second < b.second;
        };
        std::map<TaskPart, std::vector<Item>, decltype(before)> tasks(before);
        for (const JobPart& part : parts_)
            tasks[{part.first().task, part.first().part}].emplace_back(&part);
        for (const CpuSegment& segment : timeline_.cpu)
            tasks[{segment.task, 0}].emplace_back(&segment);
        const std::uint64_t root = add_track("Tasks", 0);
        for (auto& [of, items] : tasks) {
            const std::string task = name_of(of.first, of.second);
            std::stable_sort(items.begin(), items.end(), [&](const Item& a, const Item& b) {
                return start_of(a) < start_of(b);
            });
            // The time at which each lane becomes free, and the lane's track.
            std::vector<std::pair<std::uint64_t, std::uint64_t>> lanes;
            for (const Item& item : items) {
                auto lane = std::find_if(lanes.begin(), lanes.end(), [&](const auto& candidate) {
                    return candidate.first <= start_of(item);
                });
                if (lane == lanes.end())
                    lane = lanes.insert(lane, {0, add_track(task, root)});
                lane->first =
                    std::visit([&](auto subject) { return add_item(lane->second, subject); }, item);
            }
        }
    }

    static std::string name_of(std::string_view task, std::uint32_t part) {
        return part == 0 ? std::string(task) : fmt::format("{} part {}", task, part);
    }

    std::uint64_t add_item(std::uint64_t track, const JobPart* part) {
        begin(track, part->start_ns(), part);
        for (std::size_t at = part->begin; at < part->end; at++) {
            begin(track, part->job->fcs[at]->start_ns, part->job->fcs[at]);
            end(track, part->job->fcs[at]->end_ns);
        }
        end(track, part->end_ns());
        return part->end_ns();
    }

    std::uint64_t add_item(std::uint64_t track, const CpuSegment* segment) {
        begin(track, segment->start_ns, segment);
        end(track, segment->end_ns);
        return segment->end_ns;
    }

    static void annotate(proto::TrackEvent& event, std::string_view name, std::uint64_t value) {
        auto* annotation = event.add_debug_annotations();
        annotation->set_name(std::string(name));
        annotation->set_uint_value(value);
    }
    static void annotate(proto::TrackEvent& event, std::string_view name, std::string_view value) {
        auto* annotation = event.add_debug_annotations();
        annotation->set_name(std::string(name));
        annotation->set_string_value(std::string(value));
    }

    static void annotate_part(const Fc& fc, proto::TrackEvent& event) {
        if (fc.part != 0 || fc.stage)
            annotate(event, "part", fc.part);
    }

    static void describe(std::monostate, proto::TrackEvent&) {}

    static void describe(const Fc* fc, proto::TrackEvent& event) {
        event.set_name(valid_utf8(name_of(fc->task, fc->part)) +
                       (fc->what.empty() ? fmt::format(" #{}", fc->index) : " " + fc->what));
        event.add_categories("fc");
        annotate(event, "tag", fc->tag);
        annotate(event, "index", fc->index);
        annotate(event, "core", fc->core);
        annotate(event, "ring", fc->high ? "HIGH" : "NORMAL");
        annotate_part(*fc, event);
        if (fc->stage)
            annotate(event, "stage", *fc->stage);
    }

    static void describe(const Condition* condition, proto::TrackEvent& event) {
        event.set_name(valid_utf8(condition->what));
        event.add_categories("state");
    }

    static void describe(const JobPart* part, proto::TrackEvent& event) {
        const Fc& first = part->first();
        event.set_name(valid_utf8(name_of(first.task, first.part)) +
                       (part->flow_in != 0 ? " goes on" : ""));
        event.add_categories("job");
        annotate(event, "tag", first.tag);
        annotate(event, "core", first.core);
        annotate(event, "ring", first.high ? "HIGH" : "NORMAL");
        annotate_part(first, event);
        if (part->flow_in != 0)
            event.add_terminating_flow_ids(part->flow_in);
        if (part->flow_out != 0)
            event.add_flow_ids(part->flow_out);
    }

    static void describe(const CpuSegment* segment, proto::TrackEvent& event) {
        event.set_name(valid_utf8(segment->task) + fmt::format(" CPU {}", segment->segment));
        event.add_categories("cpu");
        annotate(event, "tag", segment->tag);
        annotate(event, "segment", segment->segment);
    }

    static void describe(const Preemption* preemption, proto::TrackEvent& event) {
        event.set_name("preemption");
        event.add_categories("preemption");
        if (preemption->tag != 0)
            annotate(event, "tag", preemption->tag);
    }

    const Timeline& timeline_;
    std::vector<Job> jobs_;
    std::vector<JobPart> parts_;
    std::vector<proto::TrackDescriptor> tracks_;
    std::vector<Event> events_;
};

} // namespace

void write_perfetto(const Timeline& timeline, const std::string& path) {
    WholeFile file(path);
    const Trace trace(timeline);
    google::protobuf::io::FileOutputStream stream(file.descriptor());
    {
        google::protobuf::io::CodedOutputStream coded(&stream);
        trace.write(coded);
    }
    if (!stream.Flush())
        file.fail(stream.GetErrno());
    file.commit();
}

} // namespace overtake::timeline
