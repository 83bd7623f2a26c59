// SPDX-License-Identifier: MIT
#include "simulator/processors/scenario.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "simulator/arrival_reader.hpp"
#include "simulator/processors/model_reader.hpp"
#include "simulator/reader.hpp"

namespace overtake::simulator::processors {
namespace {

constexpr std::uint64_t usual_retry_after_us = 100'000;

/// Names of one sort, each of which the scenario has once.
class Names {
public:
    /// `what` is a word for messages, such as "processor".
    explicit Names(const char* what) : what_(what) {}

    void add(const Place& place, const std::string& name, std::uint32_t number) {
        if (!numbers_.emplace(name, number).second)
            place.fail(fmt::format("{} is used twice", quoted(name)));
    }
    std::uint32_t of(const Place& place) const {
        const std::string name = place.text();
        const auto found = numbers_.find(name);
        if (found == numbers_.end())
            place.fail(fmt::format("{} is no {}", quoted(name), what_));
        return found->second;
    }
    bool has(const std::string& name) const { return numbers_.contains(name); }

private:
    static std::string quoted(const std::string& name) { return nlohmann::json(name).dump(); }

    const char* what_;
    std::map<std::string, std::uint32_t> numbers_;
};

class Parser {
public:
    Parser(const nlohmann::json& document, const std::filesystem::path& directory)
        : top_(document), directory_(directory) {}

    ProcessorScenario parse() {
        head();
        for (const Place& entry : top_.at("processors").elements())
            read_entry(entry);
        if (top_.has("rates"))
            read_rates(top_.at("rates"));
        else
            scenario_.rates.assign(scenario_.entries.size() * scenario_.entries.size(), 0);
        read_models(top_.at("models"));
        if (top_.has("map"))
            read_map(top_.at("map"));
        if (top_.has("tasks") || !top_.has("loads"))
            for (const Place& task : top_.at("tasks").elements_if_any())
                read_task(task);
        if (top_.has("loads"))
            for (const Place& load : top_.at("loads").elements())
                read_load(load);
        if (top_.has("events"))
            for (const Place& event : top_.at("events").elements_if_any())
                read_event(event);
        if (top_.has("cancels"))
            for (const Place& cancel : top_.at("cancels").elements_if_any())
                read_cancel(cancel);
        std::ranges::stable_sort(scenario_.cancels, {}, &simulator::Cancel::at);
        std::ranges::stable_sort(scenario_.events, {}, &ProcessorEvent::at);
        check_events();
        return std::move(scenario_);
    }

private:
    void head() {
        top_.expect_object({"version",   "kind",        "name",       "description", "time_unit",
                            "seed",      "until",       "policy",     "window",      "drop",
                            "smoothing", "retry_after", "processors", "rates",       "models",
                            "map",       "tasks",       "loads",      "events",      "cancels"});
        if (top_.at("kind").text() != "task")
            top_.at("kind").fail("processors are for kind task");
        const Place version = top_.at("version");
        if (version.integer(0, time_limit) != 1)
            version.fail(fmt::format("{}, but only version 1 is known", version.value().dump()));
        if (top_.has("name"))
            scenario_.name = top_.at("name").name();
        if (top_.has("description"))
            scenario_.description = top_.at("description").text();
        if (top_.has("time_unit"))
            scenario_.tick_ns = tick_of(top_.at("time_unit"));
        if (top_.has("seed"))
            scenario_.seed = top_.at("seed").integer(0, std::numeric_limits<std::uint64_t>::max());
        if (top_.has("until"))
            until_ = top_.at("until").duration();
        scenario_.settings = {.policy = ovt_coord_policy_at(0),
                              .window = 8,
                              .drop = OVT_COORD_DROP_NEVER,
                              .smoothing = 10,
                              .retry_after = usual_retry_after_us * 1000 / scenario_.tick_ns};
        if (top_.has("policy"))
            scenario_.settings.policy = policy_of(top_.at("policy"));
        if (top_.has("window"))
            scenario_.settings.window =
                static_cast<std::uint32_t>(top_.at("window").integer(1, OVT_COORD_MAX_WINDOW));
        if (top_.has("drop"))
            scenario_.settings.drop = drop_of(top_.at("drop"));
        if (top_.has("smoothing"))
            scenario_.settings.smoothing =
                static_cast<std::uint32_t>(top_.at("smoothing").integer(1, 100));
        if (top_.has("retry_after"))
            scenario_.settings.retry_after = top_.at("retry_after").integer(1, most_number);
    }

