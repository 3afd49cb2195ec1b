/* `shim-fuzz SEED ROUNDS`: broken documents and lying services for the parsers of core/. Everything is made of the
 * seed, so that a failure comes again. gcc's sanitizers watch it; what they cannot see is checked here.
 * `shim-fuzz json` and `shim-fuzz escape` answer for texts on standard input, for a comparison with other parsers. */
#include "fuzz.h"

#include "../core/json.h"

#include <string.h>

static uint64_t state;

uint32_t pick(uint32_t limit) {
  /* SplitMix64. */
  uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (uint32_t)((z ^ (z >> 31)) >> 32) % limit;
}

/* What parsers have stumbled over. */
static const char *const TOKENS[] = {
    "\"", "\\", "\\u", "\\ud800", "{", "}", "[", "]", ",", ":", "null", "true", "1e", "-", "0", "18446744073709551616",
    "\r\n", "\r\n\r\n", "\n", " ", "\t", "ffffffffffffffff", "FFFFFFFFFFFFFFFFF", "Content-Length: ", "Content-Length: -1\r\n",
    "Transfer-Encoding: chunked\r\n", "HTTP/1.1 ", "200", "0\r\n\r\n", "Connection: close\r\n", "\xff", "\xc0\x80", "\xed\xa0\x80",
    "\"error\":{\"ErrorCode\":0}", "\"ErrorCode\":4294967296", "\"result\":",
};

static void replace(text_buffer *text, size_t at, size_t length, const char *with, size_t with_length) {
  text_buffer changed = {0};
  text_add(&changed, text->data, at);
  text_add(&changed, with, with_length);
  text_add(&changed, text->data + at + length, text->length - at - length);
  text_free(text);
  *text = changed;
}

void mutate(text_buffer *text) {
  for (uint32_t changes = 1 + pick(4); changes > 0 && text->length > 0; changes--) {
    size_t at = pick((uint32_t)text->length);
    size_t length = pick(pick(4) == 0 ? (uint32_t)(text->length - at) + 1 : 2);
    if (length > text->length - at) length = text->length - at;
    char byte = (char)pick(256);
    const char *token = TOKENS[pick(sizeof TOKENS / sizeof *TOKENS)];
    switch (pick(4)) {
    case 0:
      replace(text, at, length, &byte, 1);
      break;
    case 1:
      replace(text, at, length, "", 0);
      break;
    case 2:
      replace(text, at, length, token, strlen(token));
      break;
    default: {
      text_buffer part = {0};
      text_add(&part, text->data + at, length);
      replace(text, at, 0, part.data, part.length);
      text_free(&part);
    }
    }
  }
}

static void add_random_string(text_buffer *text) {
  uint16_t units[8];
  uint32_t length = pick(8);
  for (uint32_t i = 0; i < length; i++) units[i] = (uint16_t)(pick(4) == 0 ? pick(65536) : 'a' + pick(26));
  text_add_json(text, units, length);
}

void add_random_json(text_buffer *text, int depth) {
  static const char *const SCALARS[] = {"null", "true", "false", "0", "-1", "2151350288", "1.5e-3", "\"\""};
  uint32_t kind = depth > 6 ? pick(2) : pick(4);
  bool is_object = kind == 3;
  if (kind == 0) {
    text_add_string(text, SCALARS[pick(sizeof SCALARS / sizeof *SCALARS)]);
  } else if (kind == 1) {
    add_random_string(text);
  } else {
    text_add_string(text, is_object ? "{" : "[");
    for (uint32_t i = 0, count = pick(4); i < count; i++) {
      if (i > 0) text_add_string(text, ", ");
      if (is_object) add_random_string(text), text_add_string(text, " : ");
      add_random_json(text, depth + 1);
    }
    text_add_string(text, is_object ? "}" : "]");
  }
}

#ifndef MULLION_LIBFUZZER

/* Each text is its length in four bytes, lowest first, and then so many bytes. */
static bool read_text(text_buffer *text) {
  unsigned char size[4];
  char bytes[4096];
  text->length = 0;
  if (fread(size, 1, 4, stdin) != 4) return false;
  size_t left = (size_t)size[0] | (size_t)size[1] << 8 | (size_t)size[2] << 16 | (size_t)size[3] << 24;
  text_add(text, "", 0);
  while (left > 0) {
    size_t came = fread(bytes, 1, left < sizeof bytes ? left : sizeof bytes, stdin);
    if (came == 0) FAIL("a text is cut");
    text_add(text, bytes, came);
    left -= came;
  }
  return true;
}

/* A line `1` or `0` for each text: whether it is JSON. */
static void answer_json(void) {
  text_buffer text = {0};
  while (read_text(&text)) puts(json_is_valid((text_slice){text.data, text.length}) ? "1" : "0");
  text_free(&text);
}

/* A line for each text of UTF-16: the JSON string of it. */
static void answer_escapes(void) {
  text_buffer text = {0};
  text_buffer escaped = {0};
  while (read_text(&text)) {
    uint16_t *units = malloc(text.length + 2);
    if (units == NULL) FAIL("no memory");
    memcpy(units, text.data, text.length);
    escaped.length = 0;
    text_add_json(&escaped, units, text.length / 2);
    puts(escaped.data);
    free(units);
  }
  text_free(&text);
  text_free(&escaped);
}

int main(int count, char **arguments) {
  const char *what = count > 1 ? arguments[1] : "";
  if (strcmp(what, "json") == 0) return answer_json(), 0;
  if (strcmp(what, "escape") == 0) return answer_escapes(), 0;
  if (count != 3) return fprintf(stderr, "shim-fuzz SEED ROUNDS\n"), 2;
  uint64_t seed = strtoull(what, NULL, 10);
  unsigned long rounds = strtoul(arguments[2], NULL, 10);
  for (unsigned long round = 0; round < rounds; round++) {
    state = seed + round;
    fuzz_json();
    fuzz_text();
    fuzz_call();
    fuzz_stream();
    if (open_connections() > 4) FAIL("round %lu: %d connections are open", round, open_connections());
  }
  printf("%lu documents, %lu answers, %lu lines were good\n", good_documents, good_answers, good_lines);
  return 0;
}

#else

/* The same numbers for the same bytes: what a peer sends comes in pieces of random size. */
static void begin(const uint8_t *bytes, size_t length) {
  state = length;
  for (size_t i = 0; i < length && i < 16; i++) state = state * 31 + bytes[i];
}

/* The first byte says what the others are. clang's libFuzzer finds them by the branches that they reach. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
  text_buffer said = {0};
  if (length == 0) return 0;
  begin(bytes, length);
  uint8_t kind = bytes[0];
  bytes++, length--;
  text_add(&said, (const char *)bytes, length);
  switch (kind % 4) {
  case 0:
    check_json((const char *)bytes, length);
    break;
  case 1:
    check_text(bytes, length);
    break;
  case 2:
    check_call(&said, (peer_end)(kind / 4 % 3));
    break;
  default:
    check_stream(&said, (peer_end)(kind / 4 % 3));
  }
  text_free(&said);
  if (open_connections() > 4) FAIL("%d connections are open", open_connections());
  return 0;
}

#endif
