// SPDX-License-Identifier: MIT
//
// A model on an engine's device, and the steps that an inference of it is.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "engine/picture_program.hpp"
#include "engine/run.hpp"
#include "fork_origin.hpp"
#include "network/workspace.hpp"
#include "overtake/engine.hpp"

namespace overtake {

namespace engine {

/// What one inference at a time works with, beside the memory that its caller lends it.
struct Desk {
    Workspace workspace;
    Kernels kernels;
    std::vector<bool> lent;
};

/// Desks that nobody uses, for the next who does.  Thread safe.
class DeskPool : public std::enable_shared_from_this<DeskPool> {
public:
    /// Makes the first kernels, so that one which cannot be made is known.
    explicit DeskPool(std::shared_ptr<const Upload> upload);

    /// Returns here when it goes.  `lent` as for Workspace.  Throws Error ENOSPC or ENOMEM.
    std::shared_ptr<Desk> take(const std::vector<bool>& lent);

private:
    std::unique_ptr<Desk> make(const std::vector<bool>& lent);
    void give_back(std::unique_ptr<Desk> desk) noexcept;

    const std::shared_ptr<const Upload> upload_;
    std::mutex mutex_;
    std::vector<Kernels> kernels_;
    std::map<std::vector<bool>, std::vector<std::unique_ptr<Desk>>> desks_; ///< by what is lent
};

/// What a request has taken so far.  Inferences of one request follow each other, so those of one
/// model share a desk.
struct RequestMemory {
    std::vector<std::shared_ptr<void>> kept;
    std::map<std::pair<const DeskPool*, std::vector<bool>>, std::shared_ptr<Desk>> desks;
};

} // namespace engine

struct LoadedModel::State {
    /// Throws Error ENOSPC or ENOMEM, or what makes an operator impossible.
    State(const std::shared_ptr<Device>& device, const std::shared_ptr<const Model>& model);

    const Model& model() const noexcept { return *upload->model; }
    /// Appends the steps of an inference, which use `memory`.  Throws Error as Request::add() does;
    /// nothing has been appended then.
    void add_steps(std::vector<engine::Step>& steps, engine::RequestMemory& memory,
                   std::span<const TensorMemory> inputs, std::span<const TensorMemory> outputs);

    const ForkOrigin origin;
    std::shared_ptr<const Upload> upload;
    std::vector<std::shared_ptr<engine::Estimate>> estimates; ///< by segment
    std::shared_ptr<engine::Estimate> fill;  ///< of inputs, in front of a BPU segment
    std::shared_ptr<engine::Estimate> drain; ///< of outputs, behind a BPU segment
    std::shared_ptr<engine::DeskPool> desks;
    std::unique_ptr<engine::PicturePrograms> pictures;
};

} // namespace overtake
