#define _GNU_SOURCE
#include "program.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

any_function find_function(const char *library, const char *name) {
  char file[64];
  any_function found = NULL;
  snprintf(file, sizeof file, "lib%s.so", library);
  void *loaded = dlopen(file, RTLD_NOW);
  if (loaded == NULL) return fprintf(stderr, "%s\n", dlerror()), NULL;
  *(void **)&found = dlsym(loaded, name);
  return found;
}

void task_free(void *memory) { free(memory); }

void setting(const char *name, const char *value) { setenv(name, value, 1); }

void sleep_ms(unsigned milliseconds) {
  struct timespec time = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};
  nanosleep(&time, NULL);
}

uint64_t now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

const uint16_t *endless_text(void) {
  uint16_t *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return NULL;
  for (size_t i = 0; i < 2048; i++) pages[i] = 'x';
  munmap((char *)pages + 4096, 4096);
  return pages;
}
