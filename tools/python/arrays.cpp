// SPDX-License-Identifier: MIT
#include "arrays.hpp"

#include <cerrno>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "overtake/error.hpp"

namespace py = pybind11;

namespace overtake::python {
namespace {

Element element_of(DataType type) {
    switch (type) {
    case DataType::int8:
        return Element::int8;
    case DataType::int64:
        return Element::int64;
    case DataType::uint8:
    case DataType::nv12:
        return Element::uint8;
    default:
        return Element::float32;
    }
}

py::dtype dtype_of(Element element) {
    switch (element) {
    case Element::int8:
        return py::dtype::of<std::int8_t>();
    case Element::uint8:
        return py::dtype::of<std::uint8_t>();
    case Element::int64:
        return py::dtype::of<std::int64_t>();
    case Element::int32:
        return py::dtype::of<std::int32_t>();
    default:
        return py::dtype::of<float>();
    }
}

/// Returns the type with which the elements of an array are read; nothing if the tensor does not
/// take them.
std::optional<Element> element_of(const Tensor& tensor, const py::array& array) {
    for (const Element element : {element_of(tensor.data_type), Element::float32})
        if (array.dtype().equal(dtype_of(element)))
            return element;
    return {};
}

std::string text(const py::handle& object) {
    return py::str(object).cast<std::string>();
}

bool is_usable(const py::array& array) {
    constexpr int aligned = py::detail::npy_api::NPY_ARRAY_ALIGNED_;
    return (array.flags() & py::array::c_style) != 0 && (array.flags() & aligned) != 0;
}

TensorMemory memory_of(const py::array& array, Element element) {
    TensorMemory memory;
    memory.element = element;
    // The memory of an input is only read.
    memory.data = static_cast<std::byte*>(const_cast<void*>(array.data()));
    return memory;
}

} // namespace

py::tuple shape_of(const Tensor& tensor) {
    py::tuple shape(tensor.shape.size());
    for (std::size_t i = 0; i < tensor.shape.size(); i++)
        shape[i] = tensor.shape[i];
    return shape;
}

py::dtype dtype_of(const Tensor& tensor) {
    return dtype_of(element_of(tensor.data_type));
}

LentArray lend_input(const Tensor& tensor, const py::handle& given) {
    const auto refuse = [&](const std::string& why) {
        throw Error(EINVAL, fmt::format("input '{}': {}", tensor.name, why));
    };
    if (!py::isinstance<py::array>(given))
        refuse(fmt::format("it is of type {}, but a numpy array of {} {} is needed",
                           text(py::type::of(given).attr("__name__")), text(dtype_of(tensor)),
                           text(shape_of(tensor))));
    auto array = py::reinterpret_borrow<py::array>(given);
    const std::optional<Element> element = element_of(tensor, array);
    if (!element)
        refuse(fmt::format("its dtype is {}, but {} is needed; convert it with astype()",
                           text(array.dtype()), text(dtype_of(tensor))));
    const py::tuple shape = array.attr("shape");
    if (!shape.equal(shape_of(tensor)))
        refuse(
            fmt::format("its shape is {}, but {} is needed", text(shape), text(shape_of(tensor))));
    if (!is_usable(array))
        array = array.attr("copy")("C");
    const TensorMemory memory = memory_of(array, *element);
    return {std::move(array), memory};
}

LentArray make_output(const Tensor& tensor) {
    const Element element = element_of(tensor.data_type);
    py::array array(dtype_of(element),
                    std::vector<py::ssize_t>(tensor.shape.begin(), tensor.shape.end()));
    const TensorMemory memory = memory_of(array, element);
    return {std::move(array), memory};
}

} // namespace overtake::python
