/** Faults between ACLs of an endpoint and the rules on its port. */
import type { Case } from "./further-cases.ts";
import { BLOCK_RULE, type NodeDocuments } from "./healthy-node.ts";

/** Listings of a port beside the policies of its endpoint were looked for: threads show one side or the other. */
const NOT_PUBLIC = "no public one found; microsoft/Windows-Containers#616 shows the packets alone";

function replaceRule(documents: NodeDocuments, from: string, to: string): void {
  if (!documents.rules.includes(from)) throw new Error(`no rule is ${from}`);
  documents.rules = documents.rules.replace(from, to);
}

function withoutBlock(documents: NodeDocuments): void {
  const [own] = documents.endpoints;
  const policies = own!["Policies"] as Record<string, unknown>[];
  own!["Policies"] = policies.filter(({ Action }) => Action !== "Block");
}

export const ACL_CASES: readonly Case[] = [
  {
    check: "acls-are-programmed",
    code: "hns-rules-differ",
    seen: NOT_PUBLIC,
    says: /the endpoint of 10\.244\.1\.7 has the ACL Block Out 2000 \(protocol 6, to 10\.244\.2\.0\/24\), and its port no rule of it/u,
    file: "node/endpoint.txt",
    change: (documents) => replaceRule(documents, BLOCK_RULE, ""),
  },
  {
    check: "acl-rules-are-as-narrow-as-acls",
    code: "hns-rules-differ",
    seen: NOT_PUBLIC,
    says: /the ACL Block Out 2000 \(protocol 6, to 10\.244\.2\.0\/24\) of 10\.244\.1\.7 is a rule for all packets/u,
    file: "node/endpoint.txt",
    change: (documents) =>
      replaceRule(
        documents,
        BLOCK_RULE,
        BLOCK_RULE.replace("Protocols : 6\n        Destination IP : 10.244.2.0-10.244.2.255", "<none>"),
      ),
  },
  {
    check: "acl-rules-have-acls",
    code: "hns-rules-differ",
    seen: NOT_PUBLIC,
    says: /the port of 10\.244\.1\.7 has the rule policy-kns\.shop-0 \(block, 2000\), and its endpoint no ACL of it/u,
    file: "node/vfpOutput.txt",
    change: withoutBlock,
  },
];
