// SPDX-License-Identifier: MIT
#include "cpu/onednn.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>

#include "cpu/thread_count.hpp"
#include "overtake/error.hpp"

namespace overtake::cpu::onednn {

namespace {

constexpr std::size_t alignment = 64, room = std::size_t{32} << 20;

// Finds a function of the OpenMP that oneDNN uses; null if it was built without OpenMP.
template <typename Function>
Function of_openmp(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

void set_threads(int count) {
    static const auto set = of_openmp<void (*)(int)>("omp_set_num_threads");
    if (set && count > 0)
        set(count);
}

using Get = int (*)();

int threads() {
    static const auto get = of_openmp<Get>("omp_get_max_threads");
    return get ? get() : 0;
}

// Returns the threads that a parallel region gets here, at most `wanted`: with fewer than it counts
// on, oneDNN's matrix product is wrong.
int threads_to_be_had(unsigned wanted) {
    static const auto limit = of_openmp<Get>("omp_get_thread_limit");
    static const auto level = of_openmp<Get>("omp_get_active_level");
    static const auto most_levels = of_openmp<Get>("omp_get_max_active_levels");
    if (wanted == 1 || !limit || !level || !most_levels || level() >= most_levels())
        return 1; // in a parallel region of the program, a nested region would have one thread
    return std::min(static_cast<int>(wanted), limit());
}

// Sets whether OpenMP may give fewer threads on a busy machine; returns the former value.
int set_dynamic(int value) {
    static const auto get = of_openmp<Get>("omp_get_dynamic");
    static const auto set = of_openmp<void (*)(int)>("omp_set_dynamic");
    const int before = get ? get() : 0;
    if (set && before != value)
        set(value);
    return before;
}

thread_local bool has_threads = false; // whether OpenMP keeps threads for this thread

/// Ends OpenMP's threads.  A child of fork() has none of them, and would wait for them for ever.
void end_threads_before_fork() {
    if (!has_threads)
        return;
    constexpr int hard = 2;
    static const auto device = of_openmp<int (*)()>("omp_get_initial_device");
    static const auto pause = of_openmp<int (*)(int, int)>("omp_pause_resource");
    if (device && pause)
        pause(hard, device());
    has_threads = false;
}

void note_threads() {
    static const int handled = pthread_atfork(end_threads_before_fork, nullptr, nullptr);
    has_threads = handled == 0;
}

} // namespace

const dnnl::engine& engine() {
    static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
    return cpu;
}

namespace {

dnnl::stream make_stream() {
    require_room("a thread's stream");
    try {
        return dnnl::stream(engine());
    } catch (const dnnl::error& error) {
        throw Error(ENOMEM, std::string("a thread's stream: oneDNN: ") + error.what());
    }
}

// The data that a thread keeps for its operators.
struct OfThread {
    struct Own {
        Bytes bytes;
        std::size_t size = 0;
    };
    dnnl::stream stream = make_stream();
    std::array<Own, static_cast<std::size_t>(Room::count)> rooms;
};

// Not thread_local: the C library would end the process if it had no memory to note the destructor.
OfThread& of_thread() {
    static const pthread_key_t key = [] {
        pthread_key_t made{};
        const int code =
            pthread_key_create(&made, [](void* owned) { delete static_cast<OfThread*>(owned); });
        if (code != 0)
            throw Error(code, "a thread's memory: the process has no key left for it");
        return made;
    }();
    if (void* known = pthread_getspecific(key))
        return *static_cast<OfThread*>(known);
    auto made = std::make_unique<OfThread>();
    const int code = pthread_setspecific(key, made.get());
    if (code != 0)
        throw Error(code, "a thread's memory cannot be noted");
    return *made.release();
}

} // namespace

const dnnl::stream& stream() {
    return of_thread().stream;
}

void* room_for(Room room, std::size_t size) {
    OfThread::Own& own = of_thread().rooms[static_cast<std::size_t>(room)];
    if (size > own.size) {
        own = {};
        own = {Bytes(size), size};
    }
    return own.bytes.data();
}

Threads::Threads() : before_(threads()), count_(threads_to_be_had(ThreadCount::current())) {
    if (count_ > 1) {
        note_threads();
        was_dynamic_ = set_dynamic(0);
    }
    set_threads(count_);
}

Threads::~Threads() {
    set_threads(before_);
    if (count_ > 1)
        set_dynamic(was_dynamic_);
}

void require_room(const char* what) {
    void* memory = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        throw Error(ENOMEM, std::string(what) + ": oneDNN has not enough memory for it");
    munmap(memory, room);
}

dnnl::memory::desc dense(const dnnl::memory::dims& dims) {
    dnnl::memory::dims strides(dims.size(), 1);
    for (std::size_t i = dims.size() - 1; i-- > 0;)
        strides[i] = strides[i + 1] * dims[i + 1];
    return {dims, dnnl::memory::data_type::f32, strides};
}

dnnl::memory::desc description(const Shape& shape, Layout layout) {
    using Tag = dnnl::memory::format_tag;
    constexpr std::array by_8 = {Tag::nCw8c, Tag::nChw8c, Tag::nCdhw8c};
    constexpr std::array by_16 = {Tag::nCw16c, Tag::nChw16c, Tag::nCdhw16c};
    const dnnl::memory::dims dims(shape.begin(), shape.end());
    if (layout == Layout::planes)
        return dense(dims);
    if (is_blocked(layout))
        return {dims, dnnl::memory::data_type::f32,
                (layout == Layout::blocked_8 ? by_8 : by_16).at(shape.size() - 3)};
    dnnl::memory::dims strides(dims.size(), 1);
    strides.back() = dims[1];
    for (std::size_t i = dims.size() - 1; i-- > 2;)
        strides[i] = strides[i + 1] * dims[i + 1];
    strides[0] = strides[2] * dims[2];
    return {dims, dnnl::memory::data_type::f32, strides};
}

namespace {

#if DNNL_VERSION_MAJOR >= 3
struct Format {
    explicit Format(const dnnl::memory::desc& of)
        : dims(of.get_dims()), padded(of.get_padded_dims()), strides(of.get_strides()),
          blocks(of.get_inner_blks()), axes(of.get_inner_idxs()),
          is_plain(of.get_format_kind() == dnnl::memory::format_kind::blocked &&
                   of.get_data_type() == dnnl::memory::data_type::f32) {}
#else
struct Format {
    explicit Format(const dnnl::memory::desc& of)
        : dims(of.data.dims, of.data.dims + of.data.ndims),
          padded(of.data.padded_dims, of.data.padded_dims + of.data.ndims),
          is_plain(of.data.format_kind == dnnl_blocked && of.data.data_type == dnnl_f32 &&
                   of.data.extra.flags == 0) {
        if (!is_plain)
            return;
        const dnnl_blocking_desc_t& blocking = of.data.format_desc.blocking;
        strides.assign(blocking.strides, blocking.strides + of.data.ndims);
        blocks.assign(blocking.inner_blks, blocking.inner_blks + blocking.inner_nblks);
        axes.assign(blocking.inner_idxs, blocking.inner_idxs + blocking.inner_nblks);
    }
#endif
    dnnl::memory::dims dims, padded, strides, blocks, axes;
    bool is_plain;
};

} // namespace

std::string format_of(const dnnl::memory::desc& description) {
    const Format format(description);
    if (!format.is_plain)
        return "";
    std::string text;
    const auto add = [&](const char* name, const dnnl::memory::dims& numbers) {
        text += name;
        for (const auto number : numbers)
            text += " " + std::to_string(number);
    };
    add("sizes", format.padded);
    add(" strides", format.strides);
    add(" blocks", format.blocks);
    add(" of axes", format.axes);
    return text;
}

bool has_spare_lanes(const dnnl::memory::desc& description) {
    const Format format(description);
    return format.dims != format.padded;
}

bool is_aligned(const void* data) {
    return reinterpret_cast<std::uintptr_t>(data) % alignment == 0;
}

Bytes::Bytes(std::size_t size)
    : memory_(std::aligned_alloc(alignment, (size / alignment + 1) * alignment)) {
    if (!memory_)
        throw std::bad_alloc();
    std::memset(memory_.get(), 0, size);
}

void Bytes::Free::operator()(void* memory) const noexcept {
    std::free(memory);
}

Owned::Owned(const dnnl::memory::desc& description)
    : bytes(description.get_size()), memory(description, engine(), bytes.data()) {}

Step::Step(dnnl::primitive primitive, const dnnl::memory::desc& scratchpad)
    : primitive_(std::move(primitive)), scratchpad_size_(scratchpad.get_size()) {
    stream(); // made now, since run() must allocate nothing
    if (scratchpad_size_ > 0)
        scratchpad_ =
            dnnl::memory(scratchpad, engine(), room_for(Room::scratchpad, scratchpad_size_));
}

Step Step::another() const {
    return scratchpad_size_ > 0 ? Step(primitive_, scratchpad_.get_desc())
                                : Step(primitive_, dnnl::memory::desc());
}

void Step::run(std::initializer_list<dnnl_exec_arg_t> arguments) const {
    std::array<dnnl_exec_arg_t, 8> all{};
    std::size_t count = 0;
    for (const dnnl_exec_arg_t& argument : arguments)
        all.at(count++) = argument;
    if (scratchpad_size_ > 0) {
        place(scratchpad_, room_for(Room::scratchpad, scratchpad_size_));
        all.at(count++) = {DNNL_ARG_SCRATCHPAD, scratchpad_.get()};
    }
    if (dnnl_primitive_execute(primitive_.get(), stream().get(), static_cast<int>(count),
                               all.data()) != dnnl_success ||
        dnnl_stream_wait(stream().get()) != dnnl_success)
        throw Error(ENOMEM, "oneDNN has not enough memory for it");
}

Step reorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to) {
    if (from == to)
        return {};
    const dnnl::reorder::primitive_desc chosen(engine(), from, engine(), to, attributes());
    return {dnnl::reorder(chosen), chosen.scratchpad_desc()};
}

dnnl::primitive_attr attributes() {
    dnnl::primitive_attr result;
    result.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return result;
}

void place(const dnnl::memory& memory, const void* data) {
    if (dnnl_memory_set_data_handle(memory.get(), const_cast<void*>(data)) != dnnl_success)
        throw Error(ENOMEM, "oneDNN has not enough memory for it");
}

} // namespace overtake::cpu::onednn
