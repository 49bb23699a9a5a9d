// A CUDA runtime that runs nothing and writes down what it is asked for, one line each: launches are tested without a GPU.
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { unsigned x, y, z; } dim3;
typedef void *stream_t;

static char journal[1 << 16];
static int planted_status;  // what the next question for an error answers

static void note(const char *format, ...) {
    size_t used = strlen(journal);
    va_list values;
    va_start(values, format);
    vsnprintf(journal + used, sizeof journal - used, format, values);
    va_end(values);
}

const char *fake_journal(void) { return journal; }
void fake_clear(void) { journal[0] = 0; }
void fake_plant(int status) { planted_status = status; }

// ---- What a program compiled by nvcc registers when it is loaded.

static struct { const void *stub; const char *name; } kernels[256];
static int kernel_count;

void **__cudaRegisterFatBinary(void *binary) {
    static void *handle;
    return &handle;
}
void __cudaRegisterFatBinaryEnd(void **handle) {}
void __cudaUnregisterFatBinary(void **handle) {}
void __cudaRegisterFunction(void **handle, const char *stub, char *function, const char *name, int limit, void *thread,
                            void *block, void *block_dim, void *grid_dim, int *size) {
    if (kernel_count == 256)
        return;
    kernels[kernel_count].stub = stub;
    kernels[kernel_count++].name = strdup(name);
}
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int extern_, size_t size, int constant,
                       int global) {}

// ---- A launch.

static struct { dim3 grid, block; size_t shared; stream_t stream; } configuration;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, stream_t stream) {
    configuration.grid = grid, configuration.block = block;
    configuration.shared = shared, configuration.stream = stream;
    return 0;
}
int __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream) {
    *grid = configuration.grid, *block = configuration.block;
    *shared = configuration.shared, *(stream_t *)stream = configuration.stream;
    return 0;
}
int __cudaGetKernel(void **kernel, const void *stub) {
    *kernel = (void *)stub;
    return 0;
}
static const char *name_of(const void *stub) {
    for (int i = kernel_count; i-- > 0;)
        if (kernels[i].stub == stub)
            return kernels[i].name;
    return "unknown";
}
int __cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared, stream_t stream) {
    note("launch %s grid=%u block=%u stream=%p", name_of(kernel), grid.x, block.x, stream);
    for (int i = 0; i < 3; ++i)  // kernels of the tests take three words or more
        note(" %p", *(void **)arguments[i]);
    note("\n");
    return 0;
}
int cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared, stream_t stream) {
    return __cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

// ---- Errors.

int cudaPeekAtLastError(void) { return planted_status; }
int cudaGetLastError(void) {
    int status = planted_status;
    planted_status = 0;
    return status;
}
const char *cudaGetErrorString(int status) { return "a planted error"; }

// ---- What an operator must not do: it is timed, and may be captured in a graph.

int cudaDeviceSynchronize(void) { return note("waits for the device\n"), 0; }
int cudaStreamSynchronize(stream_t stream) { return note("waits for a stream\n"), 0; }
int cudaMalloc(void **address, size_t size) { return note("allocates\n"), *address = malloc(size), 0; }
int cudaFree(void *address) { return note("frees\n"), free(address), 0; }
int cudaMemcpy(void *to, const void *from, size_t size, int kind) { return note("copies\n"), 0; }
int cudaStreamCreate(stream_t *stream) { return note("makes a stream\n"), *stream = (stream_t)1, 0; }
