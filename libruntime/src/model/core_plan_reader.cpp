// SPDX-License-Identifier: MIT
#include "model/core_plan_reader.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "model/segment_reader.hpp"
#include "overtake/device.hpp"
#include "overtake_isa.h"

#include <ovt_port.h>

extern "C" {
#include "hw/decode.h"
}

namespace overtake {

namespace {

/// The memory of a segment's job.  Its addresses are computed and never dereferenced.
class SegmentMemory {
public:
    SegmentMemory(const ModelContents& contents, const Segment& segment,
                  std::uint32_t scratch_bytes) {
        bind(OVERTAKE_REGION_PROGRAM, contents.program.size(), OVT_REGION_READ);
        bind(OVERTAKE_REGION_WEIGHTS, contents.weights.size(), OVT_REGION_READ);
        bind(OVERTAKE_REGION_SCRATCH, scratch_bytes, OVT_REGION_READ | OVT_REGION_WRITE);
        for (const TensorBinding& binding : segment.bindings)
            bind(binding.region, contents.tensors[binding.tensor].bytes,
                 OVT_REGION_READ | (binding.writable ? OVT_REGION_WRITE : 0));
    }

    /// Returns OVERTAKE_FAULT_NONE, or the fault of a core that runs the instruction.
    std::uint32_t check(const overtake_insn& insn) const {
        ovt_operands operands{};
        return ovt_insn_check(&insn, regions_.data(), &operands);
    }

private:
    void bind(std::uint32_t region, std::uint64_t bytes, u32 flags) {
        static u8 anywhere[1];
        if (bytes != 0)
            regions_[region] = {anywhere, bytes, flags, 0};
    }

    std::array<ovt_region, OVERTAKE_MAX_REGIONS> regions_{};
};

class CorePlanReader {
public:
    CorePlanReader(const fbs::CorePlan& from, const FileView& file, ModelContents& contents)
        : from_(from), file_(file), contents_(contents),
          insns_(contents.program.size() / sizeof(overtake_insn)),
          checks_left_(16 * insns_ + file.bytes.size() / 16) {}

    void run() {
        const Place place{"core_plan", &from_};
        read_cores(place);
        plan_.segments.resize(contents_.segments.size());
        const Place segments = place.field(fbs::CorePlan::VT_SEGMENTS, "segments");
        const auto on_bpu = std::ranges::count_if(contents_.segments, &Segment::on_bpu);
        require(from_.segments()->size() == static_cast<std::size_t>(on_bpu), segments,
                fmt::format("{}, but {} are on the BPU", from_.segments()->size(), on_bpu));
        std::size_t index = 0;
        for (const fbs::CoreSegment* segment : *from_.segments())
            read_segment(*segment, segments.element(index++, segment));
        check_layers(place.field(fbs::CorePlan::VT_LAYERS, "layers"));
        plan_.one_core_ns = std::min(from_.one_core_ns(), most_expected_ns);
        plan_.bound_ns = std::min(from_.bound_ns(), most_expected_ns);
        contents_.core_plan = std::move(plan_);
    }

private:
    void require(bool condition, const Place& place, const std::string& reason) const {
        file_.require(condition, place, reason);
    }

    void read_cores(const Place& place) {
        const std::size_t cores = from_.core_count();
        require(cores >= 2 && cores <= OVERTAKE_MAX_CORES,
                place.field(fbs::CorePlan::VT_CORE_COUNT, "core_count"),
                fmt::format("{}, but 2..{} are possible", cores, OVERTAKE_MAX_CORES));
        const Place profiles = place.field(fbs::CorePlan::VT_PROFILES, "profiles");
        plan_.are_alike = from_.profiles()->size() == 1;
        require(plan_.are_alike || from_.profiles()->size() == cores, profiles,
                fmt::format("{}, but 1 or {} are possible", from_.profiles()->size(), cores));
        std::size_t index = 0;
        for (const fbs::Profile* profile : *from_.profiles()) {
            require(
                profile->clock_khz() != 0,
                profiles.element(index++, profile).field(fbs::Profile::VT_CLOCK_KHZ, "clock_khz"),
                "0");
            plan_.profiles.push_back(profile->name()->string_view());
            plan_.clocks_khz.push_back(profile->clock_khz());
        }
        plan_.profiles.resize(cores, plan_.profiles.front());
        plan_.clocks_khz.resize(cores, plan_.clocks_khz.front());
    }

