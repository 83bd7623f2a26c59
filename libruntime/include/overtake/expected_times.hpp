// SPDX-License-Identifier: MIT
//
// ExpectedTimes: how long runs of a model take on the processors of an engine
// (docs/use/processors.md).
//
//     overtake::Engine engine(device, options);               // with several processors
//     auto times = overtake::ExpectedTimes::read("net.json"); // from `overtake profile`
//     auto network = engine.load(model, times);
//
// A coordinator plans by expected times.  Without a file of expected times it uses the compiler's
// estimate of a piece of the model until that piece has run.  With such a file the first plans are
// as good as later ones.  The compiler cannot know the times of some classes of processors (CPU
// workers, processors of the program's own, cores that compute as fast as the host can).  For these
// the times of pieces that were not measured are scaled from the largest measured piece.
//
// Thread safety: an ExpectedTimes is immutable.  Any thread may call measure().
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

/// The time that a run of some neighbouring units of a model takes.
struct ExpectedTime {
    std::string class_name; ///< class of the processors
    std::uint64_t units;    ///< the units of the run, one bit for each unit of the model
    std::uint64_t time_ns;  ///< time of the run, without moves of tensors between memories
};

/// Times of one model on processors of some classes.
class OVERTAKE_API ExpectedTimes {
public:
    /// Reads a file of `overtake profile`.  The errno of opening it; EINVAL for any other file.
    static ExpectedTimes read(const std::string& path);
    /// Parses the text of such a file in memory; `name` stands for the path in errors.
    static ExpectedTimes parse(const std::string& text, const std::string& name = "times");
    /// Measures the times of a model.  Runs the model, with inputs of zeros, on each class of the
    /// engine's processors alone, if that is possible, and then on the processors that the
    /// coordinator chooses: each time `runs` times after two runs that do not count.  The result is
    /// the median.  Other work of the engine and the machine meanwhile makes the times longer.  The
    /// engine forgets the times that it had learnt of the model.  measure() calls `progress` with
    /// the fraction that is done, 0..1.  EINVAL for 0 runs or an engine without
    /// EngineOptions::processors, and if no processors can run the model; EIO, naming the
    /// processor, if a processor fails; the error of a request that failed.
    static ExpectedTimes measure(Engine& engine, const std::shared_ptr<LoadedModel>& model,
                                 unsigned runs = 20,
                                 const std::function<void(double)>& progress = {});
    ExpectedTimes(ExpectedTimes&& other) noexcept;            ///< leaves the other one empty
    ExpectedTimes& operator=(ExpectedTimes&& other) noexcept; ///< leaves the other one empty
    ~ExpectedTimes();

    /// The text of a file that read() accepts.
    std::string text() const;
    /// Whether the times were measured with this model: name, program and units are the same.
    bool is_of(const Model& model) const;
    /// The name of the model that the times belong to.  Lives as long as the object.
    std::string_view model_name() const noexcept;
    /// Returns all times, class by class.
    std::vector<ExpectedTime> times() const;

private:
    friend class Engine;
    struct OVERTAKE_HIDDEN State;
    OVERTAKE_HIDDEN explicit ExpectedTimes(std::unique_ptr<State> state) noexcept;
    std::unique_ptr<State> state_;
};

} // namespace overtake
