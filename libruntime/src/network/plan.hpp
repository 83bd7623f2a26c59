// SPDX-License-Identifier: MIT
//
// Plan: what is the same in every inference of a model on a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "network/unit_table.hpp"
#include "network/upload.hpp"
#include "overtake/model_contents.hpp"

namespace overtake {

/// What a plan has segments of: the model's, one after the other, or those of its units, of which a
/// coordinator picks.
enum class PlanParts { segments, units };

/// A segment of the model, and what its job binds in every inference.
struct PlanSegment {
    bool on_bpu() const noexcept { return model->on_bpu(); }

    const Segment* model; ///< FCs, scratch and regions, or operators; what the compiler expects
    /// BPU: first program and weights, whose addresses are fixed; then one for each of
    /// model->bindings, whose address an Execution fills in.
    std::vector<overtake_binding> bindings;
    std::size_t fixed_bindings = 0;
    /// BPU, unless the plan's width() is 0: the same in parts for several cores, and these with
    /// cores of the device, or without any.
    const CoreSegment* group = nullptr;
    std::vector<overtake_part> parts{};
};

/// Constant once made, so that sessions and engines share it.  Thread safe.
class Plan {
public:
    /// Throws Error EINVAL for units of a model that has too many segments.
    explicit Plan(Upload upload, PlanParts parts = PlanParts::segments);
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;

    Device& device() const noexcept { return *upload_.device; }
    const Model& model() const noexcept { return *upload_.model; }
    /// That its segments work with: the model's, and of units those between them.
    std::span<const Tensor> tensors() const noexcept;
    /// What the events of its jobs call the model: Job::model.
    std::uint64_t model_id() const noexcept { return model_id_; }
    /// Cores that take its jobs unless one is named, as Job::cores: where cores are unlike those of
    /// the model's profile; 0 = all.
    std::uint64_t cores() const noexcept { return cores_; }
    /// Cores that one inference can use at once: those of the model's CorePlan, where the device
    /// has them and takes groups; otherwise, and of units, 0.
    std::size_t width() const noexcept { return width_; }
    /// Whether its parts name cores, since the device has others as well.
    bool names_cores() const noexcept { return names_cores_; }
    /// In the order in which they run; of units those that unit_table() numbers.
    std::span<const PlanSegment> segments() const noexcept { return segments_; }
    /// Null unless this is a plan of units.
    const UnitTable* unit_table() const noexcept { return units_ ? &*units_ : nullptr; }
    /// What an operator of the CPU needs beside the tensors, at most: values of operands that are
    /// in device memory, and operands.
    std::size_t most_cpu_values() const noexcept { return most_cpu_values_; }
    std::size_t most_cpu_inputs() const noexcept { return most_cpu_inputs_; }

private:
    void add(const Segment& segment);
    void add_bindings(PlanSegment& segment) const;
    void measure(const CpuOp& op);
    void add_groups(const CorePlan& plan);

    const Upload upload_;
    const std::uint64_t model_id_;
    const std::uint64_t cores_;
    std::optional<UnitTable> units_;
    std::vector<PlanSegment> segments_;
    std::size_t width_ = 0;
    bool names_cores_ = false;
    std::size_t most_cpu_values_ = 0;
    std::size_t most_cpu_inputs_ = 0;
};

/// The one plan of this pair that lives, or a new one.  Throws Error as upload() and Plan().
/// Thread safe.
std::shared_ptr<const Plan> plan_once(const std::shared_ptr<Device>& device,
                                      const std::shared_ptr<const Model>& model,
                                      PlanParts parts = PlanParts::segments);

/// How many plan_once() remembers: those that live, and those that have gone since the last
/// plan_once().  Thread safe.
std::size_t known_plans();

} // namespace overtake
