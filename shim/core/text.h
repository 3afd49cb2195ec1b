/* Text: a buffer that grows, and the way between the UTF-16 of Windows and the UTF-8 of the daemon. */
#ifndef MULLION_TEXT_H
#define MULLION_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of some text; it belongs to somebody else. */
typedef struct {
  const char *at;
  size_t length;
} text_slice;

/* UTF-8, with a zero behind it. When memory runs out `is_broken` is set and stays, so that it is asked once, at the end. */
typedef struct {
  char *data;
  size_t length;
  size_t capacity;
  bool is_broken;
} text_buffer;

void text_add(text_buffer *buffer, const char *bytes, size_t length);
void text_add_string(text_buffer *buffer, const char *string);
void text_add_number(text_buffer *buffer, uint32_t number);
/* As a JSON string with its quotes; halves of surrogate pairs become escapes, for the daemon to refuse. */
void text_add_json(text_buffer *buffer, const uint16_t *text, size_t length);
void text_free(text_buffer *buffer);

/* The length of a caller's text; false when there is no zero among the first `most` units, or before memory ends, and at
 * an odd address, where compilers may lay code that stops the program. */
bool text_length16(const uint16_t *text, size_t most, size_t *length);
/* A copy in UTF-16 for the caller to free as COM memory; NULL when memory runs out. */
uint16_t *text_to_task16(const char *utf8, size_t length);

#endif
