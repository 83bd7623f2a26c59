// SPDX-License-Identifier: MIT
#include "random_processors.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "draw.hpp"
#include "processors_oracle.hpp"
#include "processors_records.hpp"

namespace overtake::test {

using nlohmann::json;

namespace {

class ProcessorsDrawer {
public:
    explicit ProcessorsDrawer(std::uint64_t seed) : draw_(seed) {}

    /// Returns null if no task fits the drawn processors and models.
    json scenario() {
        // A large unit does not fit into 32 bits, nor its square into 64.
        unit_ = draw_.one_in(30) ? 1ll << 30 : draw_.of<std::int64_t>({1, 1, 1, 1, 1, 10, 1000});
        origin_ = draw_.one_in(30) ? (1ll << 32) - 10 : 0;
        scenario_ = {{"version", 1}, {"kind", "task"}, {"tasks", json::array()}};
        put_settings();
        put_processors();
        put_rates();
        const std::size_t models = 1 + draw_.below(4);
        for (std::size_t i = 0; i < models; i++)
            scenario_["models"]["m" + std::to_string(i)] = model();
        remove_measured_without_cost();
        if (policy_ == "fixed" && !draw_.one_in(4))
            put_map();
        arrivals_ = draw_.of<std::uint64_t>({1, 2, 4, 12, 30});
        const std::size_t tasks = draw_.one_in(20) ? 24 : 1 + draw_.below(12);
        for (std::size_t i = 0; i < tasks; i++)
            put_task();
        if (scenario_["tasks"].empty())
            return nullptr;
        if (draw_.one_in(2))
            put_events();
        if (draw_.one_in(2))
            put_cancels();
        return scenario_;
    }

private:
    std::int64_t units(std::uint64_t limit) {
        return unit_ * static_cast<std::int64_t>(draw_.below(limit));
    }
    std::int64_t duration() {
        const std::int64_t whole = unit_ + units(6);
        return draw_.one_in(20) ? whole + 1 : whole;
    }

    void put_settings() {
        policy_ = draw_.of<std::string>({"priority", "fixed", "round-robin", "shortest-latency",
                                         "heft", "heft-reserved", "least-slack"});
        if (policy_ != "priority" || draw_.one_in(2))
            scenario_["policy"] = policy_;
        if (!draw_.one_in(3))
            scenario_["window"] =
                draw_.one_in(20) ? 64 : 1 + draw_.below(draw_.of<std::uint64_t>({3, 8}));
        if (!draw_.one_in(3))
            scenario_["drop"] = draw_.of<std::string>({"never", "late", "predicted", "predicted"});
        if (!draw_.one_in(4))
            scenario_["smoothing"] = draw_.of({1, 10, 30, 50, 50, 99, 100, 100});
        retry_after_ = unit_ <= 1000 && draw_.one_in(10) ? 1 : unit_ + units(10);
        if (unit_ > 1000 || !draw_.one_in(20))
            scenario_["retry_after"] = retry_after_;
    }

    void put_processors() {
        const auto classes = draw_.of<std::size_t>({1, 2, 2, 3, 3});
        std::vector<bool> pools;
        for (std::size_t i = 0; i < classes; i++)
            pools.push_back(draw_.one_in(3));
        const auto entries = draw_.of<std::size_t>({1, 2, 2, 3, 3, 4});
        // Now and then the greatest number: sets of processors are bits of one word.
        const bool many = draw_.one_in(100);
        for (std::size_t i = 0; i < entries; i++) {
            const std::size_t number = draw_.below(classes);
            // Now and then the name is that of its own class or of another.
            std::string name = "p" + std::to_string(i);
            if (draw_.one_in(4))
                name = class_name((number + draw_.below(2)) % classes);
            if (std::ranges::find(entry_names_, name) != entry_names_.end())
                name = "p" + std::to_string(i);
            entry_names_.push_back(name);
            json entry = {{"name", name}, {"class", class_name(number)}};
            if (pools[number])
                entry["workers"] = draw_.of({1, 1, 2, 2, 3, 4});
            else
                put_cores(entry);
            if (many && i == 0)
                entry[pools[number] ? "workers" : "cores"] = draw_.of({31, 33, 52});
            if (draw_.one_in(3))
                entry["overhead"] = units(3);
            scenario_["processors"].push_back(entry);
            is_pool_[class_name(number)] = pools[number];
        }
    }