    void read_segment(const fbs::CoreSegment& from, const Place& place) {
        const Place number = place.field(fbs::CoreSegment::VT_SEGMENT, "segment");
        require(from.segment() < contents_.segments.size() &&
                    contents_.segments[from.segment()].on_bpu(),
                number, fmt::format("{} is no segment of the BPU", from.segment()));
        require(from.segment() >= next_segment_, number, "is not in order");
        next_segment_ = from.segment() + std::size_t{1};
        CoreSegment& segment = plan_.segments[from.segment()];
        const Place parts = place.field(fbs::CoreSegment::VT_PARTS, "parts");
        require(from.parts()->size() != 0, parts, "none");
        for (const fbs::CorePart* part : *from.parts())
            read_part(*part, segment, parts.element(segment.parts.size(), part));
        check_stages(segment, parts);
        segment.scratch_bytes = from.scratch_bytes();
        require(segment.scratch_bytes <= OVERTAKE_MAX_SCRATCH_BYTES,
                place.field(fbs::CoreSegment::VT_SCRATCH_BYTES, "scratch_bytes"),
                fmt::format("{}, at most {}", segment.scratch_bytes, OVERTAKE_MAX_SCRATCH_BYTES));
        check_instructions(segment, contents_.segments[from.segment()], place);
        segment.expected_ns = std::min(from.ns(), most_expected_ns);
        plan_.width = std::max(plan_.width, segment.parts.size());
        plan_.expected_ns = std::min(plan_.expected_ns + segment.expected_ns, most_expected_ns);
    }

    void read_part(const fbs::CorePart& from, CoreSegment& segment, const Place& place) const {
        const Place core = place.field(fbs::CorePart::VT_CORE, "core");
        require(from.core() < plan_.profiles.size(), core,
                fmt::format("{}, but there are {}", from.core(), plan_.profiles.size()));
        require(segment.parts.empty() || segment.parts.back().core <= from.core(), core,
                "is not in order");
        const Place fcs = place.field(fbs::CorePart::VT_FCS, "fcs");
        const std::size_t count = from.fcs()->size();
        require(count != 0 && count <= OVERTAKE_MAX_FCS - segment.fcs.size(), fcs,
                fmt::format("{} FCs, but 1..{} are possible", count,
                            OVERTAKE_MAX_FCS - segment.fcs.size()));
        file_.check_alignment(*from.fcs(), fcs);
        std::size_t index = 0;
        for (const fbs::Fc* fc : *from.fcs()) {
            const std::uint64_t end = std::uint64_t{fc->first_insn()} + fc->insn_count();
            require(fc->insn_count() != 0 && end <= insns_, fcs.element(index++, fc),
                    fmt::format("instructions {}..{} of a program of {}", fc->first_insn(), end,
                                insns_));
            segment.fcs.push_back({fc->first_insn(), fc->insn_count()});
            segment.fc_cycles.push_back(fc->cycles());
        }
        const Place stages = place.field(fbs::CorePart::VT_STAGES, "stages");
        require(from.stages()->size() == count, stages,
                fmt::format("{} for {} FCs", from.stages()->size(), count));
        require(std::ranges::is_sorted(*from.stages()), stages, "are not in order");
        segment.stages.insert(segment.stages.end(), from.stages()->begin(), from.stages()->end());
        segment.parts.push_back({static_cast<std::uint32_t>(count), from.core() + 1});
    }

