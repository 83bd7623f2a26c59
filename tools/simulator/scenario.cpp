// SPDX-License-Identifier: MIT
#include "simulator/scenario.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "overtake/device.hpp"
#include "simulator/arrival_reader.hpp"
#include "simulator/models.hpp"
#include "simulator/parts.hpp"
#include "simulator/reader.hpp"

namespace overtake::simulator {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t ns_per_us = 1000;
constexpr std::uint64_t ns_per_ms = 1'000'000;
constexpr std::uint32_t u32_max = std::numeric_limits<std::uint32_t>::max();

/// Limits `value` to 32 bits: values that can never be reached mean the same as the largest value.
std::uint32_t saturate(std::uint64_t value) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, u32_max));
}

/// With this sigma, one time in 40 is more than 7 times the mean, and half are below 1/7 of it.
constexpr double jitter_sigma_max = 2;

class Parser {
public:
    Parser(const nlohmann::json& document, const fs::path& directory)
        : top_(document), directory_(directory) {}

    Scenario parse() {
        head();
        usual_settings();
        if (scenario_.kind == Kind::task)
            task_level();
        if (top_.has("models"))
            models_ = read_models(top_.at("models"), scenario_.kind, directory_, scenario_.tick_ns,
                                  parts_device());
        const char* list = scenario_.kind == Kind::fc ? "jobs" : "tasks";
        if (top_.has(list) || !top_.has("loads")) {
            const std::vector<Place> items = top_.at(list).elements();
            ids_.reserve(items.size());
            scenario_.listed.reserve(items.size());
            for (const Place& item : items)
                listed(item);
        }
        if (top_.has("loads"))
            for (const Place& item : top_.at("loads").elements())
                load(item);
        if (top_.has("cancels"))
            for (const Place& item : top_.at("cancels").elements())
                cancel(item);
        if (top_.has("limits"))
            for (const Place& item : top_.at("limits").elements())
                limit_change(item);
        std::ranges::stable_sort(scenario_.limits, {}, &LimitChange::at);
        if (top_.has("deaths"))
            for (const Place& item : top_.at("deaths").elements())
                death(item);
        if (top_.has("workers"))
            for (const Place& item : top_.at("workers").elements())
                workers(item);
        check_deaths();
        check_sum();
        average_isolated();
        return std::move(scenario_);
    }

private:
    void head() {
        if (!top_.value().is_object())
            top_.fail("not a JSON object");
        const std::string kind = top_.at("kind").text();
        if (kind != "fc" && kind != "task")
            top_.at("kind").fail(fmt::format("\"{}\" is neither \"fc\" nor \"task\"", kind));
        scenario_.kind = kind == "fc" ? Kind::fc : Kind::task;
        if (scenario_.kind == Kind::fc)
            top_.expect_object({"version", "kind", "cores", "core_limit", "normal_floor", "fair",
                                "jobs", "cancels", "name", "description", "seed", "until", "models",
                                "loads", "fc_jitter", "dispatch_cost", "time_unit", "limits",
                                "sync"});
        else
            top_.expect_object(task_keys());
        const Place version = top_.at("version");
        if (version.integer(0, time_limit) != 1)
            version.fail(fmt::format("{}, but only version 1 is known", version.value().dump()));
        if (top_.has("time_unit"))
            time_unit(top_.at("time_unit"));
        scenario_.cores = static_cast<std::uint32_t>(top_.at("cores").integer(1, OVT_MAX_CORES));
        scenario_.core_limits = of_each_core("core_limit");
        scenario_.normal_floors = of_each_core("normal_floor");
        scenario_.sync = top_.has("sync") ? top_.at("sync").time() : 0;
        if (top_.has("fair"))
            scenario_.fair = top_.at("fair").boolean();
        if (top_.has("name"))
            scenario_.name = top_.at("name").name();
        if (top_.has("description"))
            scenario_.description = top_.at("description").text();
        if (top_.has("seed"))
            scenario_.seed = top_.at("seed").integer(0, std::numeric_limits<std::uint64_t>::max());
        if (top_.has("until"))
            until_ = top_.at("until").duration();
        if (top_.has("fc_jitter"))
            scenario_.fc_jitter = jitter(top_.at("fc_jitter"));
        if (top_.has("dispatch_cost"))
            scenario_.dispatch_cost = top_.at("dispatch_cost").time();
    }

