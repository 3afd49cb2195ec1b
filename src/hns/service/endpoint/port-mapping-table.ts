/**
 * Which host ports the node's endpoints map: the same protocol and port twice is refused (hcn.md §3.3), unless the
 * two listen on different addresses.
 */
import { addToList } from "#core/base/keyed-lists.ts";
import type { Prng } from "#core/base/prng.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { NAT_FLAGS, type PortMappingPolicySetting } from "#contracts/hcn/documents/endpoint-policy.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";

interface Mapping {
  readonly owner: Guid;
  /** Empty: all addresses of the node. */
  readonly vip: string;
}

/** Where ports that the service chooses come from. Inferred: below the dynamic range, which source NAT uses. */
const CHOSEN_PORT_FIRST = 20_000;
const CHOSEN_PORT_COUNT = 29_152;

/** Inferred (hcn.md §11.12): a mapping without a protocol is for TCP and UDP. */
export function mappedProtocols(setting: PortMappingPolicySetting): readonly number[] {
  const protocol = setting.Protocol ?? 0;
  return protocol === 0 ? [IpProtocol.tcp, IpProtocol.udp] : [protocol];
}

function familyOfMapping(setting: PortMappingPolicySetting): 4 | 6 {
  const isIpv6 = ((setting.Flags ?? 0) & NAT_FLAGS.IPv6) !== 0 || setting.VIP?.includes(":") === true;
  return isIpv6 ? 6 : 4;
}

export class PortMappingTable {
  /** `family|protocol|port` to who listens there. */
  private readonly mappings = new Map<string, Mapping[]>();

  /**
   * Gives every mapping without an external port one, and checks that all are free for `owner`.
   * @returns the settings as they are stored, in the same order.
   * @throws HcnError HCN_E_PORT_ALREADY_EXISTS.
   */
  resolve(
    settings: readonly PortMappingPolicySetting[],
    owner: Guid,
    prng: Prng,
  ): readonly PortMappingPolicySetting[] {
    const trial = new PortMappingTable();
    return settings.map((setting) => {
      const port = setting.ExternalPort ?? 0;
      const resolved: PortMappingPolicySetting =
        port === 0
          ? Object.freeze({ ...setting, ExternalPort: this.choosePort(setting, trial, prng) })
          : setting;
      this.checkFree(resolved, owner);
      trial.checkFree(resolved, undefined);
      trial.add(resolved, owner);
      return resolved;
    });
  }

  add(setting: PortMappingPolicySetting, owner: Guid): void {
    for (const key of keysOf(setting)) addToList(this.mappings, key, { owner, vip: setting.VIP ?? "" });
  }

  remove(setting: PortMappingPolicySetting, owner: Guid): void {
    const vip = setting.VIP ?? "";
    for (const key of keysOf(setting)) {
      const rest = (this.mappings.get(key) ?? []).filter(
        (mapping) => mapping.owner !== owner || mapping.vip !== vip,
      );
      if (rest.length === 0) this.mappings.delete(key);
      else this.mappings.set(key, rest);
    }
  }

  /** Mappings of `owner` itself do not count: it may be about to replace them. */
  private checkFree(setting: PortMappingPolicySetting, owner: Guid | undefined): void {
    const clash = this.findClash(setting, owner);
    if (clash === undefined) return;
    throw new HcnError("HCN_E_PORT_ALREADY_EXISTS", {
      detail: `Port ${setting.ExternalPort ?? 0} is mapped by endpoint ${clash.owner} already; choose another ExternalPort`,
    });
  }

  private findClash(setting: PortMappingPolicySetting, owner: Guid | undefined): Mapping | undefined {
    const vip = setting.VIP ?? "";
    for (const key of keysOf(setting)) {
      const clash = this.mappings
        .get(key)
        ?.find((other) => other.owner !== owner && (other.vip === vip || other.vip === "" || vip === ""));
      if (clash !== undefined) return clash;
    }
    return undefined;
  }

  private choosePort(setting: PortMappingPolicySetting, trial: PortMappingTable, prng: Prng): number {
    const start = prng.below(CHOSEN_PORT_COUNT);
    for (let tried = 0; tried < CHOSEN_PORT_COUNT; tried++) {
      const port = CHOSEN_PORT_FIRST + ((start + tried) % CHOSEN_PORT_COUNT);
      const candidate = { ...setting, ExternalPort: port };
      const isTaken =
        this.findClash(candidate, undefined) !== undefined ||
        trial.findClash(candidate, undefined) !== undefined;
      if (!isTaken) return port;
    }
    throw new HcnError("HCN_E_PORT_ALREADY_EXISTS", { detail: "No host port is left to choose" });
  }
}

function keysOf(setting: PortMappingPolicySetting): readonly string[] {
  const family = familyOfMapping(setting);
  return mappedProtocols(setting).map((protocol) => `${family}|${protocol}|${setting.ExternalPort ?? 0}`);
}
