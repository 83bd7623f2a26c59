// SPDX-License-Identifier: MIT
#include "overtake/custom_operator.hpp"

#include <algorithm>
#include <cerrno>
#include <dlfcn.h>
#include <filesystem>
#include <map>
#include <mutex>
#include <pthread.h>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "overtake/error.hpp"

namespace overtake {

namespace {

struct Registry {
    std::mutex mutex;
    std::map<std::pair<std::string, std::string>, OperatorFactory> factories; ///< domain, type
    std::set<void*> objects;                                                  ///< loaded
};

Registry& registry() {
    static auto* registry = new Registry; // shared objects may register until the very end
    return *registry;
}

void lock_registry() {
    registry().mutex.lock();
}

void unlock_registry() {
    registry().mutex.unlock();
}

/// A child of fork() keeps the registered operators, and finds the lock free.  The handlers are
/// installed as the library is loaded: fork() then takes the locks of libraries that use this one,
/// for example libdnn's, before this lock, in the order in which those libraries take them.
__attribute__((constructor)) void watch_registry_for_fork() {
    registry();
    (void)pthread_atfork(lock_registry, unlock_registry, unlock_registry);
}

void load(const std::filesystem::path& file) {
    const auto fail = [&](int code, const std::string& why) {
        throw Error(code, fmt::format("{}: {}", file.string(), why));
    };
    std::error_code error; // dlopen() would wait if the file were a pipe
    if (const auto status = std::filesystem::status(file, error);
        std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
        fail(EINVAL, "not a regular file; name a shared object of custom operators");
    void* object = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!object)
        fail(ENOEXEC, dlerror());
    {
        const std::lock_guard lock(registry().mutex);
        if (!registry().objects.insert(object).second)
            return;
    }
    using Register = int (*)();
    const auto enter = reinterpret_cast<Register>(dlsym(object, "overtake_register_operators"));
    if (!enter)
        fail(EINVAL, "has no function overtake_register_operators()");
    int status = 0;
    try {
        status = enter();
    } catch (const Error& error) {
        fail(error.code(), error.what());
    }
    if (status != 0)
        fail(EINVAL, fmt::format("overtake_register_operators() returned {}", status));
}

} // namespace

CustomOperator::~CustomOperator() = default;

const OperatorAttribute* OperatorDescription::find(const std::string& name) const {
    const auto found = std::ranges::find(attributes, name, &OperatorAttribute::name);
    return found == attributes.end() ? nullptr : &*found;
}

void register_custom_operator(const std::string& domain, const std::string& type,
                              OperatorFactory factory) {
    if (type.empty() || !factory)
        throw Error(EINVAL, "custom operator: it needs a type and a factory");
    const std::lock_guard lock(registry().mutex);
    if (!registry().factories.emplace(std::pair(domain, type), std::move(factory)).second)
        throw Error(EEXIST,
                    fmt::format("custom operator {}.{}: it is registered already", domain, type));
}

std::unique_ptr<CustomOperator> create_custom_operator(const OperatorDescription& node) {
    OperatorFactory factory;
    {
        const std::lock_guard lock(registry().mutex);
        const auto found = registry().factories.find({node.domain, node.type});
        if (found != registry().factories.end())
            factory = found->second;
    }
    if (!factory)
        throw Error(ENOENT,
                    fmt::format("node '{}': the custom operator {}.{} is not registered; call "
                                "register_custom_operator() before loading the model, or name a "
                                "directory of shared objects in HB_DNN_PLUGIN_PATH",
                                node.node, node.domain, node.type));
    std::unique_ptr<CustomOperator> made = factory(node);
    if (!made)
        throw Error(EINVAL, fmt::format("node '{}': the factory of the custom operator {}.{} made "
                                        "nothing",
                                        node.node, node.domain, node.type));
    return made;
}

void load_custom_operators(const std::string& path) {
    std::error_code error;
    if (std::filesystem::is_regular_file(path, error)) {
        load(std::filesystem::absolute(path));
        return;
    }
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(path, error))
        if (entry.path().extension() == ".so")
            files.push_back(entry.path());
    if (error)
        throw Error(error.value(),
                    fmt::format("{}: no shared object or directory of custom operators: {}", path,
                                error.message()));
    std::ranges::sort(files);
    for (const std::filesystem::path& file : files)
        load(file);
}

} // namespace overtake
