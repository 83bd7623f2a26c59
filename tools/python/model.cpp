// SPDX-License-Identifier: MIT
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "arrays.hpp"
#include "module.hpp"
#include "overtake/model.hpp"

namespace py = pybind11;

namespace overtake::python {
namespace {

/// One of a model's inputs or outputs.
struct TensorOfModel {
    std::shared_ptr<const Model> model; ///< keeps the name
    const Tensor* tensor;
};

std::shared_ptr<const Model> read_model(const py::object& from, const std::string& name) {
    if (PyObject_CheckBuffer(from.ptr()) != 0) {
        const py::buffer_info bytes = py::reinterpret_borrow<py::buffer>(from).request();
        if (bytes.itemsize != 1 || PyBuffer_IsContiguous(bytes.view(), 'C') == 0)
            throw py::type_error("Model(): a buffer has to be bytes, one after the other");
        const std::span<const std::byte> span(static_cast<const std::byte*>(bytes.ptr),
                                              static_cast<std::size_t>(bytes.size));
        const py::gil_scoped_release released;
        return Model::from_bytes(span, name.empty() ? "model" : name);
    }
    const auto file = py::reinterpret_steal<py::object>(PyOS_FSPath(from.ptr()));
    if (!file)
        throw py::error_already_set();
    const auto path = file.cast<std::filesystem::path>();
    const py::gil_scoped_release released;
    return Model::load(path.string(), name);
}

py::list list_of(const std::shared_ptr<const Model>& model,
                 std::span<const std::uint32_t> numbers) {
    py::list list;
    for (const std::uint32_t number : numbers)
        list.append(TensorOfModel{model, &model->tensors()[number]});
    return list;
}

std::string describe(const TensorOfModel& of) {
    return "<overtake.Tensor '" + std::string(of.tensor->name) + "' " +
           py::str(shape_of(*of.tensor)).cast<std::string>() + " " + name_of(of.tensor->data_type) +
           ">";
}

} // namespace

void bind_model(py::module_& module) {
    py::class_<TensorOfModel>(module, "Tensor", "An input or output of a Model.")
        .def_property_readonly("name", [](const TensorOfModel& of) { return of.tensor->name; })
        .def_property_readonly(
            "shape", [](const TensorOfModel& of) { return shape_of(*of.tensor); },
            "Of the array, as in ONNX; a scalar's is (1,), an nv12 picture's (1, 1, rows of luma "
            "and chroma, width).")
        .def_property_readonly(
            "dtype", [](const TensorOfModel& of) { return dtype_of(*of.tensor); },
            "The numpy.dtype of the array.")
        .def_property_readonly(
            "data_type", [](const TensorOfModel& of) { return name_of(of.tensor->data_type); },
            "'float32', 'int8', 'int64', 'uint8' or 'nv12', whose dtype is uint8.")
        .def_property_readonly(
            "scale", [](const TensorOfModel& of) { return of.tensor->scale; },
            "What one step of the device's int8 is worth: value = scale * (q - zero_point).")
        .def_property_readonly("zero_point",
                               [](const TensorOfModel& of) { return of.tensor->zero_point; })
        .def("__repr__", &describe);

    py::class_<Model, std::shared_ptr<Model>>(
        module, "Model",
        "A compiled network (.ovm), verified. Immutable; threads may share it.\n\n"
        "Model(file) maps the file that a path names, or copies any bytes-like object. `name` "
        "chooses among the models of a pack, or is what errors call the bytes. Raises Error: "
        "EINVAL, with the offset and the reason, for what is no sound model file; else the errno "
        "of opening it.")
        .def(py::init([](const py::object& file, const std::string& name) {
                 return std::const_pointer_cast<Model>(read_model(file, name));
             }),
             py::arg("file"), py::kw_only(), py::arg("name") = "")
        .def_property_readonly("name", &Model::name)
        .def_property_readonly(
            "inputs",
            [](const std::shared_ptr<Model>& model) { return list_of(model, model->inputs()); },
            "A list of Tensor, in the network's order.")
        .def_property_readonly(
            "outputs",
            [](const std::shared_ptr<Model>& model) { return list_of(model, model->outputs()); },
            "A list of Tensor, in the network's order.")
        .def_property_readonly("profile_name", &Model::profile_name,
                               "Of the profile that FC costs were computed with.")
        .def_property_readonly("max_time_per_fc_us", &Model::max_time_per_fc_us,
                               "The limit it was split under, in microseconds; 0 = not split.")
        .def("__repr__", [](const Model& model) {
            return "<overtake.Model '" + std::string(model.name()) + "'>";
        });
}

} // namespace overtake::python
