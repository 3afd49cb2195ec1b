/** JSON as `ConvertTo-Json` of Windows PowerShell 5.1 prints it: what lies in the files that the scripts write. */
import type { JsonValue } from "../../hcn/client.ts";

const STEP = 4;

function pad(columns: number): string {
  return " ".repeat(columns);
}

/** `column`: where the value begins, which its members are indented from. */
function write(value: JsonValue, column: number): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const inner = column + STEP;
  if (Array.isArray(value)) {
    const items = (value as readonly JsonValue[]).map((item) => `${pad(inner)}${write(item, inner)}`);
    return `[\r\n${items.join(",\r\n")}\r\n${pad(column)}]`;
  }
  const members = Object.entries(value).flatMap(([name, member]) => {
    if (member === undefined) return [];
    const key = `${JSON.stringify(name)}:  `;
    return [`${pad(inner)}${key}${write(member, inner + key.length)}`];
  });
  return `{\r\n${members.join(",\r\n")}\r\n${pad(column)}}`;
}

export function toPowerShellJson(value: JsonValue): string {
  return write(value, 0);
}
