import { describe, expect, it } from "vitest";
import { loaderOf } from "./known-manifests.ts";
import { loadManifests } from "./load-manifests.ts";

function service(name: string, address: string): string {
  return `apiVersion: v1\nkind: Service\nmetadata: { name: ${name}, namespace: shop }\nspec: { clusterIP: ${address}, ports: [{ port: 80 }] }\n`;
}

function known(name: string, text: string): Parameters<typeof loaderOf>[0][number] {
  return { name, text, manifests: loadManifests([{ name, text }]) };
}

describe("manifests that were read already", () => {
  it("are the same objects", () => {
    const file = known("a.yaml", service("web", "10.96.0.1"));
    const { objects } = loaderOf([file])([{ name: file.name, text: file.text }]);
    expect(objects[0]?.object).toBe(file.manifests.objects[0]?.object);
  });

  it("are read again where the text is another one, or the file", () => {
    const load = loaderOf([known("a.yaml", service("web", "10.96.0.1"))]);
    const texts = [
      { name: "a.yaml", text: service("web", "10.96.0.2") },
      { name: "b.yaml", text: service("back", "10.96.0.3") },
    ];
    expect(load(texts).objects.map(({ object }) => object)).toMatchObject([
      { metadata: { name: "web" }, spec: { clusterIP: "10.96.0.2" } },
      { metadata: { name: "back" }, spec: { clusterIP: "10.96.0.3" } },
    ]);
  });

  it("hold an object once that two files have", () => {
    const files = [
      known("a.yaml", service("web", "10.96.0.1")),
      known("b.yaml", service("web", "10.96.0.2")),
    ];
    const { objects } = loaderOf(files)(files.map(({ name, text }) => ({ name, text })));
    expect(objects.map(({ origin }) => origin?.file)).toEqual(["a.yaml"]);
  });
});
