// SPDX-License-Identifier: MIT
//
// ExpectedTimes: what runs of a model take on the processors of an engine (docs/use/processors.md).
//
//     overtake::Engine engine(device, options);               // with several processors
//     auto times = overtake::ExpectedTimes::read("net.json"); // of `overtake profile`
//     auto network = engine.load(model, times);
//
// A coordinator plans by expected times.  Without these they are the compiler's until a piece of
// the model has run.  With them the first plans are as good as later ones.  A class of processors
// whose times the compiler cannot know (CPU workers, processors of the program's own, cores that
// compute as fast as the host can) has its other pieces scaled from the largest one that was
// measured.
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

/// What runs of some neighbouring units of a model take.
struct ExpectedTime {
    std::string class_name; ///< of the processors
    std::uint64_t units;    ///< of the model, one bit each
    std::uint64_t time_ns;  ///< without moves of tensors between memories
};

/// Times of one model on processors of some classes.
class OVERTAKE_API ExpectedTimes {
public:
    /// A file of `overtake profile`.  The errno of open(); EINVAL if it is no such file.
    static ExpectedTimes read(const std::string& path);
    /// The same for a text in memory; `name` stands for the path in errors.
    static ExpectedTimes parse(const std::string& text, const std::string& name = "times");
    /// Measures them: runs the model, with inputs of zeros, `runs` times on each class of the
    /// engine's processors by itself, where that is possible, and as often wherever the coordinator
    /// wants.  The median counts.  What else the engine and the machine have to do meanwhile makes
    /// the times longer.  What the engine has learnt of the model before is forgotten.  `progress`
    /// is called with the part that is done, 0..1.  EINVAL for 0 runs or an engine without
    /// EngineOptions::processors, and if no class can run the model; EIO, naming the processor, if
    /// one fails; what a request failed with.
    static ExpectedTimes measure(Engine& engine, const std::shared_ptr<LoadedModel>& model,
                                 unsigned runs = 20,
                                 const std::function<void(double)>& progress = {});
    ExpectedTimes(ExpectedTimes&& other) noexcept;            ///< leaves the other one empty
    ExpectedTimes& operator=(ExpectedTimes&& other) noexcept; ///< leaves the other one empty
    ~ExpectedTimes();

    /// As read() takes it.
    std::string text() const;
    /// Whether they were measured with this model: the same program and units under the same name.
    bool is_of(const Model& model) const;
    /// The name of the model that they are of.  Lives as long as the object.
    std::string_view model_name() const noexcept;
    /// Each of them, class by class.
    std::vector<ExpectedTime> times() const;

private:
    friend class Engine;
    struct OVERTAKE_HIDDEN State;
    OVERTAKE_HIDDEN explicit ExpectedTimes(std::unique_ptr<State> state) noexcept;
    std::unique_ptr<State> state_;
};

} // namespace overtake
