/**
 * Texts without what stands at their edges. A pattern such as `/\/+$/` begins anew at every slash of a text, and a
 * megabyte of slashes takes minutes; these look at each character of the edges once.
 */

/** `text` without the characters at its end that `edge` matches. `edge` is a pattern for one character, without flag `g`. */
export function stripEnd(text: string, edge: RegExp): string {
  let end = text.length;
  while (end > 0 && edge.test(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

/** `text` without the characters at both its ends that `edge` matches. */
export function stripEdges(text: string, edge: RegExp): string {
  const rest = stripEnd(text, edge);
  let start = 0;
  while (start < rest.length && edge.test(rest.charAt(start))) start++;
  return rest.slice(start);
}

/** The name of the file that a path ends with, whichever slashes it has. */
export function fileNameOf(path: string): string {
  return path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
}