    void check_stages(CoreSegment& segment, const Place& place) const {
        const std::uint32_t last = std::ranges::max(segment.stages);
        require(last < OVERTAKE_MAX_STAGES, place,
                fmt::format("stage {}, but 0..{} are possible", last, OVERTAKE_MAX_STAGES - 1));
        segment.stage_count = last + 1;
        std::vector<bool> has_fc(segment.stage_count);
        for (const std::uint32_t stage : segment.stages)
            has_fc[stage] = true;
        const auto without = std::ranges::find(has_fc, false) - has_fc.begin();
        require(without == static_cast<std::ptrdiff_t>(has_fc.size()), place,
                fmt::format("no FC is in stage {}", without));
    }

    /// Checks each instruction once, however many FCs have it.
    void check_instructions(const CoreSegment& segment, const Segment& whole, const Place& place) {
        const SegmentMemory memory(contents_, whole, segment.scratch_bytes);
        std::vector<overtake_fc> fcs = segment.fcs;
        std::ranges::sort(fcs, {}, &overtake_fc::first_insn);
        std::size_t number = 0; // the first one that is not checked
        for (const overtake_fc& fc : fcs) {
            number = std::max(number, std::size_t{fc.first_insn});
            for (const std::size_t end = std::size_t{fc.first_insn} + fc.insn_count; number < end;
                 number++)
                check_instruction(memory, number, place);
        }
    }

    void check_instruction(const SegmentMemory& memory, std::size_t number, const Place& place) {
        require(checks_left_ > 0, place,
                "its segments share too many instructions; compile the model again");
        checks_left_--;
        overtake_insn insn;
        std::memcpy(&insn, contents_.program.data() + number * sizeof(insn), sizeof(insn));
        require(memory.check(insn) == OVERTAKE_FAULT_NONE, place,
                fmt::format("cores cannot run instruction {}; compile the model again", number));
    }

    /// Checks the layers for reports, which read them in place.
    void check_layers(const Place& place) const {
        if (!from_.layers())
            return;
        const std::size_t nodes = contents_.table->nodes() ? contents_.table->nodes()->size() : 0;
        std::size_t index = 0;
        for (const fbs::CoreLayer* layer : *from_.layers()) {
            const Place here = place.element(index++, layer);
            require(layer->node() < nodes, here.field(fbs::CoreLayer::VT_NODE, "node"),
                    fmt::format("{}, but there are {}", layer->node(), nodes));
            require(layer->segment() < plan_.segments.size() &&
                        !plan_.segments[layer->segment()].fcs.empty(),
                    here.field(fbs::CoreLayer::VT_SEGMENT, "segment"),
                    fmt::format("{} is no segment of the BPU", layer->segment()));
            require(layer->scheme() >= fbs::Scheme::MIN && layer->scheme() <= fbs::Scheme::MAX,
                    here.field(fbs::CoreLayer::VT_SCHEME, "scheme"),
                    fmt::format("no scheme {}", static_cast<int>(layer->scheme())));
            check_by_core(layer->outputs(), here.field(fbs::CoreLayer::VT_OUTPUTS, "outputs"));
            check_by_core(layer->cycles(), here.field(fbs::CoreLayer::VT_CYCLES, "cycles"));
        }
    }

    void check_by_core(const flatbuffers::Vector<std::uint64_t>* numbers,
                       const Place& place) const {
        const std::size_t count = numbers ? numbers->size() : 0;
        require(count == plan_.profiles.size(), place,
                fmt::format("{} for {} cores", count, plan_.profiles.size()));
        file_.check_alignment(*numbers, place);
    }

    const fbs::CorePlan& from_;
    const FileView& file_;
    ModelContents& contents_;
    const std::uint64_t insns_;
    /// Instructions that may still be checked.  FCs of a segment may share instructions, and so may
    /// segments: the limit keeps the time for reading in proportion to the size of the file.
    std::uint64_t checks_left_;
    CorePlan plan_;
    std::size_t next_segment_ = 0;
};

} // namespace

void read_core_plan(const fbs::CorePlan& from, const FileView& file, ModelContents& contents) {
    CorePlanReader(from, file, contents).run();
}

} // namespace overtake
