/* SPDX-License-Identifier: MIT */
/*
 * The board's C interface for running compiled networks (libdnn, first generation: dnn/hb_dnn.h),
 * on an Overtake device.  docs/start/board.md lists what maps to what, and what differs.
 *
 * A program loads model files, allocates tensors with hbSysAllocMem() or hbSysAllocCachedMem(),
 * fills in the properties from hbDNNGetInputTensorProperties(), submits a task with hbDNNInfer(),
 * waits for it and releases it.  Environment variables choose the device and the scheduling of
 * tasks (docs/start/board.md).
 *
 * Any thread may call any function.  The functions never throw and never end the program.
 * Functions that return int32_t return 0 or a status of hb_dnn_status.h.  They write nothing
 * through a pointer unless they return 0.  For each error they write a line to standard error,
 * unless the environment variable HB_DNN_LOG_LEVEL excludes it.  A timeout counts as information.
 *
 * Beside the statuses that are named below, a function may return these:
 * HB_DNN_INVALID_ARGUMENT: a pointer is NULL.  HB_DNN_INVALID_PACKED_DNN_HANDLE,
 * HB_DNN_INVALID_DNN_HANDLE, HB_DNN_INVALID_TASK_HANDLE: there is no such handle, or it has been
 * released.  HB_DNN_OUT_OF_MEMORY.  HB_DNN_RUN_TASK_FAILED: the device is gone.
 * HB_DNN_API_USE_ERROR: the device or the engine cannot be opened, or the program is ending; the
 * log has the reason.  HB_DNN_MULTI_PROGRESS_USE_ERROR: the caller is a child of a process that
 * used the device before fork().
 */
#ifndef OVERTAKE_DNN_HB_DNN_H
#define OVERTAKE_DNN_HB_DNN_H

#include <stdbool.h>
#include <stdint.h>

#include "hb_dnn_status.h"
#include "hb_sys.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HB_DNN_VERSION_MAJOR 1U
#define HB_DNN_VERSION_MINOR 23U
#define HB_DNN_VERSION_PATCH 0U

#define HB_DNN_TENSOR_MAX_DIMENSIONS 8

typedef void* hbPackedDNNHandle_t; /* the models of one call of hbDNNInitializeFrom*() */
typedef void* hbDNNHandle_t;       /* one of these models */
typedef void* hbDNNTaskHandle_t;

/* The order of the elements of a tensor in memory. */
typedef enum {
    HB_DNN_LAYOUT_NHWC = 0,
    HB_DNN_LAYOUT_NCHW = 2,
    HB_DNN_LAYOUT_NONE = 255 /* not an image: in the order of validShape */
} hbDNNTensorLayout;

typedef enum {
    HB_DNN_IMG_TYPE_Y,
    HB_DNN_IMG_TYPE_NV12,
    HB_DNN_IMG_TYPE_NV12_SEPARATE, /* luma in sysMem[0], chroma in sysMem[1] */
    HB_DNN_IMG_TYPE_YUV444,
    HB_DNN_IMG_TYPE_RGB,
    HB_DNN_IMG_TYPE_BGR,
    HB_DNN_TENSOR_TYPE_S4,
    HB_DNN_TENSOR_TYPE_U4,
    HB_DNN_TENSOR_TYPE_S8,
    HB_DNN_TENSOR_TYPE_U8,
    HB_DNN_TENSOR_TYPE_F16,
    HB_DNN_TENSOR_TYPE_S16,
    HB_DNN_TENSOR_TYPE_U16,
    HB_DNN_TENSOR_TYPE_F32,
    HB_DNN_TENSOR_TYPE_S32,
    HB_DNN_TENSOR_TYPE_U32,
    HB_DNN_TENSOR_TYPE_F64,
    HB_DNN_TENSOR_TYPE_S64,
    HB_DNN_TENSOR_TYPE_U64,
    HB_DNN_TENSOR_TYPE_MAX
} hbDNNDataType;

