/** Answers of HTTP/1.1 in whatever pieces they come. */
import { describe, expect, it } from "vitest";
import { LIMITS } from "#core/base/limits.ts";
import { HttpAnswer } from "./serial-exchange.node.ts";

function answerOf(...pieces: readonly string[]): HttpAnswer {
  const answer = new HttpAnswer();
  for (const piece of pieces) answer.push(Buffer.from(piece, "latin1"));
  return answer;
}

/** As the bytes of a text in UTF-8. */
function bytesOf(text: string): string {
  return Buffer.from(text).toString("latin1");
}

const BODY = '{"name":"Größe ネット"}';
const LENGTH = Buffer.byteLength(BODY);
const OK = "HTTP/1.1 200 OK\r\n";
const CHUNKS = `6\r\n{"name\r\nA;x=y\r\n":"Gr${bytesOf("öß")}e\r\n`;

const WHOLE: readonly (readonly [string, string, boolean])[] = [
  ["a length", `${OK}Content-Length: ${LENGTH}\r\n\r\n${bytesOf(BODY)}`, true],
  [
    "a length, and the connection is to be closed",
    `${OK}content-length: ${LENGTH}\r\nConnection: close\r\n\r\n${bytesOf(BODY)}`,
    false,
  ],
  [
    "an interim answer before",
    `HTTP/1.1 100 Continue\r\n\r\n${OK}content-length: ${LENGTH}\r\n\r\n${bytesOf(BODY)}`,
    true,
  ],
  ["an error's status", `HTTP/1.1 404 Not Found\r\ncontent-length: ${LENGTH}\r\n\r\n${bytesOf(BODY)}`, true],
  [
    "chunks with an extension and a trailer",
    `${OK}Transfer-Encoding: chunked\r\n\r\n${CHUNKS}${(LENGTH - 16).toString(16)}\r\n${bytesOf(BODY).slice(16)}\r\n0\r\nx: y\r\n\r\n`,
    true,
  ],
];

describe.each(WHOLE)("%s", (_, text, keepsConnection) => {
  it("is read as it is", () => {
    const answer = answerOf(text);
    expect([answer.isComplete, answer.text(), answer.keepsConnection]).toEqual([true, BODY, keepsConnection]);
  });

  it("is read the same wherever it is cut, and is not whole before its last byte", () => {
    for (let at = 1; at < text.length; at++) {
      const answer = answerOf(text.slice(0, at));
      expect(answer.isComplete, `after ${at} bytes`).toBe(false);
      answer.push(Buffer.from(text.slice(at), "latin1"));
      expect([answer.isComplete, answer.text()], `cut after ${at} bytes`).toEqual([true, BODY]);
    }
    expect(answerOf(...text.split("")).text()).toBe(BODY);
  });
});

it("without a length the body goes up to the end of the connection", () => {
  const answer = answerOf(OK, "\r\n", bytesOf(BODY));
  expect(answer.isComplete).toBe(false);
  answer.end();
  expect([answer.isComplete, answer.text(), answer.keepsConnection]).toEqual([true, BODY, false]);
});

it("204 has no body", () => {
  expect(answerOf("HTTP/1.1 204 No Content\r\n\r\n")).toMatchObject({
    isComplete: true,
    keepsConnection: true,
  });
});

it.each([
  ["another protocol", "SSH-2.0-OpenSSH_9.2\r\n\r\n", "the answer is not HTTP"],
  ["a header without a colon", `${OK}nonsense\r\n\r\n`, "a header is"],
  ["a length that is none", `${OK}content-length: many\r\n\r\n`, "its length is many"],
  ["a length below zero", `${OK}content-length: -1\r\n\r\n`, "its length is -1"],
  [
    "a chunk whose length is none",
    `${OK}transfer-encoding: chunked\r\n\r\nxyz\r\n`,
    "a chunk has the length",
  ],
  ["a chunk that continues", `${OK}transfer-encoding: chunked\r\n\r\n1\r\nabcd`, "a chunk does not end"],
  ["a head without an end", `${OK}${"x: y\r\n".repeat(20_000)}`, "its head does not end"],
  [
    "a chunk's line without an end",
    `${OK}transfer-encoding: chunked\r\n\r\n${"1".repeat(2_000)}`,
    "does not end",
  ],
  [
    "a body beyond the limit",
    `${OK}content-length: ${LIMITS.httpResponseBytesMax + 1}\r\n\r\n`,
    "is longer than",
  ],
  ["chunks beyond the limit", `${OK}transfer-encoding: chunked\r\n\r\n10000001\r\n`, "is longer than"],
])("refuses %s", (_, text, expected) => {
  expect(() => answerOf(text)).toThrow(expected);
});

it("a connection that ends too early is told as the system tells it", () => {
  const answer = answerOf(`${OK}content-length: 5\r\n\r\n1234`);
  expect(() => answer.end()).toThrow(expect.objectContaining({ code: "ECONNRESET" }));
});
