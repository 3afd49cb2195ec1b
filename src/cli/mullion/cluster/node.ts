/** `mullion node`, `mullion control-plane` and `mullion pass`: let something happen to the running cluster. */
import { connectRunning } from "./cluster-target.ts";
import { reportFindings } from "../failure.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import type { ControlPlaneRequest, NodeRequest, PassRequest } from "../verbs.ts";

export async function node(request: NodeRequest, terminal: Terminal): Promise<ExitCode> {
  const client = await connectRunning(request.running);
  for (const name of request.nodes) {
    const answer = await client.changeNode({ node: name, ...request.change });
    terminal.stdout(`node/${name}: ${answer.text}\n`);
    reportFindings({ problems: [], notes: answer.notes }, "", terminal);
  }
  return 0;
}

export async function controlPlane(request: ControlPlaneRequest, terminal: Terminal): Promise<ExitCode> {
  const client = await connectRunning(request.running);
  const { apiServer, notes } = await client.setApiServer(request.apiServer);
  terminal.stdout(`The API server is ${apiServer}.\n`);
  reportFindings({ problems: [], notes }, "", terminal);
  return 0;
}

export async function pass(request: PassRequest, terminal: Terminal): Promise<ExitCode> {
  const client = await connectRunning(request.running);
  const { atMs, notes } = await client.passTime(request.milliseconds);
  terminal.stdout(`The cluster's clock is at ${Math.round(atMs)} ms.\n`);
  reportFindings({ problems: [], notes }, "", terminal);
  return 0;
}
