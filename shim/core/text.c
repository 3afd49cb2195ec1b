#include "text.h"

#include "platform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(text_buffer *buffer, size_t more) {
  if (buffer->is_broken) return false;
  size_t needed = buffer->length + more + 1;
  if (needed <= buffer->capacity) return true;
  size_t capacity = needed < 256 ? 256 : needed * 2;
  char *data = realloc(buffer->data, capacity);
  if (data == NULL) {
    buffer->is_broken = true;
    return false;
  }
  buffer->data = data;
  buffer->capacity = capacity;
  return true;
}

void text_add(text_buffer *buffer, const char *bytes, size_t length) {
  if (!reserve(buffer, length)) return;
  memcpy(buffer->data + buffer->length, bytes, length);
  buffer->length += length;
  buffer->data[buffer->length] = 0;
}

void text_add_string(text_buffer *buffer, const char *string) { text_add(buffer, string, strlen(string)); }

void text_add_number(text_buffer *buffer, uint32_t number) {
  char digits[16];
  text_add(buffer, digits, (size_t)snprintf(digits, sizeof digits, "%u", (unsigned)number));
}

void text_free(text_buffer *buffer) {
  free(buffer->data);
  *buffer = (text_buffer){0};
}

static size_t encode_utf8(uint32_t point, char *out) {
  if (point < 0x80) return out[0] = (char)point, 1;
  size_t more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
  for (size_t i = more; i > 0; i--) {
    out[i] = (char)(0x80 | (point & 0x3f));
    point >>= 6;
  }
  out[0] = (char)(lead[more] | point);
  return more + 1;
}

static bool is_high(uint32_t unit) { return unit >= 0xd800 && unit < 0xdc00; }

static bool is_low(uint32_t unit) { return unit >= 0xdc00 && unit < 0xe000; }

void text_add_json(text_buffer *buffer, const uint16_t *text, size_t length) {
  text_add(buffer, "\"", 1);
  for (size_t i = 0; i < length; i++) {
    char out[16];
    size_t size;
    uint32_t unit = text[i];
    if (is_high(unit) && i + 1 < length && is_low(text[i + 1])) {
      size = encode_utf8(0x10000 + ((unit - 0xd800) << 10) + (text[++i] - 0xdc00u), out);
    } else if (unit < 0x20 || is_high(unit) || is_low(unit)) {
      size = (size_t)snprintf(out, sizeof out, "\\u%04x", (unsigned)unit);
    } else if (unit == '"' || unit == '\\') {
      out[0] = '\\';
      out[1] = (char)unit;
      size = 2;
    } else {
      size = encode_utf8(unit, out);
    }
    text_add(buffer, out, size);
  }
  text_add(buffer, "\"", 1);
}

bool text_length16(const uint16_t *text, size_t most, size_t *length) {
  size_t seen = 0;
  if ((uintptr_t)text % sizeof *text != 0) return false;
  while (seen < most) {
    /* A few pages at a time: most texts are short, and memory is asked about no further than they reach. */
    size_t want = most - seen < 4096 ? most - seen : 4096;
    size_t have = platform_readable(text + seen, want * sizeof *text) / sizeof *text;
    for (size_t i = 0; i < have; i++) {
      if (text[seen + i] == 0) {
        *length = seen + i;
        return true;
      }
    }
    if (have < want) return false;
    seen += have;
  }
  return false;
}

/* Reads one code point; what is no UTF-8 becomes U+FFFD, byte for byte. */
static uint32_t decode_utf8(const unsigned char *at, size_t left, size_t *used) {
  static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
  unsigned char lead = at[0];
  size_t more = lead < 0x80 ? 0 : (lead & 0xe0) == 0xc0 ? 1 : (lead & 0xf0) == 0xe0 ? 2 : (lead & 0xf8) == 0xf0 ? 3 : 9;
  *used = 1;
  if (more == 0) return lead;
  if (more == 9 || left <= more) return 0xfffd;
  uint32_t point = lead & (0x3fu >> more);
  for (size_t i = 1; i <= more; i++) {
    if ((at[i] & 0xc0) != 0x80) return 0xfffd;
    point = (point << 6) | (at[i] & 0x3fu);
  }
  if (point < least[more] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return 0xfffd;
  *used = more + 1;
  return point;
}

uint16_t *text_to_task16(const char *utf8, size_t length) {
  if (length > SIZE_MAX / 4) return NULL;
  uint16_t *text = platform_task_alloc((length + 1) * sizeof *text);
  if (text == NULL) return NULL;
  size_t out = 0;
  for (size_t at = 0; at < length;) {
    size_t used;
    uint32_t point = decode_utf8((const unsigned char *)utf8 + at, length - at, &used);
    at += used;
    if (point >= 0x10000) {
      text[out++] = (uint16_t)(0xd800 + ((point - 0x10000) >> 10));
      text[out++] = (uint16_t)(0xdc00 + ((point - 0x10000) & 0x3ff));
    } else {
      text[out++] = (uint16_t)point;
    }
  }
  text[out] = 0;
  return text;
}
