/* SPDX-License-Identifier: MIT */
/* The devices: how many, which is current on this thread, and what each still has. */
#ifndef HOSTCUDA_DEVICE_H
#define HOSTCUDA_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

bool hc_device_valid(int device);
int hc_device_current(void);
size_t hc_device_capacity(int device);

/* Take `size_bytes` of the device's memory. false: it does not fit, nothing is taken. Sizes count
 * as asked; 0 <= used <= capacity, unless hostcudaSetMemory lowered the capacity below what is
 * used. */
bool hc_device_charge(int device, size_t size_bytes);
void hc_device_release(int device, size_t size_bytes);

#endif
