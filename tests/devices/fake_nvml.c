// A libnvidia-ml.so.1 of a planted machine: FAKE_NVML names a file of lines "key number", read at every question.
// Energy is the product of power and time, in steps of a counter's period. Keys end in the number of a device.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long counter_t;

static double planted(const char *key, long device, double otherwise) {
    char wanted[64], name[64];
    double number, value = otherwise;
    snprintf(wanted, sizeof wanted, device < 0 ? "%s" : "%s%ld", key, device);
    const char *path = getenv("FAKE_NVML");
    FILE *file = path ? fopen(path, "r") : NULL;
    while (file && fscanf(file, "%63s %lf", name, &number) == 2)
        if (!strcmp(name, wanted))
            value = number;
    if (file)
        fclose(file);
    return value;
}
static long number_of(void *device) { return (long)device - 1; }
static int status(const char *function, void *device) { return (int)planted(function, number_of(device), 0); }

int nvmlInit_v2(void) { return (int)planted("init", -1, 0); }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int status) {
    return status == 9 ? "Driver Not Loaded" : status == 3 ? "Not Supported" : status == 4 ? "Insufficient Permissions" : "?";
}
int nvmlDeviceGetCount_v2(unsigned *count) { return *count = (unsigned)planted("count", -1, 1), 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) { return *device = (void *)(long)(index + 1), 0; }
int nvmlDeviceGetName(void *device, char *name, unsigned length) {
    snprintf(name, length, "Planted GPU %d", (int)planted("model", number_of(device), 0));
    return 0;
}
int nvmlDeviceGetUUID(void *device, char *uuid, unsigned length) {
    snprintf(uuid, length, "GPU-%04lx-planted", 0xa0 + number_of(device));
    return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void *device, counter_t *millijoule) {
    long number = number_of(device);
    double period = planted("period", -1, 0.1), seconds = planted("seconds", -1, 0);
    double steps = (double)(counter_t)(seconds / period + 1e-9);
    *millijoule = (counter_t)(steps * period * planted("watt", number, 100) * 1000);
    return status("energy_status", device);
}
int nvmlDeviceGetClockInfo(void *device, unsigned kind, unsigned *mhz) {
    *mhz = (unsigned)planted(kind == 2 ? "memory_mhz" : "sm_mhz", number_of(device), 1410);
    return 0;
}
// What is locked is written to the file that FAKE_NVML_LOCKS names.
static int lock(void *device, unsigned least, unsigned most) {
    int refused = status("lock_status", device);
    const char *path = getenv("FAKE_NVML_LOCKS");
    FILE *file = !refused && path ? fopen(path, "a") : NULL;
    if (file) {
        fprintf(file, "%ld %u %u\n", number_of(device), least, most);
        fclose(file);
    }
    return refused;
}
int nvmlDeviceSetGpuLockedClocks(void *device, unsigned least, unsigned most) { return lock(device, least, most); }
int nvmlDeviceResetGpuLockedClocks(void *device) { return lock(device, 0, 0); }
int nvmlDeviceGetTemperature(void *device, unsigned sensor, unsigned *celsius) {
    *celsius = (unsigned)planted("celsius", number_of(device), 40);
    return status("temperature_status", device);
}
#ifdef OLD_DRIVER
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, counter_t *reasons) {
#else
int nvmlDeviceGetCurrentClocksEventReasons(void *device, counter_t *reasons) {
#endif
    *reasons = (counter_t)planted("reasons", number_of(device), 0);
    return 0;
}
