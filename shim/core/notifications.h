/* Registrations: each has a stream of the daemon and a thread that calls the program back. */
#ifndef MULLION_NOTIFICATIONS_H
#define MULLION_NOTIFICATIONS_H

#include "daemon.h"

/* HCN_NOTIFICATION_CALLBACK (hcn.md §1.4). */
typedef void (*notification_callback)(uint32_t type, void *context, hresult status, const uint16_t *data);

/* Whose they are: HNS tells NotificationBase, HCS what stands in it as `Data`. */
typedef enum { NOTIFICATIONS_OF_HNS, NOTIFICATIONS_OF_HCS } notification_source;

/* Who registers hears everything that happens after the call returned. `*registration` is a checked handle. */
hresult notifications_register(notification_source source, const char *query, notification_callback callback,
                               void *context, void **registration);
/* After it returns nothing more is called, except by a callback that runs for longer than ten seconds. Within a
 * callback it does not wait for itself. */
hresult notifications_unregister(void *registration);

#endif
