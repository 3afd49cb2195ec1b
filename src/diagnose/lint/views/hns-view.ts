/** A request to HNS as rules look at it: what object it is, in which dialect, and its policies (hcn.md §2, §3). */
import { type FieldView, fieldOf } from "./cni-view.ts";
import type { LintDocument } from "../input/document.ts";
import { type Fields, isFields } from "#core/base/json.ts";
import { type LintPath, keyOf, listAt, textAt } from "../input/fields.ts";

export type HnsObject = "network" | "endpoint" | "load-balancer" | "other";

export interface HnsPolicyView {
  readonly path: LintPath;
  readonly value: Fields;
  readonly type: string;
  readonly settings: FieldView | undefined;
}

export interface HnsSubnetView {
  readonly path: LintPath;
  readonly value: Fields;
  readonly prefix: FieldView | undefined;
  readonly policies: readonly HnsPolicyView[];
  readonly hasGateway: boolean;
}

export interface HnsView {
  readonly object: HnsObject;
  readonly isV2: boolean;
  /** What HNS gave out, rather than what somebody asks for: it holds fields that only HNS fills in. */
  readonly isOutput: boolean;
  /** The network's type in lower case. */
  readonly type: string;
  readonly policies: readonly HnsPolicyView[];
  readonly subnets: readonly HnsSubnetView[];
}

function has(value: Fields, name: string): boolean {
  return keyOf(value, name) !== undefined;
}

export function hnsText(value: unknown, name: string): string {
  return textAt(value, keyOf(value, name) ?? "") ?? "";
}

function objectOf(value: Fields): HnsObject {
  if (has(value, "PortMappings") || has(value, "FrontendVIPs") || has(value, "References"))
    return "load-balancer";
  if (has(value, "HostComputeNetwork") || has(value, "VirtualNetwork") || has(value, "VirtualNetworkName"))
    return "endpoint";
  // Namespaces have a type, too.
  if (/^(?:host|guest)(?:default)?$/i.test(hnsText(value, "Type"))) return "other";
  const isNetwork =
    has(value, "Ipams") || has(value, "Subnets") || (has(value, "Type") && !has(value, "NamespaceId"));
  return isNetwork ? "network" : "other";
}

function policyOf(value: unknown, path: LintPath): readonly HnsPolicyView[] {
  if (!isFields(value)) return [];
  return [{ path, value, type: hnsText(value, "Type"), settings: fieldOf(value, path, "Settings") }];
}

function policiesIn(value: unknown, path: LintPath): readonly HnsPolicyView[] {
  const list = fieldOf(value, path, "Policies");
  return listAt(list?.value).flatMap((policy, index) => policyOf(policy, [...(list?.path ?? []), index]));
}

function hasGatewayV2(value: Fields, path: LintPath): boolean {
  const routes = listAt(fieldOf(value, path, "Routes")?.value);
  return routes.some((route) => {
    const next = hnsText(route, "NextHop");
    return next !== "" && /^(?:0\.0\.0\.0\/0|::\/0)$/.test(hnsText(route, "DestinationPrefix"));
  });
}

function subnetsOf(value: Fields): readonly HnsSubnetView[] {
  const flat = fieldOf(value, [], "Subnets");
  const ipams = fieldOf(value, [], "Ipams");
  const lists = [
    ...(flat === undefined ? [] : [flat]),
    ...listAt(ipams?.value).flatMap(
      (ipam, index) => fieldOf(ipam, [...(ipams?.path ?? []), index], "Subnets") ?? [],
    ),
  ];
  return lists.flatMap((list) =>
    listAt(list.value).flatMap((subnet, index) => {
      if (!isFields(subnet)) return [];
      const path = [...list.path, index];
      return [
        {
          path,
          value: subnet,
          prefix: fieldOf(subnet, path, "IpAddressPrefix") ?? fieldOf(subnet, path, "AddressPrefix"),
          policies: policiesIn(subnet, path),
          hasGateway: hnsText(subnet, "GatewayAddress") !== "" || hasGatewayV2(subnet, path),
        },
      ];
    }),
  );
}

const ONLY_IN_OUTPUT = ["State", "Health", "Resources", "SwitchGuid", "ActivityId", "TotalEndpoints"];

export function hnsView({ value }: LintDocument): HnsView {
  const isV2 =
    has(value, "SchemaVersion") ||
    has(value, "Ipams") ||
    has(value, "HostComputeNetwork") ||
    has(value, "HostComputeEndpoints");
  return {
    object: objectOf(value),
    isV2,
    isOutput: ONLY_IN_OUTPUT.some((name) => has(value, name)),
    type: hnsText(value, "Type").toLowerCase(),
    policies: policiesIn(value, []),
    subnets: subnetsOf(value),
  };
}