    void put_cores(json& entry) {
        entry["cores"] = draw_.one_in(2) ? 1 : 1 + draw_.below(3);
        if (!draw_.one_in(3))
            entry["core_limit"] = draw_.one_in(60) ? 1ull << 40 : draw_.below(4);
        if (!draw_.one_in(3))
            entry["depth"] = draw_.one_in(20) ? 8 : 1 + draw_.below(3);
    }

    static std::string class_name(std::size_t number) {
        return std::string(1, static_cast<char>('a' + number));
    }

    void put_rates() {
        const bool any = !draw_.one_in(3);
        for (std::size_t i = 0; i < entry_names_.size(); i++)
            for (std::size_t j = 0; j < i && any; j++)
                if (!draw_.one_in(3))
                    scenario_["rates"].push_back(
                        draw_.one_in(2)
                            ? json::array({entry_names_[i], entry_names_[j], 1 + draw_.below(20)})
                            : json::array({entry_names_[j], entry_names_[i], 1 + draw_.below(20)}));
    }

    json model() {
        json model;
        const std::size_t count =
            draw_.one_in(500) ? draw_.of<std::size_t>({32, 33, 64}) : 1 + draw_.below(6);
        const bool branches = draw_.one_in(2);
        const bool sizes = !draw_.one_in(3);
        for (std::size_t i = 0; i < count; i++) {
            json unit = {{"time", times()}};
            if (branches)
                put_after(unit, i);
            if (sizes && !draw_.one_in(4))
                unit["bytes"] = units(40);
            if (draw_.one_in(3))
                unit["ops"] = std::min(draw_.of({0, 1, 500, 5000, 20000}) * unit_, most_);
            model["units"].push_back(unit);
        }
        if (draw_.one_in(3))
            model["input"] = units(40);
        if (draw_.one_in(3))
            for (const auto& [name, pool] : is_pool_)
                if (!draw_.one_in(3))
                    model["measured"][name] = duration() * 2;
        return model;
    }

    json times() {
        json times = json::object();
        while (times.empty())
            for (const auto& [name, pool] : is_pool_)
                if (!draw_.one_in(4))
                    times[name] = pool || draw_.one_in(5) ? json(duration()) : fcs();
        return times;
    }

    json fcs() {
        json list = json::array();
        const std::size_t count = 1 + draw_.below(3);
        for (std::size_t i = 0; i < count; i++)
            list.push_back(duration());
        return list;
    }

    /// Draws the unit's predecessors: the unit before, none, another one, or several.
    void put_after(json& unit, std::size_t number) {
        if (draw_.one_in(3))
            return;
        json after = json::array();
        const std::size_t most = draw_.below(4);
        for (std::size_t before = 0; before < number && after.size() < most; before++)
            if (draw_.one_in(2))
                after.push_back(before);
        if (after.size() > 1 && draw_.one_in(3))
            std::reverse(after.begin(), after.end());
        unit["after"] = after;
    }

    /// Removes measured times that would be refused: those of classes with a largest piece of cost
    /// 0.
    void remove_measured_without_cost() {
        const processors::Scenario read = processors::scenario_from(scenario_);
        for (auto& [name, model] : scenario_["models"].items()) {
            if (!model.contains("measured"))
                continue;
            const processors::Model& contents = read.models.at(name);
            for (const auto& [of_class, pool] : is_pool_) {
                const auto has_no_cost = [&](const std::vector<std::size_t>& piece) {
                    return processors::cost(read, contents, piece, of_class) == 0;
                };
                const auto largest = processors::largest_pieces(contents, of_class);
                if (largest.empty() || std::ranges::any_of(largest, has_no_cost))
                    model["measured"].erase(of_class);
            }
            if (model["measured"].empty())
                model.erase("measured");
        }
    }

