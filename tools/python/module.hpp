// SPDX-License-Identifier: MIT
//
// overtake._core: libovertake and the simulator for Python. Each file binds one subject. Users
// import the package around it (overtake/).
#pragma once

#include <pybind11/pybind11.h>

namespace overtake::python {

void bind_device(pybind11::module_& module);
void bind_model(pybind11::module_& module);
void bind_session(pybind11::module_& module);
void bind_simulate(pybind11::module_& module);
void bind_sweep(pybind11::module_& module);
void bind_trace(pybind11::module_& module);

} // namespace overtake::python
