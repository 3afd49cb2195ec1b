/* The fuzz program: random numbers, mutations, and a system that is made up. */
#ifndef MULLION_TEST_FUZZ_H
#define MULLION_TEST_FUZZ_H

#include "../core/http.h"

#include <stdio.h>
#include <stdlib.h>

#define FAIL(...)                                                                                                      \
  (fprintf(stderr, "%s:%d: ", __FILE__, __LINE__), fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), exit(1))

/* A number below `limit`, from the seed. */
uint32_t pick(uint32_t limit);
/* Changes, cuts, doubles and puts in a few bytes. */
void mutate(text_buffer *text);
/* A JSON value; deep ones are rare. */
void add_random_json(text_buffer *text, int depth);

/* How the peer of the made-up connection ends. */
typedef enum { PEER_CLOSES, PEER_BREAKS_OFF, PEER_IS_SILENT } peer_end;
/* What the next connections receive, in pieces of random size. */
void peer_answers(const text_buffer *bytes, peer_end end);
/* Connections that are open; the shim keeps at most four. */
int open_connections(void);

void fuzz_json(void);
/* What has to hold of any bytes. @returns whether they are JSON. */
bool check_json(const char *bytes, size_t length);
void fuzz_text(void);
void fuzz_call(void);
void fuzz_stream(void);
/* What a service says, byte for byte: to a call, and to a listener. */
void check_call(const text_buffer *said, peer_end end);
void check_stream(const text_buffer *said, peer_end end);
/* UTF-16 of the shim's callers, and UTF-8 of services. */
void check_text(const uint8_t *bytes, size_t length);
/* How often what was asked for was good, of all of a kind: a fuzz in which all is refused finds nothing. */
extern unsigned long good_documents, good_answers, good_lines;

#endif