    static std::vector<std::string_view> task_keys() {
        std::vector<std::string_view> keys = {
            "version",      "kind",          "cores",   "core_limit", "normal_floor", "fair",
            "service_mode", "env",           "models",  "tasks",      "cancels",      "name",
            "description",  "seed",          "until",   "policy",     "loads",        "fc_jitter",
            "cpu_jitter",   "dispatch_cost", "overdue", "deaths",     "workers",      "time_unit",
            "limits",       "sync"};
        std::ranges::copy(keys_in(""), std::back_inserter(keys));
        return keys;
    }

    void time_unit(const Place& place) {
        const std::string unit = place.text();
        if (unit != "us" && unit != "ns")
            place.fail(fmt::format("\"{}\" is neither \"us\" nor \"ns\"", unit));
        scenario_.tick_ns = unit == "us" ? ns_per_us : 1;
    }

    std::uint64_t milliseconds(std::uint64_t ms) const {
        const std::uint64_t ticks = ns_per_ms / scenario_.tick_ns;
        return ms > time_limit / ticks ? time_limit : ms * ticks;
    }

    /// Reads a jitter. A number is the spread of a uniform jitter.
    static Jitter jitter(const Place& place) {
        if (!place.value().is_object())
            return uniform(place);
        const std::string type = place.at("type").text();
        if (type == "uniform") {
            place.expect_object({"type", "spread"});
            return uniform(place.at("spread"));
        }
        if (type != "log_normal")
            place.at("type").fail(
                fmt::format("\"{}\" is neither \"uniform\" nor \"log_normal\"", type));
        place.expect_object({"type", "sigma"});
        return {Jitter::Shape::log_normal, place.at("sigma").number_up_to(jitter_sigma_max)};
    }

    static Jitter uniform(const Place& spread) {
        return {Jitter::Shape::uniform, spread.number_up_to(1)};
    }

    /// Reads one value for all cores, or a list with one for each core.
    std::vector<std::uint32_t> of_each_core(const char* key) const {
        std::vector<std::uint32_t> values(scenario_.cores, 0);
        if (!top_.has(key))
            return values;
        const Place value = top_.at(key);
        if (!value.value().is_array()) {
            values.assign(scenario_.cores, saturate(value.time()));
            return values;
        }
        const std::vector<Place> list = value.elements();
        if (list.size() != scenario_.cores)
            value.fail(fmt::format("{} values, but the device has {} cores", list.size(),
                                   scenario_.cores));
        for (std::size_t i = 0; i < list.size(); i++)
            values[i] = saturate(list[i].time());
        return values;
    }

    void task_level() {
        if (top_.has("service_mode"))
            scenario_.service_mode = top_.at("service_mode").boolean();
        read_settings("", top_);
        if (top_.has("policy"))
            scenario_.settings.policy = policy(top_.at("policy"));
        if (top_.has("env")) {
            top_.at("env").expect_object(keys_in("env"));
            read_settings("env", top_.at("env"));
        }
        if (top_.has("cpu_jitter"))
            scenario_.cpu_jitter = jitter(top_.at("cpu_jitter"));
        if (top_.has("overdue"))
            overdue(top_.at("overdue"));
        top_.at("models");
    }

    void overdue(const Place& place) {
        place.expect_object(keys_in("overdue"));
        place.at("min_time").duration(); // required, and at least 1
        read_settings("overdue", place);
    }

    void usual_settings() {
        ovt_sched_settings_init(&scenario_.settings, false);
        for (u32 i = 0; const ovt_setting* setting = ovt_setting_at(i); i++)
            if (setting->unit == OVT_UNIT_TIME)
                ovt_setting_set(setting, &scenario_.settings,
                                ovt_setting_get(setting, &scenario_.settings) / scenario_.tick_ns);
    }

