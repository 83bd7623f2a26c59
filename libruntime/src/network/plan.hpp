// SPDX-License-Identifier: MIT
//
// Plan: the data that all inferences of a model on a device share.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "cpu/program.hpp"
#include "model/kept_model.hpp"
#include "network/recorder.hpp"
#include "network/unit_table.hpp"
#include "network/upload.hpp"
#include "overtake/cpu_layout.hpp"
#include "overtake/model_contents.hpp"

namespace overtake {

/// The segments of a plan: the model's, one after the other, or those of its units, of which a
/// coordinator chooses.
enum class PlanParts { segments, units };

/// The part of its model that a plan keeps.
enum class PlanKeeps {
    all,    ///< the model itself
    running ///< the part that running needs: plan.model() has inputs and outputs, and no file
};

/// Options of a plan's operators of the CPU.
struct CpuOptions {
    CpuLayout layout = CpuLayout::automatic;
    unsigned threads = 1; ///< threads of one inference

    auto operator<=>(const CpuOptions&) const = default;
};

/// Returns the CPU options of SessionOptions or EngineOptions.  Throws Error EINVAL for an
/// impossible number of threads.
CpuOptions checked_cpu_options(CpuLayout layout, unsigned threads);

/// A segment of the model, and the bindings of its job.
struct PlanSegment {
    bool on_bpu() const noexcept { return model->on_bpu(); }

    const Segment* model; ///< FCs, scratch and regions, or operators; the compiler's estimate
    /// BPU: first program and weights, whose addresses are fixed; then one for each of
    /// model->bindings, whose address an Execution fills in.
    std::vector<overtake_binding> bindings;
    std::size_t fixed_bindings = 0;
    /// BPU, unless the plan's width() is 0: the segment in parts for several cores, and the parts
    /// with cores of the device or without cores.
    const CoreSegment* group = nullptr;
    std::vector<overtake_part> parts{};
};

/// Constant once made, so that sessions and engines share it.  Thread safe.
class Plan {
public:
    /// Throws Error EINVAL for units of a model that has too many segments.
    explicit Plan(Upload upload, PlanParts parts = PlanParts::segments, const CpuOptions& cpu = {});
    /// Makes a plan of segments that keeps no more than running needs.  Its CPU operators are made.
    /// Throws Error as cpu_programs().
    static std::shared_ptr<const Plan> keeping_little(const Upload& upload, const CpuOptions& cpu);
    ~Plan() { note_model_gone(); }
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;

    Device& device() const noexcept { return *upload_.device; }
    const Model& model() const noexcept { return *upload_.model; }
    /// The tensors of its segments: the model's, and with units those between units.
    std::span<const Tensor> tensors() const noexcept;
    /// The name of the model in events of its jobs: Job::model.
    std::uint64_t model_id() const noexcept { return model_id_; }
    /// The cores that may take its jobs unless one is named, as Job::cores: on a device with cores
    /// of different kinds those of the model's profile (cores_for()); 0 = all.
    std::uint64_t cores() const noexcept { return cores_; }
    /// The number of cores that one inference can use at once: those of the model's CorePlan, where
    /// the device has them and takes groups; otherwise, and for a plan of units, 0.
    std::size_t width() const noexcept { return width_; }
    /// Whether its parts name cores, since the device or the plan has cores of different kinds.
    bool names_cores() const noexcept { return names_cores_; }
    /// The segments in the order in which they run; for a plan of units those that unit_table()
    /// numbers.
    std::span<const PlanSegment> segments() const noexcept { return segments_; }
    /// Null unless this is a plan of units.
    const UnitTable* unit_table() const noexcept { return units_ ? &*units_ : nullptr; }
    /// By segment: its CPU operators, step by step; empty for segments of the device.  The first
    /// call makes them.  Throws Error ENOMEM, and then the next call makes them.
    std::span<const CpuProgram> cpu_programs() const;
    /// The number of threads that compute a CPU segment of one inference.
    unsigned cpu_threads() const noexcept { return cpu_.threads; }
    /// Whether just one CPU segment at a time uses the tensor, in memory of its own, or kernels
    /// keep it.
    bool is_internal(std::size_t tensor) const { return is_internal_[tensor]; }
    PlanKeeps keeps() const noexcept { return keeps_; }
    /// Bytes of the model that the plan does not keep: the file and its tables.
    std::size_t given_back_bytes() const noexcept { return given_back_bytes_; }

private:
    /// Makes a plan with `kept` in place of the upload's model.
    Plan(const Upload& upload, const KeptModel& kept, const CpuOptions& cpu);

    std::vector<CpuProgram> make_cpu_programs(std::span<const Tensor> tensors) const;
    void make_cpu_programs_from(const Model& whole, const KeptModel& kept);
    /// Returns the left-out constants that steps read, by tensor of the kept model.
    std::vector<std::uint32_t> constants_read(const KeptModel& kept) const;
    void add_segments();
    void add(const Segment& segment);
    void add_bindings(PlanSegment& segment) const;
    void add_groups(const CorePlan& plan);
    void find_internal_tensors();

    const Upload upload_;
    const std::uint64_t model_id_;
    const std::uint64_t cores_;
    std::optional<UnitTable> units_;
    std::vector<PlanSegment> segments_;
    std::size_t width_ = 0;
    bool names_cores_ = false;
    const CpuOptions cpu_;
    const PlanKeeps keeps_ = PlanKeeps::all;
    std::size_t given_back_bytes_ = 0;
    std::vector<bool> is_internal_;
    mutable std::once_flag cpu_once_;
    mutable std::vector<CpuProgram> cpu_programs_;
};

/// Returns the plan of these arguments that lives, or a new one.  Throws Error as upload() and
/// Plan().  Thread safe.
std::shared_ptr<const Plan> plan_once(const std::shared_ptr<Device>& device,
                                      const std::shared_ptr<const Model>& model,
                                      PlanParts parts = PlanParts::segments,
                                      const CpuOptions& cpu = {}, PlanKeeps keeps = PlanKeeps::all);

/// Returns the part that a plan keeps at a level of SessionOptions::record.  Throws Error EINVAL
/// for an unknown level.
PlanKeeps keeps_at_record_level(unsigned level);

/// Returns the number of plans that plan_once() remembers: those that live, and those that have
/// been destroyed since the last plan_once().  Thread safe.
std::size_t known_plans();

} // namespace overtake
