// SPDX-License-Identifier: MIT
//
// Uploads: what the library remembers of them.
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "model_spec.hpp"
#include "network/upload.hpp"

namespace overtake::test {
namespace {

TEST(Upload, ThoseThatAreGoneAreForgotten) {
    const auto device = open_embedded();
    ModelSpec spec = copy_and_softmax();
    spec.weights = {1, 2, 3};
    std::vector<std::shared_ptr<const Model>> models;
    for (int i = 0; i < 3; i++)
        models.push_back(Model::from_bytes(build(spec)));
    for (const auto& model : models) {
        const auto upload = upload_once(device, model);
        EXPECT_EQ(known_uploads().uploads, 1u);
        EXPECT_EQ(known_uploads().weights, 1u);
    }
}

} // namespace
} // namespace overtake::test
