/* What the test program needs of the system. */
#ifndef MULLION_TEST_PROGRAM_H
#define MULLION_TEST_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void (*any_function)(void);

/* A function of `computenetwork` or `vmcompute`, or NULL. */
any_function find_function(const char *library, const char *name);
void task_free(void *memory);
/* Sets an environment variable. */
void setting(const char *name, const char *value);
void sleep_ms(unsigned milliseconds);
uint64_t now_us(void);
/* A page of 'x' in UTF-16 whose end is the end of readable memory. */
const uint16_t *endless_text(void);

#endif
