/**
 * How a document of HNS is described: once, as data. The type, the readers, the printer, the v1 form, the schema and the
 * reference page all come from the same object, so a new field is one line of it.
 *
 * A description is `as const`, so its type can be taken from it: `ObjectOf<typeof ENDPOINT>`. With isolated declarations
 * such an object consists of literals; another description stands in it as a function of that type,
 * `of: (): typeof ROUTE => ROUTE`.
 */
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import type { Description } from "#core/base/shape.ts";
import type { Guid } from "../guid.ts";
import type { HcnErrorCode } from "../error-codes.ts";

/** Which dialect a document is written in (hcn.md §1.6). */
export type SchemaVersion = { readonly Major: number; readonly Minor: number };

/** A v1 policy is flat: a type and the fields of that type beside it. */
export interface HnsPolicy extends JsonObject {
  readonly Type: string;
}

/** Values that consist of nothing else, by the word that a field says in `is`. */
export interface ScalarValues {
  readonly text: string;
  /** Of IP, in text. May be empty. */
  readonly address: string;
  /** `10.0.0.0/8`, or an address alone, in text. Bits of the host are allowed. */
  readonly prefix: string;
  readonly guid: Guid;
  readonly boolean: boolean;
  /** From 0 to 65 535. */
  readonly u16: number;
  /** From 0 to 2^32 - 1. */
  readonly u32: number;
  /** Of IP, also by name. */
  readonly protocol: number;
  /** Bits, from 0 to 2^32 - 1. */
  readonly flags: number;
  /** Of an address: bits, from 0 to 128. */
  readonly prefixLength: number;
  /** Of a service: major × 2^32 + minor. */
  readonly serviceVersion: number;
  readonly schemaVersion: SchemaVersion;
  /** A list of texts. In v1 one text with commas. */
  readonly texts: readonly string[];
  /** Anything that is JSON. */
  readonly json: JsonValue;
  readonly jsonObject: JsonObject;
}

export type ScalarKind = keyof ScalarValues;

/**
 * The name in v1 documents: `Namespace.ID` is inside an object, and `Policies[].VIPs` the same in all entries of a list.
 * `answer`: requests have no such field, and one there is passed by; `none` is what stands there for none. `dump`: no
 * service writes it either, but dumps may hold it.
 */
export type V1Name =
  | string
  | { readonly answer: string; readonly none?: JsonValue }
  | { readonly dump: string };

/** A list of texts that is one in v1, too, where it is no text with commas. `prefix` stands before each of them there. */
export interface V1List {
  readonly list: string;
  readonly prefix?: string;
}

/** Whose policies a list holds: v1 has other names for each. */
export type PolicyOwner = "endpoint" | "network" | "subnet";

/** A field of v1 that is a policy in v2. */
export interface V1FieldPolicy {
  readonly type: string;
  readonly setting: string;
  /** The only type of network of which v2 shows what v1 shows as the policy. */
  readonly onlyOf?: string;
  /** v1 shows the policy beside the field. */
  readonly isShownTwice?: true;
}

/** A field of v1 that is true for some values of a field of v2; where it is asked for, the first of them is meant. */
export interface V1Flag {
  readonly of: string;
  readonly for: readonly [string, ...string[]];
}

/** Of the first IPv4 address and of the first IPv6 address. */
export type V1NamePerFamily = readonly [V1Name, V1Name];

/** What every field says beside its kind. */
interface FieldMarks {
  /** What it is, for the reference page: full sentences. */
  readonly text: Description;
  /** What holds when the field is absent, in words. */
  readonly absent?: Description;
  /** The schema version that brought it, or was the last one to have it: `2.3`. */
  readonly since?: string;
  readonly until?: string;
  readonly unit?: string;
  /** The service fills it in: requests of v1 have no say in it. */
  readonly by?: "service";
}

