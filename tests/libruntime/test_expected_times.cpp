// SPDX-License-Identifier: MIT
//
// Expected times: measured on an engine's processors, written, read, and refused for another model,
// other processors or another machine.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "coordination/coordinated_engine.hpp"
#include "copy_inference.hpp"
#include "expect_error.hpp"
#include "model_spec.hpp"
#include "overtake/engine.hpp"
#include "overtake/error.hpp"
#include "overtake/expected_times.hpp"
#include "requests/loaded_model.hpp"
#include "requests/request.hpp"

extern "C" {
#include "sched/coord/internal.h"
}

namespace overtake::test {
namespace {

using nlohmann::json;

constexpr std::uint64_t both_units = 0b11;

EngineOptions cores_and_pool() {
    ProcessorOptions npu, cpu;
    npu.name = "npu";
    cpu.name = "cpu";
    cpu.workers = 2;
    EngineOptions options;
    options.processors = {npu, cpu};
    return options;
}

EmbeddedOptions with_modelled_times(unsigned mode = OVERTAKE_MODE_BOTH) {
    EmbeddedOptions options;
    options.mode = mode;
    return options;
}

std::shared_ptr<const Model> small_model() {
    return Model::from_bytes(build(copy_and_softmax()));
}

/// Returns a file with these classes for small_model() on this machine.
json file_of(const std::shared_ptr<const Model>& model, const json& classes) {
    return {{"version", 1},
            {"kind", "expected-times"},
            {"model", std::string(model->name())},
            {"model_digest", coordination::digest_of(*model)},
            {"host", coordination::host_cpu()},
            {"classes", classes}};
}

json workers(std::uint64_t units_1_ns, std::uint64_t both_ns) {
    return {
        {"name", "cpu"},
        {"kind", "workers"},
        {"pieces",
         {{{"units", {1}}, {"time_ns", units_1_ns}}, {{"units", {0, 1}}, {"time_ns", both_ns}}}}};
}

json cores(const char* mode, std::uint64_t time_ns) {
    Engine engine(open_embedded(with_modelled_times()), cores_and_pool());
    const auto& of = engine.state().coordinated->classes()[0];
    return {{"name", "npu"},
            {"kind", "cores"},
            {"device", "embedded"},
            {"mode", mode},
            {"profile", of.profile_name},
            {"profile_digest", coordination::hexadecimal(of.cores.profile_digest)},
            {"pieces", json::array({{{"units", {0}}, {"time_ns", time_ns}}})}};
}

const ovt_coord_record& record(const Engine& engine, const LoadedModel& model,
                               const std::string& class_name, std::uint32_t first,
                               std::uint32_t last) {
    const auto& classes = engine.state().coordinated->classes();
    const auto c = std::ranges::find(classes, class_name, &coordination::ProcessorClass::name) -
                   classes.begin();
    const auto loaded = engine.state().coordinated->load(
        std::shared_ptr<const Model>(std::shared_ptr<void>(), &model.model()));
    return *ovt_coord_record_of(&loaded->described(), static_cast<u32>(c), 0, first, last);
}

/// Returns the time of the first unit on a core: always the same, since it is modelled.
std::uint64_t taken_on_npu(Engine& engine, const std::shared_ptr<LoadedModel>& model) {
    CopyInference inference;
    const auto request = inference.submit(engine, model, "npu");
    EXPECT_TRUE(request->wait());
    return request->segments().front().job.executed_ns;
}

TEST(ExpectedTimes, AreMeasuredOnEachClass) {
    Engine engine(open_embedded(with_modelled_times()), cores_and_pool());
    const auto model = engine.load(small_model());
    double last = 0;
    const ExpectedTimes times = ExpectedTimes::measure(engine, model, 5, [&](double done) {
        EXPECT_GE(done, last);
        last = done;
    });
    EXPECT_EQ(last, 1);
    EXPECT_EQ(times.model_name(), "test");
    EXPECT_TRUE(times.is_of(model->model()));
    std::vector<std::pair<std::string, std::uint64_t>> pieces;
    for (const ExpectedTime& time : times.times()) {
        pieces.emplace_back(time.class_name, time.units);
        EXPECT_GT(time.time_ns, 0u);
    }
    const auto has = [&](const char* name, std::uint64_t units) {
        return std::ranges::count(pieces, std::pair(std::string(name), units)) == 1;
    };
    EXPECT_TRUE(has("npu", 0b01)); // the copies; the later operators belong to CPU workers
    EXPECT_TRUE(has("cpu", 0b10));
    EXPECT_TRUE(has("cpu", both_units)); // without cores the whole model is one piece
    const std::vector<ExpectedTime> all = times.times();
    EXPECT_EQ(all.front().class_name, "npu");
    EXPECT_EQ(all.front().time_ns, taken_on_npu(engine, model));
}

TEST(ExpectedTimes, ComeBackFromAFile) {
    Engine engine(open_embedded(with_modelled_times()), cores_and_pool());
    const auto measured = ExpectedTimes::measure(engine, engine.load(small_model()), 3);
    const ExpectedTimes read = ExpectedTimes::parse(measured.text());
    EXPECT_EQ(read.text(), measured.text());
    EXPECT_TRUE(read.is_of(*small_model()));
    Engine other(open_embedded(with_modelled_times()), cores_and_pool());
    const auto model = other.load(small_model(), read);
    for (const ExpectedTime& time : read.times()) {
        const std::uint32_t first = time.units & 1 ? 0 : 1;
        const std::uint32_t last = time.units & 2 ? 1 : 0;
        const ovt_coord_record& of = record(other, *model, time.class_name, first, last);
        EXPECT_EQ(of.time, time.time_ns);
        EXPECT_TRUE(of.recorded);
    }
}

TEST(ExpectedTimes, AreTheSameTextAfterAnotherRound) {
    const auto model = small_model();
    const std::string text = file_of(model, json::array({workers(5000, 9000)})).dump();
    EXPECT_EQ(json::parse(ExpectedTimes::parse(text).text()), json::parse(text));
}

/// For workers only the time of the largest piece is known.  For cores, which take the
/// modelled time, all times are known.
TEST(ExpectedTimes, AreScaledFromTheLargestPieceWhereThereIsNoModel) {
    const auto file = small_model();
    json classes = json::array({workers(5000, 9'000'000)});
    classes[0]["pieces"].erase(0); // leaves only the largest piece
    Engine usual(open_embedded(with_modelled_times()), cores_and_pool());
    const auto modelled = usual.load(file);
    Engine engine(open_embedded(with_modelled_times()), cores_and_pool());
    const auto model = engine.load(file, ExpectedTimes::parse(file_of(file, classes).dump()));
    EXPECT_EQ(record(engine, *model, "cpu", 0, 1).time, 9'000'000u);
    const UnitTable table = make_unit_table(*file);
    const auto cost = [&](std::uint64_t operations, std::uint64_t bytes) {
        return operations + 10 * bytes;
    };
    const std::uint64_t whole = cost(table.units[0].operations + table.units[1].operations,
                                     table.input_bytes + table.units[1].output_bytes);
    const std::uint64_t second =
        cost(table.units[1].operations, table.units[0].output_bytes + table.units[1].output_bytes);
    const ovt_coord_record& scaled = record(engine, *model, "cpu", 1, 1);
    EXPECT_EQ(scaled.time, (2 * 9'000'000 * second + whole) / (2 * whole));
    EXPECT_FALSE(scaled.recorded);
    EXPECT_EQ(record(engine, *model, "npu", 0, 0).time, record(usual, *modelled, "npu", 0, 0).time);
}

/// Returns a model with two units of one FC each on a core, and the softmax of CPU workers.
std::shared_ptr<const Model> model_of_two_units_on_cores() {
    ModelSpec spec = copy_and_softmax();
    spec.segments.insert(spec.segments.begin(), spec.segments.front());
    spec.segments[0].fcs = {spec.segments[0].fcs[0]};
    spec.segments[1].fcs = {spec.segments[1].fcs[1]};
    return Model::from_bytes(build(spec));
}

/// The times of cores are known from the model only if the cores take the modelled time.
TEST(ExpectedTimes, OfCoresAreScaledIfThoseComputeAsFastAsTheyCan) {
    const auto file = model_of_two_units_on_cores();
    for (const bool is_functional : {false, true}) {
        const unsigned mode = is_functional ? OVERTAKE_MODE_FUNCTIONAL : OVERTAKE_MODE_BOTH;
        json classes = json::array({cores(is_functional ? "functional" : "both", 9'000'000)});
        classes[0]["pieces"][0]["units"] = {0, 1};
        Engine usual(open_embedded(with_modelled_times(mode)), cores_and_pool());
        const std::uint64_t modelled = record(usual, *usual.load(file), "npu", 1, 1).time;
        Engine engine(open_embedded(with_modelled_times(mode)), cores_and_pool());
        const auto model = engine.load(file, ExpectedTimes::parse(file_of(file, classes).dump()));
        EXPECT_EQ(record(engine, *model, "npu", 0, 1).time, 9'000'000u);
        if (is_functional)
            EXPECT_GT(record(engine, *model, "npu", 1, 1).time, 1000 * modelled);
        else
            EXPECT_EQ(record(engine, *model, "npu", 1, 1).time, modelled);
    }
}

/// The first plan uses the times.
TEST(ExpectedTimes, DecideWhereTheFirstRequestRuns) {
    for (const bool is_core_slow : {false, true}) {
        Engine engine(open_embedded(with_modelled_times()), cores_and_pool());
        const auto file = small_model();
        const json classes = {cores("both", is_core_slow ? 50'000'000 : 1000),
                              workers(1'000'000, is_core_slow ? 2'000'000 : 40'000'000)};
        const auto model = engine.load(file, ExpectedTimes::parse(file_of(file, classes).dump()));
        CopyInference inference;
        const auto request = inference.submit(engine, model);
        ASSERT_TRUE(request->wait());
        EXPECT_EQ(request->status(), 0);
        EXPECT_EQ(inference.copied, inference.in);
        EXPECT_EQ(request->runs().size(), is_core_slow ? 1u : 2u);
        EXPECT_EQ(request->runs().front().processor, is_core_slow ? "cpu" : "npu.1");
    }
}

/// t = (1 - a) t + a new, from the first run on.
TEST(ExpectedTimes, AreSmoothed) {
    EngineOptions options = cores_and_pool();
    options.smoothing_percent = 50;
    Engine engine(open_embedded(with_modelled_times()), options);
    const auto file = small_model();
    const std::uint64_t taken = [&] {
        Engine usual(open_embedded(with_modelled_times()), options);
        return taken_on_npu(usual, usual.load(file));
    }();
    const std::uint64_t before = taken * 3; // a core that is faster than expected is not throttled
    const json classes = json::array({cores("both", before)});
    const auto model = engine.load(file, ExpectedTimes::parse(file_of(file, classes).dump()));
    EXPECT_EQ(taken_on_npu(engine, model), taken);
    EXPECT_EQ(record(engine, *model, "npu", 0, 0).time, (before + taken + 1) / 2);
}

/// A text with a change, and the message about it.
struct Wrong {
    const char* what;
    std::function<void(json&)> change;
    const char* message;
};

TEST(ExpectedTimes, OfAnotherModelEngineOrMachineAreRefused) {
    const auto file = small_model();
    const json right = file_of(file, {cores("both", 1000), workers(5000, 9000)});
    const std::vector<Wrong> cases = {
        {"kind", [](json& f) { f["kind"] = "scenario"; }, "is no file of expected times"},
        {"list", [](json& f) { f = json::array(); }, "is no file of expected times"},
        {"version", [](json& f) { f["version"] = 2; }, "version: 2, but this release reads 1"},
        {"no version", [](json& f) { f.erase("version"); }, "version: is missing; write the file"},
        {"no model", [](json& f) { f.erase("model"); }, "model: is missing"},
        {"unknown key", [](json& f) { f["extra"] = 1; }, "extra: is no key of such a file"},
        {"model", [](json& f) { f["model"] = "other"; },
         "model: the times are of 'other', and this model is 'test'; profile the model here"},
        {"digest", [](json& f) { f["model_digest"] = "0"; },
         "model_digest: the times are of another version of 'test'"},
        {"host", [](json& f) { f["host"] = "abacus"; },
         "host: the times are of a machine with 'abacus'"},
        {"classes", [](json& f) { f["classes"] = 3; }, "classes: is not a list [...]"},
        {"no such class", [](json& f) { f["classes"][1]["name"] = "dsp"; },
         "classes[1].name: the engine has no class 'dsp' but npu, cpu; name it among the "
         "processors"},
        {"class twice", [](json& f) { f["classes"][1]["name"] = "npu"; },
         "classes[1].name: 'npu' is the name of an earlier class"},
        {"kind of class", [](json& f) { f["classes"][1]["kind"] = "threads"; },
         "classes[1].kind: 'threads' is not cores, workers or own"},
        {"workers for cores",
         [](json& f) {
             f["classes"][0] = workers(1, 2);
             f["classes"][0]["name"] = "npu";
         },
         "classes[0].kind: 'workers', but class 'npu' of the engine has 'cores'"},
        {"device", [](json& f) { f["classes"][0]["device"] = "kernel"; },
         "classes[0].device: 'kernel', but class 'npu' of the engine has 'embedded'"},
        {"mode", [](json& f) { f["classes"][0]["mode"] = "timed"; },
         "classes[0].mode: 'timed', but class 'npu' of the engine has 'both'"},
        {"profile", [](json& f) { f["classes"][0]["profile"] = "ideal"; },
         "classes[0].profile: 'ideal', but class 'npu' of the engine has 'default'"},
        {"numbers of the profile", [](json& f) { f["classes"][0]["profile_digest"] = "1"; },
         "classes[0].profile_digest: '1', but"},
        {"no profile", [](json& f) { f["classes"][0].erase("profile"); },
         "classes[0].profile: is missing"},
        {"no pieces", [](json& f) { f["classes"][1].erase("pieces"); },
         "classes[1].pieces: is missing"},
        {"no time", [](json& f) { f["classes"][1]["pieces"][0].erase("time_ns"); },
         "classes[1].pieces[0].time_ns: is missing"},
        {"0", [](json& f) { f["classes"][1]["pieces"][0]["time_ns"] = 0; },
         "classes[1].pieces[0].time_ns: 0 is not a whole number in 1..1099511627776"},
        {"negative", [](json& f) { f["classes"][1]["pieces"][0]["time_ns"] = -7; },
         "classes[1].pieces[0].time_ns: -7 is not a whole number"},
        {"part", [](json& f) { f["classes"][1]["pieces"][0]["time_ns"] = 1.5; },
         "classes[1].pieces[0].time_ns: 1.5 is not a whole number"},
        {"overflow", [](json& f) { f["classes"][1]["pieces"][0]["time_ns"] = UINT64_MAX; },
         "classes[1].pieces[0].time_ns: 18446744073709551615 is not a whole number"},
        {"text", [](json& f) { f["classes"][1]["pieces"][0]["time_ns"] = "5"; },
         "classes[1].pieces[0].time_ns: it is not a whole number"},
        {"no unit", [](json& f) { f["classes"][1]["pieces"][0]["units"] = json::array(); },
         "classes[1].pieces[0].units: has no unit"},
        {"unit 64", [](json& f) { f["classes"][1]["pieces"][0]["units"] = {64}; },
         "classes[1].pieces[0].units[0]: 64 is not a whole number in 0..63"},
        {"unit twice",
         [](json& f) {
             f["classes"][1]["pieces"][0]["units"] = {1, 1};
         },
         "classes[1].pieces[0].units[1]: units are in ascending order"},
        {"unit that there is not",
         [](json& f) {
             f["classes"][1]["pieces"][0]["units"] = {1, 2};
         },
         "classes[1].pieces[0].units: units 1, 2 are no piece of the model that class 'cpu' can"},
        {"unit that the class lacks", [](json& f) { f["classes"][0]["pieces"][0]["units"] = {1}; },
         "classes[0].pieces[0].units: units 1 are no piece of the model that class 'npu' can"},
        {"piece twice",
         [](json& f) { f["classes"][1]["pieces"][0] = f["classes"][1]["pieces"][1]; },
         "classes[1].pieces[1]: the same units as an earlier piece"},
    };
    Engine engine(open_embedded(with_modelled_times()), cores_and_pool());
    for (const Wrong& wrong : cases) {
        json document = right;
        wrong.change(document);
        SCOPED_TRACE(wrong.what);
        try {
            engine.load(file, ExpectedTimes::parse(document.dump(), "net.json"));
            ADD_FAILURE() << "was taken";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), EINVAL);
            EXPECT_TRUE(
                std::string(error.what()).starts_with(std::string("net.json: ") + wrong.message))
                << error.what();
        }
    }
    // Nothing of the refused times is left: the engine loads the model, with times or without.
    EXPECT_NE(engine.load(file, ExpectedTimes::parse(right.dump())), nullptr);
}

