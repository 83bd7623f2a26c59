# SPDX-License-Identifier: MIT
"""The layers of a small convolution network with their gradients, in numpy.

Activations are float32 NHWC. A layer has forward(data, training), backward(gradient), which
returns the gradient of its input and keeps those of its parameters, and parameters(), which
lists them. Not thread-safe: a layer remembers its last forward pass.
"""

import numpy as np


class Parameter:
    """An array under training and its gradient of the last backward pass."""

    def __init__(self, value):
        self.value = value.astype(np.float32)
        self.gradient = np.zeros_like(self.value)
        self.first_moment = np.zeros_like(self.value)
        self.second_moment = np.zeros_like(self.value)


class Layer:
    def parameters(self):
        return [item for item in vars(self).values() if isinstance(item, Parameter)]


class Convolution(Layer):
    """Stride 1, padded to keep the size, without bias: a BatchNormalization follows."""

    def __init__(self, kernel, channels_in, channels_out, random):
        deviation = np.sqrt(2 / (kernel * kernel * channels_in))
        shape = (kernel * kernel * channels_in, channels_out)
        self.kernel = kernel
        self.weights = Parameter(random.normal(0, deviation, shape))

    def forward(self, data, training):
        margin = self.kernel // 2
        padded = np.pad(data, ((0, 0), (margin, margin), (margin, margin), (0, 0)))
        view = np.lib.stride_tricks.sliding_window_view(
            padded, (self.kernel, self.kernel), axis=(1, 2)
        )
        self.shape = data.shape
        self.columns = view.transpose(0, 1, 2, 4, 5, 3).reshape(-1, len(self.weights.value))
        return (self.columns @ self.weights.value).reshape(data.shape[:3] + (-1,))

    def backward(self, gradient):
        flat = gradient.reshape(-1, gradient.shape[3])
        self.weights.gradient = self.columns.T @ flat
        batch, height, width, channels = self.shape
        kernel, margin = self.kernel, self.kernel // 2
        patches = (flat @ self.weights.value.T).reshape(
            batch, height, width, kernel, kernel, channels
        )
        padded = np.zeros(
            (batch, height + 2 * margin, width + 2 * margin, channels), dtype=np.float32
        )
        for row in range(kernel):
            for column in range(kernel):
                padded[:, row : row + height, column : column + width] += patches[:, :, :, row, column]
        return padded[:, margin : margin + height, margin : margin + width]

    def onnx_weights(self):
        """Returns the weights as ONNX wants them: (output, input, kernel, kernel)."""
        shape = (self.kernel, self.kernel, -1, self.weights.value.shape[1])
        return np.ascontiguousarray(self.weights.value.reshape(shape).transpose(3, 2, 0, 1))


class BatchNormalization(Layer):
    EPSILON = np.float32(1e-5)
    MOMENTUM = np.float32(0.95)

    def __init__(self, channels):
        self.scale = Parameter(np.ones(channels))
        self.bias = Parameter(np.zeros(channels))
        self.mean = np.zeros(channels, np.float32)
        self.variance = np.ones(channels, np.float32)

    def forward(self, data, training):
        if not training:
            return self._normalize(data, self.mean, self.variance)
        mean, variance = data.mean(axis=(0, 1, 2)), data.var(axis=(0, 1, 2))
        self.mean += (1 - self.MOMENTUM) * (mean - self.mean)
        self.variance += (1 - self.MOMENTUM) * (variance - self.variance)
        return self._normalize(data, mean, variance)

    def _normalize(self, data, mean, variance):
        self.inverse_deviation = 1 / np.sqrt(variance + self.EPSILON)
        self.normalized = (data - mean) * self.inverse_deviation
        return self.normalized * self.scale.value + self.bias.value

    def backward(self, gradient):
        count = np.float32(gradient.size // gradient.shape[3])
        self.bias.gradient = gradient.sum(axis=(0, 1, 2))
        self.scale.gradient = (gradient * self.normalized).sum(axis=(0, 1, 2))
        common = (self.bias.gradient + self.normalized * self.scale.gradient) / count
        return (gradient - common) * (self.scale.value * self.inverse_deviation)


class Relu(Layer):
    def forward(self, data, training):
        self.passes = data > 0
        return data * self.passes

    def backward(self, gradient):
        return gradient * self.passes


class MaxPool(Layer):
    """2 x 2, stride 2. Equal maxima share the gradient."""

    def forward(self, data, training):
        batch, height, width, channels = data.shape
        blocks = data.reshape(batch, height // 2, 2, width // 2, 2, channels)
        result = blocks.max(axis=(2, 4), keepdims=True)
        self.share = (blocks == result).astype(np.float32)
        self.share /= self.share.sum(axis=(2, 4), keepdims=True)
        return result[:, :, 0, :, 0]

    def backward(self, gradient):
        batch, height, width, channels = gradient.shape
        spread = self.share * gradient[:, :, np.newaxis, :, np.newaxis]
        return spread.reshape(batch, height * 2, width * 2, channels)


class Residual(Layer):
    """Adds its input to what its inner layers make of it."""

    def __init__(self, *layers):
        self.layers = layers

    def forward(self, data, training):
        result = data
        for layer in self.layers:
            result = layer.forward(result, training)
        return data + result

    def backward(self, gradient):
        inner = gradient
        for layer in reversed(self.layers):
            inner = layer.backward(inner)
        return gradient + inner

    def parameters(self):
        return [parameter for layer in self.layers for parameter in layer.parameters()]


class GlobalAveragePool(Layer):
    def forward(self, data, training):
        self.shape = data.shape
        return data.mean(axis=(1, 2))

    def backward(self, gradient):
        pixels = np.float32(self.shape[1] * self.shape[2])
        return np.broadcast_to((gradient / pixels)[:, np.newaxis, np.newaxis], self.shape)


class Dense(Layer):
    def __init__(self, channels_in, channels_out, random):
        deviation = np.sqrt(1 / channels_in)
        self.weights = Parameter(random.normal(0, deviation, (channels_out, channels_in)))
        self.bias = Parameter(np.zeros(channels_out))

    def forward(self, data, training):
        self.data = data
        return data @ self.weights.value.T + self.bias.value

    def backward(self, gradient):
        self.weights.gradient = gradient.T @ self.data
        self.bias.gradient = gradient.sum(axis=0)
        return gradient @ self.weights.value


def softmax_cross_entropy(logits, labels):
    """Returns (mean loss, gradient of the logits)."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    probabilities = np.exp(shifted)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    rows = np.arange(len(labels))
    loss = -np.log(probabilities[rows, labels] + np.float32(1e-12)).mean()
    probabilities[rows, labels] -= 1
    return loss, probabilities / np.float32(len(labels))


def adam_step(parameters, step, rate, decay=1e-4, beta1=0.9, beta2=0.99):
    """Updates the parameters in place; `step` counts from 1. (Kingma and Ba 2015, decoupled decay.)"""
    correction = rate * np.sqrt(1 - beta2**step) / (1 - beta1**step)
    for parameter in parameters:
        gradient = parameter.gradient
        parameter.first_moment += np.float32(1 - beta1) * (gradient - parameter.first_moment)
        parameter.second_moment += np.float32(1 - beta2) * (
            gradient * gradient - parameter.second_moment
        )
        change = parameter.first_moment / (np.sqrt(parameter.second_moment) + np.float32(1e-8))
        parameter.value -= np.float32(correction) * change
        parameter.value *= np.float32(1 - rate * decay)
