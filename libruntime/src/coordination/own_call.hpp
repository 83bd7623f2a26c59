// SPDX-License-Identifier: MIT
//
// OwnCall: a call of one of the program's own processors: one unit, and copies of its tensors.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "coordination/coordinated_model.hpp"
#include "overtake/processor.hpp"

namespace overtake::coordination {

class OwnCall final : public UnitCall {
public:
    /// Calls `ended` once, on the thread that calls done().
    OwnCall(std::shared_ptr<CoordinatedModel> model, std::shared_ptr<CoordinatedModel::Away> away,
            std::size_t unit, const UnitTable::Work& work, std::function<void(std::int32_t)> ended);

    /// A call that is not done ends now with -EIO.
    ~OwnCall() override { done(-EIO); }

    const Model& model() const noexcept override { return plan_->model(); }
    std::size_t unit() const noexcept override { return unit_; }
    std::span<const UnitTensor> inputs() const noexcept override { return inputs_; }
    std::span<const UnitTensor> outputs() const noexcept override { return outputs_; }
    std::int32_t compute() override;
    void done(std::int32_t status) noexcept override;
    /// Ends the call's hold on the model, so that a function which still refers to the call does
    /// not keep the model on the engine.  Called when the call is done and before the task releases
    /// the model.
    void let_go() noexcept;

private:
    const std::shared_ptr<const Plan> plan_;
    const std::shared_ptr<CoordinatedModel::Away> away_;
    const std::size_t unit_;
    const UnitTable::Work& work_;
    std::vector<UnitTensor> inputs_, outputs_;
    std::mutex mutex_;
    std::shared_ptr<CoordinatedModel> model_; ///< so that its units are not released meanwhile
    std::function<void(std::int32_t)> ended_; ///< empty once it has been called
};

} // namespace overtake::coordination