    /// Returns the setting's key in the object `group` of a scenario, or in the scenario itself
    /// (""); empty if the key is elsewhere.
    static std::string_view key_in(std::string_view group, const ovt_setting& setting) {
        const std::string_view path = setting.scenario != nullptr ? setting.scenario : "";
        const std::size_t dot = path.find('.');
        if (dot == std::string_view::npos)
            return group.empty() ? path : "";
        return path.substr(0, dot) == group ? path.substr(dot + 1) : "";
    }

    static std::vector<std::string_view> keys_in(std::string_view group) {
        std::vector<std::string_view> keys;
        for (u32 i = 0; const ovt_setting* setting = ovt_setting_at(i); i++)
            if (const std::string_view key = key_in(group, *setting); !key.empty())
                keys.push_back(key);
        return keys;
    }

    void read_settings(std::string_view group, const Place& object) {
        for (const auto& [key, unused] : object.value().items())
            for (u32 i = 0; const ovt_setting* setting = ovt_setting_at(i); i++)
                if (key_in(group, *setting) == key)
                    ovt_setting_set(setting, &scenario_.settings,
                                    setting_value(*setting, object.at(key), group == "env"));
    }

    /// Reads a setting. In `env`, times are milliseconds, as in the variables of a board.
    std::uint64_t setting_value(const ovt_setting& setting, const Place& place, bool in_env) const {
        if (setting.unit == OVT_UNIT_SWITCH)
            return place.boolean() ? 1 : 0;
        const std::uint64_t value = place.integer(setting.least, time_limit);
        if (setting.unit == OVT_UNIT_TIME)
            return in_env ? milliseconds(value) : value;
        return setting.size == sizeof(u32) ? saturate(value) : value;
    }

    static const ovt_sched_policy* policy(const Place& place) {
        const std::string name = place.text();
        if (const ovt_sched_policy* policy = ovt_sched_policy_find(name.c_str()))
            return policy;
        std::string known;
        for (std::uint32_t i = 0; ovt_sched_policy_at(i) != nullptr; i++)
            known += fmt::format("{}{}", i == 0 ? "" : ", ", ovt_sched_policy_at(i)->name);
        place.fail(fmt::format("\"{}\" is no policy; there are {}", name, known));
    }

    /// Reads the keys that listed arrivals and loads have in common. The class's default name is
    /// `name`.
    TaskKind kind_of(const Place& item, std::string name) {
        TaskKind kind;
        if (item.has("priority"))
            kind.priority = static_cast<std::uint32_t>(item.at("priority").integer(0, 255));
        if (item.has("custom_id"))
            kind.custom_id = item.at("custom_id").any_integer();
        if (item.has("core"))
            kind.core = core(item.at("core"));
        if (scenario_.kind == Kind::task)
            kind.process = process(item.has("process") ? item.at("process").text() : "");
        kind.context = context(item, kind.process);
        if (name.empty())
            name = fmt::format("priority {}", kind.priority);
        if (item.has("class"))
            name = item.at("class").name();
        kind.task_class = class_number(name);
        return kind;
    }

    void finish_kind(const Place& item, TaskKind& kind) {
        if (kind.core != 0 && kind.chain->on_one_core)
            kind.chain = kind.chain->on_one_core;
        if (kind.core != 0 && kind.chain->width != 0)
            item.at("core").fail(
                fmt::format("{}, but parts of a task take any cores: leave core out", kind.core));
        if (item.has("slo"))
            kind.slo = slo(item.at("slo"), kind.chain->time);
        TaskClass& of = scenario_.classes[kind.task_class];
        if (!of.slo)
            of.slo = kind.slo;
        auto& [sum, count] = isolated_[kind.task_class];
        sum += static_cast<double>(kind.chain->time);
        count++;
    }

