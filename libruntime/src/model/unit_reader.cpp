// SPDX-License-Identifier: MIT
#include "model/unit_reader.hpp"

#include <algorithm>
#include <memory>
#include <string>

#include "model/segment_reader.hpp"
#include "overtake/device.hpp"

namespace overtake {

namespace {

using Root = fbs::Model;

constexpr std::size_t most_units = 64, most_classes = 64;
constexpr std::uint32_t ns_clock_khz = 1'000'000;     // for CPU workers: a cycle is a nanosecond
constexpr std::size_t most_unit_fcs = 1 << 20;        // of all units and classes together
constexpr std::uint64_t most_operations = 1ull << 40; // the most that schedulers take

/// The unit that writes each tensor, and the classes whose work writes it.
class UnitTensors final : public TensorUse {
public:
    UnitTensors(const FileView& file, const ModelContents& contents)
        : file_(file), contents_(contents), tensors_(contents.tensors.size()) {
        for (const std::uint32_t input : contents.inputs)
            tensors_[input].is_input = true;
    }

    /// Begins the work of a class for a unit.  `before`: the units that end before the unit begins.
    void enter(std::size_t unit, std::uint64_t before, std::size_t work_class) {
        unit_ = unit;
        before_ = before;
        class_ = std::uint64_t{1} << work_class;
        classes_of_[unit] |= class_;
    }

    void read(std::uint32_t number, const Place& place) override {
        const State& tensor = tensors_[number];
        if (tensor.is_input || contents_.tensors[number].is_constant())
            return;
        if (tensor.unit == unit_) {
            file_.require((tensor.written_by & class_) != 0, place,
                          fmt::format("tensor {} is read before this class wrote it", number));
            return;
        }
        file_.require(is_whole(number), place,
                      fmt::format("tensor {} is read before anything wrote it", number));
        file_.require(
            (before_ >> tensor.unit & 1) != 0, place,
            fmt::format("tensor {} is of unit {}, which is no predecessor", number, tensor.unit));
        tensors_[number].leaves = true;
    }

    void write(std::uint32_t number, const Place& place) override {
        State& tensor = tensors_[number];
        file_.require(
            !tensor.is_input, place,
            fmt::format("tensor {} is an input of the model and would be overwritten", number));
        file_.require(!contents_.tensors[number].is_constant(), place,
                      fmt::format("tensor {} is a constant and would be overwritten", number));
        file_.require(
            tensor.unit == none || tensor.unit == unit_, place,
            fmt::format("tensor {} is of unit {} and would be overwritten", number, tensor.unit));
        tensor.unit = unit_;
        tensor.written_by |= class_;
    }

    /// Whether each class that supports the tensor's unit writes the tensor.
    bool is_whole(std::uint32_t number) const {
        const State& tensor = tensors_[number];
        return tensor.unit != none && tensor.written_by == classes_of_[tensor.unit];
    }

    void take_output(std::uint32_t number) { tensors_[number].leaves = true; }

    /// Adds, for each unit, the bytes of its tensors that other units or the caller read.
    void add_output_bytes(std::vector<Unit>& units) const {
        for (std::size_t number = 0; number < tensors_.size(); number++)
            if (tensors_[number].leaves && tensors_[number].unit != none)
                units[tensors_[number].unit].output_bytes += contents_.tensors[number].bytes;
    }

private:
    static constexpr std::size_t none = ~std::size_t{0};

    struct State {
        bool is_input = false;
        std::size_t unit = none; ///< the unit that writes it
        std::uint64_t written_by = 0;
        bool leaves = false; ///< it leaves its unit
    };

    const FileView& file_;
    const ModelContents& contents_;
    std::vector<State> tensors_;
    std::uint64_t classes_of_[most_units] = {}; ///< the classes that support each unit
    std::size_t unit_ = 0;
    std::uint64_t before_ = 0, class_ = 0;
};

class UnitReader {
public:
    UnitReader(const fbs::Model& root, const FileView& file, ModelContents& contents)
        : root_(root), file_(file), contents_(contents),
          reader_(file, contents.tensors, contents.program.size() / sizeof(overtake_insn)),
          tensors_(file, contents) {}

    void run() {
        const Place classes = of_root(Root::VT_UNIT_CLASSES, "unit_classes");
        const Place units = of_root(Root::VT_UNITS, "units");
        check_count(root_.unit_classes(), most_classes, classes);
        check_count(root_.units(), most_units, units);
        for (const fbs::UnitClass* from : *root_.unit_classes())
            read_class(*from, classes.element(contents_.classes.size(), from));
        for (const fbs::Unit* from : *root_.units())
            read_unit(*from, units.element(contents_.units.size(), from));
        for (const std::uint32_t output : contents_.outputs) {
            file_.require(tensors_.is_whole(output), units,
                          fmt::format("no unit writes tensor {}, an output of the model", output));
            tensors_.take_output(output);
        }
        tensors_.add_output_bytes(contents_.units);
    }

private:
    Place of_root(flatbuffers::voffset_t field, const char* name) const {
        return Place{"", &root_}.field(field, name);
    }

