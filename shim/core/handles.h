/* Handles that are numbers, not addresses: a stale or invented one is refused and never followed. */
#ifndef MULLION_HANDLES_H
#define MULLION_HANDLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
  HANDLE_NETWORK = 1,
  HANDLE_ENDPOINT,
  HANDLE_NAMESPACE,
  HANDLE_LOAD_BALANCER,
  HANDLE_SDN_ROUTE,
  HANDLE_GUEST_NETWORK_SERVICE,
  HANDLE_PORT_RESERVATION,
  HANDLE_REGISTRATION,
  HANDLE_COMPUTE_SYSTEM
} handle_kind;

/* The id of an object: a GUID as text, or the name of a compute system. */
#define HANDLE_ID_SIZE 256

/* NULL when there are too many, or memory ran out. `owned` is kept with the handle. */
void *handle_open(handle_kind kind, const char *id, void *owned);
/* Copies what the handle stands for; false when it is not open or of another kind. */
bool handle_read(void *handle, handle_kind kind, char id[HANDLE_ID_SIZE]);
/* Closes it, once; `*owned` is what `handle_open` was given. */
bool handle_close(void *handle, handle_kind kind, void **owned);

#endif
