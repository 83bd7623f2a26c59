// SPDX-License-Identifier: MIT
//
// Requests: the causes of the latency of requests on several processors of an engine.
//
// The probes report when a run goes to its processor and when it is over. A core executes one run
// at a time, a pool one on each worker. Both execute runs in the order in which they came, with
// those of priority 255 before all others. So a run begins when it goes to an idle processor, or
// when a run before it ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "observe/blame/processor_waits.hpp"
#include "observe/processor_event.hpp"

namespace overtake::blame {

/// Memory is bounded even if other users' processes report events without end.
class Requests {
public:
    static constexpr std::size_t most_requests = 1u << 16; ///< live requests of all processes
    static constexpr std::size_t most_engines = 1u << 10;  ///< engines of all processes
    static constexpr std::size_t most_runs = 1u << 12;     ///< runs of a processor
    static constexpr std::size_t most_models = 64;         ///< models of an engine that have a name
    static constexpr std::size_t most_owners = 1u << 12; ///< owners whose slowest requests are kept
    static constexpr std::size_t most_reports = 1u << 16; ///< reports of all owners
    static constexpr std::size_t most_takes = 1u << 12;   ///< times of runs, of an engine

    using OwnerName = std::function<std::string(std::uint64_t model, std::uint32_t pid)>;

    /// Keeps the `most` slowest requests of each model of a process. Calls `name` as events come.
    Requests(std::size_t most, OwnerName name) : most_(most), name_(std::move(name)) {}

    void add(const watch::ProcessorEvent& event);
    /// Events were lost: requests that are live now will not be reported.
    void lost();
    std::vector<std::uint32_t> processes() const;
    /// Forgets the engines of processes that have ended.
    void forget(const std::set<std::uint32_t>& pids);
    /// Returns how many arrivals, events about processors and reports were dropped because there
    /// were too many requests, engines or owners.
    std::uint64_t dropped() const noexcept { return dropped_; }

    /// Returns a sentence for each kept request, by owner, the slowest first.
    std::vector<std::string> lines() const;
    nlohmann::ordered_json to_json() const;

private:
    struct Request {
        std::uint64_t model = 0;
        std::uint32_t of_class = 0;
        bool high = false;
        std::uint64_t arrival_ns = 0;
        bool is_told = true; ///< no event was lost while the request lived
        ProcessorWaits::Account account;
    };
    /// A run on a processor.
    struct Run {
        std::uint64_t task;
        std::uint32_t number;
        std::uint32_t of_class;
        bool high;
        std::uint64_t units;
        std::uint64_t able;
        bool executes = false;
    };
    struct Processor {
        std::uint32_t workers = 1;
        bool in_use = true;
        std::list<Run> runs; ///< the runs that execute come first
    };
    struct Engine {
        ProcessorWaits waits;
        std::vector<Processor> processors;
        std::vector<std::string> classes{"others"};
        std::map<std::uint64_t, std::uint32_t> class_of_model;
        std::map<std::uint64_t, Request> requests; ///< by address
        /// The expected times of units of a model, by hash of model and units, and by processor.
        std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint64_t> takes;
        std::uint64_t last_ns = 0;
    };
    struct Report {
        std::uint64_t latency_ns;
        std::string sentence;
        nlohmann::ordered_json json;
    };
    using Key = std::pair<std::uint32_t, std::uint64_t>; ///< pid and address

    Engine* engine_of(const watch::ProcessorEvent& event);
    void see_processor(Engine& engine, const watch::ProcessorEvent& event, std::uint64_t time);
    void arrive(Engine& engine, const watch::ProcessorEvent& event, std::uint64_t time);
    void dispatch(Engine& engine, const watch::ProcessorEvent& event, std::uint64_t time);
    void end_run(Engine& engine, const watch::ProcessorEvent& event, std::uint64_t time);
    void end(Engine& engine, const watch::ProcessorEvent& event, std::uint64_t time);
    void begin_runs(Engine& engine, std::uint32_t processor, std::uint64_t time);
    void stop_run(Engine& engine, std::uint32_t processor, std::list<Run>::iterator run,
                  std::uint64_t time);
    std::uint32_t class_of(Engine& engine, std::uint64_t model, std::uint32_t pid);
    void keep(const std::string& owner, Report report);
    void forget_engine(std::map<Key, Engine>::iterator engine);

    const std::size_t most_;
    const OwnerName name_;
    std::map<Key, Engine> engines_;
    std::map<std::string, std::vector<Report>> kept_; ///< by owner, the slowest first
    std::size_t live_ = 0;
    std::size_t reports_ = 0;
    std::uint64_t dropped_ = 0;
};

} // namespace overtake::blame
