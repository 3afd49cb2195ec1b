/* A callback that writes down what it hears. */
#ifndef MULLION_TEST_LISTENING_H
#define MULLION_TEST_LISTENING_H

#include "calls.h"

#define SERVICE_DISCONNECT 0x01000000u

typedef struct {
  volatile uint32_t types[64];
  volatile int count;
  /* What the last one said. */
  char data[256];
  volatile int in_callback;
  void *volatile registration;
} heard;

void hear(uint32_t type, void *context, hresult status, const utf16 *data);
bool has_heard(const heard *of, uint32_t type);
/* Waits ten seconds at most. */
void wait_for(const heard *of, uint32_t type);

#endif