    void put_map() {
        scenario_["map"] = json::object();
        for (const auto& [name, model] : scenario_["models"].items())
            if (!draw_.one_in(4))
                scenario_["map"][name] = draw_.of(entry_names_);
    }

    void put_task() {
        // The drawer makes several attempts: not every processor can run all units of every model.
        for (int attempt = 0; attempt < 20; attempt++) {
            json task = this->task(scenario_["tasks"].size());
            scenario_["tasks"].push_back(task);
            const processors::Scenario read = processors::scenario_from(scenario_);
            if (is_valid(read, read.tasks.back()))
                return;
            scenario_["tasks"].erase(scenario_["tasks"].size() - 1);
        }
    }

    json task(std::size_t number) {
        const std::uint64_t model = draw_.below(scenario_["models"].size());
        json task = {{"id", "t" + std::to_string(number)},
                     {"at", origin_ + units(arrivals_)},
                     {"model", "m" + std::to_string(model)}};
        if (draw_.one_in(40))
            task["id"] = "t" + std::to_string(number) + ".0 \"\\é";
        if (!draw_.one_in(3))
            task["priority"] = draw_.one_in(4) ? 255 : draw_.of({0, 1, 2, 2, 254});
        if (draw_.one_in(3))
            task["custom_id"] =
                draw_.of<std::int64_t>({-1, 0, 1, 2, std::numeric_limits<std::int64_t>::min(),
                                        std::numeric_limits<std::int64_t>::max()});
        if (draw_.one_in(policy_ == "fixed" ? 2 : 5))
            task["on"] = name_of_processor();
        if (!draw_.one_in(3))
            task["slo"] = unit_ + units(draw_.of<std::uint64_t>({10, 40, 100}));
        return task;
    }

    /// Returns the name of an entry or of one of its cores.
    std::string name_of_processor() {
        const json& entry = scenario_["processors"][draw_.below(entry_names_.size())];
        const std::string name = entry["name"];
        const std::uint64_t cores = entry.value("cores", 1u);
        return cores == 1 || draw_.one_in(2) ? name
                                             : name + "." + std::to_string(1 + draw_.below(cores));
    }

    /// Whether each unit has a processor.  Under round-robin, one processor has to support all
    /// units of a task below 255; under fixed, the task has to name a processor.
    bool is_valid(const processors::Scenario& read, const processors::Task& task) {
        if (policy_ == "fixed" && !task.on)
            return false;
        const std::size_t units = read.model_of(task).units.size();
        std::vector<std::size_t> supported(units); // number of processors for each unit
        bool one_has_all = false;
        for (std::size_t q = 0; q < read.processors.size(); q++) {
            std::size_t here = 0;
            for (std::size_t unit = 0; unit < units; unit++)
                if (read.can_run(task, unit, q)) {
                    supported[unit]++;
                    here++;
                }
            one_has_all = one_has_all || here == units;
        }
        if (policy_ == "round-robin" && task.priority != 255 && !one_has_all)
            return false;
        return std::ranges::find(supported, std::size_t{0}) == supported.end();
    }

    /// Returns the instants of the timeline so far, without more events and cancels.
    std::vector<std::int64_t> instants() const {
        const json timeline = processors_timeline(scenario_);
        std::vector<std::int64_t> instants;
        for (const char* records : {"fcs", "runs", "tasks"})
            for (const json& record : timeline[records])
                for (const char* key : {"dispatched", "start", "end"})
                    if (record.contains(key) && !record[key].is_null())
                        instants.push_back(record[key]);
        if (instants.empty())
            instants.push_back(origin_);
        return instants;
    }

