// SPDX-License-Identifier: MIT
//
// The C interface of the life cycle.
#include "overtake/graph.h"

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "last_error.hpp"
#include "overtake/device.hpp"
#include "overtake/engine.hpp"
#include "overtake/graph.hpp"

struct overtake_engine {
    std::shared_ptr<overtake::Engine> engine;
};

struct overtake_graph {
    overtake_graph(std::shared_ptr<overtake::Engine> engine_,
                   std::shared_ptr<const overtake::Model> model,
                   const overtake::TaskOptions& options)
        : engine(std::move(engine_)), run(*engine, std::move(model), options) {}

    const std::shared_ptr<overtake::Engine> engine;
    overtake::GraphRun run;
};

namespace overtake {

namespace {

// No std::string: the C library ends the process if it has no memory to note a thread's destructor.
constexpr std::size_t most_error_text = 4096;
thread_local char last_error_text[most_error_text];

template <class Handle>
Handle& require_handle(Handle* handle, const char* what) {
    if (!handle)
        throw Error(EINVAL, fmt::format("{} is NULL", what));
    return *handle;
}

std::string text_or(const char* text, const char* otherwise) {
    return text ? text : otherwise;
}

EngineOptions options_of(const overtake_engine_options& from,
                         const std::shared_ptr<Device>& device) {
    EngineOptions options;
    options.processors = parse_processors(
        &require_handle(from.processors, "engine: the text of its processors"), device);
    options.policy = text_or(from.policy, options.policy.c_str());
    if (from.max_priority != 0)
        options.max_priority = from.max_priority;
    return options;
}

TaskOptions options_of(const overtake_graph_options& from) {
    TaskOptions options;
    options.priority = from.priority;
    options.custom_id = from.custom_id;
    options.on = text_or(from.on, "");
    options.slo_ns = from.slo_ns;
    return options;
}

template <class Value>
void give_values(std::span<Value> from, Value** values, size_t* elements) {
    *values = from.data();
    if (elements)
        *elements = from.size();
}

} // namespace

void set_last_error(const char* text) noexcept {
    std::size_t length = std::strlen(text);
    if (length >= most_error_text) { // cut at a whole character of UTF-8
        length = most_error_text - 1;
        while (length > 0 && (text[length] & 0xc0) == 0x80)
            --length;
    }
    std::memmove(last_error_text, text, length); // `text` may be the previous text
    last_error_text[length] = '\0';
}

} // namespace overtake

using overtake::require_handle;
using overtake::result_in_c;

extern "C" {

const char* overtake_last_error(void) {
    return overtake::last_error_text;
}

int overtake_engine_create(const struct overtake_engine_options* options,
                           struct overtake_engine** engine) {
    return result_in_c([&] {
        require_handle(engine, "engine: the place for it");
        require_handle(options, "engine: options");
        const std::shared_ptr<overtake::Device> device =
            overtake::open_device(overtake::text_or(options->device, "auto"));
        auto made = std::make_unique<overtake_engine>();
        made->engine =
            std::make_shared<overtake::Engine>(device, overtake::options_of(*options, device));
        *engine = made.release();
    });
}

void overtake_engine_destroy(struct overtake_engine* engine) {
    delete engine;
}

int overtake_graph_create(struct overtake_engine* engine, const char* model_file,
                          const struct overtake_graph_options* options,
                          struct overtake_graph** graph) {
    return result_in_c([&] {
        require_handle(graph, "graph: the place for it");
        require_handle(engine, "graph: its engine");
        require_handle(model_file, "graph: the name of its model's file");
        const overtake_graph_options wanted = options ? *options : overtake_graph_options{};
        *graph = new overtake_graph(
            engine->engine,
            overtake::Model::load(model_file, overtake::text_or(wanted.model_name, "")),
            overtake::options_of(wanted));
    });
}

void overtake_graph_destroy(struct overtake_graph* graph) {
    delete graph;
}

int overtake_graph_prerun(struct overtake_graph* graph) {
    return result_in_c([&] { require_handle(graph, "graph").run.prerun(); });
}

int overtake_graph_run(struct overtake_graph* graph, int block) {
    return result_in_c([&] { require_handle(graph, "graph").run.run(block != 0); });
}

int overtake_graph_wait(struct overtake_graph* graph, int64_t deadline_ns) {
    return result_in_c([&] {
        if (!require_handle(graph, "graph").run.wait(deadline_ns))
            throw overtake::Error(EINPROGRESS, "graph: wait(): the run has not ended yet");
    });
}

int overtake_graph_cancel(struct overtake_graph* graph) {
    return result_in_c([&] { require_handle(graph, "graph").run.cancel(); });
}

int overtake_graph_postrun(struct overtake_graph* graph) {
    return result_in_c([&] { require_handle(graph, "graph").run.postrun(); });
}

int overtake_graph_get_state(const struct overtake_graph* graph) {
    int state = 0;
    const int result =
        result_in_c([&] { state = static_cast<int>(require_handle(graph, "graph").run.state()); });
    return result != 0 ? result : state;
}

size_t overtake_graph_input_count(const struct overtake_graph* graph) {
    return graph ? graph->run.model().inputs().size() : 0;
}

size_t overtake_graph_output_count(const struct overtake_graph* graph) {
    return graph ? graph->run.model().outputs().size() : 0;
}

int overtake_graph_input(struct overtake_graph* graph, size_t index, float** values,
                         size_t* elements) {
    return result_in_c([&] {
        require_handle(values, "graph: the place for an input");
        overtake::give_values(require_handle(graph, "graph").run.input(index), values, elements);
    });
}

int overtake_graph_output(struct overtake_graph* graph, size_t index, const float** values,
                          size_t* elements) {
    return result_in_c([&] {
        require_handle(values, "graph: the place for an output");
        overtake::give_values(require_handle(graph, "graph").run.output(index), values, elements);
    });
}

} // extern "C"
