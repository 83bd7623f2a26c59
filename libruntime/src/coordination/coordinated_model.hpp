// SPDX-License-Identifier: MIT
//
// CoordinatedModel: a model on an engine's devices, as its coordinator sees it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/inference.hpp"
#include "engine/picture_program.hpp"
#include "network/execution.hpp"
#include "network/plan.hpp"
#include "overtake/processor.hpp"

extern "C" {
#include "sched/coord/coord.h"
}

namespace overtake::coordination {

/// The identity of the cores of a class, besides its name and profile.
struct CoresIdentity {
    std::string device{};             ///< embedded, kernel or server
    std::string mode{};               ///< of the device
    std::uint64_t profile_digest = 0; ///< a digest of the numbers of their profile
    /// Their runs take the time that the compiler modelled.
    bool take_modelled_time = false;
};

/// A class of an engine's processors.
struct ProcessorClass {
    std::string name;
    std::string profile_name;            ///< of its cores; empty: CPU workers
    std::shared_ptr<OwnProcessor> own{}; ///< the program's processor; null: ours
    CoresIdentity cores{};
};

/// A memory for tensors.  Domain 0 is that of the engine's device.  Each other device has a domain.
/// Each of the program's processors has a domain in memory of the engine's device.
struct Domain {
    std::shared_ptr<Device> device{};
    /// The earlier domain on whose tensors this domain's device works in place; null: there is
    /// none.
    std::optional<unsigned> source{};
};
using Domains = std::vector<Domain>;
constexpr unsigned home_domain = 0;
constexpr std::size_t most_domains = 64;

class UnitInference;

/// Returns the memory of a tensor, on the device or in the host.
inline std::span<std::byte> bytes_of(const TensorPlace& place) {
    return place.device.empty() ? std::as_writable_bytes(place.host) : place.device;
}

/// Thread safe, except for described(), which belongs to the coordinator.
class CoordinatedModel : public std::enable_shared_from_this<CoordinatedModel> {
public:
    /// Throws Error ENOSPC or ENOMEM, or EINVAL for a model with too many segments.
    CoordinatedModel(const std::shared_ptr<const Model>& model, const Domains& domains,
                     std::span<const ProcessorClass> classes, const CpuOptions& cpu = {});
    ~CoordinatedModel();
    CoordinatedModel(const CoordinatedModel&) = delete;
    CoordinatedModel& operator=(const CoordinatedModel&) = delete;

    const Model& model() const noexcept { return plans_[home_domain]->model(); }
    std::span<const Tensor> tensors() const noexcept { return plans_[home_domain]->tensors(); }
    const UnitTable& table() const noexcept { return *plans_[home_domain]->unit_table(); }
    const std::shared_ptr<const Plan>& plan(unsigned domain) const noexcept {
        return plans_[domain];
    }
    std::size_t domain_count() const noexcept { return plans_.size(); }
    const std::vector<Domain>& domains() const noexcept { return domains_; }
    /// Bytes that all its inferences have copied between domains so far.
    std::uint64_t copied_bytes() const noexcept { return copied_bytes_; }
    ovt_coord_model& described() noexcept { return described_; }
    /// Sets the time of a run of the largest piece on each class of the engine; 0: not measured.
    /// Called before the first task.
    void set_measured(std::vector<std::uint64_t> measured) noexcept {
        measured_ = std::move(measured);
        described_.measured = measured_.data();
    }
    /// The work of a unit on a class of the engine that supports it: its segments in the plans.
    const UnitTable::Work& work(std::size_t unit, std::size_t engine_class) const noexcept {
        return *works_[unit * classes_.size() + engine_class];
    }
    /// Returns the reason why a class of the engine does not support the unit.
    std::string refusal(std::size_t unit, std::size_t engine_class) const;
    /// Returns the names of the model's classes that have the unit: "npu or cpu".
    std::string classes_with(std::size_t unit) const;

    /// Throws Error as Request::add() does.
    std::shared_ptr<UnitInference> make_inference(std::span<const TensorMemory> inputs,
                                                  std::span<const TensorMemory> outputs);

    /// An inference's memory in another domain than the home.
    struct Away {
        /// `shared`: by tensor number, the tensors that get no memory here.
        Away(const std::shared_ptr<const Plan>& plan, std::vector<bool> shared);
        /// Takes the shared tensors, which are another domain's, for the next inference.
        void use(std::span<const LentTensor> tensors) {
            execution.bind(workspace, nullptr, tensors);
        }
        /// Computes on the calling thread, one thread at a time.  Returns 0 or a negative errno.
        /// May throw Error and std::bad_alloc.
        std::int32_t compute(const UnitTable::Work& work);

        const std::vector<bool> shared; ///< by tensor number; false beyond its end
        Workspace workspace;
        Execution execution;
        std::unique_ptr<CpuSegments> cpu; ///< null before the first computation
        std::unique_ptr<HostCore> core;   ///< null before the first computation

