/* How the exports take what the program gives and give back what the daemon says. */
#ifndef MULLION_EXCHANGE_H
#define MULLION_EXCHANGE_H

#include "../core/daemon.h"
#include "../core/handles.h"

#ifdef _WIN32
/* What is exported stands in the .def file beside. */
#define EXPORT
#else
#define EXPORT __attribute__((visibility("default")))
#endif

typedef uint16_t utf16;

/* A GUID as Windows keeps it in memory. */
typedef struct {
  uint32_t data1;
  uint16_t data2;
  uint16_t data3;
  uint8_t data4[8];
} guid;

#define GUID_TEXT_SIZE 37

/* In small letters, without braces. */
void format_guid(const guid *id, char text[GUID_TEXT_SIZE]);
bool parse_guid(text_slice text, guid *id);

/* Adds `"name":"text"` to a request; a missing text is left out. False when the text has no end that could be read, or
 * is longer than the daemon takes; `answer` then says so. */
bool add_text(text_buffer *request, const char *name, const utf16 *text, daemon_answer *answer);
/* The same for text of our own that needs no escapes. */
void add_plain(text_buffer *request, const char *name, const char *text);
void add_number(text_buffer *request, const char *name, uint32_t number);

/* Ends the request, makes the call and frees the request. */
void call(const char *operation, text_buffer *request, daemon_answer *answer);
/* Gives the answer to the caller: `*result` and `*record` are set in every case, where they are asked for. */
hresult give(daemon_answer *answer, utf16 **result, utf16 **record);
/* A refusal of our own. */
hresult refuse(hresult code, const char *detail, utf16 **record);

#endif
