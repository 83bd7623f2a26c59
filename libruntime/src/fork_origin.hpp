// SPDX-License-Identifier: MIT
//
// The effect of fork() on devices and on everything that is made from them.
//
// A child of fork() has copies of its parent's objects, but none of its threads, and shares its
// descriptors and its rings.  A call on such an object would wait for a thread that does not exist,
// hold a lock that a thread of the parent held, or act on the parent's device.  So each object
// knows the process that made it; in another process its functions throw Error ENOTSUP and its
// destructor releases nothing.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "overtake/export.hpp"

namespace overtake {

/// Returns 0 in the process that loaded the library, and one more in each child of fork().
/// Thread safe.
OVERTAKE_HIDDEN unsigned fork_generation() noexcept;

/// The process that made an object.  Thread safe.
class OVERTAKE_HIDDEN ForkOrigin {
public:
    bool is_here() const noexcept { return generation_ == fork_generation(); }
    /// Throws Error ENOTSUP in a child of the process; `what` names the object in plain words.
    void require(const char* what) const {
        if (!is_here())
            fail(what);
    }

    /// The text of that error.
    static std::string refusal(const char* what);

private:
    [[noreturn]] static void fail(const char* what);

    unsigned generation_ = fork_generation();
};

/// Destroys an object in the process that made it; in a child the object stays as it is.
template <class Object>
class OVERTAKE_HIDDEN DeleteWhereMade {
public:
    void operator()(Object* object) const noexcept {
        if (origin_.is_here())
            delete object;
    }

private:
    ForkOrigin origin_;
};

/// A shared object that is destroyed only in the process that made it.
template <class Object, class... Arguments>
std::shared_ptr<Object> make_shared_where_made(Arguments&&... arguments) {
    return std::shared_ptr<Object>(new Object(std::forward<Arguments>(arguments)...),
                                   DeleteWhereMade<Object>());
}

/// A value for the whole process, made at its first use and never destroyed.  A child of fork()
/// makes its own: a lock of the parent's value may be held there for ever.  Thread safe.
template <class Value>
class OnePerProcess {
public:
    Value& get() {
        Entry* entry = entry_.load(std::memory_order_acquire);
        while (!entry || !entry->origin.is_here()) {
            auto made = std::make_unique<Entry>();
            if (entry_.compare_exchange_strong(entry, made.get(), std::memory_order_acq_rel))
                entry = made.release();
        }
        return entry->value;
    }

private:
    struct Entry {
        ForkOrigin origin;
        Value value;
    };
    std::atomic<Entry*> entry_{nullptr};
};

} // namespace overtake
