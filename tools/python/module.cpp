// SPDX-License-Identifier: MIT
#include "module.hpp"

#include <exception>

#include "overtake/error.hpp"

namespace py = pybind11;

namespace {

/// Raises the error as overtake.Error, which has its code.
void translate(std::exception_ptr thrown) {
    try {
        if (thrown)
            std::rethrow_exception(thrown);
    } catch (const overtake::Error& error) {
        const py::object type = py::module_::import("overtake._error").attr("Error");
        PyErr_SetObject(type.ptr(), type(error.code(), error.what()).ptr());
    }
}

} // namespace

PYBIND11_MODULE(_core, module) {
    module.doc() = "What of the package overtake is C++. Import overtake instead.";
    py::register_exception_translator(translate);
    overtake::python::bind_device(module);
    overtake::python::bind_model(module);
    overtake::python::bind_session(module);
    overtake::python::bind_simulate(module);
    overtake::python::bind_sweep(module);
    overtake::python::bind_trace(module);
}
