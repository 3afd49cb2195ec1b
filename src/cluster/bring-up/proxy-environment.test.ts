// golang.org/x/net/http/httpproxy: what its documentation says of the variables.
import { describe, expect, it } from "vitest";
import { proxyFor } from "./proxy-environment.ts";

const PROXY = "http://proxy.example.com:3128";
const API = "https://10.0.0.21:6443";

describe("the proxy of a request", () => {
  it.each([
    ["no variable", API, {}, undefined],
    ["HTTPS_PROXY", API, { HTTPS_PROXY: PROXY }, PROXY],
    ["its name in small letters", API, { https_proxy: PROXY }, PROXY],
    ["HTTP_PROXY alone is not for https", API, { HTTP_PROXY: PROXY }, undefined],
    ["HTTP_PROXY is for http", "http://10.0.0.21:8080", { HTTP_PROXY: PROXY }, PROXY],
    ["an empty value", API, { HTTPS_PROXY: " " }, undefined],
    ["localhost", "https://localhost:6443", { HTTPS_PROXY: PROXY }, undefined],
    ["a loopback address", "https://127.0.0.5:6443", { HTTPS_PROXY: PROXY }, undefined],
    ["the IPv6 loopback address", "https://[::1]:6443", { HTTPS_PROXY: PROXY }, undefined],
  ])("%s", (_, url, variables, expected) => {
    expect(proxyFor(url, variables)).toBe(expected);
  });

  it.each([
    ["*", API, undefined],
    ["10.0.0.21", API, undefined],
    ["10.0.0.22", API, PROXY],
    ["10.0.0.21:6443", API, undefined],
    ["10.0.0.21:443", API, PROXY],
    ["10.96.0.0/12, 10.0.0.0/24", API, undefined],
    ["10.0.1.0/24", API, PROXY],
    ["example.com", "https://api.example.com", undefined],
    ["example.com", "https://example.com", undefined],
    [".example.com", "https://api.example.com", undefined],
    [".example.com", "https://example.com", PROXY],
    ["*.example.com", "https://api.example.com", undefined],
    ["ample.com", "https://example.com", PROXY],
    ["API.Example.com", "https://api.example.com", undefined],
    ["api.example.com:443", "https://api.example.com", undefined],
  ])("NO_PROXY=%s for %s", (noProxy, url, expected) => {
    expect(proxyFor(url, { HTTPS_PROXY: PROXY, NO_PROXY: noProxy })).toBe(expected);
  });
});
