/** Fields of v2 that are values in v1: one value, a list of texts, policies, bits, next hops. */
import { defined } from "#core/base/assert.ts";
import type { PolicyOwner } from "../description/description.ts";
import { enumerationName } from "../description/json.ts";
import { parseGuid } from "../guid.ts";
import { isJsonObject } from "#core/base/json.ts";
import { SHARED, type V1Part, type V1Place, commaList, listOf, placeOf } from "./place.ts";

const DEFAULT_DESTINATIONS = ["0.0.0.0/0", "::/0"] as const;
const UNSPECIFIED: readonly unknown[] = [undefined, "", "0.0.0.0", "::"];

export function isIpv6(text: unknown): boolean {
  return typeof text === "string" && text.includes(":");
}

/** One field of v2 that is one field of v1. */
export function singlePart(place: V1Place, names?: readonly (string | undefined)[]): V1Part {
  const isCommaList = place.kind === "commaList";
  return {
    places: [place],
    fromV1(source) {
      const value = source.value(place);
      if (isCommaList) return commaList(value);
      // v1 writes names in any letter case.
      if (names !== undefined && typeof value === "string" && value !== "")
        return enumerationName(names, value) ?? value;
      return value === "" || value === place.none ? undefined : value;
    },
    toV1(value, target) {
      const texts = listOf(value).filter((item) => typeof item === "string");
      if (!isCommaList) target.put(place, value);
      else if (texts.length > 0) target.put(place, texts.join(","));
    },
  };
}

/** A list of texts that is a list in v1, too. */
export function listPart(place: V1Place, prefix = ""): V1Part {
  return {
    places: [place],
    fromV1(source) {
      const items = source.value(place);
      if (!Array.isArray(items)) return undefined;
      return listOf(items).map((item) => {
        if (typeof item !== "string" || prefix === "") return item;
        // Some clients leave out the first slash.
        const bare = item.startsWith("/") ? item : `/${item}`;
        const text = bare.toLowerCase().startsWith(prefix) ? bare.slice(prefix.length) : item;
        return parseGuid(text) ?? text;
      });
    },
    toV1(value, target) {
      if (!Array.isArray(value)) return;
      target.put(
        place,
        listOf(value).map((item) => (typeof item === "string" ? `${prefix}${item}` : item)),
      );
    },
  };
}

export function policiesPart(place: V1Place, owner: PolicyOwner): V1Part {
  return {
    places: [place],
    fromV1(source) {
      const policies = listOf(source.value(place)).map((policy) => source.policy(owner, policy));
      return policies.length === 0 ? undefined : policies;
    },
    toV1(value, target) {
      if (Array.isArray(value))
        target.put(
          place,
          listOf(value).map((policy) => target.policy(owner, policy)),
        );
    },
  };
}

export function flagsPart(
  bits: Readonly<Record<string, number>>,
  names: Readonly<Record<string, string>>,
): V1Part {
  const rows = Object.entries(names).map(([name, bit]) => ({
    place: placeOf(name, "boolean"),
    bit: defined(bits[bit], `there is a bit ${bit}`),
  }));
  // Newer services show the number, too.
  const number = placeOf({ dump: "Flags" }, "flags");
  return {
    places: rows.map(({ place }) => place),
    fromV1(source) {
      let flags = Number(source.value(number) ?? 0);
      for (const { place, bit } of rows) if (source.value(place) === true) flags |= bit;
      return flags === 0 ? undefined : flags;
    },
    toV1(value, target) {
      for (const { place, bit } of rows) {
        const isSet = (Number(value) & bit) !== 0;
        // What all entries share is always said.
        if (isSet || place.outer?.endsWith(SHARED) === true) target.put(place, isSet);
      }
    },
  };
}

export function defaultRoutesPart(names: readonly string[]): V1Part {
  const places = names.map((name) => placeOf(name, "text"));
  return {
    places,
    fromV1(source) {
      const hops = places
        .map((place) => source.value(place))
        .filter((hop) => typeof hop === "string" && hop !== "");
      if (hops.length === 0) return undefined;
      return hops.map((NextHop) => ({
        NextHop,
        DestinationPrefix: DEFAULT_DESTINATIONS[isIpv6(NextHop) ? 1 : 0],
      }));
    },
    toV1(value, target) {
      for (const { NextHop, DestinationPrefix } of listOf(value).filter(isJsonObject)) {
        const leadsAnywhere = DEFAULT_DESTINATIONS.some((each) => each === DestinationPrefix);
        const place = places[isIpv6(NextHop) ? places.length - 1 : 0];
        if (leadsAnywhere && place !== undefined && !UNSPECIFIED.includes(NextHop))
          target.put(place, NextHop);
      }
    },
  };
}