typedef struct {
    int32_t dimensionSize[HB_DNN_TENSOR_MAX_DIMENSIONS];
    int32_t numDimensions;
} hbDNNTensorShape;

/* value = data / 2^shift.  No tensor of an Overtake model has a shift. */
typedef struct {
    int32_t shiftLen;
    uint8_t* shiftData;
} hbDNNQuantiShift;

/*
 * value = scale * (data - zero point).  Models of Overtake have one scale and one zero point for
 * each tensor.
 */
typedef struct {
    int32_t scaleLen;
    float* scaleData; /* lives as long as the model */
    int32_t zeroPointLen;
    int8_t* zeroPointData; /* lives as long as the model */
} hbDNNQuantiScale;

typedef enum { NONE, SHIFT, SCALE } hbDNNQuantiType;

/*
 * A caller may set alignedShape of a tensor to validShape.  Then the tensor's memory is dense, and
 * the library converts the elements.  A caller may change tensorType of an NV12 input to the
 * separate kind of NV12.
 */
typedef struct {
    hbDNNTensorShape validShape;   /* elements that mean something */
    hbDNNTensorShape alignedShape; /* elements that take up memory */
    int32_t tensorLayout;          /* hbDNNTensorLayout */
    int32_t tensorType;            /* hbDNNDataType */
    hbDNNQuantiShift shift;
    hbDNNQuantiScale scale;
    hbDNNQuantiType quantiType;
    int32_t quantizeAxis;
    int32_t alignedByteSize; /* bytes that sysMem[0] needs */
    int32_t
        stride[HB_DNN_TENSOR_MAX_DIMENSIONS]; /* bytes from one index to the next; 0: a picture */
} hbDNNTensorProperties;

typedef enum {
    HB_DNN_PRIORITY_LOWEST = 0,
    HB_DNN_PRIORITY_HIGHEST = 255,
    HB_DNN_PRIORITY_PREEMP = HB_DNN_PRIORITY_HIGHEST /* with a core limit: overtakes between FCs */
} hbDNNTaskPriority;

typedef struct {
    hbSysMem sysMem[4]; /* the library reads only as many as the type needs */
    hbDNNTensorProperties properties;
} hbDNNTensor;

/* The pixels left..right and top..bottom; all four limits are inside the region. */
typedef struct {
    int32_t left;
    int32_t top;
    int32_t right;
    int32_t bottom;
} hbDNNRoi;

typedef struct {
    int32_t bpuCoreId; /* hbBPUCore */
    int32_t dspCoreId; /* ignored */
    int32_t priority;  /* 0..255 */
    int32_t more;      /* not 0: the task stays open for further calls */
    int64_t customId;  /* within one priority the smaller goes first */
    int32_t reserved1; /* ignored */
    int32_t reserved2; /* ignored */
} hbDNNInferCtrlParam;

#define HB_DNN_INITIALIZE_INFER_CTRL_PARAM(param)                                                  \
    {                                                                                              \
        (param)->bpuCoreId = HB_BPU_CORE_ANY;                                                      \
        (param)->dspCoreId = HB_DSP_CORE_ANY;                                                      \
        (param)->priority = HB_DNN_PRIORITY_LOWEST;                                                \
        (param)->more = false;                                                                     \
        (param)->customId = 0;                                                                     \
        (param)->reserved1 = 0;                                                                    \
        (param)->reserved2 = 0;                                                                    \
    }

typedef enum { HB_DNN_RESIZE_TYPE_BILINEAR = 0 } hbDNNResizeType;

typedef struct {
    int32_t bpuCoreId; /* hbBPUCore */
    int32_t priority;  /* 0..255 */
    hbDNNResizeType resizeType;
    int32_t reserved1; /* reserved1 to reserved4 are ignored */
    int32_t reserved2;
    int32_t reserved3;
    int32_t reserved4;
} hbDNNResizeCtrlParam;