TEST(ExpectedTimes, FilesThatAreNoJsonAreRefused) {
    const std::pair<std::string, const char*> cases[] = {
        {"", "net.json: parse error at line 1, column 1"},
        {"{\"version\": 1", "net.json: parse error at line 1"},
        {"{\"version\": 1e999}", "net.json: number overflow parsing '1e999'"},
        {"{\"kind\": 1, \"kind\": 2}", "net.json: kind: given twice"},
        {"{\"classes\": [{}, {\"pieces\": [1, {\"a\": 1, \"a\": 2}]}]}",
         "net.json: classes[1].pieces[1].a: given twice"},
        {"{\"a\": " + std::string(100'000, '['), "net.json: a[0][0][0][0][0][0][0]: is nested"},
        {"\xff\xfe", "net.json: parse error"},
        {"[]", "net.json: is no file of expected times; write one with overtake profile"}};
    for (const auto& [text, message] : cases) {
        try {
            (void)ExpectedTimes::parse(text, "net.json");
            ADD_FAILURE() << message;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), EINVAL);
            EXPECT_TRUE(std::string(error.what()).starts_with(message)) << error.what();
            EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
        }
    }
    expect_error(ENOENT, "absent.json: cannot be opened",
                 [] { (void)ExpectedTimes::read("absent.json"); });
    expect_error(EINVAL, "/: is no regular file", [] { (void)ExpectedTimes::read("/"); });
    expect_error(EINVAL, "/dev/zero: is no regular file",
                 [] { (void)ExpectedTimes::read("/dev/zero"); });
}

TEST(ExpectedTimes, NeedAnEngineWithSeveralProcessorsAndANewModel) {
    const auto file = small_model();
    const ExpectedTimes times =
        ExpectedTimes::parse(file_of(file, json::array({workers(5000, 9000)})).dump());
    Engine one(open_embedded({}));
    const auto plain = one.load(file);
    expect_error(EINVAL, "EngineOptions::processors", [&] { one.load(file, times); });
    expect_error(EINVAL, "EngineOptions::processors",
                 [&] { (void)ExpectedTimes::measure(one, plain); });
    Engine engine(open_embedded({}), cores_and_pool());
    const auto model = engine.load(file);
    expect_error(EBUSY, "the engine has the model 'test' already",
                 [&] { engine.load(file, times); });
    expect_error(EINVAL, "0 runs", [&] { (void)ExpectedTimes::measure(engine, model, 0); });
}

/// Neither of the two can run the model by itself; together they can.
class Half final : public OwnProcessor {
public:
    explicit Half(std::size_t unit) : unit_(unit) {}
    std::int32_t prepare(const UnitDescription& unit, std::uint64_t& expected_ns) override {
        expected_ns = 1000;
        return unit.unit == unit_ ? 0 : -ENOTSUP;
    }
    void start(std::shared_ptr<UnitCall> call) override {
        call->done(is_broken ? -EIO : call->compute());
    }
    bool probe() override { return false; }
    std::atomic<bool> is_broken = false;

private:
    const std::size_t unit_;
};

class Halves : public testing::Test {
protected:
    static EngineOptions options_of(const std::shared_ptr<Half>& a,
                                    const std::shared_ptr<Half>& b) {
        ProcessorOptions one, two;
        one.name = "one";
        one.own = a;
        two.name = "two";
        two.own = b;
        EngineOptions options;
        options.processors = {one, two};
        return options;
    }
    const std::shared_ptr<Half> first = std::make_shared<Half>(0);
    const std::shared_ptr<Half> second = std::make_shared<Half>(1);
    Engine engine{open_embedded({}), options_of(first, second)};
    const std::shared_ptr<LoadedModel> model = engine.load(small_model());
};

TEST_F(Halves, AreMeasuredTogether) {
    const std::vector<ExpectedTime> times = ExpectedTimes::measure(engine, model, 3).times();
    ASSERT_EQ(times.size(), 2u);
    EXPECT_EQ(times[0].class_name, "one");
    EXPECT_EQ(times[0].units, 0b01u);
    EXPECT_EQ(times[1].class_name, "two");
    EXPECT_EQ(times[1].units, 0b10u);
}

TEST_F(Halves, AProcessorThatHasFailedIsNotWaitedFor) {
    second->is_broken = true;
    expect_error(EIO, "the processor two has failed, so there is nothing to measure",
                 [&] { (void)ExpectedTimes::measure(engine, model, 3); });
}

} // namespace
} // namespace overtake::test
