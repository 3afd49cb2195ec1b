/* A callback that writes down what it hears. */
#ifndef MULLION_TEST_LISTENING_H
#define MULLION_TEST_LISTENING_H

#include "calls.h"

#include <stdatomic.h>

#define SERVICE_DISCONNECT 0x01000000u

typedef struct {
  uint32_t types[64];
  /* What the last one said. */
  char data[256];
  /* Goes up last, so that who reads it may read the rest. */
  atomic_int count;
  atomic_int in_callback;
  _Atomic(void *) registration;
} heard;

void hear(uint32_t type, void *context, hresult status, const utf16 *data);
bool has_heard(heard *of, uint32_t type);
/* Waits ten seconds at most. */
void wait_for(heard *of, uint32_t type);

#endif
