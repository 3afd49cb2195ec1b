/** Texts that people bring and that hold no object: what they are, and what to do with them. */
import type { FileProblem } from "#core/catalogue/file-problem.ts";
import { isKustomization, rendererOf } from "#control-plane/load/further-kinds.ts";
import { showsTableOfIds } from "#hns/dump/format-list.ts";
import type { InputText } from "../session/session.ts";
import { clusterInput } from "#data/words.js";

const WORDS = clusterInput();

const WHOLE_OBJECTS =
  "Take whole objects: kubectl get nodes,pods,services,endpointslices,networkpolicies,configmaps,daemonsets -A -o yaml.";

interface OtherText {
  readonly fits: (text: string) => boolean;
  readonly what: string;
  readonly advice: string;
}

const KUBECTL_SAYS =
  /^(?:Error from server\b|error: |No resources found\b|(?:The connection|Unable to connect) to the server)/m;

/** gzip, as bytes and as read for UTF-8, and zip; tar has its sign in its header. */
const ARCHIVE_STARTS = ["\u001f\u008b", "\u001f\ufffd", "PK\u0003\u0004"];

/** What holds files, or blocks, in which there may be objects. */
const WRAPPINGS: readonly OtherText[] = [
  {
    fits: (text) =>
      ARCHIVE_STARTS.some((start) => text.startsWith(start)) || text.slice(250, 270).includes("ustar"),
    what: "an archive, and no text",
    advice: WORDS.adviceArchive,
  },
  {
    // No document of YAML has a backtick at its left edge.
    fits: (text) => /^(?:```|~~~)/m.test(text),
    what: "Markdown, or another page with blocks of code",
    advice: WORDS.adviceMarkdown,
  },
];

/** Texts that people bring and that hold no object, by what only they have; the first that fits counts. */
const OTHER_TEXTS: readonly OtherText[] = [
  {
    // kubectl, `pkg/cmd/util/helpers.go` and `pkg/cmd/get/get.go`.
    fits: (text) => KUBECTL_SAYS.test(text),
    what: "what kubectl says when it has nothing to show",
    advice: WORDS.adviceKubectlFailed({ wholeObjects: WHOLE_OBJECTS }),
  },
  {
    fits: (text) => /^(?:NAMESPACE[ \t]+)?NAME[ \t]+[A-Z][A-Z-]+\b/m.test(text),
    what: "a table of kubectl get, and no object",
    advice: WORDS.adviceKubectlTable({ wholeObjects: WHOLE_OBJECTS }),
  },
  {
    fits: (text) => /^[ \t]*Name:[ \t]+\S/m.test(text) && /^(?:Labels|Annotations):\s/m.test(text),
    what: "what kubectl describe prints, and no object",
    advice: WORDS.adviceKubectlDescribe({ wholeObjects: WHOLE_OBJECTS }),
  },
  {
    fits: (text) => /^(?:[IWEF]\d{4} \d\d:\d\d:\d\d|time="[^"\n]+" level=|level=)/m.test(text),
    what: "a log",
    advice: "mullion explain --log FILE names the errors in it.",
  },
  {
    fits: (text) =>
      /\b(?:ActivityId|VirtualNetwork(?:Name)?|HostCompute(?:Network|Endpoints?)|OutBoundNAT|ExceptionList|L2Driver)\b/.test(
        text,
      ) ||
      /"Type"[ \t]*:[ \t]*"(?:ACL|NAT|ROUTE|SDNRoute|PA)"/.test(text) ||
      showsTableOfIds(text),
    what: "objects or policies of HNS",
    advice: WORDS.adviceHnsObjects,
  },
  {
    fits: (text) => /^[ \t]*["'{]?[\w"'./-]+[ \t]*:/m.test(text),
    what: "no object: apiVersion and kind are missing",
    advice: WORDS.advicePartOfObject({ wholeObjects: WHOLE_OBJECTS }),
  },
];

function noObject(file: string, line: number, message: string, advice: string): FileProblem {
  return { code: "input-without-documents", file, line, column: 1, path: "", message, advice };
}

/** What is said of a file from which others are rendered. */
function renderedElsewhere(name: string): FileProblem | undefined {
  const renderer = rendererOf(name);
  if (renderer === undefined) return undefined;
  const advice = `Render it: ${renderer.command} | mullion verify -f -`;
  return noObject(name, 1, `this is ${renderer.what}, and no object`, advice);
}

/** What a text is that names no kind of object; undefined for one that does. */
export function otherText({ name, text }: InputText): FileProblem | undefined {
  if (isKustomization(name)) return undefined;
  const wrapping = WRAPPINGS.find(({ fits }) => fits(text));
  if (wrapping !== undefined) return noObject(name, 1, `this is ${wrapping.what}`, wrapping.advice);
  if (/^kind[ \t]*:/m.test(text)) return undefined;
  const rendered = renderedElsewhere(name);
  if (rendered !== undefined) return rendered;
  if (/^[ \t{[-]*["']?(?:apiVersion|kind|items)["']?[ \t]*:/m.test(text) || /\{\{|<%/.test(text))
    return undefined;
  const found = OTHER_TEXTS.find(({ fits }) => fits(text));
  if (found === undefined) return undefined;
  const line = text.split("\n").findIndex((each) => each.trim() !== "") + 1;
  return noObject(name, line, `this is ${found.what}`, found.advice);
}

/** Texts in which there is nothing at all, when nothing else was found either. */
export function emptyTexts(texts: readonly InputText[]): readonly FileProblem[] {
  return texts.map(({ name, text }) => {
    const rendered = renderedElsewhere(name);
    if (rendered !== undefined) return rendered;
    const kinds = new Set(
      Array.from(text.matchAll(/^[ \t]*["']?kind["']?[ \t]*:[ \t]*["']?(\w+)/gm), ([, kind]) => kind),
    );
    if (kinds.size > 0) {
      const message = `no object of this file makes a cluster by itself: ${[...kinds].join(", ")}`;
      return noObject(name, 1, message, WHOLE_OBJECTS);
    }
    const advice =
      "Write a cluster file (examples/two-windows-nodes/cluster.yaml is one), or Kubernetes manifests.";
    return noObject(name, 1, WORDS.inputUnrecognized, advice);
  });
}
