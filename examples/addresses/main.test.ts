import { expect, it } from "vitest";
import { runExample } from "./main.ts";

it("the example addresses finds the node of a pod, and the ends of a range", () => {
  expect(runExample()).toEqual([
    "10.244.2.7 (IPv4): win-2",
    "10.244.9.1 (IPv4): no node",
    "fd00::7 (IPv6): no node",
    "10.244.2 is not an address",
    "win-1: pods from 10.244.1.3 to 10.244.1.254",
    "win-2: pods from 10.244.2.3 to 10.244.2.254",
    "2 ranges are in 10.244.0.0/16",
    "00-15-5D-00-00-0B 30000 to 32767",
  ]);
});
