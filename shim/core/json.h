/* As much JSON as answers need: check a document, find a member, walk a list. Values stay slices of the text. */
#ifndef MULLION_JSON_H
#define MULLION_JSON_H

#include "text.h"

/* True when the whole text is one JSON value (RFC 8259), nested no deeper than 128 levels. */
bool json_is_valid(text_slice text);
/* The functions below take values of a checked document. A name that stands twice: the last one counts. */
bool json_member(text_slice object, const char *name, text_slice *value);
/* The element behind `*cursor`, which starts at 0; false at the end, and for what is no list. */
bool json_next(text_slice list, size_t *cursor, text_slice *value);
bool json_number(text_slice value, uint64_t *number);
/* True when it is a string without escapes; `*text` is what stands between the quotes. */
bool json_plain_string(text_slice value, text_slice *text);

#endif