    static std::uint64_t tick_of(const Place& place) {
        const std::string unit = place.text();
        if (unit != "us" && unit != "ns")
            place.fail(fmt::format("\"{}\" is neither \"us\" nor \"ns\"", unit));
        return unit == "us" ? 1000 : 1;
    }

    static const ovt_coord_policy* policy_of(const Place& place) {
        const std::string name = place.text();
        if (const ovt_coord_policy* policy = ovt_coord_policy_find(name.c_str()))
            return policy;
        std::string known;
        for (std::uint32_t i = 0; ovt_coord_policy_at(i) != nullptr; i++)
            known += fmt::format("{}{}", i == 0 ? "" : ", ", ovt_coord_policy_at(i)->name);
        place.fail(fmt::format("\"{}\" is no policy for processors; there are {}", name, known));
    }

    static ovt_coord_drop drop_of(const Place& place) {
        const std::string name = place.text();
        if (name == "never")
            return OVT_COORD_DROP_NEVER;
        if (name == "late")
            return OVT_COORD_DROP_LATE;
        if (name != "predicted")
            place.fail(fmt::format("\"{}\" is none of \"never\", \"late\", \"predicted\"", name));
        return OVT_COORD_DROP_PREDICTED;
    }

    std::uint32_t class_of(const Place& place, bool is_pool) {
        const std::string name = place.name();
        for (std::uint32_t i = 0; i < scenario_.class_names.size(); i++) {
            if (scenario_.class_names[i] != name)
                continue;
            if (class_is_pool_[i] != is_pool)
                place.fail(fmt::format("class \"{}\" has both cores and workers", name));
            return i;
        }
        scenario_.class_names.push_back(name);
        class_is_pool_.push_back(is_pool);
        return static_cast<std::uint32_t>(scenario_.class_names.size() - 1);
    }

    void read_entry(const Place& place) {
        place.expect_object(
            {"name", "class", "cores", "workers", "core_limit", "depth", "overhead"});
        const bool is_pool = place.has("workers");
        if (is_pool == place.has("cores"))
            place.fail(is_pool ? "both cores and workers" : "neither cores nor workers");
        for (const char* key : {"core_limit", "depth"})
            if (is_pool && place.has(key))
                place.at(key).fail("a pool of workers has none");
        Entry entry;
        entry.name = place.at("name").name();
        entry.class_index = class_of(place.at("class"), is_pool);
        entry.first = static_cast<std::uint32_t>(scenario_.processors.size());
        ovt_coord_processor described{};
        described.class_index = entry.class_index;
        described.entry = static_cast<std::uint32_t>(scenario_.entries.size());
        described.depth = 1;
        if (place.has("core_limit"))
            described.core_limit = number(place.at("core_limit"));
        if (place.has("depth"))
            described.depth = static_cast<std::uint32_t>(place.at("depth").integer(1, 8));
        if (place.has("overhead"))
            described.overhead = number(place.at("overhead"));
        if (is_pool)
            described.workers = count_of(place.at("workers"), OVT_COORD_MAX_WORKERS - workers_,
                                         "workers", OVT_COORD_MAX_WORKERS);
        workers_ += described.workers;
        entry.count = is_pool ? 1
                              : count_of(place.at("cores"), OVT_COORD_MAX_PROCESSORS - entry.first,
                                         "processors", OVT_COORD_MAX_PROCESSORS);
        if (entry.first == OVT_COORD_MAX_PROCESSORS)
            place.fail(fmt::format("more than {} processors", OVT_COORD_MAX_PROCESSORS));
        add_processors(place, entry, described);
        scenario_.entries.push_back(std::move(entry));
    }

    static std::uint32_t count_of(const Place& place, std::uint64_t most, const char* what,
                                  std::uint32_t limit) {
        const std::uint64_t count = place.integer(1, most_number);
        if (count > most)
            place.fail(fmt::format("more than {} {} in all", limit, what));
        return static_cast<std::uint32_t>(count);
    }

