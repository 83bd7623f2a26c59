// SPDX-License-Identifier: MIT
//
// The use of oneDNN, versions 2.6 and 3, by operators of the CPU: a number of threads, errors in
// words, and primitives that run without an allocation.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>

#include <oneapi/dnnl/dnnl.hpp>

#include "cpu/layout.hpp"

namespace overtake::cpu::onednn {

/// Returns oneDNN's engine for the CPU, which all operators share.  Thread safe.
const dnnl::engine& engine();

/// While the object lives, calls of oneDNN in this thread compute with as many threads as
/// ThreadCount states, or with fewer if OpenMP allows fewer.  A primitive must run with the number
/// that it was made for.
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

/// Throws Error ENOMEM, naming `what`, unless 32 MiB can be mapped, enough for the allocations of
/// oneDNN while it makes a primitive.  Version 2.6 crashes if one of them fails.
void require_room(const char* what);

/// Returns the calling thread's stream.
const dnnl::stream& stream();

/// Describes a value of three to five dimensions.
dnnl::memory::desc description(const Shape& shape, Layout layout);
/// Describes floats in row-major order.
dnnl::memory::desc dense(const dnnl::memory::dims& dims);

/// Returns sizes, strides and blocks as a text; empty if the format has more than these.
std::string format_of(const dnnl::memory::desc& description);
/// Whether memory has elements that do not belong to the value.
bool has_spare_lanes(const dnnl::memory::desc& description);
/// Whether the data is aligned as Bytes are.
bool is_aligned(const void* data);

/// Zeroed bytes for a memory of oneDNN, aligned as its kernels prefer.
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

/// The rooms of a thread's memory; one primitive at a time uses them, all primitives in turns.
enum class Room { scratchpad, source, target, weights, count };

/// Returns at least so many bytes of the calling thread, valid until it asks for more of the same
/// room.  Allocates if the room has had fewer.  Throws std::bad_alloc.
void* room_for(Room room, std::size_t size);

/// A memory with its own bytes, or with none.
struct Owned {
    Owned() = default;
    explicit Owned(const dnnl::memory::desc& description);

    Bytes bytes;
    dnnl::memory memory;
};

/// A primitive.  Its scratchpad belongs to the thread; all primitives share it.
class Step {
public:
    Step() = default;
    Step(dnnl::primitive primitive, const dnnl::memory::desc& scratchpad);

    /// Returns the same primitive for another thread: one step runs in one thread at a time.
    Step another() const;

    /// Allocates nothing, except in a thread that has run no primitive of this size.  Throws Error
    /// ENOMEM and std::bad_alloc.
    void run(std::initializer_list<dnnl_exec_arg_t> arguments) const;

private:
    dnnl::primitive primitive_;
    dnnl::memory scratchpad_; // empty if none is needed
    std::size_t scratchpad_size_ = 0;
};

/// Returns a copy from one layout to another; must not be made if they are the same.
Step reorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to);

/// Returns the attributes of all our primitives: the caller provides the scratchpad.
dnnl::primitive_attr attributes();

/// Sets the data of `memory`.  Allocates nothing.
void place(const dnnl::memory& memory, const void* data);

} // namespace overtake::cpu::onednn
