// SPDX-License-Identifier: MIT
//
// Gradient-boosted trees by libxgboost, which is loaded when it is needed: nothing links it.
#pragma once

#include <memory>

#include "compiler/host_profile/train.hpp"

namespace overtake::host_profile {

class Boosting {
public:
    /// Loads the library.  Throws Error naming Debian's package if it is not installed.
    Boosting();
    ~Boosting();

    /// Returns few and shallow trees.  The same rows and targets give the same trees.
    compiler::CostTrees grow(std::span<const std::vector<double>> rows,
                             std::span<const double> targets) const;

    /// Returns the version of the library.
    std::string version() const;

private:
    struct Library;
    std::unique_ptr<Library> library_;
};

} // namespace overtake::host_profile
