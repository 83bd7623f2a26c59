// SPDX-License-Identifier: MIT
#include "compiler/host_profile/boosting.hpp"

#include <cerrno>
#include <dlfcn.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "overtake/error.hpp"

namespace overtake::host_profile {

// A few functions of xgboost/c_api.h, which have been the same since 1.0; -1 is a failure.
struct Boosting::Library {
    using Handle = void*;
    using Length = std::uint64_t; // bst_ulong

    void* library = nullptr;
    void (*XGBoostVersion)(int*, int*, int*) = nullptr;
    const char* (*XGBGetLastError)() = nullptr;
    int (*XGDMatrixCreateFromMat)(const float*, Length, Length, float, Handle*) = nullptr;
    int (*XGDMatrixSetFloatInfo)(Handle, const char*, const float*, Length) = nullptr;
    int (*XGDMatrixFree)(Handle) = nullptr;
    int (*XGBoosterCreate)(const Handle*, Length, Handle*) = nullptr;
    int (*XGBoosterSetParam)(Handle, const char*, const char*) = nullptr;
    int (*XGBoosterUpdateOneIter)(Handle, int, Handle) = nullptr;
    int (*XGBoosterDumpModelEx)(Handle, const char*, int, const char*, Length*,
                                const char***) = nullptr;
    int (*XGBoosterFree)(Handle) = nullptr;

    Library() {
        for (const char* name : {"libxgboost.so.0", "libxgboost.so"})
            if (!library)
                library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (!library)
            throw Error(ENOENT, "libxgboost.so.0 is not there, which calibrate --partition needs; "
                                "install Debian's package libxgboost0, or leave the trees out with "
                                "--no-trees");
        find(XGBoostVersion, "XGBoostVersion");
        find(XGBGetLastError, "XGBGetLastError");
        find(XGDMatrixCreateFromMat, "XGDMatrixCreateFromMat");
        find(XGDMatrixSetFloatInfo, "XGDMatrixSetFloatInfo");
        find(XGDMatrixFree, "XGDMatrixFree");
        find(XGBoosterCreate, "XGBoosterCreate");
        find(XGBoosterSetParam, "XGBoosterSetParam");
        find(XGBoosterUpdateOneIter, "XGBoosterUpdateOneIter");
        find(XGBoosterDumpModelEx, "XGBoosterDumpModelEx");
        find(XGBoosterFree, "XGBoosterFree");
    }

    template <typename Function>
    void find(Function& function, const char* name) {
        function = reinterpret_cast<Function>(dlsym(library, name));
        if (!function)
            throw Error(ENOENT, fmt::format("libxgboost.so.0 has no {}; install Debian's package "
                                            "libxgboost0",
                                            name));
    }

    void check(int status) const {
        if (status != 0)
            throw Error(EIO, fmt::format("libxgboost: {}", XGBGetLastError()));
    }
};

namespace {

using namespace compiler;
using Json = nlohmann::json;

// Frees a handle of the library.
class Owned {
public:
    explicit Owned(int (*free)(void*)) : free_(free) {}
    ~Owned() {
        if (handle)
            free_(handle);
    }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;

    void* handle = nullptr;

private:
    int (*free_)(void*);
};

// Trees are few and shallow, since they only correct a formula.  One thread and no sampling give
// the same trees each time.
constexpr std::pair<const char*, const char*> parameters[] = {
    {"booster", "gbtree"},     {"objective", "reg:squarederror"},
    {"tree_method", "exact"},  {"base_score", "0"},
    {"max_depth", "5"},        {"eta", "0.2"},
    {"min_child_weight", "8"}, {"lambda", "1"},
    {"nthread", "1"},          {"seed", "0"},
    {"verbosity", "0"},
};
constexpr int boosting_rounds = 80;

// Appends nodes depth first, so that children are behind their parents.  Names of features are f0,
// f1 ...
std::size_t append_node(const Json& json, CostTree& tree) {
    const std::size_t index = tree.nodes.size();
    tree.nodes.emplace_back();
    if (json.contains("leaf")) {
        tree.nodes[index].value = json.at("leaf").get<double>();
        return index;
    }
    const auto& split = json.at("split").get_ref<const std::string&>();
    const Json& children = json.at("children");
    const bool is_first = children.at(0).at("nodeid") == json.at("yes");
    const std::size_t left = append_node(children.at(is_first ? 0 : 1), tree);
    const std::size_t right = append_node(children.at(is_first ? 1 : 0), tree);
    CostTree::Node& node = tree.nodes[index];
    node.feature = std::stoul(split.substr(1));
    node.below = json.at("split_condition").get<float>();
    node.left = left;
    node.right = right;
    return index;
}

} // namespace

Boosting::Boosting() : library_(std::make_unique<Library>()) {}

Boosting::~Boosting() = default; // the library stays: its threads would not survive without it

std::string Boosting::version() const {
    int major = 0, minor = 0, patch = 0;
    library_->XGBoostVersion(&major, &minor, &patch);
    return fmt::format("{}.{}.{}", major, minor, patch);
}

compiler::CostTrees Boosting::grow(std::span<const std::vector<double>> rows,
                                   std::span<const double> targets) const {
    compiler::CostTrees trees;
    if (rows.empty())
        return trees;
    std::vector<float> values, labels(targets.begin(), targets.end());
    for (const std::vector<double>& row : rows)
        values.insert(values.end(), row.begin(), row.end());
    const Library& library = *library_;
    Owned matrix(library.XGDMatrixFree), booster(library.XGBoosterFree);
    library.check(library.XGDMatrixCreateFromMat(values.data(), rows.size(), rows[0].size(),
                                                 std::numeric_limits<float>::quiet_NaN(),
                                                 &matrix.handle));
    library.check(
        library.XGDMatrixSetFloatInfo(matrix.handle, "label", labels.data(), labels.size()));
    library.check(library.XGBoosterCreate(&matrix.handle, 1, &booster.handle));
    for (const auto& [name, value] : parameters)
        library.check(library.XGBoosterSetParam(booster.handle, name, value));
    for (int round = 0; round < boosting_rounds; ++round)
        library.check(library.XGBoosterUpdateOneIter(booster.handle, round, matrix.handle));
    Library::Length count = 0;
    const char** texts = nullptr;
    library.check(library.XGBoosterDumpModelEx(booster.handle, "", 0, "json", &count, &texts));
    for (Library::Length index = 0; index < count; ++index)
        append_node(Json::parse(texts[index]), trees.trees.emplace_back());
    return trees;
}

} // namespace overtake::host_profile
