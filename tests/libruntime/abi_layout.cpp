// SPDX-License-Identifier: MIT
//
// Prints the parts of the public headers that programs have compiled in: size and alignment of each
// struct and class, the offsets of its fields, the vtable place of each virtual function, and the
// numbers behind names.  scripts/abi.py compares it with libruntime/abi/layout.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "overtake/graph.h"
#include "overtake/overtake.hpp"
#include "overtake/processor.h"

// For classes that are not of standard layout, offsetof() is only conditionally supported; gcc and
// clang do support it.
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace {

using namespace overtake;

template <typename Type>
void print_type(const char* name) {
    std::printf("%s: %zu bytes, aligned to %zu\n", name, sizeof(Type), alignof(Type));
}

/// In Linux's ABI of C++, a pointer to a virtual member function holds 1 + the function's offset in
/// the vtable.
template <typename Function>
std::size_t slot(Function function) {
    static_assert(sizeof(function) == 2 * sizeof(std::ptrdiff_t));
    std::ptrdiff_t offset;
    std::memcpy(&offset, &function, sizeof(offset));
    return static_cast<std::size_t>(offset - 1) / sizeof(void*);
}

#define TYPE(type) print_type<type>(#type)
#define FIELD(type, field)                                                                         \
    std::printf("%s.%s: %zu bytes at %zu\n", #type, #field, sizeof(type::field),                   \
                offsetof(type, field))
#define VIRTUAL(type, function)                                                                    \
    std::printf("%s::%s: slot %zu\n", #type, #function, slot(&type::function))
#define NUMBER(name) std::printf("%s = %lld\n", #name, static_cast<long long>(name))

void print_device() {
    TYPE(Error);
    TYPE(Buffer);
    TYPE(Queue);
    VIRTUAL(Queue, submit);
    VIRTUAL(Queue, reap);
    VIRTUAL(Queue, cancel);
    VIRTUAL(Queue, in_flight);
    VIRTUAL(Queue, interrupt);
    TYPE(ManualClock);
    VIRTUAL(ManualClock, now_ns);
    VIRTUAL(ManualClock, advance_to);
    TYPE(Device);
    VIRTUAL(Device, backend);
    VIRTUAL(Device, info);
    VIRTUAL(Device, cores);
    VIRTUAL(Device, create_buffer);
    VIRTUAL(Device, create_queue);
    VIRTUAL(Device, manual_clock);
    VIRTUAL(Device, create_service_queue);
    VIRTUAL(Device, events);
    VIRTUAL(Device, core_profiles);
    VIRTUAL(Device, takes_groups);
    TYPE(EventSource);
    VIRTUAL(EventSource, read);
    VIRTUAL(EventSource, lost);
    NUMBER(priority_high);
    NUMBER(core_any);
    NUMBER(deadline_never);
    NUMBER(KernelBackend::automatic);
    NUMBER(KernelBackend::io_uring);
    NUMBER(KernelBackend::ioctl);
    NUMBER(TensorForm::device);
    NUMBER(TensorForm::packed);
    NUMBER(TensorForm::dense);
    NUMBER(Element::float32);
    NUMBER(Element::int8);
    NUMBER(Element::uint8);
    NUMBER(Element::int32);
    NUMBER(Element::int64);
}

void print_jobs() {
    TYPE(Job);
    FIELD(Job, tag);
    FIELD(Job, fcs);
    FIELD(Job, bindings);
    FIELD(Job, scratch_bytes);
    FIELD(Job, priority);
    FIELD(Job, custom_id);
    FIELD(Job, core);
    FIELD(Job, deadline_ns);
    FIELD(Job, cores);
    FIELD(Job, chosen_core);
    FIELD(Job, model);
    TYPE(QueueOptions);
    FIELD(QueueOptions, max_priority);
    FIELD(QueueOptions, core_limit);
    FIELD(QueueOptions, interruptible);
    TYPE(FcRecord);
    FIELD(FcRecord, tag);
    FIELD(FcRecord, index);
    FIELD(FcRecord, core);
    FIELD(FcRecord, high);
    FIELD(FcRecord, start_ns);
    FIELD(FcRecord, end_ns);
    // Structs of the driver that the library returns by value.
    TYPE(Completion);
    TYPE(overtake_fc);
    TYPE(overtake_binding);
    TYPE(drm_overtake_device_info);
    TYPE(drm_overtake_core_info);
    TYPE(drm_overtake_core_profile);
}

void print_events() {
    TYPE(EventOptions);
    FIELD(EventOptions, capacity);
    TYPE(Event);
    FIELD(Event, time_ns);
    FIELD(Event, client);
    FIELD(Event, tag);
    FIELD(Event, model);
    FIELD(Event, task);
    FIELD(Event, custom_id);
    FIELD(Event, duration_ns);
    FIELD(Event, by_client);
    FIELD(Event, by_tag);
    FIELD(Event, by_context);
    FIELD(Event, by_pid);
    FIELD(Event, context);
    FIELD(Event, pid);
    FIELD(Event, fc_index);
    FIELD(Event, fc_count);
    FIELD(Event, priority);
    FIELD(Event, executed);
    FIELD(Event, preemptions);
    FIELD(Event, fault);
    FIELD(Event, status);
    FIELD(Event, limit);
    FIELD(Event, limit_before);
    FIELD(Event, segment);
    FIELD(Event, segment_count);
    FIELD(Event, device);
    FIELD(Event, core);
    FIELD(Event, type);
    FIELD(Event, high);
    FIELD(Event, part);
    FIELD(Event, width);
    FIELD(Event, stage);
    NUMBER(EventType::ctx_create);
    NUMBER(EventType::task_end);
}

void print_embedded_options() {
    TYPE(EmbeddedOptions);
    FIELD(EmbeddedOptions, cores);
    FIELD(EmbeddedOptions, mode);
    FIELD(EmbeddedOptions, profile);
    FIELD(EmbeddedOptions, core_limit);
    FIELD(EmbeddedOptions, core_limits);
    FIELD(EmbeddedOptions, normal_floor);
    FIELD(EmbeddedOptions, fair);
    FIELD(EmbeddedOptions, manual_clock);
    FIELD(EmbeddedOptions, simd);
    FIELD(EmbeddedOptions, watchdog_cycles);
    FIELD(EmbeddedOptions, fc_clock_ns);
    FIELD(EmbeddedOptions, stop_grace_ns);
    FIELD(EmbeddedOptions, queue_timeout_ns);
    FIELD(EmbeddedOptions, on_fc);
    FIELD(EmbeddedOptions, on_fc_context);
    FIELD(EmbeddedOptions, profiles);
}

void print_model() {
    TYPE(Tensor);
    FIELD(Tensor, name);
    FIELD(Tensor, shape);
    FIELD(Tensor, data_type);
    FIELD(Tensor, height);
    FIELD(Tensor, width);
    FIELD(Tensor, channels);
    FIELD(Tensor, row_stride);
    FIELD(Tensor, pixel_stride);
    FIELD(Tensor, scale);
    FIELD(Tensor, zero_point);
    FIELD(Tensor, bytes);
    FIELD(Tensor, order);
    FIELD(Tensor, data);
    FIELD(Tensor, colours);
    FIELD(Tensor, full_range);
    FIELD(Tensor, from_resizer);
    FIELD(Tensor, is_int16);
    NUMBER(DataType::float32);
    NUMBER(DataType::int8);
    NUMBER(DataType::int64);
    NUMBER(DataType::uint8);
    NUMBER(DataType::nv12);
    NUMBER(Order::planes);
    NUMBER(Order::rows);
    NUMBER(Colours::unknown);
    NUMBER(Colours::rgb);
    NUMBER(Colours::bgr);
    NUMBER(Colours::gray);
    NUMBER(model_file_version);
    TYPE(Model);
}

void print_session() {
    TYPE(SessionOptions);
    FIELD(SessionOptions, max_priority);
    FIELD(SessionOptions, core_limit);
    TYPE(TaskOptions);
    FIELD(TaskOptions, priority);
    FIELD(TaskOptions, custom_id);
    FIELD(TaskOptions, core);
    FIELD(TaskOptions, deadline_ns);
    TYPE(EngineOptions);
    FIELD(EngineOptions, policy);
#define OVT_QUEUE_SETTING(name, public_name, ...) FIELD(EngineOptions, public_name);
#define OVT_PROCESS_SETTING(name, public_name, ...) FIELD(EngineOptions, public_name);
#include "sched/settings.inc"
    FIELD(EngineOptions, max_priority);
    FIELD(EngineOptions, core_limit);
    FIELD(EngineOptions, worker_cpus);
    FIELD(EngineOptions, service);
    TYPE(TensorMemory);
    FIELD(TensorMemory, form);
    FIELD(TensorMemory, element);
    FIELD(TensorMemory, data);
    FIELD(TensorMemory, address);
    FIELD(TensorMemory, chroma);
    FIELD(TensorMemory, chroma_address);
    FIELD(TensorMemory, row_stride);
    FIELD(TensorMemory, picture_height);
    FIELD(TensorMemory, picture_width);
    FIELD(TensorMemory, left);
    FIELD(TensorMemory, top);
    FIELD(TensorMemory, right);
    FIELD(TensorMemory, bottom);
    TYPE(ExpectedTime);
    FIELD(ExpectedTime, class_name);
    FIELD(ExpectedTime, units);
    FIELD(ExpectedTime, time_ns);
    TYPE(ExpectedTimes);
    TYPE(SegmentRecord);
    FIELD(SegmentRecord, start_ns);
    FIELD(SegmentRecord, end_ns);
    FIELD(SegmentRecord, on_bpu);
    FIELD(SegmentRecord, job);
    TYPE(LoadedModel);
    TYPE(Request);
    TYPE(Engine);
    TYPE(Task);
    TYPE(Session);
}

void print_graph() {
    TYPE(GraphRun);
    TYPE(UnitRefusal);
    FIELD(UnitRefusal, unit);
    FIELD(UnitRefusal, processor);
    FIELD(UnitRefusal, reason);
    NUMBER(GraphState::created);
    NUMBER(GraphState::ready);
    NUMBER(GraphState::running);
    NUMBER(GraphState::done);
    NUMBER(GraphState::error);
    TYPE(overtake_engine_options);
    FIELD(overtake_engine_options, device);
    FIELD(overtake_engine_options, processors);
    FIELD(overtake_engine_options, policy);
    FIELD(overtake_engine_options, max_priority);
    TYPE(overtake_graph_options);
    FIELD(overtake_graph_options, model_name);
    FIELD(overtake_graph_options, on);
    FIELD(overtake_graph_options, priority);
    FIELD(overtake_graph_options, custom_id);
    FIELD(overtake_graph_options, slo_ns);
    TYPE(overtake_unit);
    FIELD(overtake_unit, model);
    FIELD(overtake_unit, unit);
    FIELD(overtake_unit, operations);
    FIELD(overtake_unit, expected_ns);
    TYPE(overtake_unit_tensor);
    FIELD(overtake_unit_tensor, data);
    FIELD(overtake_unit_tensor, bytes);
    FIELD(overtake_unit_tensor, name);
    FIELD(overtake_unit_tensor, name_length);
    FIELD(overtake_unit_tensor, shape);
    FIELD(overtake_unit_tensor, dimensions);
    FIELD(overtake_unit_tensor, height);
    FIELD(overtake_unit_tensor, width);
    FIELD(overtake_unit_tensor, channels);
    FIELD(overtake_unit_tensor, row_stride);
    FIELD(overtake_unit_tensor, pixel_stride);
    FIELD(overtake_unit_tensor, scale);
    FIELD(overtake_unit_tensor, zero_point);
    TYPE(overtake_processor_functions);
    FIELD(overtake_processor_functions, prepare);
    FIELD(overtake_processor_functions, start);
    FIELD(overtake_processor_functions, poll);
    FIELD(overtake_processor_functions, cancel);
    FIELD(overtake_processor_functions, release);
    FIELD(overtake_processor_functions, probe);
    FIELD(overtake_processor_functions, poll_ns);
    FIELD(overtake_processor_functions, timeout_ns);
}

void print_service() {
    TYPE(ServiceSettings);
#define OVT_QUEUE_SETTING(name, public_name, ...) FIELD(ServiceSettings, public_name);
#define OVT_DEVICE_SETTING(name, public_name, ...) FIELD(ServiceSettings, public_name);
#include "sched/settings.inc"
    TYPE(ServiceSegment);
    FIELD(ServiceSegment, fcs);
    FIELD(ServiceSegment, bindings);
    FIELD(ServiceSegment, scratch_bytes);
    FIELD(ServiceSegment, cpu_key);
    FIELD(ServiceSegment, expected_ns);
    TYPE(ServiceTask);
    FIELD(ServiceTask, tag);
    FIELD(ServiceTask, segments);
    FIELD(ServiceTask, priority);
    FIELD(ServiceTask, custom_id);
    FIELD(ServiceTask, core);
    FIELD(ServiceTask, deadline_ns);
    FIELD(ServiceTask, model);
    TYPE(ServiceEvent);
    FIELD(ServiceEvent, tag);
    FIELD(ServiceEvent, type);
    FIELD(ServiceEvent, segment);
    FIELD(ServiceEvent, start_ns);
    FIELD(ServiceEvent, status);
    FIELD(ServiceEvent, core);
    FIELD(ServiceEvent, arrived_ns);
    FIELD(ServiceEvent, dispatched_ns);
    FIELD(ServiceEvent, ended_ns);
    FIELD(ServiceEvent, segments);
    TYPE(ServiceQueueOptions);
    FIELD(ServiceQueueOptions, max_priority);
    FIELD(ServiceQueueOptions, core_limit);
    FIELD(ServiceQueueOptions, workers);
    FIELD(ServiceQueueOptions, interruptible);
    NUMBER(ServiceEvent::Type::run_cpu);
    NUMBER(ServiceEvent::Type::ended);
    TYPE(ServiceQueue);
    VIRTUAL(ServiceQueue, settings);
    VIRTUAL(ServiceQueue, submit);
    VIRTUAL(ServiceQueue, reap);
    VIRTUAL(ServiceQueue, cpu_done);
    VIRTUAL(ServiceQueue, cancel);
    VIRTUAL(ServiceQueue, live);
    VIRTUAL(ServiceQueue, interrupt);
}

} // namespace

int main() {
    print_device();
    print_jobs();
    print_embedded_options();
    print_events();
    print_model();
    print_session();
    print_graph();
    print_service();
}
