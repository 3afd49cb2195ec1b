#include "program.h"

#include <windows.h>

#include <objbase.h>

any_function find_function(const char *library, const char *name) {
  /* As Go's NewLazySystemDLL does: from system32 and nowhere else. */
  HMODULE loaded = LoadLibraryExA(library, NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
  return loaded == NULL ? NULL : (any_function)(void *)GetProcAddress(loaded, name);
}

void task_free(void *memory) { CoTaskMemFree(memory); }

void setting(const char *name, const char *value) { SetEnvironmentVariableA(name, value); }

void sleep_ms(unsigned milliseconds) { Sleep(milliseconds); }

uint64_t now_us(void) {
  LARGE_INTEGER now;
  LARGE_INTEGER second;
  QueryPerformanceCounter(&now);
  QueryPerformanceFrequency(&second);
  return (uint64_t)now.QuadPart * 1000000 / (uint64_t)second.QuadPart;
}

const uint16_t *endless_text(void) {
  char *pages = VirtualAlloc(NULL, 8192, MEM_RESERVE, PAGE_NOACCESS);
  uint16_t *text = pages == NULL ? NULL : VirtualAlloc(pages, 4096, MEM_COMMIT, PAGE_READWRITE);
  for (size_t i = 0; text != NULL && i < 2048; i++) text[i] = 'x';
  return text;
}