interface ScalarField extends FieldMarks {
  readonly is: Exclude<ScalarKind, "flags">;
  /** A name per family in objects of a list that v1 has a field each for. */
  readonly v1?: V1Name | V1NamePerFamily | V1List;
  /** Of a field that only v1 has. */
  readonly policy?: V1FieldPolicy;
  readonly flag?: V1Flag;
  /** Of a field that only v1 has: the name of the object whose id this field of v2 holds. */
  readonly nameFor?: string;
  /** Of a field that only v1 has: v2 has it in `Health.Extra`. */
  readonly isExtra?: true;
}

interface FlagsField extends FieldMarks {
  readonly is: "flags";
  readonly bits: Readonly<Record<string, number>>;
  /** The number; or fields of v1 that are true when a bit is set: the name of the bit by that of the field. */
  readonly v1?: string | Readonly<Record<string, string>>;
}

interface EnumerationField extends FieldMarks {
  /** `numbered`: its value is the number, although requests may say the name. */
  readonly is: "enumeration" | "numbered";
  /** At their numbers. */
  readonly names: readonly (string | undefined)[];
  /** What an unknown name fails with, where it has a code of its own. */
  readonly code?: HcnErrorCode;
  readonly v1?: V1Name;
}

/** v1 has no such object: it has the names that the fields inside say. */
interface ObjectField extends FieldMarks {
  readonly is: "object";
  readonly of: Referred;
}

interface ListField extends FieldMarks {
  readonly is: "list";
  readonly of: Referred;
  /**
   * A name: the list of the entries' v1 forms; `type` is what each of them, a policy, says of itself. `joined`: one list
   * of what all entries have under that name. `perFamilyOf` names the field with the address: v1 has the fields of one
   * entry per family. `defaultRoutes`: the next hops of default routes, of IPv4 and IPv6, or of either.
   */
  readonly v1?:
    | V1Name
    | { readonly policies: string; readonly type: string }
    | { readonly joined: string; readonly with: JsonObject }
    | { readonly perFamilyOf: string }
    | { readonly defaultRoutes: readonly [string] | readonly [string, string] };
}

interface PoliciesField extends FieldMarks {
  readonly is: "policies";
  readonly of: Referred;
  readonly owner: PolicyOwner;
  /** The names of their types at their numbers. */
  types(): readonly (string | undefined)[];
  readonly v1?: V1Name;
}

export type Field = ScalarField | FlagsField | EnumerationField | ObjectField | ListField | PoliciesField;

/** An object of a document, or a whole document. */
export interface ObjectDescription {
  /** One sentence, for the schema. */
  readonly text: Description;
  /** Its name among the published schemas, where it has one. */
  readonly name?: string;
  /** What a wrong field of it fails with, where that is not what the document fails with. */
  readonly code?: HcnErrorCode;
  /** Fields that come before its own. */
  base?(): ObjectDescription;
  /** In the order in which results list them. */
  readonly fields: Readonly<Record<string, Field>>;
  /** Fields that it cannot be without. */
  readonly needs?: readonly string[];
  /** Fields that every answer has. */
  readonly always?: readonly string[];
  /** Fields of the v1 document that no field of this one stands for. */
  readonly v1Only?: Readonly<Record<string, ScalarField | ListField>>;
}

/** An object described where it stands, or elsewhere. */
export type Referred = ObjectDescription | (() => ObjectDescription);

type Simplify<T> = { readonly [K in keyof T]: T[K] } & {};
type KeysOfAny<T> = T extends unknown ? keyof T : never;
type IntersectionOf<U> = (U extends unknown ? (each: U) => void : never) extends (all: infer I) => void
  ? I
  : never;

/** The type of a described field. A mark that is not known, such as a misspelt one, makes it `never`. */
export type ValueOf<F> =
  Exclude<keyof F, KeysOfAny<Field>> extends never
    ? F extends { readonly is: infer K extends ScalarKind }
      ? ScalarValues[K]
      : F extends { readonly is: "numbered" }
        ? number
        : F extends { readonly is: "enumeration"; readonly names: readonly (infer N)[] }
          ? Exclude<N, undefined>
          : F extends { readonly is: "object"; readonly of: infer O }
            ? ObjectOf<O>
            : F extends { readonly is: "list" | "policies"; readonly of: infer O }
              ? readonly ObjectOf<O>[]
              : never
    : never;