    void put_events() {
        const std::vector<std::int64_t> instants = this->instants();
        std::vector<std::vector<json>> by_processor;
        const bool often = draw_.one_in(3);
        for (const auto& processor : processors::scenario_from(scenario_).processors) {
            by_processor.emplace_back();
            if (!draw_.one_in(often ? 4 : 2))
                put_failures(by_processor.back(), processor.name, instants, often);
            if (!draw_.one_in(3))
                put_throttles(by_processor.back(), processor.name, instants);
        }
        // The events of one processor are in order of time; processors are in any order.
        scenario_["events"] = json::array();
        while (std::erase_if(by_processor, [](const auto& list) { return list.empty(); }),
               !by_processor.empty()) {
            std::vector<json>& list = by_processor[draw_.below(by_processor.size())];
            scenario_["events"].push_back(list.front());
            list.erase(list.begin());
        }
        if (scenario_["events"].empty())
            scenario_.erase("events");
    }

    void put_failures(std::vector<json>& events, const std::string& processor,
                      const std::vector<std::int64_t>& instants, bool often) {
        std::int64_t at = draw_.of(instants);
        const std::size_t count = 1 + draw_.below(often ? 14 : 4);
        for (std::size_t i = 0; i < count; i++) {
            const bool fails = i % 2 == 0;
            at = std::min(at, most_);
            events.push_back(
                {{"at", at}, {"processor", processor}, {"event", fails ? "fail" : "recover"}});
            if (often && draw_.one_in(2))
                at += fails ? units(2) : retry_after_ + units(2);
            else if (draw_.one_in(2))
                // The instant of a trial, or one beside it.
                at += std::max<std::int64_t>(0, retry_after_ * draw_.of({1, 1, 3, 7, 15, 31, 47}) +
                                                    draw_.of({-1, 0, 0, 0, 1}));
            else
                at += units(8);
        }
    }

    void put_throttles(std::vector<json>& events, const std::string& processor,
                       const std::vector<std::int64_t>& instants) {
        const std::size_t count = 1 + draw_.below(3);
        for (std::size_t i = 0; i < count; i++) {
            const std::int64_t at =
                std::min(draw_.one_in(3) ? origin_ + units(20) : draw_.of(instants), most_);
            const json event = {{"at", at},
                                {"processor", processor},
                                {"event", "throttle"},
                                {"factor", draw_.of({1, 50, 100, 101, 150, 200, 300, 1000})}};
            const auto later = std::ranges::find_if(
                events, [&](const json& other) { return other["at"].get<std::int64_t>() > at; });
            events.insert(later, event);
        }
    }

    void put_cancels() {
        const std::size_t count = 1 + draw_.below(4);
        for (std::size_t i = 0; i < count; i++) {
            const json& task = scenario_["tasks"][draw_.below(scenario_["tasks"].size())];
            const std::int64_t arrival = task["at"];
            std::vector<std::int64_t> instants = this->instants();
            std::erase_if(instants, [&](std::int64_t at) { return at < arrival; });
            std::int64_t at = arrival + units(20);
            if (!instants.empty() && !draw_.one_in(4))
                at = draw_.of(instants) + (draw_.one_in(4) ? 1 : 0);
            at = std::min(at, most_);
            scenario_["cancels"].push_back({{"id", task["id"]}, {"at", at}});
            if (draw_.one_in(4)) // a second time
                scenario_["cancels"].push_back(
                    {{"id", task["id"]}, {"at", std::min(at + units(3), most_)}});
        }
    }

    static constexpr std::int64_t most_ = 1ll << 40; ///< greatest number in a file

    Draw draw_;
    json scenario_;
    std::string policy_;
    std::vector<std::string> entry_names_;
    std::map<std::string, bool> is_pool_; ///< by class
    std::int64_t unit_ = 1;
    std::int64_t origin_ = 0;
    std::int64_t retry_after_ = 1;
    std::uint64_t arrivals_ = 1;
};

} // namespace

json random_processors_scenario(std::uint64_t seed) {
    for (std::uint64_t attempt = 0;; attempt++) {
        json scenario = ProcessorsDrawer(seed + (attempt << 48)).scenario();
        if (!scenario.is_null())
            return scenario;
    }
}

} // namespace overtake::test
