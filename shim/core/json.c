#include "json.h"

#include <string.h>

#define DEPTH_MAX 128

static const char *skip_space(const char *at, const char *end) {
  while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) at++;
  return at;
}

static bool is_digit(const char *at, const char *end) { return at < end && *at >= '0' && *at <= '9'; }

static bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* The skip functions answer where the value ends, or NULL when it is none. */
static const char *skip_string(const char *at, const char *end) {
  if (at >= end || *at++ != '"') return NULL;
  while (at < end && *at != '"') {
    if ((unsigned char)*at < 0x20) return NULL;
    if (*at++ != '\\') continue;
    if (at >= end) return NULL;
    if (*at == 'u') {
      if (end - at < 5 || !is_hex(at[1]) || !is_hex(at[2]) || !is_hex(at[3]) || !is_hex(at[4])) return NULL;
      at += 5;
    } else {
      if (*at == 0 || strchr("\"\\/bfnrt", *at) == NULL) return NULL;
      at++;
    }
  }
  return at < end ? at + 1 : NULL;
}

static const char *skip_digits(const char *at, const char *end) {
  if (!is_digit(at, end)) return NULL;
  while (is_digit(at, end)) at++;
  return at;
}

static const char *skip_number(const char *at, const char *end) {
  if (at < end && *at == '-') at++;
  if (at < end && *at == '0') {
    at++;
  } else if ((at = skip_digits(at, end)) == NULL) {
    return NULL;
  }
  if (at < end && *at == '.' && (at = skip_digits(at + 1, end)) == NULL) return NULL;
  if (at < end && (*at == 'e' || *at == 'E')) {
    at++;
    if (at < end && (*at == '+' || *at == '-')) at++;
    return skip_digits(at, end);
  }
  return at;
}

static const char *skip_word(const char *at, const char *end, const char *word) {
  size_t length = strlen(word);
  return (size_t)(end - at) >= length && memcmp(at, word, length) == 0 ? at + length : NULL;
}

static const char *skip_value(const char *at, const char *end, int depth);

/* `"name" :`, up to the value. */
static const char *skip_name(const char *at, const char *end) {
  if ((at = skip_string(skip_space(at, end), end)) == NULL) return NULL;
  at = skip_space(at, end);
  return at < end && *at == ':' ? skip_space(at + 1, end) : NULL;
}

static const char *skip_nested(const char *at, const char *end, int depth) {
  bool is_object = *at == '{';
  char close = is_object ? '}' : ']';
  at = skip_space(at + 1, end);
  if (at < end && *at == close) return at + 1;
  for (;;) {
    if (is_object && (at = skip_name(at, end)) == NULL) return NULL;
    if ((at = skip_value(at, end, depth + 1)) == NULL) return NULL;
    at = skip_space(at, end);
    if (at >= end) return NULL;
    if (*at == close) return at + 1;
    if (*at++ != ',') return NULL;
  }
}

static const char *skip_value(const char *at, const char *end, int depth) {
  at = skip_space(at, end);
  if (at >= end || depth > DEPTH_MAX) return NULL;
  switch (*at) {
  case '{':
  case '[':
    return skip_nested(at, end, depth);
  case '"':
    return skip_string(at, end);
  case 't':
    return skip_word(at, end, "true");
  case 'f':
    return skip_word(at, end, "false");
  case 'n':
    return skip_word(at, end, "null");
  default:
    return skip_number(at, end);
  }
}

bool json_is_valid(text_slice text) {
  const char *end = text.at + text.length;
  const char *at = skip_value(text.at, end, 0);
  return at != NULL && skip_space(at, end) == end;
}

bool json_member(text_slice object, const char *name, text_slice *value) {
  const char *end = object.at + object.length;
  const char *at = skip_space(object.at, end);
  size_t length = strlen(name);
  bool is_found = false;
  if (at >= end || *at++ != '{') return false;
  for (;;) {
    const char *key = skip_space(at, end);
    const char *start = skip_name(key, end);
    if (start == NULL) return is_found;
    const char *after = skip_value(start, end, 0);
    if (after == NULL) return is_found;
    if ((size_t)(end - key) > length + 1 && memcmp(key + 1, name, length) == 0 && key[length + 1] == '"') {
      *value = (text_slice){start, (size_t)(after - start)};
      is_found = true;
    }
    at = skip_space(after, end);
    if (at >= end || *at++ != ',') return is_found;
  }
}

bool json_next(text_slice list, size_t *cursor, text_slice *value) {
  const char *end = list.at + list.length;
  const char *at = skip_space(list.at + *cursor, end);
  if (at >= end || *at != (*cursor == 0 ? '[' : ',')) return false;
  at = skip_space(at + 1, end);
  const char *after = skip_value(at, end, 0);
  if (after == NULL) return false;
  *value = (text_slice){at, (size_t)(after - at)};
  *cursor = (size_t)(after - list.at);
  return true;
}

bool json_number(text_slice value, uint64_t *number) {
  uint64_t sum = 0;
  if (value.length == 0 || value.length > 19) return false;
  for (size_t i = 0; i < value.length; i++) {
    if (value.at[i] < '0' || value.at[i] > '9') return false;
    sum = sum * 10 + (uint64_t)(value.at[i] - '0');
  }
  *number = sum;
  return true;
}

bool json_plain_string(text_slice value, text_slice *text) {
  if (value.length < 2 || value.at[0] != '"' || memchr(value.at, '\\', value.length) != NULL) return false;
  *text = (text_slice){value.at + 1, value.length - 2};
  return true;
}