type BaseOf<D> = D extends { base(): infer B } ? ObjectOf<B> : unknown;
type Needs<D> = D extends { readonly needs: readonly (infer N)[] } ? N : never;
type FieldsOf<F, N> = { readonly [K in keyof F as K extends N ? never : K]?: ValueOf<F[K]> } & {
  readonly [K in keyof F as K extends N ? K : never]: ValueOf<F[K]>;
};

/** The type of a described object, as requests and answers have it: only what it `needs` is sure to be there. */
export type ObjectOf<D> = D extends () => infer R
  ? ObjectOf<R>
  : D extends { readonly fields: infer F }
    ? Simplify<BaseOf<D> & FieldsOf<F, Needs<D>>>
    : never;

type Named<Name extends string, T> = Name extends `${string}[].${string}`
  ? never
  : Name extends `${infer Outer}.${infer Inner}`
    ? { readonly [K in Outer]?: { readonly [L in Inner]?: T } }
    : { readonly [K in Name]?: T };

type V1ValueOf<F> = F extends { readonly is: "texts" | "enumeration" }
  ? string
  : F extends { readonly is: "policies" }
    ? readonly HnsPolicy[]
    : F extends { readonly is: "list"; readonly of: infer O }
      ? readonly V1Of<O>[]
      : ValueOf<F>;

/** What v1 has of one field; never when it has nothing. Names that requests do not have are no part of it. */
type V1PartOf<F> = F extends { readonly v1: infer N extends string }
  ? Named<N, V1ValueOf<F>>
  : F extends { readonly v1: readonly (infer N)[] }
    ? Named<Extract<N, string>, V1ValueOf<F>>
    : F extends { readonly is: "flags"; readonly v1: infer B }
      ? { readonly [K in keyof B]?: boolean }
      : F extends { readonly v1: { readonly defaultRoutes: readonly (infer N extends string)[] } }
        ? Named<N, string>
        : F extends { readonly v1: { readonly list: infer L extends string } }
          ? Named<L, readonly string[]>
          : F extends {
                readonly v1: { readonly joined: infer J extends string };
                readonly of: { readonly fields: infer E };
              }
            ? Named<J, V1ValueOf<E[J & keyof E]>>
            : F extends { readonly is: "object"; readonly of: infer O }
              ? V1PartsOf<O>
              : F extends { readonly v1: { readonly perFamilyOf: string }; readonly of: infer O }
                ? V1PartsOf<O>
                : never;

/** A union of what v1 has of each field. */
type V1PartsOf<D> = D extends () => infer R
  ? V1PartsOf<R>
  : D extends { readonly fields: infer F }
    ? { [K in keyof F]: V1PartOf<F[K]> }[keyof F]
    : never;
type V1BaseOf<D> = D extends { base(): infer B } ? V1PartsOf<B> : never;
type V1OnlyOf<D> = D extends { readonly v1Only: infer F } ? FieldsOf<F, never> : unknown;

/** The v1 document of a described one. */
export type V1Of<D> = D extends () => infer R
  ? V1Of<R>
  : Simplify<IntersectionOf<V1BaseOf<D> | V1PartsOf<D>> & V1OnlyOf<D>>;

/** The object that a field refers to. */
export function referredObject(of: Referred): ObjectDescription {
  return typeof of === "function" ? of() : of;
}

/** All fields in order, those of the base first. */
export function fieldsOf(description: ObjectDescription): readonly (readonly [name: string, field: Field])[] {
  const base = description.base === undefined ? [] : fieldsOf(description.base());
  return [...base, ...Object.entries(description.fields)];
}
