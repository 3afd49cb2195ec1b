import { expect, it } from "vitest";
import { runExample } from "./main.ts";

it("the example node-rules says what a bad node lacks, and where its DNS questions go", () => {
  const layer = "LB_DSR, LB_DSR_IPv4_OUT";
  expect(runExample()).toEqual([
    `rule LB_DSR_9C2E1_10.240.0.4_10.96.0.10_53_53_6 in ${layer}: Rule data is { 10.244.3.5 : 53 } on good-node and { 10.244.9.9 : 53 } on bad-node`,
    `rule LB_DSR_9C2E1_10.240.0.4_10.96.0.10_53_53_17 in ${layer} is only on good-node`,
    "rule deny-metadata in ACL_ENDPOINT_LAYER, ACL_ENDPOINT_GROUP_IPV4_OUT is only on good-node",
    expect.stringMatching(/^good-node\.txt: pass, to 10\.244\.[23]\.5$/) as unknown,
    "  lbnat LB_DSR_9C2E1_10.240.0.4_10.96.0.10_53_53_17, good-node.txt line 34",
    "  allow Allow Out, good-node.txt line 73",
    "bad-node.txt: pass, to 10.96.0.10",
    "  allow Allow Out, bad-node.txt line 47",
  ]);
});
