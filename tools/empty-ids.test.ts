import { expect, it } from "vitest";
import { findEmptyIds } from "./empty-ids.ts";
import { readFiles } from "./source-files.ts";

it("no id becomes the empty text, but where a reason stands beside it", () => {
  expect(findEmptyIds(readFiles("src/**/*.ts"))).toEqual([]);
});

it.each([
  'const endpointId = reader.text("EndpointId") ?? "";',
  '  id: subnet.ID ?? "",',
  'const network = reader.guid("HostComputeNetwork") ?? "";',
])("an empty id is found: %s", (text) => {
  expect(findEmptyIds([{ path: "src/hns/view/some.ts", text }])).toEqual([
    'src/hns/view/some.ts: 1 more ids become ""; leave them undefined',
  ]);
});

it.each(['const name = reader.text("Name") ?? "";', 'const id = reader.text("Id");'])(
  "other texts are not: %s",
  (text) => {
    expect(findEmptyIds([{ path: "src/hns/view/some.ts", text }])).toEqual([]);
  },
);

it("a reason that nothing needs is found", () => {
  expect(findEmptyIds([{ path: "src/contracts/cni/runtime.ts", text: "" }])).toEqual([
    "src/contracts/cni/runtime.ts: 1 ids are excused, and it has 0",
  ]);
});