    private:
        std::int32_t compute_segment(std::size_t segment);
    };

private:
    friend class UnitInference;

    static std::size_t class_for(const UnitTable& table, const ProcessorClass& wanted);
    void describe();
    void release_own() noexcept;
    void set_work(std::size_t unit, std::size_t engine_class, const UnitTable::Work& work,
                  std::uint64_t expected_ns);
    const UnitTable::Work& computed_work(std::size_t unit) const;
    UnitDescription description(std::size_t unit) const;
    void describe_own(std::size_t unit, std::size_t engine_class);
    std::shared_ptr<Away> take_away(unsigned domain, std::span<const TensorPlace> of_source);
    std::vector<LentTensor> reach(unsigned domain, std::span<const TensorPlace> of_source) const;
    void give_back(unsigned domain, std::shared_ptr<Away> away) noexcept;

    const Domains domains_;
    std::vector<std::shared_ptr<const Plan>> plans_; ///< by domain
    const std::vector<ProcessorClass> classes_;      ///< the engine's classes
    std::vector<std::size_t> class_of_;              ///< the model's class, or no_class
    std::vector<const UnitTable::Work*> works_;      ///< [unit * classes + class]
    std::vector<std::string> own_refusals_;          ///< [unit * classes + class]; empty: none
    std::shared_ptr<engine::InferencePool> inferences_;
    engine::PicturePrograms pictures_;
    ovt_coord_model described_{};
    std::vector<ovt_coord_unit> units_;
    std::vector<std::uint64_t> times_;
    std::vector<std::uint64_t> longest_;
    std::vector<std::uint64_t> measured_;
    std::vector<ovt_coord_record> records_;
    std::atomic<std::uint64_t> copied_bytes_ = 0;
    std::mutex mutex_;
    std::vector<std::vector<std::shared_ptr<Away>>> idle_; ///< by domain
};

/// One inference and its tensors, wherever these are.
class UnitInference {
public:
    UnitInference(std::shared_ptr<CoordinatedModel> model, std::shared_ptr<engine::Inference> home);
    ~UnitInference();
    UnitInference(const UnitInference&) = delete;
    UnitInference& operator=(const UnitInference&) = delete;

    CoordinatedModel& model() const noexcept { return *model_; }
    engine::Inference& home() const noexcept { return *home_; }
    /// One bit for each domain that it has memory in.
    std::uint64_t domains() const noexcept { return domains_; }
    const std::shared_ptr<CoordinatedModel::Away>& away(unsigned domain) const noexcept {
        return away_[domain];
    }
    /// Returns the reason why the inference has no memory in a domain; empty if it has memory
    /// there.
    const std::string& away_refusal(unsigned domain) const noexcept {
        return away_refusals_[domain];
    }
    /// Returns the object that describes the inference's jobs in a domain.
    const SegmentWork& work(unsigned domain) const noexcept;

    // Several runs may call these at a time.

    /// Copies to a domain the tensors that the unit reads and the domain does not have yet.
    /// Tensors that units of `made_there`, one bit each, write are skipped: those units run there
    /// before it.
    void bring(std::size_t unit, unsigned domain, std::uint64_t made_there = 0);
    /// The unit has run in the domain: other copies of the tensors that it writes are out of date.
    void note_written(std::size_t unit, unsigned domain);
    /// Computes a unit in the home domain on the calling thread.  Returns 0 or a negative errno.
    /// May throw Error and std::bad_alloc.
    std::int32_t compute(const UnitTable::Work& work, HostCore& core);

    // Called before its first run and after its last one.

    void fill();
    void drain();
    bool needs_drain() const noexcept { return home_->drains() || has_copies_; }

private:
    bool is_written_by(std::uint64_t units, std::uint32_t tensor) const;
    void share(unsigned domain, unsigned source);
    std::uint64_t domains_with(std::uint32_t tensor, unsigned domain) const;
    std::span<std::byte> bytes_of(std::uint32_t tensor, unsigned domain) const;
    void copy(std::uint32_t tensor, unsigned domain);

    const std::shared_ptr<CoordinatedModel> model_;
    const std::shared_ptr<engine::Inference> home_;
    std::vector<std::shared_ptr<CoordinatedModel::Away>> away_; ///< by domain; null for the home
    std::vector<std::string> away_refusals_;                    ///< by domain
    std::uint64_t domains_ = 1u << home_domain;
    std::vector<unsigned> memory_of_; ///< [tensor * domains + domain]: domain of its memory
    bool has_copies_ = false;         ///< a domain has memory of its own for a tensor
    std::mutex copies_;
    std::vector<std::uint64_t> present_; ///< by tensor: the domains that have it, one bit each
    std::mutex cpu_;                     ///< CPU operators of an inference share memory
};

} // namespace overtake::coordination