    static std::uint64_t slo(const Place& place, std::uint64_t isolated) {
        if (!place.value().is_object())
            return place.duration();
        place.expect_object({"isolated"});
        return static_cast<std::uint64_t>(
            std::min(static_cast<double>(isolated) * place.at("isolated").number_above_zero(),
                     static_cast<double>(time_limit)));
    }

    std::uint32_t core(const Place& place) const {
        const std::uint64_t core = place.time();
        if (core > scenario_.cores)
            place.fail(fmt::format("{}, but the device has {} core{}", core, scenario_.cores,
                                   scenario_.cores == 1 ? "" : "s"));
        return static_cast<std::uint32_t>(core);
    }

    std::uint32_t process(const std::string& name) {
        const auto [found, is_new] = process_numbers_.try_emplace(
            name, static_cast<std::uint32_t>(scenario_.processes.size()));
        if (is_new)
            scenario_.processes.push_back(name);
        return found->second;
    }

    /// At task level, each process is a context, unless one process submits for all.
    std::uint32_t context(const Place& item, std::uint32_t process) {
        if (scenario_.kind == Kind::task && scenario_.service_mode)
            return 0;
        std::uint32_t number = process;
        if (scenario_.kind == Kind::fc) {
            const std::string name = item.has("context") ? context_name(item.at("context")) : "";
            const auto [found, is_new] = context_numbers_.try_emplace(
                name, static_cast<std::uint32_t>(context_numbers_.size()));
            if (is_new)
                scenario_.context_names.push_back(name);
            number = found->second;
        }
        scenario_.contexts = std::max(scenario_.contexts, number + 1);
        return number;
    }

    static std::string context_name(const Place& place) {
        if (place.value().is_string())
            return place.text();
        if (!place.value().is_number_integer())
            place.fail(fmt::format("{} is neither text nor an integer", place.value().dump()));
        return place.value().dump();
    }

    std::uint32_t class_number(const std::string& name) {
        const auto [found, is_new] =
            class_numbers_.try_emplace(name, static_cast<std::uint32_t>(scenario_.classes.size()));
        if (is_new) {
            scenario_.classes.push_back({.name = name, .slo = {}});
            isolated_.emplace_back(0.0, 0);
        }
        return found->second;
    }

    PartsDevice parts_device() const {
        return {scenario_.cores, scenario_.sync, scenario_.kind == Kind::fc};
    }

    /// Returns the chain of "model" or "models" (or, at FC level, "fcs" or "parts"), and its name.
    std::pair<std::shared_ptr<const Chain>, std::string> chain_of(const Place& item) {
        const bool is_group = scenario_.kind == Kind::fc && item.has("parts");
        if (is_group && item.has("core"))
            item.at("core").fail("beside parts: each part names its core, or none does");
        if (is_group || (scenario_.kind == Kind::fc && item.has("fcs"))) {
            if (is_group && item.has("fcs"))
                item.fail("both fcs and parts");
            if (item.has("model"))
                item.fail(is_group ? "both parts and model" : "both fcs and model");
            auto chain = std::make_shared<Chain>();
            chain->add(is_group ? parts_segment(item.at("parts"), parts_device())
                                : bpu_segment(item.at("fcs")));
            return {chain, ""};
        }
        if (scenario_.kind == Kind::task && item.has("models")) {
            if (item.has("model"))
                item.fail("both model and models");
            std::vector<std::string> names;
            for (const Place& name : item.at("models").elements())
                names.push_back(known_model(name));
            return {joined(item, names), fmt::format("{}", fmt::join(names, "+"))};
        }
        if (!item.has("model")) {
            if (scenario_.kind == Kind::fc)
                item.at("fcs");
            item.fail("neither model nor models");
        }
        const std::string name = known_model(item.at("model"));
        return {models_.at(name), name};
    }

    std::string known_model(const Place& place) const {
        std::string name = place.text();
        if (!models_.contains(name))
            place.fail(fmt::format("no model is called {}", nlohmann::json(name).dump()));
        return name;
    }

