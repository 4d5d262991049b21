/* SPDX-License-Identifier: MIT */
#ifndef AG_STATUS_H
#define AG_STATUS_H

enum ag_status {
    AG_OK = 0,
    AG_OUT_OF_MEMORY = 1,    /* the device refused; everything made on the way was freed */
    AG_INVALID_ARGUMENT = 2, /* shape, range or state; ag_error_text() says which */
    AG_DEVICE_ERROR = 3,     /* the runtime or a maths library failed */
    AG_UNAVAILABLE = 4       /* no such device, plugin or library here */
};

#endif