    void add_processors(const Place& place, const Entry& entry,
                        const ovt_coord_processor& described) {
        const auto number = static_cast<std::uint32_t>(scenario_.entries.size());
        if (processors_.has(entry.name))
            place.at("name").fail(fmt::format("\"{}\" is used twice", entry.name));
        entries_.add(place.at("name"), entry.name, number);
        for (std::uint32_t i = 0; i < entry.count; i++) {
            Processor processor;
            processor.name =
                entry.count == 1 ? entry.name : fmt::format("{}.{}", entry.name, i + 1);
            processor.described = described;
            if (described.workers == 0)
                processor.core = ++scenario_.cores;
            if (processor.name != entry.name && entries_.has(processor.name))
                place.at("name").fail(fmt::format("\"{}\" is used twice", processor.name));
            processors_.add(place.at("name"), processor.name,
                            static_cast<std::uint32_t>(scenario_.processors.size()));
            scenario_.processors.push_back(std::move(processor));
        }
    }

    void read_rates(const Place& place) {
        const std::size_t count = scenario_.entries.size();
        scenario_.rates.assign(count * count, 0);
        for (const Place& rate : place.elements_if_any()) {
            const std::vector<Place> parts = rate.elements();
            if (parts.size() != 3)
                rate.fail("not two names and a rate");
            const std::uint32_t a = entries_.of(parts[0]);
            const std::uint32_t b = entries_.of(parts[1]);
            if (a == b)
                rate.fail("an entry has no rate to itself");
            if (scenario_.rates[a * count + b] != 0)
                rate.fail("these two have a rate already");
            scenario_.rates[a * count + b] = scenario_.rates[b * count + a] =
                parts[2].integer(1, most_number);
        }
    }

    void read_models(const Place& place) {
        if (!place.value().is_object())
            place.fail("not an object");
        if (place.value().empty())
            place.fail("no model");
        for (const auto& [name, unused] : place.value().items()) {
            models_.add(place, name, static_cast<std::uint32_t>(scenario_.models.size()));
            scenario_.models.push_back(
                read_model(place.at(name), name,
                           {scenario_.class_names, class_is_pool_, scenario_.tick_ns}, directory_));
            check_measured(place.at(name), scenario_.models.back());
        }
        check_classes(place);
    }

    /// Refuses, if models come from files, a class that runs nothing and is in no file: its name
    /// may be wrong.
    void check_classes(const Place& place) const {
        std::vector<std::string> in_files;
        for (const Model& model : scenario_.models)
            for (const std::string& name : model.classes_in_file)
                if (std::ranges::find(in_files, name) == in_files.end())
                    in_files.push_back(name);
        const std::size_t count = scenario_.class_names.size();
        for (std::size_t index = 0; index < count; index++) {
            const auto has_it = [&](const Model& model) {
                for (std::size_t i = index; i < model.times.size(); i += count)
                    if (model.times[i] != 0)
                        return true;
                return false;
            };
            const bool is_in_files =
                std::ranges::find(in_files, scenario_.class_names[index]) != in_files.end();
            if (in_files.empty() || is_in_files || std::ranges::any_of(scenario_.models, has_it))
                continue;
            std::string names;
            for (const std::string& name : in_files)
                names += (names.empty() ? "" : ", ") + name;
            place.fail(fmt::format(
                "no model runs on class \"{0}\"; the files were compiled for {1}: "
                "name the class as one of these, or compile a network with "
                "--class {0}{2}",
                scenario_.class_names[index], names, class_is_pool_[index] ? "" : "=PROFILE"));
        }
    }

    /// Checks that the largest piece of each measured class has operations or bytes. Keeps the
    /// model for can_run().
    void check_measured(const Place& place, const Model& model) {
        ovt_coord coord{};
        std::vector<ovt_coord_processor> described;
        for (const Processor& processor : scenario_.processors)
            described.push_back(processor.described);
        ovt_coord_init(&coord, &scenario_.settings, described.data(),
                       static_cast<u32>(described.size()),
                       static_cast<u32>(scenario_.entries.size()),
                       static_cast<u32>(scenario_.class_names.size()), scenario_.rates.data());
        std::vector<ovt_coord_record> records(
            scenario_.class_names.size() *
            ovt_coord_record_count(static_cast<u32>(model.units.size())));
        ovt_coord_model described_model{};
        described_model.units = model.units.data();
        described_model.unit_count = static_cast<u32>(model.units.size());
        described_model.input_bytes = model.input_bytes;
        described_model.times = model.times.data();
        described_model.records = records.data();
        ovt_coord_add_model(&coord, &described_model);
        for (std::uint32_t index = 0; index < scenario_.class_names.size(); index++) {
            if (model.measured[index] == 0)
                continue;
            const Place measured = place.at("measured").at(scenario_.class_names[index]);
            u64 units = 0;
            u64 cost = 0;
            if (!ovt_coord_largest_piece(&coord, &described_model, index, &units, &cost))
                measured.fail("no unit of the model runs on this class");
            if (cost == 0)
                measured.fail("the largest piece on this class has neither ops nor bytes");
        }
        described_models_.push_back(described_model);
    }