    std::shared_ptr<const Chain> joined(const Place& item, const std::vector<std::string>& names) {
        std::shared_ptr<const Chain>& chain = joined_[names];
        if (!chain) {
            std::vector<std::shared_ptr<const Chain>> models;
            for (const std::string& name : names)
                models.push_back(models_.at(name));
            chain = joined_chain(item, models);
        }
        return chain;
    }

    void expect_new_id(const Place& place) {
        const auto& id = place.value().get_ref<const std::string&>();
        if (!ids_.try_emplace(id, ids_.size()).second)
            place.fail(fmt::format("{} is used twice", nlohmann::json(id).dump()));
    }

    void listed(const Place& item) {
        if (scenario_.kind == Kind::fc)
            item.expect_object({"id", "at", "core", "priority", "custom_id", "fcs", "parts",
                                "model", "context", "class", "slo"});
        else
            item.expect_object({"id", "at", "process", "model", "models", "priority", "custom_id",
                                "core", "class", "slo"});
        Listed listed;
        listed.id = item.at("id").text();
        expect_new_id(item.at("id"));
        listed.at = item.at("at").time();
        auto [chain, name] = chain_of(item);
        listed.kind = kind_of(item, name);
        listed.kind.chain = std::move(chain);
        finish_kind(item, listed.kind);
        note_time(item.at("at"), listed.at);
        add_work(item, listed.kind.chain->work);
        scenario_.listed.push_back(std::move(listed));
    }

    void load(const Place& item) {
        if (scenario_.kind == Kind::fc)
            item.expect_object({"id", "model", "fcs", "parts", "priority", "custom_id", "core",
                                "context", "class", "slo", "arrivals", "start", "count", "until",
                                "max_pending", "timeout"});
        else
            item.expect_object({"id", "process", "model", "models", "priority", "custom_id", "core",
                                "class", "slo", "arrivals", "start", "count", "until",
                                "max_pending", "timeout"});
        Load load;
        load.id = item.at("id").name();
        expect_new_id(item.at("id"));
        auto [chain, name] = chain_of(item);
        load.kind = kind_of(item, load.id);
        load.kind.chain = std::move(chain);
        finish_kind(item, load.kind);
        if (item.has("start"))
            load.start = item.at("start").time();
        if (item.has("count"))
            load.count = item.at("count").duration();
        load.until = until_.value_or(time_limit);
        if (item.has("until"))
            load.until = item.at("until").duration();
        if (item.has("max_pending"))
            load.max_pending = saturate(item.at("max_pending").duration());
        if (item.has("timeout"))
            load.timeout = item.at("timeout").duration();
        read_arrivals(item.at("arrivals"), directory_, scenario_.tick_ns, load);
        if (load.arrivals != Arrivals::trace && !load.count && load.until == time_limit)
            item.fail("neither count nor until: this load would never end");
        scenario_.loads.push_back(std::move(load));
    }

    void cancel(const Place& item) {
        item.expect_object({"id", "at"});
        const std::string id = item.at("id").text();
        const auto found = ids_.find(id);
        if (found == ids_.end() || found->second >= scenario_.listed.size())
            item.at("id").fail(fmt::format("{} is no listed {}", nlohmann::json(id).dump(),
                                           scenario_.kind == Kind::fc ? "job" : "task"));
        const std::uint64_t at = item.at("at").time();
        const std::uint64_t arrival = scenario_.listed[found->second].at;
        if (at < arrival)
            item.at("at").fail(fmt::format("{}, but {} arrives at {}", at, id, arrival));
        note_time(item.at("at"), at);
        scenario_.cancels.push_back({at, found->second});
    }

    void limit_change(const Place& item) {
        item.expect_object({"at", "core", "limit"});
        const std::uint64_t at = item.at("at").time();
        const std::uint32_t core = this->core(item.at("core"));
        if (core == 0)
            item.at("core").fail("0, but cores count from 1");
        note_time(item.at("at"), at);
        scenario_.limits.push_back({at, core, saturate(item.at("limit").time())});
    }

