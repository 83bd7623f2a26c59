// SPDX-License-Identifier: MIT
//
// What operators of the CPU need of oneDNN, versions 2.6 and 3: so many threads, refusals in words,
// and primitives that run without an allocation.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>

#include <oneapi/dnnl/dnnl.hpp>

#include "cpu/layout.hpp"

namespace overtake::cpu::onednn {

/// The one engine.  Thread safe.
const dnnl::engine& engine();

/// While it lives, oneDNN computes with ThreadCount's threads where this thread calls it, or with
/// as many of them as OpenMP lets it have: a primitive has to run with as many as it was made for.
class Threads {
public:
    Threads();
    ~Threads();
    Threads(const Threads&) = delete;
    Threads& operator=(const Threads&) = delete;

private:
    const int before_, count_;
    int was_dynamic_ = 0;
};

/// Throws Error ENOMEM, naming `what`, unless there is room for what oneDNN allocates while it
/// makes a primitive: version 2.6 crashes where one of those allocations fails.
void require_room(const char* what);

/// The calling thread's stream.
const dnnl::stream& stream();

/// Of a value of three to five dimensions.
dnnl::memory::desc description(const Shape& shape, Layout layout);
/// Of floats in row-major order.
dnnl::memory::desc dense(const dnnl::memory::dims& dims);

/// Sizes, strides and blocks in words; empty for a format that is made of more than these.
std::string format_of(const dnnl::memory::desc& description);
/// Whether there are elements in memory that are none of the value's.
bool has_spare_lanes(const dnnl::memory::desc& description);
/// As Bytes are.
bool is_aligned(const void* data);

/// Bytes for a memory of oneDNN's, zero, aligned as its kernels like them.
class Bytes {
public:
    Bytes() = default;
    /// Throws std::bad_alloc.
    explicit Bytes(std::size_t size);
    void* data() const noexcept { return memory_.get(); }

private:
    struct Free {
        void operator()(void* memory) const noexcept;
    };
    std::unique_ptr<void, Free> memory_;
};

/// What one primitive at a time has of a thread's memory, all of them in turns.
enum class Room { scratchpad, source, target, weights, count };

/// At least so many bytes of the calling thread, until it asks for more of the same room.
/// Allocates where it has had fewer.  Throws std::bad_alloc.
void* room_for(Room room, std::size_t size);

/// A memory that owns its bytes, or none.
struct Owned {
    Owned() = default;
    explicit Owned(const dnnl::memory::desc& description);

    Bytes bytes;
    dnnl::memory memory;
};

/// A primitive.  Its scratchpad is the thread's, which all primitives share.
class Step {
public:
    Step() = default;
    Step(dnnl::primitive primitive, const dnnl::memory::desc& scratchpad);

    /// The same primitive for another thread: one step runs in one thread at a time.
    Step another() const;

    /// Allocates nothing, but in a thread that has run no primitive of this size.  Throws Error
    /// ENOMEM and std::bad_alloc.
    void run(std::initializer_list<dnnl_exec_arg_t> arguments) const;

private:
    dnnl::primitive primitive_;
    dnnl::memory scratchpad_; // empty where none is needed
    std::size_t scratchpad_size_ = 0;
};

/// Copies from one layout to another; nothing to be made where they are the same.
Step reorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to);

/// Attributes of all our primitives: the caller has the scratchpad.
dnnl::primitive_attr attributes();

/// Where `memory` is from now on.  Allocates nothing.
void place(const dnnl::memory& memory, const void* data);

} // namespace overtake::cpu::onednn