    void read_map(const Place& place) {
        if (std::string_view(scenario_.settings.policy->name) != "fixed")
            place.fail("map is for policy fixed");
        if (!place.value().is_object())
            place.fail("not an object");
        for (const auto& [name, unused] : place.value().items()) {
            const Place entry = place.at(name);
            if (!models_.has(name))
                entry.fail(fmt::format("{} is no model", nlohmann::json(name).dump()));
            map_.emplace(name, entries_.of(entry));
        }
    }

    TaskKind read_kind(const Place& place, const std::string& usual_class) {
        TaskKind kind;
        kind.model = models_.of(place.at("model"));
        if (place.has("priority"))
            kind.priority = static_cast<std::uint32_t>(place.at("priority").integer(0, 255));
        if (place.has("custom_id"))
            kind.custom_id = place.at("custom_id").any_integer();
        if (place.has("slo"))
            kind.slo = place.at("slo").integer(1, most_number);
        kind.task_class = task_class(place.has("class") ? place.at("class").name() : usual_class);
        set_on(place, kind);
        check_can_run(place, kind);
        return kind;
    }

    void set_on(const Place& place, TaskKind& kind) const {
        const bool is_fixed = std::string_view(scenario_.settings.policy->name) == "fixed";
        if (place.has("on")) {
            const std::string name = place.at("on").text();
            if (entries_.has(name)) {
                set_entry(kind, scenario_.entries[entries_.of(place.at("on"))]);
                return;
            }
            const std::uint32_t number = processors_.of(place.at("on"));
            kind.on = std::uint64_t{1} << number;
            kind.on_class = scenario_.processors[number].described.class_index;
            return;
        }
        const auto mapped = map_.find(scenario_.models[kind.model].name);
        if (mapped != map_.end())
            set_entry(kind, scenario_.entries[mapped->second]);
        else if (is_fixed)
            place.fail("policy fixed, but the task has no on, and map does not have its model");
    }

    static void set_entry(TaskKind& kind, const Entry& entry) {
        for (std::uint32_t i = 0; i < entry.count; i++)
            kind.on |= std::uint64_t{1} << (entry.first + i);
        kind.on_class = entry.class_index;
    }

    std::uint64_t can_run(const TaskKind& kind, std::uint32_t unit) const {
        const ovt_coord_model& model = described_models_[kind.model];
        std::uint64_t pools = 0;
        for (std::size_t i = 0; i < scenario_.processors.size(); i++)
            if (scenario_.processors[i].core == 0)
                pools |= std::uint64_t{1} << i;
        std::uint64_t allowed = kind.on;
        if (kind.on == 0)
            allowed = ~std::uint64_t{0};
        else if ((model.supporting[unit] >> kind.on_class & 1) == 0)
            allowed |= pools;
        return model.processors[unit] & allowed;
    }

    void check_can_run(const Place& place, const TaskKind& kind) const {
        const Model& model = scenario_.models[kind.model];
        std::uint64_t all = ~std::uint64_t{0};
        for (std::uint32_t unit = 0; unit < model.units.size(); unit++) {
            const std::uint64_t processors = can_run(kind, unit);
            if (processors == 0)
                place.fail(fmt::format("no processor can run unit {} of {}", unit, model.name));
            all &= processors;
        }
        if (scenario_.settings.policy->whole && kind.priority != OVT_COORD_PRIORITY_HIGH &&
            all == 0)
            place.fail(fmt::format("policy {}, but no processor can run all units of {}",
                                   scenario_.settings.policy->name, model.name));
    }

    std::uint32_t task_class(const std::string& name) {
        const auto found = std::ranges::find(scenario_.task_classes, name);
        if (found != scenario_.task_classes.end())
            return static_cast<std::uint32_t>(found - scenario_.task_classes.begin());
        scenario_.task_classes.push_back(name);
        return static_cast<std::uint32_t>(scenario_.task_classes.size() - 1);
    }

    void read_task(const Place& place) {
        place.expect_object({"id", "at", "model", "priority", "custom_id", "on", "slo", "class"});
        Listed task;
        task.id = place.at("id").name();
        tasks_.add(place.at("id"), task.id, static_cast<std::uint32_t>(scenario_.listed.size()));
        task.at = number(place.at("at"));
        task.kind = read_kind(place, "tasks");
        scenario_.listed.push_back(std::move(task));
    }

