#include "calls.h"

const guid zero_guid;
_Thread_local char last_record[4096];

any_function need(const char *library, const char *name) {
  any_function found = find_function(library, name);
  if (found == NULL) FAIL("%s has no %s", library, name);
  return found;
}

utf16 *wide(const char *text) {
  size_t length = strlen(text);
  utf16 *made = malloc((length + 1) * sizeof *made);
  if (made == NULL) FAIL("no memory");
  for (size_t i = 0; i <= length; i++) made[i] = (unsigned char)text[i];
  return made;
}

char *take(utf16 *text) {
  size_t length = 0;
  if (text == NULL) return strcpy(malloc(1), "");
  while (text[length] != 0) length++;
  char *made = malloc(length + 1);
  if (made == NULL) FAIL("no memory");
  for (size_t i = 0; i <= length; i++) made[i] = (char)(text[i] < 0x80 ? text[i] : '?');
  task_free(text);
  return made;
}

hresult noted(hresult code, utf16 **given) {
  char wanted[48];
  utf16 *record = *given;
  *given = NULL;
  if (code == 0 && record != NULL) FAIL("an error record on success");
  if (code != 0 && record == NULL) FAIL("0x%08x without an error record", (unsigned)code);
  char *text = take(record);
  snprintf(last_record, sizeof last_record, "%s", text);
  free(text);
  snprintf(wanted, sizeof wanted, "\"ErrorCode\":%u", (unsigned)code);
  if (code != 0) CONTAINS(last_record, wanted);
  if (code != 0) CONTAINS(last_record, "\"Success\":false");
  return code;
}

hresult create(const char *kind, const char *settings, void **handle) {
  char name[64];
  utf16 *record = NULL;
  snprintf(name, sizeof name, "HcnCreate%s", kind);
  return noted(HCN(create_function, name)(&zero_guid, wide(settings), handle, &record), &record);
}

hresult create_endpoint(void *network, const char *settings, void **handle) {
  utf16 *record = NULL;
  create_endpoint_function function = HCN(create_endpoint_function, "HcnCreateEndpoint");
  return noted(function(network, &zero_guid, wide(settings), handle, &record), &record);
}

hresult modify(const char *kind, void *handle, const char *settings) {
  char name[64];
  utf16 *record = NULL;
  snprintf(name, sizeof name, "HcnModify%s", kind);
  return noted(HCN(modify_function, name)(handle, wide(settings), &record), &record);
}

char *query(const char *kind, void *handle) {
  char name[64];
  utf16 *record = NULL;
  utf16 *text = NULL;
  snprintf(name, sizeof name, "HcnQuery%sProperties", kind);
  query_function function = HCN(query_function, name);
  EXPECT(noted(function(handle, wide("{\"SchemaVersion\":{\"Major\":2,\"Minor\":0}}"), &text, &record), &record), 0);
  return take(text);
}

char *ask(const char *function, void *handle) {
  utf16 *record = NULL;
  utf16 *text = NULL;
  EXPECT(noted(HCN(query_function, function)(handle, NULL, &text, &record), &record), 0);
  return take(text);
}

char *enumerate(const char *kinds, const char *filter) {
  char name[64];
  utf16 *record = NULL;
  utf16 *text = NULL;
  snprintf(name, sizeof name, "HcnEnumerate%s", kinds);
  EXPECT(noted(HCN(enumerate_function, name)(filter == NULL ? NULL : wide(filter), &text, &record), &record), 0);
  return take(text);
}

hresult close_object(const char *kind, void *handle) {
  char name[64];
  snprintf(name, sizeof name, "HcnClose%s", kind);
  return HCN(close_function, name)(handle);
}

guid read_guid(const char *text) {
  unsigned part[11];
  guid id = {0};
  if (sscanf(text, "%8x-%4x-%4x-%2x%2x-%2x%2x%2x%2x%2x%2x", part, part + 1, part + 2, part + 3, part + 4, part + 5,
             part + 6, part + 7, part + 8, part + 9, part + 10) != 11) {
    FAIL("no GUID: %s", text);
  }
  id = (guid){part[0], (uint16_t)part[1], (uint16_t)part[2], {0}};
  for (size_t i = 0; i < 8; i++) id.data4[i] = (uint8_t)part[i + 3];
  return id;
}

const char *id_of(const char *kind, void *handle) {
  char *document = query(kind, handle);
  char *start = strstr(document, "\"ID\":\"");
  if (start == NULL) FAIL("no ID in %s", document);
  start[6 + 36] = 0;
  return start + 6;
}

hresult delete_object(const char *kind, const char *id) {
  char name[64];
  utf16 *record = NULL;
  guid value = read_guid(id);
  snprintf(name, sizeof name, "HcnDelete%s", kind);
  return noted(HCN(delete_function, name)(&value, &record), &record);
}

const char *print(const char *format, const char *a, const char *b) {
  char *made = malloc(strlen(format) + strlen(a) + strlen(b) + 1);
  if (made == NULL) FAIL("no memory");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  sprintf(made, format, a, b);
#pragma GCC diagnostic pop
  return made;
}

hresult hns_call(const char *method, const char *path, const char *body, char **envelope) {
  utf16 *response = NULL;
  hresult code = HCS(hns_call_function, "HNSCall")(wide(method), wide(path), wide(body), &response);
  *envelope = response == NULL ? NULL : take(response);
  if ((code == 0) != (*envelope != NULL)) FAIL("0x%08x with %s", (unsigned)code, *envelope);
  return code;
}