    /// Reads the process of an item. `list` may have no item of that process yet.
    template <class Item>
    std::uint32_t process_of(const Place& item, const std::vector<Item>& list, const char* again) {
        const std::string name = item.at("process").text();
        const auto found = process_numbers_.find(name);
        if (found == process_numbers_.end())
            item.at("process").fail(
                fmt::format("{} is no process of a task or load", nlohmann::json(name).dump()));
        if (std::ranges::find(list, found->second, &Item::process) != list.end())
            item.at("process").fail(fmt::format("{} {}", nlohmann::json(name).dump(), again));
        return found->second;
    }

    void death(const Place& item) {
        item.expect_object({"process", "at"});
        const std::uint32_t process = process_of(item, scenario_.deaths, "dies twice");
        const std::uint64_t at = item.at("at").time();
        note_time(item.at("at"), at);
        scenario_.deaths.push_back({at, process});
    }

    void workers(const Place& item) {
        item.expect_object({"process", "count"});
        const std::uint32_t process =
            process_of(item, scenario_.workers, "has its number of workers already");
        scenario_.workers.push_back(
            {process, static_cast<std::uint32_t>(item.at("count").integer(1, UINT32_MAX))});
    }

    void check_deaths() const {
        for (std::size_t i = 0; i < scenario_.listed.size() && !scenario_.deaths.empty(); i++) {
            const Listed& listed = scenario_.listed[i];
            const auto death =
                std::ranges::find(scenario_.deaths, listed.kind.process, &Death::process);
            if (death != scenario_.deaths.end() && listed.at > death->at)
                top_.at("tasks").elements()[i].at("at").fail(
                    fmt::format("{}, but the task's process dies at {}", listed.at, death->at));
        }
    }

    void add_work(const Place& place, std::uint64_t work) {
        if (work > time_limit - work_)
            place.fail("the sum of all times passes 2^63");
        work_ += work;
    }

    void note_time(const Place& place, std::uint64_t at) {
        if (at < latest_)
            return;
        latest_ = at;
        latest_place_ = place;
    }

    /// Checks that the last listed event plus the work of all listed tasks does not pass the limit
    /// of time. The simulator checks generated tasks, jitter and costs during the run.
    void check_sum() const {
        if (latest_ > time_limit - work_)
            latest_place_->fail(
                fmt::format("{}, and with the {} {} of all segments the sum of times "
                            "passes 2^63",
                            latest_, work_, unit_name()));
    }

    const char* unit_name() const { return scenario_.tick_ns == 1 ? "ns" : "us"; }

    void average_isolated() {
        for (std::size_t i = 0; i < scenario_.classes.size(); i++)
            scenario_.classes[i].isolated = static_cast<std::uint64_t>(
                std::llround(isolated_[i].first / static_cast<double>(isolated_[i].second)));
    }

    Place top_;
    fs::path directory_;
    Scenario scenario_;
    Models models_;
    std::map<std::vector<std::string>, std::shared_ptr<const Chain>> joined_;
    std::unordered_map<std::string_view, std::size_t> ids_; ///< as written in the document
    std::unordered_map<std::string, std::uint32_t> process_numbers_;
    std::unordered_map<std::string, std::uint32_t> context_numbers_;
    std::unordered_map<std::string, std::uint32_t> class_numbers_;
    std::vector<std::pair<double, std::uint64_t>> isolated_; ///< for each class: sum, count
    std::optional<std::uint64_t> until_;
    std::uint64_t latest_ = 0; ///< the last arrival, cancel or other event
    std::optional<Place> latest_place_;
    std::uint64_t work_ = 0;
};

} // namespace

void Chain::add(Segment segment) {
    schedule.push_back(
        {segment.estimate.value_or(segment.time), static_cast<std::uint32_t>(segment.fcs.size())});
    time += segment.time;
    work += segment.work();
    if (segment.parts)
        width = std::max(width, static_cast<std::uint32_t>(segment.parts->list.size()));
    segments.push_back(std::move(segment));
}

Scenario parse_scenario(const nlohmann::json& document, const fs::path& directory) {
    return Parser(document, directory).parse();
}

} // namespace overtake::simulator
