// SPDX-License-Identifier: MIT
//
// Runs ONNX Runtime for tests that call it thousands of times. It reads one request a line from
// standard input, {"model": FILE.onnx, "inputs": {NAME: FILE.npy}, "directory": DIRECTORY}. It
// writes output number I of the network to DIRECTORY/I.npy and answers with a line of JSON,
// {"error": "", "outputs": [NAME, ...]}. It finds the package onnxruntime-node through NODE_PATH.
"use strict";

const fs = require("fs");
const path = require("path");
const readline = require("readline");
const ort = require("onnxruntime-node");

// By the type's name in ONNX Runtime: its name in .npy files, and the array that holds it.
const TYPES = {
    float32: ["<f4", Float32Array],
    float64: ["<f8", Float64Array],
    float16: ["<f2", Uint16Array],
    int64: ["<i8", BigInt64Array],
    int32: ["<i4", Int32Array],
    int16: ["<i2", Int16Array],
    uint16: ["<u2", Uint16Array],
    int8: ["|i1", Int8Array],
    uint8: ["|u1", Uint8Array],
    bool: ["|b1", Uint8Array],
};

function readNpy(file) {
    const bytes = fs.readFileSync(file);
    const begin = bytes[6] === 1 ? 10 : 12;
    const length = bytes[6] === 1 ? bytes.readUInt16LE(8) : bytes.readUInt32LE(8);
    const header = bytes.toString("latin1", begin, begin + length);
    const descr = /'descr': '([^']*)'/.exec(header)[1];
    if (/'fortran_order': True/.test(header))
        throw new Error(`${file}: columns first`);
    const shape = /'shape': \(([^)]*)\)/.exec(header)[1].split(",").filter((part) => part.trim());
    const type = Object.keys(TYPES).find((name) => TYPES[name][0] === descr);
    if (!type)
        throw new Error(`${file}: type ${descr}`);
    const data = new Uint8Array(bytes.subarray(begin + length)); // a copy, and so aligned
    const Elements = TYPES[type][1];
    const elements = new Elements(data.buffer, 0, data.length / Elements.BYTES_PER_ELEMENT);
    return new ort.Tensor(type, elements, shape.map(Number));
}

function writeNpy(file, tensor) {
    if (!TYPES[tensor.type])
        throw new Error(`an output of type ${tensor.type}`);
    const shape = tensor.dims.join(", ") + (tensor.dims.length === 1 ? "," : "");
    const text = `{'descr': '${TYPES[tensor.type][0]}', 'fortran_order': False, 'shape': (${shape}), }`;
    const header = text.padEnd(64 * Math.ceil((text.length + 11) / 64) - 11) + "\n";
    const start = Buffer.from("\x93NUMPY\x01\x00\x00\x00", "latin1");
    start.writeUInt16LE(header.length, 8);
    const { buffer, byteOffset, byteLength } = tensor.data;
    fs.writeFileSync(
        file, Buffer.concat([start, Buffer.from(header), Buffer.from(buffer, byteOffset, byteLength)]));
}

let last = { model: "", written: 0, session: null };

// Returns the session of a file, which is kept as long as the next request uses the same file.
async function sessionOf(model) {
    const written = fs.statSync(model).mtimeMs;
    if (last.model !== model || last.written !== written) {
        if (last.session)
            await last.session.release();
        last = { model: "", written: 0, session: null };
        const session = await ort.InferenceSession.create(
            model, { graphOptimizationLevel: "disabled", intraOpNumThreads: 1, logSeverityLevel: 4 });
        last = { model, written, session };
    }
    return last.session;
}

async function answer(line) {
    const request = JSON.parse(line);
    const session = await sessionOf(request.model);
    const feeds = {};
    for (const [name, file] of Object.entries(request.inputs))
        feeds[name] = readNpy(file);
    const results = await session.run(feeds);
    session.outputNames.forEach(
        (name, index) => writeNpy(path.join(request.directory, `${index}.npy`), results[name]));
    return { error: "", outputs: session.outputNames };
}

async function main() {
    for await (const line of readline.createInterface({ input: process.stdin })) {
        let result;
        try {
            result = await answer(line);
        } catch (error) {
            result = { error: String(error.message || error) || "refused without a word" };
        }
        process.stdout.write(JSON.stringify(result) + "\n");
    }
}

main();
