// SPDX-License-Identifier: MIT
//
// Source: a scenario's file or document.
#pragma once

#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

#include "overtake/error.hpp"

namespace overtake::python {

struct Source {
    nlohmann::json document;
    std::filesystem::path directory; ///< directory of the files that the document names
    std::string name;                ///< in errors

    /// Returns the result of `work`, or an error that begins with the name.
    template <class Work>
    auto named(Work work) const {
        try {
            return work();
        } catch (const Error& error) {
            throw Error(error.code(), name + ": " + error.what());
        }
    }
};

} // namespace overtake::python