#define HB_DNN_INITIALIZE_RESIZE_CTRL_PARAM(param)                                                 \
    {                                                                                              \
        (param)->bpuCoreId = HB_BPU_CORE_ANY;                                                      \
        (param)->resizeType = HB_DNN_RESIZE_TYPE_BILINEAR;                                         \
        (param)->priority = HB_DNN_PRIORITY_LOWEST;                                                \
        (param)->reserved1 = 0;                                                                    \
        (param)->reserved2 = 0;                                                                    \
        (param)->reserved3 = 0;                                                                    \
        (param)->reserved4 = 0;                                                                    \
    }

/* Returns "1.23.0" and the name of the library.  The text is valid for ever. */
const char* hbDNNGetVersion(void);

/*
 * Loads compiled model files (.ovm), each with one or several models, onto the device.  The handle
 * is valid until hbDNNRelease().
 * HB_DNN_INVALID_ARGUMENT: NULL, no files, or two models have the same name.
 * HB_DNN_CAN_NOT_OPEN_FILE.  HB_DNN_INVALID_MODEL: a file is not a sound model file, or the engine
 * refuses a model, for example because a custom operator is not registered.
 * HB_DNN_MODEL_NUMBER_EXCEED_LIMIT: 1024 packed handles have not been released.
 */
int32_t hbDNNInitializeFromFiles(hbPackedDNNHandle_t* packedDNNHandle, const char** modelFileNames,
                                 int32_t modelFileCount);

/*
 * Does the same with model files in memory, which the library copies.
 * HB_DNN_INVALID_ARGUMENT also for a length below 1.
 */
int32_t hbDNNInitializeFromDDR(hbPackedDNNHandle_t* packedDNNHandle, const void** modelData,
                               int32_t* modelDataLengths, int32_t modelDataCount);

/*
 * Releases the models and their handles.
 * HB_DNN_MODEL_IS_RUNNING: a task of one of the models has not been released; nothing has changed.
 */
int32_t hbDNNRelease(hbPackedDNNHandle_t packedDNNHandle);

/* Returns the names of the models.  The list and its texts live as long as the packed handle. */
int32_t hbDNNGetModelNameList(const char*** modelNameList, int32_t* modelNameCount,
                              hbPackedDNNHandle_t packedDNNHandle);

/*
 * Returns the handle of a model, which lives as long as the packed handle.
 * HB_DNN_INVALID_ARGUMENT: there is no model of that name.
 */
int32_t hbDNNGetModelHandle(hbDNNHandle_t* dnnHandle, hbPackedDNNHandle_t packedDNNHandle,
                            const char* modelName);

int32_t hbDNNGetInputCount(int32_t* inputCount, hbDNNHandle_t dnnHandle);

/* Returns a text that lives as long as the model.  HB_DNN_INVALID_ARGUMENT: no such input. */
int32_t hbDNNGetInputName(const char** name, hbDNNHandle_t dnnHandle, int32_t inputIndex);

/* Returns the properties that the input must have.  HB_DNN_INVALID_ARGUMENT: no such input. */
int32_t hbDNNGetInputTensorProperties(hbDNNTensorProperties* properties, hbDNNHandle_t dnnHandle,
                                      int32_t inputIndex);

int32_t hbDNNGetOutputCount(int32_t* outputCount, hbDNNHandle_t dnnHandle);

int32_t hbDNNGetOutputName(const char** name, hbDNNHandle_t dnnHandle, int32_t outputIndex);

int32_t hbDNNGetOutputTensorProperties(hbDNNTensorProperties* properties, hbDNNHandle_t dnnHandle,
                                       int32_t outputIndex);