    void read_load(const Place& place) {
        place.expect_object({"id", "model", "priority", "custom_id", "on", "slo", "class",
                             "arrivals", "start", "count", "until", "max_pending"});
        Generated load;
        load.arrivals.id = place.at("id").name();
        loads_.add(place.at("id"), load.arrivals.id,
                   static_cast<std::uint32_t>(scenario_.loads.size()));
        load.kind = read_kind(place, load.arrivals.id);
        if (place.has("start"))
            load.arrivals.start = number(place.at("start"));
        if (place.has("count"))
            load.arrivals.count = place.at("count").duration();
        load.arrivals.until = until_.value_or(time_limit);
        if (place.has("until"))
            load.arrivals.until = place.at("until").duration();
        if (place.has("max_pending"))
            load.arrivals.max_pending = static_cast<std::uint32_t>(
                place.at("max_pending").integer(1, std::numeric_limits<std::uint32_t>::max()));
        read_arrivals(place.at("arrivals"), directory_, scenario_.tick_ns, load.arrivals);
        if (load.arrivals.arrivals != Arrivals::trace && !load.arrivals.count &&
            load.arrivals.until == time_limit)
            place.fail("neither count nor until: this load would never end");
        scenario_.loads.push_back(std::move(load));
    }

    void read_event(const Place& place) {
        place.expect_object({"at", "processor", "event", "factor"});
        ProcessorEvent event{};
        event.at = number(place.at("at"));
        event.processor = processors_.of(place.at("processor"));
        const std::string type = place.at("event").text();
        if (type == "throttle") {
            event.type = EventType::throttle;
            event.factor = place.at("factor").integer(1, 1000);
        } else if (type == "fail" || type == "recover") {
            event.type = type == "fail" ? EventType::fail : EventType::recover;
            if (place.has("factor"))
                place.at("factor").fail("factor is for throttle");
        } else {
            place.at("event").fail(
                fmt::format("\"{}\" is none of \"fail\", \"recover\", \"throttle\"", type));
        }
        event_places_.emplace_back(event.at, place);
        scenario_.events.push_back(event);
    }

    /// Checks that fail and recover of each processor alternate, in order of time.
    void check_events() {
        std::ranges::stable_sort(event_places_, {}, [](const auto& event) { return event.first; });
        std::vector<bool> works(scenario_.processors.size(), true);
        for (std::size_t i = 0; i < scenario_.events.size(); i++) {
            const ProcessorEvent& event = scenario_.events[i];
            if (event.type == EventType::throttle)
                continue;
            const bool fails = event.type == EventType::fail;
            if (works[event.processor] != fails)
                event_places_[i].second.at("event").fail(
                    fmt::format("{} {} already", scenario_.processors[event.processor].name,
                                fails ? "has failed" : "works"));
            works[event.processor] = !fails;
        }
    }

    void read_cancel(const Place& place) {
        place.expect_object({"id", "at"});
        const std::uint32_t task = tasks_.of(place.at("id"));
        const std::uint64_t at = number(place.at("at"));
        if (at < scenario_.listed[task].at)
            place.at("at").fail(fmt::format("{}, but {} arrives at {}", at,
                                            scenario_.listed[task].id, scenario_.listed[task].at));
        scenario_.cancels.push_back({at, task});
    }

    static std::uint64_t number(const Place& place) { return place.integer(0, most_number); }

    Place top_;
    std::filesystem::path directory_;
    ProcessorScenario scenario_;
    std::optional<std::uint64_t> until_;
    std::vector<bool> class_is_pool_;
    std::uint32_t workers_ = 0;
    std::vector<ovt_coord_model> described_models_; ///< models for can_run()
    std::map<std::string, std::uint32_t> map_;      ///< entries, by model
    std::vector<std::pair<std::uint64_t, Place>> event_places_;
    Names entries_{"entry of processors"};
    Names processors_{"processor"};
    Names models_{"model"};
    Names tasks_{"listed task"};
    Names loads_{"load"};
};

} // namespace

bool has_processors(const nlohmann::json& document) {
    return document.is_object() && document.contains("processors");
}

ProcessorScenario parse_processor_scenario(const nlohmann::json& document,
                                           const std::filesystem::path& directory) {
    return Parser(document, directory).parse();
}

} // namespace overtake::simulator::processors
