/** Logical flows of ACLs (ovn-northd(8), "ACLs"). */
import type { Dialect } from "./dialect.ts";
import { FlowList, type WrittenFlow } from "./flow-list.ts";
import type { Acl } from "./objects.ts";
import { tableOf } from "./stages.ts";

/** An ACL of priority 1000 becomes flows of priority 2000. */
const OFFSET = 1_000;

const ND = "nd || nd_ra || nd_rs || mldv1 || mldv2";

/** What the ACLs of a switch are to its other flows. */
export interface AclSummary {
  readonly hasAny: boolean;
  /** One of them looks connections up. */
  readonly hasStateful: boolean;
}

export function isStateful({ action }: Pick<Acl, "action">): boolean {
  return action === "allow-related";
}

function stageOf({ direction, isAfterLb }: Acl): string {
  if (direction === "to-lport") return "ls_out_acl";
  return isAfterLb ? "ls_in_acl_after_lb" : "ls_in_acl";
}

function logOf({ hasLog, name, severity, action }: Acl): string {
  if (!hasLog) return "";
  const verdict = action === "drop" || action === "reject" ? action : "allow";
  const title = name === "" ? "" : `name="${name}", `;
  return `log(${title}severity=${severity === "" ? "info" : severity}, verdict=${verdict}); `;
}

/** A refusal goes back the way it came, behind the ACLs of the other pipeline. */
export function placeOfRefusal(stage: string): string {
  return stage.startsWith("ls_in")
    ? `pipeline=egress,table=${tableOf("ls_out_qos_mark")}`
    : `pipeline=ingress,table=${tableOf("ls_in_l2_lkup")}`;
}

function denial(acl: Acl): string {
  if (acl.action === "drop") return `${logOf(acl)}/* drop */`;
  const implied = "/* eth.dst <-> eth.src; ip.dst <-> ip.src; is implicit. */";
  const back = `next(${placeOfRefusal(stageOf(acl))});`;
  return `${logOf(acl)}reg0 = 0; reject { ${implied} outport <-> inport; ${back} };`;
}

function addStateful(list: FlowList, acl: Acl, { blocked }: Dialect): void {
  const [stage, priority] = [stageOf(acl), acl.priority + OFFSET];
  const block = `ct_commit { ${blocked} = 1; };`;
  if (acl.action === "reject") {
    list.add(stage, priority, `(reg0[9] == 1) && ${acl.match}`, denial(acl), acl.id);
    list.add(stage, priority, `(reg0[10] == 1) && ${acl.match}`, `${block}  ${denial(acl)}`, acl.id);
    return;
  }
  if (acl.action === "drop") {
    list.add(stage, priority, `reg0[9] == 1 && (${acl.match})`, denial(acl), acl.id);
    list.add(stage, priority, `reg0[10] == 1 && (${acl.match})`, `${block} ${denial(acl)}`, acl.id);
    return;
  }
  const label = acl.label === 0 ? "" : `reg0[13] = 1; reg3 = ${acl.label}; `;
  list.add(
    stage,
    priority,
    `reg0[7] == 1 && (${acl.match})`,
    `reg0[1] = 1; ${label}${logOf(acl)}next;`,
    acl.id,
  );
  const again = acl.label === 0 ? "" : `reg0[1] = 1; ${label}`;
  list.add(stage, priority, `reg0[8] == 1 && (${acl.match})`, `${again}${logOf(acl)}next;`, acl.id);
}

function addHints(list: FlowList, stage: string, { blocked }: Dialect): void {
  const hint = (priority: number, match: string, ...bits: readonly number[]): void =>
    list.add(stage, priority, match, `${bits.map((bit) => `reg0[${bit}] = 1; `).join("")}next;`);
  hint(7, "ct.new && !ct.est", 7, 9);
  hint(6, `!ct.new && ct.est && !ct.rpl && ${blocked} == 1`, 7, 9);
  hint(5, "!ct.trk", 8, 9);
  hint(4, `!ct.new && ct.est && !ct.rpl && ${blocked} == 0`, 8, 10);
  hint(3, "!ct.est", 9);
  hint(2, `ct.est && ${blocked} == 1`, 9);
  hint(1, `ct.est && ${blocked} == 0`, 10);
}

