#include "exchange.h"

#include <stdio.h>
#include <string.h>

/* A request may be 10 MiB; a unit of UTF-16 takes up to three bytes, or six as an escape. */
#define TEXT_MAX ((size_t)4 << 20)
#define REQUEST_MAX ((size_t)10 << 20)

void format_guid(const guid *id, char text[GUID_TEXT_SIZE]) {
  const uint8_t *d = id->data4;
  snprintf(text, GUID_TEXT_SIZE, "%08x-%04x-%04x-%02x%02x-%02x%02x%02x%02x%02x%02x", (unsigned)id->data1, id->data2,
           id->data3, d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7]);
}

bool parse_guid(text_slice text, guid *id) {
  static const int starts[] = {19, 21, 24, 26, 28, 30, 32, 34};
  char copy[GUID_TEXT_SIZE];
  char again[GUID_TEXT_SIZE];
  unsigned data1, data2, data3, byte;
  if (text.length != GUID_TEXT_SIZE - 1) return false;
  for (size_t i = 0; i < text.length; i++) copy[i] = (char)(text.at[i] | (text.at[i] >= 'A' ? 0x20 : 0));
  copy[text.length] = 0;
  if (sscanf(copy, "%8x-%4x-%4x-", &data1, &data2, &data3) != 3) return false;
  *id = (guid){.data1 = data1, .data2 = (uint16_t)data2, .data3 = (uint16_t)data3};
  for (size_t i = 0; i < 8; i++) {
    if (sscanf(copy + starts[i], "%2x", &byte) != 1) return false;
    id->data4[i] = (uint8_t)byte;
  }
  /* sscanf takes more than GUIDs; what comes out has to be what went in. */
  format_guid(id, again);
  return memcmp(copy, again, GUID_TEXT_SIZE) == 0;
}

static void add_name(text_buffer *request, const char *name) {
  text_add_string(request, request->length == 0 ? "{\"" : ",\"");
  text_add_string(request, name);
  text_add_string(request, "\":");
}

bool add_text(text_buffer *request, const char *name, const utf16 *text, daemon_answer *answer) {
  size_t length = 0;
  if (text == NULL) return true;
  if (!text_length16(text, TEXT_MAX, &length)) {
    daemon_refuse(answer, E_INVALID_PARAMETER, "A text has no end, is at an odd address, or is longer than 4 Mi characters");
    return false;
  }
  add_name(request, name);
  text_add_json(request, text, length);
  if (request->length < REQUEST_MAX) return true;
  daemon_refuse(answer, E_INVALID_PARAMETER, "The document is longer than 10 MiB");
  return false;
}

void add_plain(text_buffer *request, const char *name, const char *text) {
  add_name(request, name);
  text_add_string(request, "\"");
  text_add_string(request, text);
  text_add_string(request, "\"");
}

void add_number(text_buffer *request, const char *name, uint32_t number) {
  add_name(request, name);
  text_add_number(request, number);
}

void call(const char *operation, text_buffer *request, daemon_answer *answer) {
  text_add_string(request, request->length == 0 ? "{}" : "}");
  daemon_call(operation, request, answer);
  text_free(request);
}

hresult give(daemon_answer *answer, utf16 **result, utf16 **record) {
  hresult code = answer->code;
  if (result != NULL) *result = NULL;
  if (record != NULL) *record = NULL;
  if (code == 0 && result != NULL) {
    *result = text_to_task16(answer->result.at, answer->result.length);
    if (*result == NULL) code = E_OUT_OF_MEMORY;
  } else if (code != 0 && record != NULL) {
    /* hcsshim takes any record for a failure, so there is none on success (hcn.md §1.1). */
    *record = text_to_task16(answer->record.data == NULL ? "" : answer->record.data, answer->record.length);
  }
  daemon_free(answer);
  return code;
}

hresult refuse(hresult code, const char *detail, utf16 **record) {
  daemon_answer answer = {0};
  daemon_refuse(&answer, code, detail);
  return give(&answer, NULL, record);
}
