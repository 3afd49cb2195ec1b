// Selectors of Calico, as policies of others have them, and what each means for the labels of one pod.
import { expect, it } from "vitest";
import { parseCalicoSelector } from "./calico-selector.ts";

const LABELS = {
  app: "web",
  tier: "front-end",
  "projectcalico.org/namespace": "shop",
  "kubernetes.io/os": "windows",
};

it.each<[string, boolean]>([
  // What selects everything.
  ["", true],
  ["  ", true],
  ["all()", true],
  ["all( )", true],
  ["! all()", false],
  // As in storefronts, firewalls of clouds, and workshops.
  ["app == 'web'", true],
  ['app=="web"', true],
  ['projectcalico.org/namespace == "shop"', true],
  ["projectcalico.org/namespace not in {'kube-system', 'calico-system'}", true],
  ["projectcalico.org/namespace in{'kube-system'}", false],
  ["ibm.role in { 'worker_public' }", false],
  ["app in {}", false],
  ["app not in {}", true],
  // What is absent is not equal.
  ["role != 'db'", true],
  ["role not in { 'db' }", true],
  ["has(role)", false],
  ["!has(role) && has( tier )", true],
  ["!!has(tier)", true],
  // And binds more than or.
  ["app == 'x' && tier == 'x' || has(app)", true],
  ["app == 'x' && (tier == 'x' || has(app))", false],
  ["tier starts with 'front' && tier ends with 'end' && tier contains '-'", true],
  ["tier starts with 'end'", false],
  ["constructor == 'x'", false],
  ["has(constructor)", false],
])("%s is %s", (text, isSelected) => {
  expect(parseCalicoSelector(text)?.(LABELS)).toBe(isSelected);
});

it.each([
  ["one equal sign", "app = 'web'"],
  ["a value without quotes", "app == web"],
  ["a quote that is not closed", "app == 'web"],
  ["a bracket that is not closed", "(app == 'web'"],
  ["nothing behind an operator", "app == 'web' &&"],
  ["two expressions", "app == 'web' tier == 'x'"],
  ["a line break", "app == 'web'\n&& has(x)"],
  ["a label alone", "app"],
  ["a function that there is not", "some(app)"],
  ["a set without brackets", "app in 'web'"],
  ["brackets without end", "(".repeat(5_000)],
  ["a text without end", "has(a) || ".repeat(10_000)],
  // Only Calico knows whose they are.
  ["the labels of a service account", "projectcalico.org/serviceaccount == 'till'"],
  ["labels of the namespace", "has(pcns.team)"],
])("is not read: %s", (_, text) => {
  expect(parseCalicoSelector(text)).toBeUndefined();
});
