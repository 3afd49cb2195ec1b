#include "listening.h"

void hear(uint32_t type, void *context, hresult status, const utf16 *data) {
  heard *of = context;
  size_t length = 0;
  if (status != 0) FAIL("status 0x%x", (unsigned)status);
  if (data == NULL) FAIL("a notification without data");
  for (; data[length] != 0 && length + 1 < sizeof of->data; length++) of->data[length] = (char)data[length];
  of->data[length] = 0;
  if (of->count < 64) of->types[of->count] = type;
  of->count++;
}

bool has_heard(heard *of, uint32_t type) {
  for (int i = 0; i < of->count && i < 64; i++) {
    if (of->types[i] == type) return true;
  }
  return false;
}

void wait_for(heard *of, uint32_t type) {
  for (int i = 0; i < 1000 && !has_heard(of, type); i++) sleep_ms(10);
  if (!has_heard(of, type)) FAIL("no notification 0x%x", (unsigned)type);
}
