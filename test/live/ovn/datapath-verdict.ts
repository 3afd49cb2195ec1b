/** What `ofproto/trace` says becomes of a frame, in words that can be compared (ovs-vswitchd(8), "ofproto/trace"). */

/** Actions of a datapath, split where no bracket is open. */
function split(actions: string): readonly string[] {
  const parts: string[] = [];
  let [depth, from] = [0, 0];
  for (let at = 0; at <= actions.length; at++) {
    const letter = actions[at] ?? ",";
    if (letter === "(" || letter === "{") depth++;
    if (letter === ")" || letter === "}") depth--;
    if (letter !== "," || depth > 0) continue;
    parts.push(actions.slice(from, at));
    from = at + 1;
  }
  return parts.filter((part) => part !== "");
}

/** `tunnel to 10.0.0.12: datapath 3, ports 1 to 2`, from the header that is put before the frame. */
function tunnelOf(push: string): string {
  const [, to = "", vni = "", data = ""] =
    /dst=([\d.]+),proto=17.*vni=(0x[\da-f]+),options\(\{class=0x102,type=0x80,len=4,(0x[\da-f]+)\}/.exec(
      push,
    ) ?? [];
  return tunnelText(to, Number(vni), Number(data) >>> 16, Number(data) & 0xffff);
}

export function tunnelText(to: string, datapath: number, ingress: number, egress: number): string {
  return `tunnel to ${to}: datapath ${datapath}, ports ${ingress} to ${egress}`;
}

function outputsOf(actions: string, ports: ReadonlyMap<string, string>): readonly string[] {
  const outputs: string[] = [];
  let isTunnel = false;
  for (const action of split(actions)) {
    // A frame goes out of the bridge that the tunnel is on, behind the header that was put before it.
    if (isTunnel && /^\d+$/.test(action)) continue;
    isTunnel = action.startsWith("tnl_push(");
    if (isTunnel) outputs.push(tunnelOf(action));
    else if (action.startsWith("clone(")) outputs.push(...outputsOf(action.slice(6, -1), ports));
    else if (action.startsWith("userspace(")) outputs.push("controller");
    else if (/^\d+$/.test(action)) outputs.push(`port ${ports.get(action) ?? action}`);
  }
  return outputs;
}

/** `ports`: names of the datapath's ports by their numbers. */
export function verdictOf(trace: string, ports: ReadonlyMap<string, string>): string {
  const lines = [...trace.matchAll(/^Datapath actions: (.*)$/gm)];
  const outputs = lines.flatMap(([, actions = ""]) => outputsOf(actions, ports));
  return outputs.length === 0 ? "drop" : [...new Set(outputs)].toSorted().join("; ");
}
