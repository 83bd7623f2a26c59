// SPDX-License-Identifier: MIT
//
// MatrixProduct of any number of dimensions, by oneDNN's product of two matrices.
#include <cerrno>

#include <oneapi/dnnl/dnnl.h>

#include "cpu/onednn.hpp"
#include "cpu/table.hpp"
#include "overtake/error.hpp"

namespace overtake::cpu {

void multiply(const float* a, const float* b, float* c, std::size_t rows, std::size_t inner,
              std::size_t columns) {
    const auto m = static_cast<dnnl_dim_t>(rows), k = static_cast<dnnl_dim_t>(inner),
               n = static_cast<dnnl_dim_t>(columns);
    if (dnnl_sgemm('N', 'N', m, n, k, 1.0f, a, k, b, n, 0.0f, c, n) != dnnl_success)
        throw Error(ENOMEM, "matrix product: oneDNN has not enough memory for it");
}

namespace {

// Returns the batch dimensions: all but the last two.
Shape batch_of(const Shape& shape) {
    Shape batch(shape.begin(), shape.end() - 2);
    if (batch.empty())
        batch = {1};
    return batch;
}

// Inputs: (..., rows, inner) and (..., inner, columns); batches broadcast.
std::string check_matrix_product(const Operation& operation) {
    if (operation.inputs.size() != 2)
        return "needs two inputs";
    const Shape &a = operation.inputs[0], &b = operation.inputs[1], &out = operation.output;
    if (a.size() < 2 || b.size() < 2 || out.size() < 2)
        return "needs matrices";
    const Shape batch = broadcast(batch_of(a), batch_of(b));
    if (a.back() != b[b.size() - 2] || a[a.size() - 2] != out[out.size() - 2] ||
        b.back() != out.back() || batch.empty() || elements(batch) != elements(batch_of(out)))
        return "shapes do not fit each other";
    return "";
}

Kernel make_matrix_product(const Operation& operation) {
    onednn::require_room("matrix product"); // for the first product, in run()
    const Shape &a = operation.inputs[0], &b = operation.inputs[1];
    const Shape batch = broadcast(batch_of(a), batch_of(b));
    const auto steps_a = broadcast_strides(batch_of(a), batch);
    const auto steps_b = broadcast_strides(batch_of(b), batch);
    return [batch, steps_a, steps_b, rows = a[a.size() - 2], inner = a.back(),
            columns = b.back()](const Inputs& in, std::span<float> out) {
        const onednn::Threads threads;
        const std::size_t each_a = std::size_t{rows} * inner, each_b = std::size_t{inner} * columns;
        const std::size_t each = std::size_t{rows} * columns;
        for (std::size_t index = 0; index < elements(batch); index++) {
            std::size_t rest = index, at_a = 0, at_b = 0;
            for (std::size_t axis = batch.size(); axis-- > 0; rest /= batch[axis]) {
                at_a += rest % batch[axis] * steps_a[axis];
                at_b += rest % batch[axis] * steps_b[axis];
            }
            multiply(in[0].data() + at_a * each_a, in[1].data() + at_b * each_b,
                     out.data() + index * each, rows, inner, columns);
        }
    };
}

constexpr Entry product_table[] = {
    {CpuOpType::matrix_product, "MatrixProduct", check_matrix_product, make_matrix_product},
};

} // namespace

std::span<const Entry> product_operators() {
    return product_table;
}

} // namespace overtake::cpu
