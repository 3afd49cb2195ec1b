/* Calls of computenetwork and vmcompute as a Windows program makes them, each checked for what Windows promises of
 * every call: a record exactly when it failed. */
#ifndef MULLION_TEST_CALLS_H
#define MULLION_TEST_CALLS_H

#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int32_t hresult;
typedef uint16_t utf16;

typedef struct {
  uint32_t data1;
  uint16_t data2, data3;
  uint8_t data4[8];
} guid;

typedef void (*callback)(uint32_t type, void *context, hresult status, const utf16 *data);
typedef hresult (*enumerate_function)(const utf16 *, utf16 **, utf16 **);
typedef hresult (*create_function)(const guid *, const utf16 *, void **, utf16 **);
typedef hresult (*create_endpoint_function)(void *, const guid *, const utf16 *, void **, utf16 **);
typedef hresult (*open_function)(const guid *, void **, utf16 **);
typedef hresult (*modify_function)(void *, const utf16 *, utf16 **);
typedef hresult (*query_function)(void *, const utf16 *, utf16 **, utf16 **);
typedef hresult (*delete_function)(const guid *, utf16 **);
typedef hresult (*close_function)(void *);
typedef hresult (*register_function)(callback, void *, void **);
typedef hresult (*hns_call_function)(const utf16 *, const utf16 *, const utf16 *, utf16 **);
typedef hresult (*create_system_function)(const utf16 *, const utf16 *, void *, void **, utf16 **);
typedef hresult (*open_system_function)(const utf16 *, void **, utf16 **);

#define FAIL(...)                                                                                                      \
  (fprintf(stderr, "%s:%d: ", __FILE__, __LINE__), fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), exit(1))
#define EXPECT(code, wanted)                                                                                           \
  do {                                                                                                                 \
    uint32_t got_ = (uint32_t)(code);                                                                                  \
    if (got_ != (uint32_t)(wanted)) FAIL("0x%08x instead of 0x%08x (%s)", got_, (unsigned)(wanted), last_record);      \
  } while (0)
#define CONTAINS(text, part)                                                                                           \
  do {                                                                                                                 \
    if (strstr((text), (part)) == NULL) FAIL("%s is not in %s", (part), (text));                                       \
  } while (0)
#define HCN(type, name) ((type)need("computenetwork", name))
#define HCS(type, name) ((type)need("vmcompute", name))
extern const guid zero_guid;
/* What the last call of this thread said when it failed. */
extern _Thread_local char last_record[4096];

any_function need(const char *library, const char *name);
/* Text of plain ASCII; stays until the program ends. */
utf16 *wide(const char *text);
/* The other way; gives the COM memory back. */
char *take(utf16 *text);
/* Keeps an error record for messages, and checks that it is there exactly when the call failed. */
hresult noted(hresult code, utf16 **given);

hresult create(const char *kind, const char *settings, void **handle);
hresult create_endpoint(void *network, const char *settings, void **handle);
hresult modify(const char *kind, void *handle, const char *settings);
char *query(const char *kind, void *handle);
/* `HcnQueryEndpointStats` and what else has its form. */
char *ask(const char *function, void *handle);
char *enumerate(const char *kinds, const char *filter);
hresult close_object(const char *kind, void *handle);
guid read_guid(const char *text);
/* The `ID` of an object, as text. */
const char *id_of(const char *kind, void *handle);
hresult delete_object(const char *kind, const char *id);
/* HNSCall; `*envelope` is NULL when it failed. */
hresult hns_call(const char *method, const char *path, const char *body, char **envelope);
/* Puts two texts into a format of ours. */
const char *print(const char *format, const char *a, const char *b);

#endif