/*
 * Adds an inference to a task.  If *taskHandle is NULL, the call begins a task.  Otherwise it adds
 * to the open task of that handle.  A task has at most 255 inferences.  If `more` is not 0, the
 * task stays open.  A call with `more` 0 submits the task, which takes priority, core and customId
 * from that call.
 * `*output` is an array with a tensor for each output of the model, `input` is an array with a
 * tensor for each input.  (An input with a batch may be one tensor for each image.)  The library
 * reads both arrays during the call only.  It uses the memory of the tensors until the task has
 * ended, even if the program frees that memory before.
 * HB_DNN_INVALID_ARGUMENT: NULL, a core that the device does not have, a priority outside 0..255,
 * tensors that do not fit the model, memory that is too small or not of hbSysAllocMem(), or a model
 * with resizer inputs.
 * HB_DNN_TASK_NUM_EXCEED_LIMIT: 32 tasks have not been released.
 * HB_DNN_TASK_BATCH_SIZE_EXCEED_LIMIT: the task would have more than 255 inferences.
 * HB_DNN_INVALID_TASK_HANDLE: also for a task that has been submitted.
 * HB_DNN_API_USE_ERROR: priority 255 without the permission for it; the log names the remedy.
 */
int32_t hbDNNInfer(hbDNNTaskHandle_t* taskHandle, hbDNNTensor** output, const hbDNNTensor* input,
                   hbDNNHandle_t dnnHandle, hbDNNInferCtrlParam* inferCtrlParam);

/*
 * Does the same for a model that was compiled with input_source resizer.  Each resizer input takes
 * one region of an NV12 picture, which the device crops and resizes.  `rois` has roiCount
 * regions, one for each resizer input of each batch; `input` has the inputs of all batches one
 * after the other.  Each output tensor receives the batches one after the other.  Each batch counts
 * as one inference of the task.
 * HB_DNN_INVALID_ARGUMENT: also for a model without resizer inputs, a roiCount that is no multiple
 * of their number, and a region that is not inside its picture.
 */
int32_t hbDNNRoiInfer(hbDNNTaskHandle_t* taskHandle, hbDNNTensor** output, const hbDNNTensor* input,
                      hbDNNRoi* rois, int32_t roiCount, hbDNNHandle_t dnnHandle,
                      hbDNNInferCtrlParam* inferCtrlParam);

/*
 * Resizes a region of a picture (NULL: the whole picture) to the size of `output`, which has the
 * same image type.  The call begins a task, or adds to the open task of *taskHandle, and submits
 * the task.  Older programs use this function.  The statuses are those of hbDNNInfer().
 */
int32_t hbDNNResize(hbDNNTaskHandle_t* taskHandle, hbDNNTensor* output, const hbDNNTensor* input,
                    const hbDNNRoi* roi, hbDNNResizeCtrlParam* resizeCtrlParam);

/* The library calls such a function when a task has ended, with status 0 or
 * HB_DNN_RUN_TASK_FAILED. */
typedef void (*hbDNNTaskDoneCb)(hbDNNTaskHandle_t taskHandle, int32_t status, void* userdata);

/*
 * Makes the library call `callback` once when the task has ended, or soon if it has ended already.
 * A thread of the library calls it.  The callback may call any function, also hbDNNReleaseTask() of
 * its own task.  A later call of hbDNNSetTaskDoneCb() replaces a callback that has not been called.
 */
int32_t hbDNNSetTaskDoneCb(hbDNNTaskHandle_t taskHandle, hbDNNTaskDoneCb callback, void* userdata);

/*
 * Waits until the task has ended, for at most `timeout` milliseconds; without limit if `timeout` is
 * 0 or less.  Any number of threads may wait.  HB_DNN_TIMEOUT: the task has not ended.
 * HB_DNN_RUN_TASK_FAILED: the task has failed.  HB_DNN_API_USE_ERROR: the task is still open.
 */
int32_t hbDNNWaitTaskDone(hbDNNTaskHandle_t taskHandle, int32_t timeout);

/*
 * Releases the task, and returns at once.  A task that has not ended is cancelled.  It keeps its
 * memory until its running FC or CPU segment has ended.
 */
int32_t hbDNNReleaseTask(hbDNNTaskHandle_t taskHandle);

#ifdef __cplusplus
}
#endif

#endif
