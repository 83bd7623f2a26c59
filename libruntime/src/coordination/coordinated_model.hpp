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

/// What else cores of a class are.
struct CoresIdentity {
    std::string device{};             ///< embedded, kernel or server
    std::string mode{};               ///< of it
    std::uint64_t profile_digest = 0; ///< of the numbers of their profile
    /// Their runs take what the compiler modelled.
    bool take_modelled_time = false;
};

/// A class of an engine's processors.
struct ProcessorClass {
    std::string name;
    std::string profile_name;            ///< of its cores; empty: workers
    std::shared_ptr<OwnProcessor> own{}; ///< of the program's; null: ours
    CoresIdentity cores{};
};

/// Where tensors can be: the memory of the engine's device, which is 0, of each other device, and
/// of each processor of the program's, for which it is memory of the engine's device.
struct Domain {
    std::shared_ptr<Device> device{};
    /// Not null: the domain before it whose tensors its device works on in place.
    std::optional<unsigned> source{};
};
using Domains = std::vector<Domain>;
constexpr unsigned home_domain = 0;
constexpr std::size_t most_domains = 64;

class UnitInference;

/// The memory of a tensor, whichever it is in.
inline std::span<std::byte> bytes_of(const TensorPlace& place) {
    return place.device.empty() ? std::as_writable_bytes(place.host) : place.device;
}

/// Thread safe, but for described(), which is the coordinator's.
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
    /// From domain to domain, of all its inferences so far.
    std::uint64_t copied_bytes() const noexcept { return copied_bytes_; }
    ovt_coord_model& described() noexcept { return described_; }
    /// By class of the engine, a run of its largest piece; 0: none.  Before its first task.
    void set_measured(std::vector<std::uint64_t> measured) noexcept {
        measured_ = std::move(measured);
        described_.measured = measured_.data();
    }
    /// A unit on a class of the engine, which supports it: its segments in the plans.
    const UnitTable::Work& work(std::size_t unit, std::size_t engine_class) const noexcept {
        return *works_[unit * classes_.size() + engine_class];
    }
    /// Why a class of the engine, which does not support the unit, does not.
    std::string refusal(std::size_t unit, std::size_t engine_class) const;
    /// Those of the model that have the unit: "npu or cpu".
    std::string classes_with(std::size_t unit) const;

    /// Throws Error as Request::add() does.
    std::shared_ptr<UnitInference> make_inference(std::span<const TensorMemory> inputs,
                                                  std::span<const TensorMemory> outputs);

    /// An inference's memory in another domain than the home.
    struct Away {
        /// Of the tensors that are not `shared` (by number).
        Away(const std::shared_ptr<const Plan>& plan, std::vector<bool> shared);
        /// The shared ones, which are another domain's, for the next inference.
        void use(std::span<const LentTensor> tensors) {
            execution.bind(workspace, nullptr, tensors);
        }
        /// On the thread that calls: 0, or a negative errno.  May throw Error and std::bad_alloc.
        /// One thread at a time.
        std::int32_t compute(const UnitTable::Work& work);

        const std::vector<bool> shared; ///< by tensor number; none beyond its end
        Workspace workspace;
        Execution execution;
        std::unique_ptr<CpuSegments> cpu; ///< once it has computed
        std::unique_ptr<HostCore> core;   ///< once it has computed

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
    const std::vector<ProcessorClass> classes_;      ///< the engine's
    std::vector<std::size_t> class_of_;              ///< the model's, by the engine's; or no_class
    std::vector<const UnitTable::Work*> works_;      ///< [unit * classes + class]
    std::vector<std::string> own_refusals_;          ///< likewise; empty: none
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
    /// Why it has none in a domain; empty: it has.
    const std::string& away_refusal(unsigned domain) const noexcept {
        return away_refusals_[domain];
    }
    /// What makes the jobs of a domain.
    const SegmentWork& work(unsigned domain) const noexcept;

    // Of several runs at a time.

    /// Copies to a domain what the unit reads and is not there yet.  What units of `made_there`,
    /// one bit each, write is not looked at: they run there before it.
    void bring(std::size_t unit, unsigned domain, std::uint64_t made_there = 0);
    /// The unit has run there: other copies of what it writes are old.
    void note_written(std::size_t unit, unsigned domain);
    /// Computes a unit in the home domain on the thread that calls: 0, or a negative errno.  May
    /// throw Error and std::bad_alloc.
    std::int32_t compute(const UnitTable::Work& work, HostCore& core);

    // Before its first run and behind its last one.

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
    std::vector<std::shared_ptr<CoordinatedModel::Away>> away_; ///< by domain; the home's is null
    std::vector<std::string> away_refusals_;                    ///< by domain
    std::uint64_t domains_ = 1u << home_domain;
    std::vector<unsigned> memory_of_; ///< [tensor * domains + domain]: the domain that has it
    bool has_copies_ = false;         ///< a domain has memory of its own for a tensor
    std::mutex copies_;
    std::vector<std::uint64_t> present_; ///< domains, by tensor
    std::mutex cpu_;                     ///< CPU operators of an inference share memory
};

} // namespace overtake::coordination