/** What holds whatever the ACLs say: answers and what belongs to a connection pass, what is invalid or blocked does not. */
function addFixed(list: FlowList, stage: string, { blocked, commitNat }: Dialect): void {
  const isIn = stage.startsWith("ls_in");
  const passed = isIn ? "reg0[17] = 1; " : "";
  const hints = isIn ? "reg0[9] = 0; reg0[10] = 0; " : "";
  const related = `!ct.est && ct.rel && !ct.new && !ct.inv && ${blocked} == 0`;
  list.add(stage, 65_532, related, `${passed}${commitNat ? "ct_commit_nat;" : "next;"}`);
  const reply = `ct.est && !ct.rel && !ct.new && !ct.inv && ct.rpl && ${blocked} == 0`;
  list.add(stage, 65_532, reply, `${hints}${passed}next;`);
  list.add(stage, 65_532, `ct.inv || (ct.est && ct.rpl && ${blocked} == 1)`, "drop;");
  list.add(stage, 1, "ip && !ct.est", "reg0[1] = 1; next;");
  list.add(stage, 1, `ip && ct.est && ${blocked} == 1`, "reg0[1] = 1; next;");
}

/** A switch without ACLs and load balancers passes everything on before anything else is asked. */
function addPassing(list: FlowList, isUsed: boolean): void {
  for (const stage of ["ls_in_acl", "ls_in_acl_after_lb", "ls_out_acl"]) list.add(stage, 65_532, ND, "next;");
  for (const stage of ["ls_in_acl_hint", "ls_in_acl", "ls_out_acl_hint", "ls_out_acl"])
    list.add(stage, isUsed ? 0 : 65_535, "1", "next;");
  list.pass("ls_in_acl_after_lb");
}

/** The flows of one ACL. `isTracked`: packets of the switch have connections, because of ACLs or of load balancers. */
export function aclFlows(acl: Acl, isTracked: boolean, dialect: Dialect): readonly WrittenFlow[] {
  const list = new FlowList("ls_in", "ls_out");
  const isStateless = acl.action === "allow-stateless";
  if (isStateless && isTracked) {
    const stage = acl.direction === "to-lport" ? "ls_out_pre_acl" : "ls_in_pre_acl";
    list.add(stage, acl.priority + OFFSET, acl.match, "reg0[16] = 1; next;", acl.id);
  }
  if (isTracked && !isStateless) addStateful(list, acl, dialect);
  else
    list.add(
      stageOf(acl),
      acl.priority + OFFSET,
      acl.match,
      acl.action.startsWith("allow") ? `${logOf(acl)}next;` : denial(acl),
      acl.id,
    );
  return list.flows;
}

/** The flows around those of a switch's ACLs. */
export function addAclStages(list: FlowList, hasAny: boolean, isTracked: boolean, dialect: Dialect): void {
  if (isTracked) {
    for (const stage of ["ls_in_acl_hint", "ls_out_acl_hint"]) addHints(list, stage, dialect);
    for (const stage of ["ls_in_acl", "ls_out_acl"]) addFixed(list, stage, dialect);
    list.add("ls_in_acl_after_lb", 65_532, "reg0[17] == 1", "next;");
  }
  addPassing(list, isTracked || hasAny);
  for (const stage of ["ls_in_stateful", "ls_out_stateful"]) {
    list.add(stage, 100, "reg0[1] == 1 && reg0[13] == 0", `ct_commit { ${dialect.blocked} = 0; }; next;`);
    const labelled = `ct_commit { ${dialect.blocked} = 0; ct_label.label = reg3; }; next;`;
    list.add(stage, 100, "reg0[1] == 1 && reg0[13] == 1", labelled);
    list.pass(stage);
  }
}
