// SPDX-License-Identifier: MIT
//
// ProcessorWaits: for which processor each request waited while none of its units ran, with which
// requests that processor was busy meanwhile, and which other processor was idle and could have run
// the unit that then began.
//
// The simulator, or the probes of an engine, report events in the order of time. Times are in any
// unit. Each request has a class: a number from 0 that has a name.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace overtake::blame {

class ProcessorWaits {
public:
    static constexpr std::uint32_t nowhere = ~0u;
    /// Returns the time that the unit for which a request waits would take on another processor; 0:
    /// not known. Nothing: that processor cannot run the unit.
    using Takes = std::function<std::optional<std::uint64_t>(std::uint32_t processor)>;

    /// Another processor that could have run the unit that waited.
    struct Other {
        std::uint32_t processor = nowhere;
        std::uint64_t idle = 0;
        std::uint64_t takes = 0;
    };
    /// Waits for one processor; with key `nowhere`, waits that no processor ended.
    struct Part {
        std::uint64_t time = 0;
        std::vector<std::uint64_t> busy; ///< the processor's busy time meanwhile, by class
        Other other;
    };
    /// A processor's times so far.
    struct Clock {
        std::vector<std::uint64_t> busy; ///< by class; of a pool, the sum of all workers
        std::uint64_t idle = 0; ///< time for which it was in use and could have begun a unit
    };
    /// The known times of one request.
    struct Account {
        std::uint32_t executing = 0;
        std::uint64_t since = 0;   ///< when the request began to execute, or to wait
        std::vector<Clock> clocks; ///< the processors' clocks when the wait began
        std::uint64_t own = 0;
        std::map<std::uint32_t, Part> parts; ///< by processor
    };

    /// Adds a processor. Its number is the next one, from 0. `workers` is 1 for a core.
    void add_processor(std::string name, std::uint32_t workers, std::uint64_t time = 0);
    /// Sets the name and the workers that were not known when the processor was added.
    void describe(std::uint32_t processor, const std::string& name, std::uint32_t workers);
    std::size_t processors() const { return processors_.size(); }
    const std::string& name(std::uint32_t processor) const { return processors_[processor].name; }
    void set_in_use(std::uint32_t processor, bool in_use, std::uint64_t time);

    void arrive(Account& account, std::uint64_t time);
    /// A part of a request begins on a processor. A part that no processor executes begins on
    /// `nowhere`.
    void begin(Account& account, std::uint32_t of_class, std::uint32_t processor,
               std::uint64_t time, const Takes& takes);
    void end(Account& account, std::uint32_t of_class, std::uint32_t processor, std::uint64_t time);
    /// The request is over, and its account is final.
    void finish(Account& account, std::uint64_t time);

    /// A processor is busy with a unit for which no account is kept.
    void occupy(std::uint32_t processor, std::uint32_t of_class, std::uint64_t time);
    void release(std::uint32_t processor, std::uint32_t of_class, std::uint64_t time);

    /// Returns, in milliseconds: " 5.568 for npu.1 (busy with segmenter), could have run on cpu
    /// (idle for 2.734, takes 10.000); 5.150 own".
    std::string words(const Account& account, double ms_per_time,
                      std::span<const std::string> classes) const;
    /// Returns the parts for programs, in nanoseconds.
    nlohmann::ordered_json parts(const Account& account, std::uint64_t ns_per_time,
                                 std::span<const std::string> classes) const;

private:
    struct Processor {
        std::string name;
        std::uint32_t workers;
        Clock clock;
        std::vector<std::uint32_t> executing; ///< by class
        std::uint32_t executing_all = 0;
        bool in_use = true;
        std::uint64_t updated = 0;
    };

    bool is_idle(const Processor& processor) const {
        return processor.in_use && processor.executing_all < processor.workers;
    }
    void update(Processor& processor, std::uint64_t time) const;
    void update_all(std::uint64_t time);
    void begin_wait(Account& account, std::uint64_t time);
    void end_wait(Account& account, std::uint32_t processor, std::uint64_t time,
                  const Takes& takes);
    Other other_for(const Account& account, std::uint32_t processor, const Takes& takes) const;

    std::vector<Processor> processors_;
};

} // namespace overtake::blame
