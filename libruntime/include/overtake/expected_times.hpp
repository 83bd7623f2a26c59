// SPDX-License-Identifier: MIT
//
// ExpectedTimes: how long runs of a model take on the processors of an engine
// (docs/use/processors.md).
//
//     overtake::Engine engine(device, options);               // with several processors
//     auto times = overtake::ExpectedTimes::read("net.json"); // of `overtake profile`
//     auto network = engine.load(model, times);
//
// A coordinator plans by expected times.  Without a file of expected times these are the compiler's
// until a piece of the model has run.  With such a file the first plans are as good as later ones.
// A class of processors whose times the compiler cannot know (CPU workers, processors of the
// program's own, cores that compute as fast as the host can) has its other pieces scaled from the
// largest one that was measured.
//
// Thread safety: immutable; measure() from any thread.
// Errors: overtake::Error, naming the file, the place in it, and the remedy.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "overtake/engine.hpp"
#include "overtake/export.hpp"
#include "overtake/model.hpp"

namespace overtake {

/// How long a run of some neighbouring units of a model takes.
struct ExpectedTime {
    std::string class_name; ///< of the processors
    std::uint64_t units;    ///< units of the model, one bit each
    std::uint64_t time_ns;  ///< without moves of tensors between memories
};

/// Times of one model on processors of some classes.
class OVERTAKE_API ExpectedTimes {
public:
    /// Reads a file of `overtake profile`.  The errno of open(); EINVAL if it is no such file.
    static ExpectedTimes read(const std::string& path);
    /// Parses the text of such a file in memory; `name` stands for the path in errors.
    static ExpectedTimes parse(const std::string& text, const std::string& name = "times");
    /// Measures the times of a model.  Runs the model, with inputs of zeros, `runs` times on each
    /// class of the engine's processors by itself, where that is possible, and as often on the
    /// processors that the coordinator chooses.  The median counts.  Other work of the engine and
    /// the machine meanwhile makes the times longer.  The engine forgets the times that it had
    /// learnt of the model.  `progress` is called with the part that is done, 0..1.  EINVAL for 0
    /// runs or an engine without EngineOptions::processors, and if no class can run the model; EIO,
    /// naming the processor, if one fails; the error of a request that failed.
    static ExpectedTimes measure(Engine& engine, const std::shared_ptr<LoadedModel>& model,
                                 unsigned runs = 20,
                                 const std::function<void(double)>& progress = {});
    ExpectedTimes(ExpectedTimes&& other) noexcept;            ///< leaves the other one empty
    ExpectedTimes& operator=(ExpectedTimes&& other) noexcept; ///< leaves the other one empty
    ~ExpectedTimes();

    /// The text of a file that read() accepts.
    std::string text() const;
    /// Whether the times were measured with this model: the same program and units under the same
    /// name.
    bool is_of(const Model& model) const;
    /// The name of the model that the times belong to.  Lives as long as the object.
    std::string_view model_name() const noexcept;
    /// All times, class by class.
    std::vector<ExpectedTime> times() const;

private:
    friend class Engine;
    struct OVERTAKE_HIDDEN State;
    OVERTAKE_HIDDEN explicit ExpectedTimes(std::unique_ptr<State> state) noexcept;
    std::unique_ptr<State> state_;
};

} // namespace overtake
