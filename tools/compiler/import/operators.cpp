// SPDX-License-Identifier: MIT
#include "compiler/import/operators.hpp"

#include <algorithm>

#include "compiler/import/bpu/operators.hpp"
#include "compiler/import/constants.hpp"
#include "compiler/import/cpu/operators.hpp"
#include "compiler/import/import.hpp"
#include "compiler/import/reshapes.hpp"
#include "compiler/import/sequences.hpp"

namespace overtake::compiler {

namespace {

const Row by_table = {bpu_function, cpu_unary, "any shape with three device dimensions; a table",
                      "any shape"};
const std::map<std::string, Row> table = {
    {"Abs", by_table},
    {"Acos", by_table},
    {"Acosh", by_table},
    {"Add", {bpu_arithmetic, cpu_binary, "broadcasting per device dimension", "broadcasting"}},
    {"And", {nullptr, cpu_binary, "", "broadcasting"}},
    {"ArgMax", {nullptr, cpu_arg_reduce, "", "any shape"}},
    {"ArgMin", {nullptr, cpu_arg_reduce, "", "any shape"}},
    {"Asin", by_table},
    {"Asinh", by_table},
    {"Atan", by_table},
    {"Atanh", by_table},
    {"AveragePool",
     {bpu_pool, cpu_pool, "1 or 2 axes; no indices", "any number of axes; no indices"}},
    {"BatchNormalization",
     {bpu_batch_normalization, cpu_batch_normalization, "constant parameters",
      "constant parameters"}},
    {"Cast", {nullptr, cpu_cast, "", "numbers and truth values, held as float32"}},
    {"Ceil", by_table},
    {"Celu", by_table},
    {"Clip",
     {bpu_clip, cpu_clip, "any shape with three device dimensions; constant bounds",
      "bounds of one element"}},
    {"Concat", {bpu_concat, cpu_concat, "along a device dimension; also constants", "any shape"}},
    {"ConcatFromSequence",
     {nullptr, nullptr, "", "a sequence known here", import_concat_from_sequence}},
    {"SequenceAt", {nullptr, nullptr, "", "a constant position", import_sequence_at}},
    {"SequenceConstruct", {nullptr, nullptr, "", "known here", import_sequence_construct}},
    {"SequenceEmpty", {nullptr, nullptr, "", "known here", import_sequence_construct}},
    {"SequenceErase", {nullptr, nullptr, "", "a constant position", import_sequence_erase}},
    {"SequenceInsert", {nullptr, nullptr, "", "a constant position", import_sequence_insert}},
    {"SequenceLength", {nullptr, nullptr, "", "a constant", import_sequence_length}},
    {"SplitToSequence", {nullptr, nullptr, "", "constant sizes", import_split_to_sequence}},
    {"Constant", {nullptr, nullptr, "", "numbers", import_constant}},
    {"ConstantOfShape", {nullptr, nullptr, "", "a constant shape", import_constant_of_shape}},
    {"Conv",
     {bpu_convolution, cpu_convolution, "1 or 2 axes, constant weights", "any number of axes"}},
    {"ConvTranspose",
     {bpu_transposed_convolution, cpu_convolution,
      "1 or 2 axes, constant weights, strides within the kernel", "any number of axes"}},
    {"Cos", by_table},
    {"Cosh", by_table},
    {"DepthToSpace", {bpu_depth_to_space, cpu_depth_to_space, "images", "any shape"}},
    {"Div",
     {bpu_arithmetic, cpu_binary,
      "by a constant, a number by a tensor, or of two functions of one tensor; broadcasting",
      "broadcasting"}},
    {"Dropout", {nullptr, import_alias, "", "another name, no work"}},
    {"Elu", by_table},
    {"Equal", {nullptr, cpu_binary, "", "broadcasting"}},
    {"Erf", by_table},
    {"Exp", by_table},
    {"Expand",
     {bpu_expand, cpu_expand, "of device dimensions; a constant shape", "a constant shape"}},
    {"Flatten", {nullptr, import_flatten, "", "another name, no work"}},
    {"Floor", by_table},
    {"Gather",
     {bpu_gather, cpu_gather, "constant positions along a device dimension, in at most 64 runs",
      "any shape"}},
    {"GatherElements", {nullptr, cpu_gather_elements, "", "any shape"}},
    {"Gemm", {bpu_gemm, cpu_gemm, "rows times a constant matrix", "any matrices"}},
    {"GlobalAveragePool", {bpu_global_pool, cpu_global_pool, "1 or 2 axes", "any number of axes"}},
    {"GlobalMaxPool", {bpu_global_pool, cpu_global_pool, "1 or 2 axes", "any number of axes"}},
    {"Greater", {nullptr, cpu_binary, "", "broadcasting"}},
    {"GreaterOrEqual", {nullptr, cpu_binary, "", "broadcasting"}},
    {"HardSigmoid", by_table},
    {"HardSwish", by_table},
    {"Hardmax", {nullptr, cpu_hardmax, "", "any axis"}},
    {"Identity", {nullptr, import_alias, "", "another name, no work"}},
    {"InstanceNormalization", {nullptr, cpu_instance_normalization, "", "any shape"}},
    {"IsInf", {nullptr, cpu_unary, "", "any shape"}},
    {"IsNaN", {nullptr, cpu_unary, "", "any shape"}},
    {"LayerNormalization", {nullptr, cpu_layer_normalization, "", "one output"}},
    {"LeakyRelu", by_table},
    {"Less", {nullptr, cpu_binary, "", "broadcasting"}},
    {"LessOrEqual", {nullptr, cpu_binary, "", "broadcasting"}},
    {"Log", by_table},
    {"LogSoftmax", {nullptr, cpu_softmax, "", "any axis"}},
    {"MatMul",
     {bpu_matrix_product, cpu_matrix_product,
      "rows times a constant matrix, or two computed ones of one rank; 32768 factors",
      "any shape"}},
    {"Max",
     {bpu_extreme, cpu_binary, "broadcasting per device dimension", "any number; broadcasting"}},
    {"MaxPool", {bpu_pool, cpu_pool, "1 or 2 axes; no indices", "any number of axes; no indices"}},
    {"Mean",
     {bpu_sum, cpu_binary, "broadcasting per device dimension", "any number; broadcasting"}},
    {"Min",
     {bpu_extreme, cpu_binary, "broadcasting per device dimension", "any number; broadcasting"}},
    {"Mod", {nullptr, cpu_binary, "", "broadcasting"}},
    {"Mul", {bpu_arithmetic, cpu_binary, "broadcasting per device dimension", "broadcasting"}},
    {"Neg", by_table},
    {"NonMaxSuppression",
     {nullptr, cpu_non_max_suppression, "", "constant limits; rows of -1 fill the output"}},
    {"Not", {nullptr, cpu_unary, "", "any shape"}},
    {"Or", {nullptr, cpu_binary, "", "broadcasting"}},
    {"PRelu",
     {bpu_parametric_relu, cpu_binary, "a constant slope per channel, none above 1 or none below",
      "broadcasting"}},
    {"Pad",
     {bpu_pad, cpu_pad, "of device dimensions; constant, and along height and width edge, reflect",
      "constant pads; constant, edge, reflect, wrap"}},
    {"Pow", {bpu_power, cpu_binary, "of a tensor and a number; a table", "broadcasting"}},
    {"Range", {nullptr, nullptr, "", "constants", import_range_constant}},
    {"Reciprocal", by_table},
    {"ReduceL1", {nullptr, cpu_reduce, "", "constant axes"}},
    {"ReduceL2", {nullptr, cpu_reduce, "", "constant axes"}},
    {"ReduceLogSum", {nullptr, cpu_reduce, "", "constant axes"}},
    {"ReduceLogSumExp", {nullptr, cpu_reduce, "", "constant axes"}},
    {"ReduceMax",
     {bpu_reduce, cpu_reduce, "over device dimensions; 131072 elements into one", "constant axes"}},
    {"ReduceMean",
     {bpu_reduce, cpu_reduce, "over device dimensions; 131072 elements into one", "constant axes"}},
    {"ReduceMin",
     {bpu_reduce, cpu_reduce, "over device dimensions; 131072 elements into one", "constant axes"}},
    {"ReduceProd", {nullptr, cpu_reduce, "", "constant axes"}},
    {"ReduceSum",
     {bpu_reduce, cpu_reduce, "over device dimensions; 131072 elements into one", "constant axes"}},
    {"ReduceSumSquare", {nullptr, cpu_reduce, "", "constant axes"}},
    {"Relu", {bpu_relu, cpu_unary, "any shape with three device dimensions", "any shape"}},
    {"Reshape", {nullptr, import_reshape, "", "another name, no work; a constant shape"}},
    {"Resize",
     {bpu_resize, cpu_resize, "height and width; nearest, linear",
      "any axes; nearest, linear, cubic"}},
    {"Round", by_table},
    {"Selu", by_table},
    {"Shape", {nullptr, nullptr, "", "a constant", import_shape_constant}},
    {"Shrink", by_table},
    {"Sigmoid", by_table},
    {"Sign", by_table},
    {"Sin", by_table},
    {"Sinh", by_table},
    {"Size", {nullptr, nullptr, "", "a constant", import_shape_constant}},
    {"Slice",
     {bpu_slice, cpu_slice, "along device dimensions; constant bounds; forwards",
      "constant bounds"}},
    {"Softmax", {nullptr, cpu_softmax, "", "any axis"}},
    {"Softplus", by_table},
    {"Softsign", by_table},
    {"SpaceToDepth", {bpu_depth_to_space, cpu_depth_to_space, "images", "any shape"}},
    {"Split", {bpu_split, cpu_split, "along a device dimension; constant sizes", "constant sizes"}},
    {"Sqrt", by_table},
    {"Squeeze", {nullptr, import_squeeze, "", "another name, no work"}},
    {"Sub", {bpu_arithmetic, cpu_binary, "broadcasting per device dimension", "broadcasting"}},
    {"Sum", {bpu_sum, cpu_binary, "broadcasting per device dimension", "any number; broadcasting"}},
    {"Tan", by_table},
    {"Tanh", by_table},
    {"ThresholdedRelu", by_table},
    {"Tile", {bpu_tile, cpu_tile, "along device dimensions, 64 times each", "constant repeats"}},
    {"TopK", {nullptr, cpu_top_k, "", "a constant number"}},
    {"Transpose",
     {bpu_transpose, cpu_transpose,
      "of three groups of axes that stay together; also for each of 64 others in front",
      "any shape"}},
    {"Unsqueeze", {nullptr, import_unsqueeze, "", "another name, no work"}},
    {"Where", {nullptr, cpu_where, "", "broadcasting"}},
    {"Xor", {nullptr, cpu_binary, "", "broadcasting"}},
};

} // namespace

const std::map<std::string, Row>& operators() {
    return table;
}

std::vector<SupportedOperator> supported_operators() {
    std::vector<SupportedOperator> result;
    for (const auto& [type, row] : operators())
        result.push_back({type, row.on_bpu, row.on_cpu});
    // compiler/onnx/newer_opsets.cpp writes them as others.
    for (const char* type :
         {"CastLike", "Gelu", "GroupNormalization", "Mish", "RMSNormalization", "Swish"})
        result.push_back({type, "as the operators that it is made of", "the same"});
    std::ranges::sort(result, {}, &SupportedOperator::type);
    return result;
}

} // namespace overtake::compiler