    template <typename Elements>
    void check_count(const Elements* elements, std::size_t most, const Place& place) const {
        const std::size_t count = elements ? elements->size() : 0;
        file_.require(count >= 1 && count <= most, place,
                      fmt::format("{}, but 1..{} are possible", count, most));
    }

    void read_class(const fbs::UnitClass& from, const Place& place) {
        UnitClass read;
        read.name = from.name()->string_view();
        const Place name = place.field(fbs::UnitClass::VT_NAME, "name");
        file_.require(!read.name.empty(), name, "is empty");
        file_.require(std::ranges::find(contents_.classes, read.name, &UnitClass::name) ==
                          contents_.classes.end(),
                      name, "is that of another class");
        if (const fbs::Profile* profile = from.profile()) {
            read.profile_name = profile->name()->string_view();
            read.clock_khz = profile->clock_khz();
            file_.require(read.clock_khz != 0,
                          Place{place.name + ".profile", profile}.field(fbs::Profile::VT_CLOCK_KHZ,
                                                                        "clock_khz"),
                          "0");
        }
        contents_.classes.push_back(read);
    }

    void read_unit(const fbs::Unit& from, const Place& place) {
        const std::size_t number = contents_.units.size();
        Unit unit;
        unit.after = from.after();
        unit.operations = std::min(from.operations(), most_operations);
        file_.require((unit.after >> number) == 0, place.field(fbs::Unit::VT_AFTER, "after"),
                      fmt::format("{:#x} has units that are not before it", unit.after));
        before_[number] = unit.after;
        for (std::size_t other = 0; other < number; other++)
            if (unit.after >> other & 1)
                before_[number] |= before_[other];
        unit.work.resize(contents_.classes.size());
        const Place works = place.field(fbs::Unit::VT_WORK, "work");
        file_.require(from.work()->size() != 0, works, "none");
        std::size_t index = 0, next = 0;
        for (const fbs::UnitWork* work : *from.work()) {
            const Place here = works.element(index++, work);
            const Place of_class = here.field(fbs::UnitWork::VT_CLASS_INDEX, "class_index");
            file_.require(
                work->class_index() < unit.work.size(), of_class,
                fmt::format("{}, but there are {} classes", work->class_index(), unit.work.size()));
            file_.require(work->class_index() >= next, of_class, "is not in order");
            next = work->class_index() + std::size_t{1};
            tensors_.enter(number, before_[number], work->class_index());
            unit.work[work->class_index()] = read_work(*work, here);
        }
        contents_.units.push_back(std::move(unit));
    }

    std::shared_ptr<const UnitWork> read_work(const fbs::UnitWork& from, const Place& place) {
        const UnitClass& of = contents_.classes[from.class_index()];
        const Place segments = place.field(fbs::UnitWork::VT_SEGMENTS, "segments");
        file_.require(from.segments()->size() != 0, segments, "none");
        file_.require(!of.is_cores() || from.segments()->size() == 1, segments,
                      fmt::format("{}, but cores run one", from.segments()->size()));
        auto work = std::make_shared<UnitWork>();
        for (const fbs::Segment* segment : *from.segments()) {
            const Place here = segments.element(work->segments.size(), segment);
            file_.require(!of.is_cores() || segment->bpu(), here, "is none of cores");
            work->segments.push_back(reader_.read(
                *segment, here, of.is_cores() ? of.clock_khz : ns_clock_khz, tensors_));
            fcs_ += work->segments.back().fcs.size();
            file_.require(fcs_ <= most_unit_fcs, here,
                          fmt::format("units have more than {} FCs together", most_unit_fcs));
            work->expected_ns =
                std::min(work->expected_ns + work->segments.back().expected_ns, most_expected_ns);
        }
        work->expected_ns = std::max<std::uint64_t>(work->expected_ns, 1);
        return work;
    }

    const fbs::Model& root_;
    const FileView& file_;
    ModelContents& contents_;
    const SegmentReader reader_;
    UnitTensors tensors_;
    std::uint64_t before_[most_units] = {}; ///< by unit: the units that end before it begins
    std::size_t fcs_ = 0;
};

} // namespace

void read_units(const fbs::Model& root, const FileView& file, ModelContents& contents) {
    UnitReader(root, file, contents).run();
}

} // namespace overtake
