// SPDX-License-Identifier: MIT
#include "coordination/own_registry.hpp"

#include <cerrno>
#include <map>
#include <mutex>
#include <utility>

#include "fork_origin.hpp"
#include "overtake/error.hpp"

namespace overtake {

namespace {

struct KnownProcessors {
    std::mutex mutex;
    std::map<std::string, std::shared_ptr<OwnProcessor>> by_class;
};

KnownProcessors& known_processors() {
    static OnePerProcess<KnownProcessors> known;
    return known.get();
}

} // namespace

UnitCall::~UnitCall() = default;
OwnProcessor::~OwnProcessor() = default;
void OwnProcessor::poll(UnitCall& /*call*/) {}
void OwnProcessor::cancel(UnitCall& /*call*/) {}
void OwnProcessor::release(const UnitDescription& /*unit*/) {}
bool OwnProcessor::probe() {
    return true;
}

void register_processor(const std::string& class_name, std::shared_ptr<OwnProcessor> processor) {
    if (class_name.empty() || !processor)
        throw Error(EINVAL, "processor: it needs the name of a class, and functions");
    KnownProcessors& known = known_processors();
    const std::lock_guard lock(known.mutex);
    if (!known.by_class.emplace(class_name, std::move(processor)).second)
        throw Error(EEXIST, "processor: class '" + class_name + "' is registered already");
}

namespace coordination {

std::shared_ptr<OwnProcessor> registered_processor(const std::string& class_name) {
    KnownProcessors& known = known_processors();
    const std::lock_guard lock(known.mutex);
    const auto found = known.by_class.find(class_name);
    return found == known.by_class.end() ? nullptr : found->second;
}

} // namespace coordination

} // namespace overtake
